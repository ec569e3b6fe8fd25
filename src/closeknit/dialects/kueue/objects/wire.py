"""What all objects of `kueue.x-k8s.io` share on the wire, and how a raw object becomes a struct.

Objects written by Go may have `null` for any empty field. Most objects contain no null. An object is decoded unchanged
first; if that fails, it is decoded again with its nulls removed. That keeps the structs plain. None in a type means
that the field may be absent; a field without it is required by the API, and has a default here only because objects are
decoded before they are validated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import msgspec

from ....model.quantity import nanos
from ....model.workload import LONG_AGO
from ... import core
from ...timestamps import parse

GROUP = "kueue.x-k8s.io"

Raw = dict[str, Any]
T = TypeVar("T")


class Unreadable(ValueError):  # noqa: N818 - what is wrong is the object, not the reading
    """An object has a value of the wrong type, or contradicts itself."""


class Wire(msgspec.Struct, rename="camel", gc=False, frozen=True):
    """The base of all structs; unknown fields are ignored, the raw object keeps them."""


class WireOwnerReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class WireMeta(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[WireOwnerReference, ...] = ()


class WireCondition(Wire, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


class FairSharing(Wire, frozen=True):
    weight: core.Quantity | None = None


class FairShare(Wire, frozen=True):
    """Fair sharing in the status of a queue or cohort: its weighted share of borrowed resources."""

    weighted_share: int = 0
    admission_fair_sharing_status: dict[str, Any] | None = None


def moment(text: str | None) -> float:
    """A creation time; an object without one counts as the oldest."""
    return parse(text) if text else LONG_AGO


def weight(sharing: FairSharing | None) -> float:
    """The weight of fair sharing, 1 by default; a value beyond the range of a float is clamped."""
    if sharing is None or sharing.weight is None:
        return 1.0
    return min(nanos(str(sharing.weight)), 10**300) / 1e9


def convert(raw: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(without_nulls(raw), kind)
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from error


def without_nulls(value: Any) -> Any:
    """A copy in which nothing is null, at any depth: {"a": None, "b": [{"c": None}]} -> {"b": [{}]}."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value


def reader(read: Callable[[Raw], T]) -> Callable[[Raw], T]:
    """Wrap a reader so that its errors name the object."""

    @wraps(read)
    def named(raw: Raw) -> T:
        if not isinstance(raw, dict):
            raise Unreadable(f"an object must be a mapping, not {type(raw).__name__}")
        try:
            return read(raw)
        except ValueError as error:
            raise Unreadable(f"{_what(raw)}: {error}") from error

    return named


def _what(raw: Raw) -> str:
    meta = raw.get("metadata")
    names = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else ()
    return " ".join(filter(None, [str(raw.get("kind") or "object"), "/".join(str(name) for name in names if name)]))
