"""The annotation in which client-side `kubectl apply` stores what it applied last.

After a change to server-side apply the old fields still belong to another manager. The server helps kubectl, and only
kubectl: a conflict about a field that the annotation contains is ignored, and the annotation is kept up to date, so
that changing back works too.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..port import Raw
from .fields import Schema
from .fieldsets import Fields, FieldsError, claimed, minus

ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER = "kubectl"


def without_forgiven(schema: Schema, old: Raw, manager: str, touched: Fields) -> Fields | None:
    """The fields that can conflict: those that the annotation does not contain."""
    text = _text(old)
    if manager != MANAGER or text is None:
        return touched
    try:
        remembered = claimed(schema, msgspec.json.decode(text))
    except (msgspec.DecodeError, FieldsError):
        return touched
    return minus(touched, remembered) if remembered is not None else touched


def noted(new: Raw, body: Raw, manager: str) -> Raw:
    """The object with the body stored in its annotation, if it has one."""
    if manager != MANAGER or _text(new) is None:
        return new
    text = msgspec.json.encode(body, order="sorted").decode() + "\n"
    meta: dict[str, Any] = new["metadata"]
    return {**new, "metadata": {**meta, "annotations": {**meta["annotations"], ANNOTATION: text}}}


def _text(raw: Raw) -> str | None:
    text = (raw["metadata"].get("annotations") or {}).get(ANNOTATION)
    return text if isinstance(text, str) and text else None
