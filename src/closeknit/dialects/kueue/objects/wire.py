"""What all objects of `kueue.x-k8s.io` share on the wire, and how a raw object becomes a struct.

Objects written by Go say `null` for whatever is empty. Most have no null at all, so an object is decoded as it is,
and only one that does not fit is decoded again without its nulls. That keeps the structs plain. None in a type means
that the field may be absent; a field without it is one that the API wants, and has a default here only because
objects are read before anybody has judged them.
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
    """An object has a value of a wholly wrong type, or contradicts itself."""


class Wire(msgspec.Struct, rename="camel", gc=False, frozen=True):
    """Unknown fields are ignored here; they live on in the raw object."""


class OwnerReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Meta(Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Wire, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


class FairSharing(Wire, frozen=True):
    weight: core.Quantity | None = None


class FairShare(Wire, frozen=True):
    """What a queue or cohort takes beyond its own, by weight."""

    weighted_share: int = 0
    admission_fair_sharing_status: dict[str, Any] | None = None


def moment(text: str | None) -> float:
    """An object that does not say when it was made is older than all others."""
    return parse(text) if text else LONG_AGO


def weight(sharing: FairSharing | None) -> float:
    """A share's weight; whoever says none has 1. What no float holds counts as the largest that one does well."""
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
    """Whatever is wrong with an object is said with its name."""

    @wraps(read)
    def named(raw: Raw) -> T:
        if not isinstance(raw, dict):
            raise Unreadable(f"an object is a mapping, not {type(raw).__name__}")
        try:
            return read(raw)
        except ValueError as error:
            raise Unreadable(f"{_what(raw)}: {error}") from error

    return named


def _what(raw: Raw) -> str:
    meta = raw.get("metadata")
    names = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else ()
    return " ".join(filter(None, [str(raw.get("kind") or "object"), "/".join(str(name) for name in names if name)]))
