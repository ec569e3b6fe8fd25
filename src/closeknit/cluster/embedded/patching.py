"""Patches: what a client sends to change part of an object, in each of the forms of Kubernetes."""

from __future__ import annotations

from typing import Any

from ..errors import BadRequest
from ..kinds import Kind
from ..port import PatchForm, Raw


def patched(kind: Kind, form: PatchForm, old: Raw, body: object) -> Raw:
    """The object with the patch on it; `old` stays as it is."""
    if not isinstance(body, dict):
        raise BadRequest("a patch has to be an object")
    return merged(old, body)


def merged(old: Any, body: Any) -> Any:
    """RFC 7386: null removes, objects are merged, everything else is replaced."""
    if not isinstance(body, dict):
        return body
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in body.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
