"""Label selectors as objects carry them: matchLabels and matchExpressions."""

from __future__ import annotations

from collections.abc import Mapping

from ...model.shape import Requirement
from ..port import Raw


def selects(selector: Raw | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a selector matches these labels: an empty one matches everything, None matches nothing."""
    if selector is None:
        return False
    has = labels or {}
    if any(has.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(
        Requirement(one["key"], one["operator"], tuple(one.get("values") or ())).admits(has.get(one["key"]))
        for one in selector.get("matchExpressions") or ()
    )
