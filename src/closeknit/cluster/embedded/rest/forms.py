"""The form of a response: whole objects, a table to print, or metadata alone; as JSON or YAML.

Clients request it in the `Accept` header, in order of preference or by `q`:
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
from .queries import QueryString

META = "meta.k8s.io"
JSON: Literal["application/json"] = "application/json"
YAML: Literal["application/yaml"] = "application/yaml"
HTML = "text/html"
_ANYTHING = ("*/*", "application/*", "")
_SHAPES: dict[str, Literal["table", "metadata"]] = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata",
}


class ResponseForm(NamedTuple):
    """`version` is that of the table or the metadata; `include` is how much of an object comes with its row."""

    media: Literal["application/json", "application/yaml"] = JSON
    shape: Literal["whole", "table", "metadata"] = "whole"
    version: str = "v1"
    include: Literal["Metadata", "Object", "None"] = "Metadata"


WHOLE = ResponseForm()


class AcceptedMedia(NamedTuple):
    media: str
    parameters: dict[str, str]


def choices(header: str) -> list[AcceptedMedia]:
    """The choices of a header, best first; those with a `q` of 0 are left out."""
    ranked: list[tuple[float, AcceptedMedia]] = []
    for choice in header.split(","):
        media, *given = (part.strip() for part in choice.split(";"))
        parameters = dict(part.partition("=")[::2] for part in given)
        ranked.append((_quality(parameters.pop("q", "")), AcceptedMedia(media.lower(), parameters)))
    return [choice for quality, choice in sorted(ranked, key=lambda one: -one[0]) if quality > 0]


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def is_for_people(header: str) -> bool:
    """Whether the client is a browser, which prefers HTML to every form of data."""
    medias = [choice.media for choice in choices(header)]
    data = (*_ANYTHING, JSON, YAML)
    return HTML in medias and not any(media in data for media in medias[: medias.index(HTML)])


def accepted(header: str, query: QueryString) -> ResponseForm:
    """The best supported form of the header; raises NotAcceptable if there is none."""
    for media, parameters in choices(header):
        if media in _ANYTHING or media == JSON:
            form = WHOLE
        elif media == YAML:
            form = ResponseForm(YAML)
        else:
            continue
        if "as" not in parameters:
            return form
        shape, version = _SHAPES.get(parameters["as"]), parameters.get("v", "")
        if shape is None or parameters.get("g") != META or version not in ("v1", "v1beta1"):
            continue
        return form._replace(shape=shape, version=version, include=_include(query))
    raise NotAcceptable("only the following media types are accepted: application/json, application/yaml")


def _include(query: QueryString) -> Literal["Metadata", "Object", "None"]:
    match query.text("includeObject"):
        case "" | "Metadata":
            return "Metadata"
        case "Object":
            return "Object"
        case "None":
            return "None"
        case other:
            raise BadRequest(f'includeObject: "{other}" must be "Metadata", "Object", "None", or empty')


def encoded(value: Any, form: ResponseForm = WHOLE) -> bytes:
    if form.media == YAML:
        return yaml.dump(value, Dumper=_DUMPER, allow_unicode=True).encode()
    return msgspec.json.encode(value)


_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def one(kind: Kind, raw: Raw, form: ResponseForm, now: float) -> Raw:
    """An object in this form."""
    match form.shape:
        case "table":
            version = raw["metadata"].get("resourceVersion", "")
            return table(kind, [raw], {"resourceVersion": version}, form, now)
        case "metadata":
            return metadata(raw, form)
    return raw


def many(kind: Kind, objects: Sequence[Raw], meta: Raw, form: ResponseForm, now: float) -> Raw:
    """A list in this form. Items of built-in kinds carry no kind and version of their own."""
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


def metadata(raw: Raw, form: ResponseForm) -> Raw:
    return {"kind": "PartialObjectMetadata", "apiVersion": _version(form), "metadata": raw["metadata"]}


def table(
    kind: Kind, objects: Sequence[Raw], meta: Raw, form: ResponseForm, now: float, has_columns: bool = True
) -> Raw:
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


def _version(form: ResponseForm) -> str:
    return f"{META}/{form.version}"
