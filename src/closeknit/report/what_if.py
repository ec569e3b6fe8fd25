"""A what-if story as text: what happens in order, preemptions, and what pending workloads wait for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..decide.obstacles import Obstacle, Obstacles, remedy_for
from ..decide.victims import PreemptionCause
from ..decide.what_if import StepKind, Story, StoryStep
from ..decide.world import World
from ..model.assignment import Assignment
from ..model.name import Name
from ..model.number import number_of
from ..model.reason import waits_for
from ..model.workload import PodSetAssignment, Workload
from ..state.snapshot import Snapshot
from ..state.table import IntArray

MOST_STEPS = 40
MOST_WAITING = 20
NAMED = 3


@dataclass(slots=True)
class WhatIfAnswer:
    """`asked` are the keys of the workloads of the given jobs, `files` the files of those jobs."""

    world: World
    story: Story
    obstacles: Obstacles
    asked: Sequence[str]
    files: Sequence[str]
    name_of: Callable[[str], Name]
    now: str
    keys: dict[str, None] = field(init=False)

    def __post_init__(self) -> None:
        self.keys = dict.fromkeys(self.asked)

    def workload(self, key: str) -> Workload:
        return self.story.workloads[key]

    @property
    def all_admitted(self) -> bool:
        return all(self.workload(key).admitted for key in self.asked)

    @property
    def waiting(self) -> list[Workload]:
        """Pending workloads: those of given jobs first, then the others in the order in which they were read."""
        waits = {key: one for key, one in self.story.workloads.items() if not one.admitted and not one.finished}
        first = [waits.pop(key) for key in self.keys if key in waits]
        return [*first, *waits.values()]

    def obstacle(self, one: Workload) -> Obstacle:
        return self.obstacles.of(one, tries=one.key in self.keys)


def narrative(answer: WhatIfAnswer, wide: bool = False) -> Iterator[str]:
    """The lines of a story: what happens in order, what is pending, and the result for the given jobs."""
    yield from _happenings(answer, wide)
    yield from _standing(answer)
    yield from _waiting(answer, wide)
    yield from _inactive(answer)
    yield _summary(answer)


def _happenings(answer: WhatIfAnswer, wide: bool) -> Iterator[str]:
    steps = list(enumerate(answer.story.steps, start=1))
    if not steps:
        yield "nothing happens"
        return
    yield "what happens:"
    shown = [pair for pair in steps if wide or pair[0] <= MOST_STEPS or _concerns(pair[1], answer.keys)]
    width = len(str(shown[-1][0]))
    for number, step in shown:
        yield f"  {number:>{width}}  {_sentence(answer, step)}"
        if wide and step.kind in (StepKind.ADMITTED, StepKind.MOVED):
            yield from _domains(step.workload, " " * (width + 6))
    if len(shown) < len(steps):
        yield f"  … and {len(steps) - len(shown)} more steps; -o wide shows them all"


def _concerns(step: StoryStep, asked: Container[str]) -> bool:
    return step.workload.key in asked or (step.by is not None and step.by.key in asked)


def _sentence(answer: WhatIfAnswer, step: StoryStep) -> str:
    name = answer.name_of(step.workload.key)
    by = "" if step.by is None else str(answer.name_of(step.by.key))
    match step.kind:
        case StepKind.ADMITTED:
            return f"{name} is admitted to {step.queue}: {where(answer.world, step.workload)}"
        case StepKind.RESERVED:
            return f"{name} gets quota in {step.queue} and waits for {_missing(step.workload)}"
        case StepKind.MOVED:
            return f"{name} moves off a failed node: {where(answer.world, step.workload)}"
        case StepKind.PREEMPTED:
            return f"{name} in {step.queue} is preempted by {by}: {PreemptionCause(step.reason).words}"
        case StepKind.EVICTED:
            return f"{name} in {step.queue} is evicted: {step.message}"
        case StepKind.REPLACED:
            return f"{name} is replaced by {by}, the same job with other pod counts"
        case StepKind.CUT:
            return f"{by} would preempt {name} again; {step.message}"


def _missing(one: Workload) -> str:
    checks = [check.name for check in one.status.checks if check.state != "Ready"]
    return f"its checks: {', '.join(checks)}" if checks else "places"


def where(world: World, one: Workload) -> str:
    """Flavors and places in short: `8 pods of h100 on 2 hosts, all in b01/b01-r02`."""
    admission = one.status.admission
    if admission is None:
        return "nothing"
    parts = [_pod_set(world, given, one) for given in admission.pod_sets]
    if len(parts) == 1:
        return parts[0]
    return "; ".join(f"{given.name} {text}" for given, text in zip(admission.pod_sets, parts, strict=True))


def _pod_set(world: World, given: PodSetAssignment, one: Workload) -> str:
    pod_set = one.pod_set(given.name)
    asked = given.count if pod_set is None else pod_set.count
    number = f"{given.count} of {number_of(asked, 'pod')}" if given.count < asked else number_of(given.count, "pod")
    text = f"{number}{_flavors(given)}"
    if given.topology is None:
        return text
    snapshot = snapshot_of(world, given)
    what = "host" if given.topology.by_host else "domain"
    count = len(given.topology.values)
    text += f" on {number_of(count, what)}"
    return text if snapshot is None else text + _together(snapshot, given.topology)


def _flavors(given: PodSetAssignment) -> str:
    names = list(dict.fromkeys(given.flavors.values()))
    if len(names) <= 1:
        return f" of {names[0]}" if names else ""
    return f" of {', '.join(f'{flavor} ({resource})' for resource, flavor in given.flavors.items())}"


def _together(snapshot: Snapshot, given: Assignment) -> str:
    leaves = leaves_of(snapshot, given)
    if not len(leaves):
        return ""
    if len(given.values) == 1:
        return f": {'/'.join(snapshot.tree.path(snapshot.topology.lowest, int(leaves[0])))}"
    level = snapshot.tree.common_level(leaves)
    if level < 0:
        return ", spread over several top-level domains"
    return f", all in {'/'.join(snapshot.tree.path(level, snapshot.tree.ancestor(int(leaves[0]), level)))}"


def snapshot_of(world: World, given: PodSetAssignment) -> Snapshot | None:
    """The snapshot of the flavor that it was placed in."""
    return next((found for name in given.flavors.values() if (found := world.snapshot(name)) is not None), None)


def leaves_of(snapshot: Snapshot, given: Assignment) -> IntArray:
    """The leaves of an assignment that are in the tree; a node may have been deleted since."""
    found = (snapshot.tree.leaf_of.get(path) for path in given.values)
    return np.array([leaf for leaf in found if leaf is not None], dtype=np.int64)


def _domains(one: Workload, indent: str) -> Iterator[str]:
    for given in () if one.status.admission is None else one.status.admission.pod_sets:
        for path, count in () if given.topology is None else given.topology.domains:
            yield f"{indent}{'/'.join(path)}  {number_of(count, 'pod')}"


def _standing(answer: WhatIfAnswer) -> Iterator[str]:
    """Given jobs that were admitted already."""
    moved = {step.workload.key for step in answer.story.steps}
    for key in answer.keys:
        one = answer.workload(key)
        if one.admitted and key not in moved and one.status.admission is not None:
            place = where(answer.world, one)
            yield f"{answer.name_of(key)} is admitted already, to {one.status.admission.queue}: {place}"


def _waiting(answer: WhatIfAnswer, wide: bool) -> Iterator[str]:
    """Workloads of given jobs one by one; others grouped by obstacle."""
    waiting = answer.waiting
    if not waiting:
        return
    yield "pending:"
    groups: dict[tuple[str, str, str], list[tuple[Workload, Obstacle]]] = {}
    for one in waiting:
        said = answer.obstacle(one)
        if one.key in answer.keys or wide:
            yield from _obstacle(answer, str(answer.name_of(one.key)), one, said)
        else:
            groups.setdefault((one.local_queue, said.reason, said.cause or said.message), []).append((one, said))
    yield from _grouped(answer, list(groups.values()))


def _grouped(answer: WhatIfAnswer, groups: list[list[tuple[Workload, Obstacle]]]) -> Iterator[str]:
    for members in groups[:MOST_WAITING]:
        names = [str(answer.name_of(one.key)) for one, _ in members[:NAMED]]
        more = f" and {len(members) - NAMED} more" if len(members) > NAMED else ""
        one, said = next((pair for pair in members if not pair[1].like), members[0])
        yield from _obstacle(answer, ", ".join(names) + more, one, said)
    if len(groups) > MOST_WAITING:
        yield f"  … and {sum(map(len, groups[MOST_WAITING:]))} more; -o wide shows them all"


def _obstacle(answer: WhatIfAnswer, names: str, one: Workload, said: Obstacle) -> Iterator[str]:
    yield f"  {names} in LocalQueue {one.local_queue}: {waits_for(said.reason, said.cause or said.message)}"
    if said.message:
        yield f"    {said.message}" + (f": {answer.name_of(said.like)}: {said.cause}" if said.like else "")
    if said.remedy:
        yield f"    would help: {said.remedy}"


def _inactive(answer: WhatIfAnswer) -> Iterator[str]:
    found = list(inactive_queues(answer))
    if found:
        yield "inactive ClusterQueues:"
    for name, reason, message, remedy in found:
        yield f"  {name}: {reason}: {message.removesuffix('.')}. Would help: {remedy}"


def inactive_queues(answer: WhatIfAnswer) -> Iterator[tuple[str, str, str, str]]:
    for name in answer.world.cluster_queues:
        why = answer.world.inactive(name)
        if why is not None:
            yield name, why.reason, why.message, remedy_for(name, why, answer.obstacles.command)


def _summary(answer: WhatIfAnswer) -> str:
    keys = list(answer.keys)
    admitted = sum(answer.workload(key).admitted for key in keys)
    if not keys:
        text = "no job was given"
    elif len(keys) == 1:
        said = "is admitted" if admitted else "waits"
        text = f"{answer.name_of(keys[0])} {said}"
    elif admitted in (0, len(keys)):
        text = f"all {len(keys)} given jobs {'are admitted' if admitted else 'wait'}"
    else:
        text = f"{admitted} of {len(keys)} given jobs {'is' if admitted == 1 else 'are'} admitted"
    preempted = len({step.workload.key for step in answer.story.steps if step.kind is StepKind.PREEMPTED})
    others = [one for key, one in answer.story.workloads.items() if key not in answer.keys and not one.finished]
    running = sum(one.admitted for one in others)
    if preempted:
        text += f"; {number_of(preempted, 'workload')} {'is' if preempted == 1 else 'are'} preempted"
    return f"{text}; others: {running} run, {len(others) - running} wait" if others else text
