"""In which form a client wants its answer: whole objects, a table to print, or metadata alone; as JSON or as YAML.

Kubernetes puts this into `Accept`, best first:
application/json;as=Table;v=v1;g=meta.k8s.io,application/json
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import yaml

from ...errors import BadRequest, NotAcceptable
from ...kinds import Kind
from ...port import Raw
from . import tables
from .queries import Query

META = "meta.k8s.io"
_ANYTHING = ("*/*", "application/*", "")
_SHAPES: dict[str, Literal["table", "metadata"]] = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}


class Form(NamedTuple):
    """`version` is that of the table or the metadata; `include` says how much of an object goes with its row."""

    media: Literal["application/json", "application/yaml"] = "application/json"
    shape: Literal["whole", "table", "metadata"] = "whole"
    version: str = "v1"
    include: Literal["Metadata", "Object", "None"] = "Metadata"


WHOLE = Form()


def accepted(header: str, query: Query) -> Form:
    """The first form of the header that can be had; raises NotAcceptable if there is none."""
    for choice in header.split(","):
        media, *given = (part.strip() for part in choice.split(";"))
        parameters = dict(part.partition("=")[::2] for part in given)
        if media in _ANYTHING or media == "application/json":
            form = WHOLE
        elif media == "application/yaml":
            form = Form("application/yaml")
        else:
            continue
        if "as" not in parameters:
            return form
        shape, version = _SHAPES.get(parameters["as"]), parameters.get("v", "")
        if shape is None or parameters.get("g") != META or version not in ("v1", "v1beta1"):
            continue
        return form._replace(shape=shape, version=version, include=_include(query))
    raise NotAcceptable("only the following media types are accepted: application/json, application/yaml")


def _include(query: Query) -> Literal["Metadata", "Object", "None"]:
    match query.text("includeObject"):
        case "" | "Metadata":
            return "Metadata"
        case "Object":
            return "Object"
        case "None":
            return "None"
        case other:
            raise BadRequest(f'includeObject: "{other}" must be "Metadata", "Object", "None", or empty')


def encoded(value: Any, form: Form = WHOLE) -> bytes:
    if form.media == "application/yaml":
        return yaml.dump(value, Dumper=_DUMPER, allow_unicode=True).encode()
    return msgspec.json.encode(value)


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def one(kind: Kind, raw: Raw, form: Form, now: float) -> Raw:
    """An object in this form."""
    match form.shape:
        case "table":
            version = raw["metadata"].get("resourceVersion", "")
            return table(kind, [raw], {"resourceVersion": version}, form, now)
        case "metadata":
            return metadata(raw, form)
    return raw


def many(kind: Kind, objects: Sequence[Raw], meta: Raw, form: Form, now: float) -> Raw:
    """A list in this form. Kubernetes' own kinds leave kind and version to the list."""
    match form.shape:
        case "table":
            return table(kind, objects, meta, form, now)
        case "metadata":
            items = [metadata(raw, form) for raw in objects]
            return {"kind": "PartialObjectMetadataList", "apiVersion": _version(form), "metadata": meta, "items": items}
    items = [_bare(raw) for raw in objects] if kind.is_built_in else list(objects)
    return {"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": meta, "items": items}


def _bare(raw: Raw) -> Raw:
    return {field: value for field, value in raw.items() if field not in ("kind", "apiVersion")}


def metadata(raw: Raw, form: Form) -> Raw:
    return {"kind": "PartialObjectMetadata", "apiVersion": _version(form), "metadata": raw["metadata"]}


def table(kind: Kind, objects: Sequence[Raw], meta: Raw, form: Form, now: float, has_columns: bool = True) -> Raw:
    rows = []
    for raw in objects:
        shown = {"Metadata": metadata(raw, form), "Object": raw, "None": None}[form.include]
        rows.append({"cells": tables.cells(kind, raw, now), "object": shown})
    return {
        "kind": "Table",
        "apiVersion": _version(form),
        "metadata": meta,
        "columnDefinitions": tables.columns(kind) if has_columns else None,
        "rows": rows,
    }


def _version(form: Form) -> str:
    return f"{META}/{form.version}"
