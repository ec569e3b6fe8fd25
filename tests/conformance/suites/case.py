"""A case of a suite: a decision to make, how to show the answer, and the expected answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from closeknit.model.gates import Gates

Case = dict[str, Any]


class NotRun(Exception):  # noqa: N818 - a result, not a failure
    """A case about something that has no counterpart here."""


@dataclass(frozen=True)
class Prepared:
    decide: Callable[[], Any]
    show: Callable[[Any], Any]
    want: Any


def gates(case: Case) -> Gates:
    """Kueue's defaults with the case's changes."""
    return Gates.profile("kueue", case.get("featureGates") or {})


def tidy(value: Any) -> Any:
    """Go writes null, nothing, or an empty list or map for the same thing: drop them all."""
    if isinstance(value, dict):
        pairs = ((key, tidy(item)) for key, item in value.items())
        return {key: item for key, item in pairs if item not in (None, {}, [])}
    return [tidy(item) for item in value] if isinstance(value, list) else value


def difference(want: Any, got: Any, path: str = "") -> str | None:
    """The first place where two plain values differ."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted({*want, *got}, key=str):
            found = difference(want.get(key), got.get(key), f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        pairs = (difference(a, b, f"{path}[{i}]") for i, (a, b) in enumerate(zip(want, got, strict=True)))
        return next((found for found in pairs if found), None)
    return None if want == got else f"{path or 'answer'}: want {want!r}, got {got!r}"
