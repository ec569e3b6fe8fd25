"""The OpenAPI documents of the host, from the same tables: what `kubectl explain`, `create` and `apply` request.

A document has the kinds of one API group and version with all their types, and for every kind a patch operation, from
which clients learn that the server supports field validation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..kinds import KINDS, OLD_KINDS, Kind
from .descriptions import about
from .fields import Schema, schema_of

Document = dict[str, Any]

_SCALARS: dict[str, Document] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "time": {"type": "string", "format": "date-time"},
    "micro-time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "int-or-string": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


@lru_cache(maxsize=64)
def openapi_v3(group: str, version: str) -> Document:
    """The document of a group and version; it is shared, so do not modify it."""
    parts: Document = {}
    paths: Document = {}
    for kind in (*KINDS, *OLD_KINDS):
        if (kind.group, kind.version) == (group, version) and (schema := schema_of(kind)) is not None:
            names = {"group": kind.group, "version": kind.version, "kind": kind.kind}
            parts[kind.kind] = {}
            parts[kind.kind] = {
                "description": about(kind.kind),
                **_object(schema, parts, kind.kind),
                "x-kubernetes-group-version-kind": [names],
            }
            paths[_path(kind)] = {"patch": _patch(kind, names)}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Closeknit", "version": version},
        "paths": paths,
        "components": {"schemas": parts},
    }


def _path(kind: Kind) -> str:
    return kind.path("{namespace}", "{name}")


def _patch(kind: Kind, names: Document) -> Document:
    forms = ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"]
    if kind.is_built_in:
        forms.append("application/strategic-merge-patch+json")
    body = {"schema": {"type": "object"}}
    return {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "boolean" if name == "force" else "string"}}
            for name in ("dryRun", "fieldManager", "fieldValidation", "force")
        ],
        "requestBody": {"content": dict.fromkeys(forms, body), "required": True},
        "responses": {
            "200": {
                "description": "OK",
                "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.kind}"}}},
            }
        },
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": names,
    }


def _described(schema: Schema, parts: Document, path: str) -> Document:
    """The schema of the field at `path`; named types go into `parts` once and are referred to."""
    found: Document
    if schema.type == "object" and schema.part:
        if schema.part not in parts:
            parts[schema.part] = {}
            parts[schema.part] = _object(schema, parts, schema.part)
        found = {"$ref": f"#/components/schemas/{schema.part}"}
    elif schema.type == "object":
        found = _object(schema, parts, path)
    elif schema.type == "map":
        found = {"type": "object", "additionalProperties": _described(schema.item(), parts, "")}
    elif schema.type == "list":
        items = {key: one for key, one in _described(schema.item(), parts, path).items() if key != "description"}
        found = {"type": "array", "items": items, **_list_type(schema)}
    else:
        found = _SCALARS[schema.type]
    extra: Document = {"description": said} if (said := about(path)) else {}
    if schema.enum:
        extra["enum"] = list(schema.enum)
    if schema.nullable:
        extra["nullable"] = True
    if schema.type == "map" and schema.atomic:
        extra["x-kubernetes-map-type"] = "atomic"
    if schema.strategy:
        extra["x-kubernetes-patch-strategy"] = ",".join(schema.strategy)
    if schema.merge_key:
        extra["x-kubernetes-patch-merge-key"] = schema.merge_key
    if "$ref" in found and extra:
        return {"allOf": [found], **extra}
    return {**found, **extra}


def _object(schema: Schema, parts: Document, path: str) -> Document:
    found: Document = {"type": "object"}
    if schema.fields:
        found["properties"] = {name: _described(one, parts, f"{path}.{name}") for name, one in schema.fields.items()}
    if schema.need:
        found["required"] = list(schema.need)
    if schema.atomic:
        found["x-kubernetes-map-type"] = "atomic"
    if schema.open and not schema.part:
        found["x-kubernetes-preserve-unknown-fields"] = True
    return found


def _list_type(schema: Schema) -> Document:
    if schema.atomic:
        return {"x-kubernetes-list-type": "atomic"}
    if schema.keys:
        return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(schema.keys)}
    return {"x-kubernetes-list-type": "set"}
