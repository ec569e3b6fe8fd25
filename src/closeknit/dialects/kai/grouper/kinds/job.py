"""Job: KAI makes a group for each pod, so that a topology on the Job holds for each of them alone.

Here a Job that says anything about its pods together (a topology, a minimum, segments) is one group.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....field import Field
from ....kueue.jobs.kinds.job import COMPLETION_INDEX, INDEXED, pods_in
from ... import keys
from ..plan import (
    MOST_PODS,
    GroupKind,
    GroupPlan,
    Naming,
    Owned,
    Raw,
    check_minimum,
    group_name,
    name_of,
    notes,
    number_of,
    one_for_all,
    planned,
    whole_number,
)
from ..segments import cut, given_segments, read_segments, too_many
from .sets import SEGMENT


def is_together(owned: Owned) -> bool:
    """Whether the pods of the Job are one group."""
    if owned.note(keys.MIN_MEMBER).text():
        return True
    levels = any(owned.note(key).text() for key in (keys.TOPOLOGY, keys.REQUIRED, keys.PREFERRED))
    template = notes(owned.owner.at("spec", "template"))
    segments = given_segments(owned) is not None or any(template.at(key).text() for key in keys.SEGMENTS)
    return not owned.like_kai and (levels or segments)


def naming(owned: Owned) -> Naming:
    return one_for_all(owned) if is_together(owned) else lambda pod: group_name(pod, owned.owner)


def plan(owned: Owned) -> GroupPlan:
    if not is_together(owned):
        return GroupPlan(1)
    spec, least = owned.owner.at("spec"), owned.note(keys.MIN_MEMBER)
    count = pods_in(spec)
    minimum = whole_number(least, 1) if least.given else count
    if minimum is not None:
        check_minimum(least, minimum, count)
    segments = None if owned.like_kai else read_segments(owned, owned.pods, spec.at("template"))
    if segments is None or minimum is None or too_many(segments, count, spec.at("parallelism")):
        return GroupPlan(minimum)
    check_indexed(spec)

    def join(pod: Field) -> str:
        index = number_of(pod, COMPLETION_INDEX)
        return "" if index is None else f"{SEGMENT}-{index // segments.size}"

    entries = tuple(cut(segments, count, "", SEGMENT))
    if least.given:  # as many segments as hold the minimum
        return GroupPlan(min_sub_group=min(segments.count(minimum), len(entries)), entries=entries, join=join)
    return GroupPlan(count, entries=entries, join=join)


def check_indexed(spec: Field) -> None:
    """Check that the pods of a Job have an index, and that all of them run at once: each index has its segment."""
    mode, completions = spec.at("completionMode"), spec.at("completions")
    if mode.text() != INDEXED:
        mode.wrong(f"has to be {INDEXED} for {keys.SEGMENT_SIZE}: otherwise the pods have no index", "set it")
    elif completions.count(1) > spec.at("parallelism").count(1):
        remedy = "use as many completions as run at once"
        completions.wrong(f"is more than parallelism, which {keys.SEGMENT_SIZE} does not allow", remedy)


def pods(owner: Field) -> Iterator[Raw]:
    return job_pods(owner, owner.at("spec"), name_of(owner), {})


def job_pods(owner: Field, spec: Field, name: str, marks: dict[str, str]) -> Iterator[Raw]:
    """The pods of a Job with this spec, or of one in a JobSet."""
    count = pods_in(spec)
    if count > MOST_PODS:
        spec.at("parallelism").wrong(f"makes {count} pods", f"at most {MOST_PODS} are supported")
        return
    indexed = spec.at("completionMode").text() == INDEXED
    for index in range(count):
        label = {COMPLETION_INDEX: str(index)} if indexed else {}
        yield planned(owner, spec.at("template"), f"{name}-{index}", {**marks, **label})


JOB = GroupKind(plan=plan, naming=naming, pods=pods, numbered=True)
