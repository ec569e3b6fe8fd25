"""Segments: the numbered pods of a job in runs of one size, each a sub-group with a constraint of its own.

    10 pods, size 4     0 1 2 3 │ 4 5 6 7 │ 8 9

The size is in an annotation of the pods, of their template, or of the job. The last segment may be short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....model.request import MOST_GROUPS
from ...field import Field
from .. import keys
from .plan import Owned, PlannedGroup, Raw, constraint, first_note, notes, whole_number


@dataclass(frozen=True, slots=True)
class Segments:
    size: int
    constraint: Raw | None

    def count(self, pods: int) -> int:
        return -(-pods // self.size)


def read_segments(owned: Owned, pods: Sequence[Field], template: Field, *between: Field) -> Segments | None:
    """The segments of these pods, by their annotations, those of the template, of `between`, or of the job.

    Reports mistakes and returns None if they cannot be determined.
    """
    places = [*(notes(pod) for pod in pods[:1]), notes(template), *map(notes, between), *owned.places]
    size = first_note(keys.SEGMENT_SIZE, *places)
    for pod in pods:
        other = notes(pod).at(keys.SEGMENT_SIZE)
        if other.text() and other.text() != size.text():
            other.wrong(f'is "{other.text()}", but other pods have "{size.text()}"', "use one size for all of them")
            return None
    bounds = segment_constraint(places, owned.note(keys.TOPOLOGY).text())
    if not size.text():
        level = next((one for key in keys.SEGMENTS[1:] if (one := first_note(key, *places)).text()), None)
        if level is not None:
            level.wrong(f"needs {keys.SEGMENT_SIZE}", "add it: the number of pods in a segment")
        return None
    number = whole_number(size, 1)
    return None if number is None else Segments(number, bounds)


def segment_constraint(places: Sequence[Field], default: str = "") -> Raw | None:
    """The constraint of every segment; warns of levels without a topology, which have no effect."""
    levels = [first_note(key, *places) for key in (keys.SEGMENT_REQUIRED, keys.SEGMENT_PREFERRED)]
    given = [level for level in levels if level.text()]
    topology = first_note(keys.TOPOLOGY, *places).text() or default
    if given and not topology:
        given[0].warn("has no effect without a topology", f"add the annotation {keys.TOPOLOGY}")
    return constraint(topology, *(level.text() for level in levels)) if given and topology else None


def cut(segments: Segments, pods: int, parent: str, stem: str) -> list[PlannedGroup]:
    """The entries of the segments: stem-0, stem-1, …; the last has the rest."""
    sizes = (min(segments.size, pods - start) for start in range(0, pods, segments.size))
    return [
        PlannedGroup(f"{stem}-{number}", parent, size, constraint=segments.constraint)
        for number, size in enumerate(sizes)
    ]


def too_many(segments: Segments, pods: int, field: Field) -> bool:
    """Whether there would be too many segments, which is reported at the field with the number of pods."""
    found = segments.count(pods) > MOST_GROUPS
    if found:
        text = f"makes {segments.count(pods)} segments of {segments.size} pods"
        field.wrong(text, f"at most {MOST_GROUPS} groups are supported")
    return found


def given_segments(owned: Owned) -> Field | None:
    """An annotation about segments on the owner, a wrapper above it, or a pod; None if there is none."""
    places: Iterable[Field] = (*owned.places, *map(notes, owned.pods))
    return next((one for place in places for key in keys.SEGMENTS if (one := place.at(key)).text()), None)
