"""The annotation in which `kubectl apply` remembers what it said, when it merges on the client's side.

Who changes over to server-side apply still has the old fields under another manager. The server helps kubectl, and
nobody else: a conflict about a field that the annotation names is none, and the annotation is kept up to date, so that
the way back stays open.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..port import Raw
from .fields import Schema
from .fieldsets import Fields, FieldsError, minus, said

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"


def without_forgiven(schema: Schema, old: Raw, manager: str, touched: Fields) -> Fields | None:
    """The fields that may be in conflict: those that the annotation does not name."""
    text = _text(old)
    if manager != MANAGER or text is None:
        return touched
    try:
        remembered = said(schema, msgspec.json.decode(text))
    except (msgspec.DecodeError, FieldsError):
        return touched
    return minus(touched, remembered) if remembered is not None else touched


def noted(new: Raw, body: Raw, manager: str) -> Raw:
    """The object with the body in the annotation, if it has one."""
    if manager != MANAGER or _text(new) is None:
        return new
    text = msgspec.json.encode(body, order="sorted").decode() + "\n"
    meta: dict[str, Any] = new["metadata"]
    return {**new, "metadata": {**meta, "annotations": {**meta["annotations"], ANNOTATION: text}}}


def _text(raw: Raw) -> str | None:
    text = (raw["metadata"].get("annotations") or {}).get(ANNOTATION)
    return text if isinstance(text, str) and text else None
