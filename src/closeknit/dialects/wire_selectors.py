"""Label selectors inside pod specs and claims, decoded as they are: nothing is validated here."""

from __future__ import annotations

from ..model.pod_rules import Selector
from ..model.shape import Requirement
from .core import Expression, Labels, Struct


class LabelSelector(Struct):
    match_labels: Labels | None = None
    match_expressions: list[Expression] | None = None


def selector_of(wire: LabelSelector | None) -> Selector | None:
    """All requirements in one order; None for no selector."""
    if wire is None:
        return None
    equal = [Requirement(key, "In", (value,)) for key, value in sorted((wire.match_labels or {}).items())]
    further = (
        Requirement(one.key or "", one.operator or "", tuple(one.values or ())) for one in wire.match_expressions or ()
    )
    return tuple(dict.fromkeys([*equal, *further]))
