"""Hints: the sets of zones from which a manager of the kubelet could serve a request.

A manager answers for each resource with a list of hints. No list at all means that it does not care, an empty one that
no set of zones will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Hint(NamedTuple):
    """`mask` is None where any zone will do. `preferred`: no smaller set of zones could ever serve the request."""

    mask: int | None
    preferred: bool


Answer = Mapping[str, Sequence[Hint] | None]
"""What one manager says, by resource; an empty answer has no opinion about anything."""

ANYWHERE = Hint(None, True)
IMPOSSIBLE = Hint(None, False)


def groups_of(answers: Iterable[Answer | None]) -> list[Sequence[Hint]]:
    """One group of hints for each resource that was answered for, never empty."""
    groups: list[Sequence[Hint]] = []
    for answer in answers:
        if not answer:
            groups.append([ANYWHERE])
            continue
        groups.extend([ANYWHERE] if hints is None else hints or [IMPOSSIBLE] for hints in answer.values())
    return groups


def preferring_least(masks: Iterable[int], least: int) -> list[Hint]:
    """Hints for these sets, of which those with the least number of zones are preferred."""
    return [Hint(mask, mask.bit_count() == least) for mask in masks]
