"""What a misspelt name most likely meant: the nearest name that exists."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.6


def nearest(given: str, known: Iterable[str]) -> str | None:
    """The known name that `given` is probably meant to be; None if nothing comes close.

    Label keys are long and share prefixes, so their last part is compared first: "rack" gives
    example.com/topology-rack, and nvidia.com/gpus gives nvidia.com/gpu. A name with the same letters in another order
    comes before anything else: gte gives get.
    """
    names = list(known)
    swapped = [name for name in names if sorted(name) == sorted(given)]
    if swapped:
        return swapped[0]
    for end in (given, _last(given)):
        same = [name for name in names if _last(name) == end or name.endswith(("/" + end, "-" + end))]
        if same:
            return min(same, key=len)
    by_end: dict[str, str] = {}
    for name in names:
        by_end.setdefault(_last(name), name)
    close = difflib.get_close_matches(_last(given), by_end, n=1, cutoff=CUTOFF + 0.1)
    if close:
        return by_end[close[0]]
    whole = difflib.get_close_matches(given, names, n=1, cutoff=CUTOFF)
    return whole[0] if whole else None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question to prepend to a remedy; empty if nothing comes close."""
    found = nearest(given, known)
    return "" if found is None else f"did you mean {found}? "


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]
