"""LeaderWorkerSet: a group for each replica, with the leader and its workers as sub-groups.

Workers may be divided into segments. If the workers divide evenly, the leader is an extra member of segment 0, else
its first pod; with the policy LeaderExcluded it is a sub-group of its own:

    size 5, segments of 2   L 1 2 │ 3 4      size 4   L 1 │ 2 3      LeaderExcluded, size 5   L │ 1 2 │ 3 4

With an exclusive topology the replicas have to know of one another, so that they are one group, of which one replica
has to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ....field import Field
from ....kueue.jobs.kinds.leader_worker_set import GROUP_INDEX, WORKER_INDEX
from ....kueue.jobs.kinds.serving import replicas
from ....node_choice import one_of
from ... import keys
from ..exclusive import exclusive_constraint
from ..plan import (
    MOST_PODS,
    GroupKind,
    GroupPlan,
    Naming,
    Owned,
    PlannedGroup,
    Raw,
    first_note,
    labels,
    name_of,
    notes,
    number_of,
    one_for_all,
    planned,
    whole_number,
)
from ..segments import Segments, cut, segment_constraint

LEADER, WORKERS, SEGMENT = "leader", "workers", "segment"
POLICIES = ("LeaderWorker", "LeaderExcluded")
STARTS = ("LeaderCreated", "LeaderReady")


def naming(owned: Owned) -> Naming:
    return one_for_all(owned) if _is_exclusive(owned) else lambda pod: _replica_name(owned, pod)


def _replica_name(owned: Owned, pod: Field) -> str:
    index = labels(pod).at(GROUP_INDEX).text()
    return f"{owned.whole}-group-{index}" if index else owned.whole


def plan(owned: Owned) -> GroupPlan:
    size = _size(owned.owner)
    start = owned.owner.at("spec", "startupPolicy")
    if start.given:
        one_of(start, STARTS)
    if start.text() == STARTS[1] and _only_leader(owned.pods):
        return GroupPlan(1, entries=(PlannedGroup(LEADER, min_member=1),), join=lambda _pod: LEADER)
    policy = owned.owner.at("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType")
    if policy.given:
        one_of(policy, POLICIES)
    replica = _Replica(size, _segments(owned, size), excluded=policy.text() == POLICIES[1])
    if replica.segments is not None and replica.excluded and (size - 1) % replica.segments.size:
        policy.wrong(f"needs workers that divide into segments, and {size - 1} do not", "change the size")
    if _is_exclusive(owned):
        return _exclusive(owned, replica)
    return GroupPlan(size, entries=tuple(replica.entries), join=replica.join)


class _Replica:
    """A leader and its workers: `size` pods."""

    def __init__(self, size: int, segments: Segments | None, excluded: bool) -> None:
        self.size, self.segments, self.excluded = size, segments, excluded

    @property
    def entries(self) -> list[PlannedGroup]:
        leader, segments = PlannedGroup(LEADER, min_member=1), self.segments
        if segments is None:
            return [leader, *([PlannedGroup(WORKERS, min_member=self.size - 1)] if self.size > 1 else [])]
        if self.excluded:
            return [leader, *cut(segments, self.size - 1, "", SEGMENT)]
        first, *others = cut(segments, self.size - self._extra, "", SEGMENT)
        workers = (first.min_member or 0) + self._extra - 1
        inside = [replace(leader, parent=first.name), PlannedGroup(WORKERS, first.name, workers)]
        return [replace(first, min_member=None, min_sub_group=len(inside)), *others, *inside]

    @property
    def _extra(self) -> int:
        """1 if segments are counted without the leader."""
        assert self.segments is not None
        return 1 if (self.size - 1) % self.segments.size == 0 else 0

    def join(self, pod: Field) -> str:
        if self.segments is None:
            return LEADER if labels(pod).at(WORKER_INDEX).text() == "0" else WORKERS
        index = number_of(pod, WORKER_INDEX)
        if not index:
            return LEADER if index == 0 else ""
        segment = (index - self._extra) // self.segments.size
        return f"{SEGMENT}-{segment}" if segment or self.excluded else WORKERS


def _size(owner: Field) -> int:
    return owner.at("spec", "leaderWorkerTemplate", "size").count(1, least=1)


def _only_leader(pods: tuple[Field, ...]) -> bool:
    """Whether the leader waits for its node, and its workers are not created before it is ready."""
    if len(pods) != 1 or pods[0].at("spec", "nodeName").text():
        return False
    return labels(pods[0]).at(WORKER_INDEX).text() == "0"


def _segments(owned: Owned, size: int) -> Segments | None:
    """The segments: by the set's own policy, the annotation of the set, or that of the worker template."""
    template = owned.owner.at("spec", "leaderWorkerTemplate", "workerTemplate")
    policy = owned.owner.at("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    note = first_note(keys.SEGMENT_SIZE, *owned.places, notes(template))
    if not policy.given and not note.given:
        return None
    wanted = policy.count(2, least=2) if policy.given else whole_number(note, 2)
    if wanted is not None and wanted > size:
        (policy if policy.given else note).wrong(f"is {wanted}, more than the {size} pods of a replica", "lower it")
        return None
    pods = [pod for pod in owned.pods if labels(pod).at(WORKER_INDEX).text() != "0"]
    places = [*(notes(pod) for pod in pods[:1]), notes(template), *owned.places]
    bounds = segment_constraint(places, owned.note(keys.TOPOLOGY).text())
    return None if wanted is None else Segments(wanted, bounds)


def _is_exclusive(owned: Owned) -> bool:
    return bool(owned.note(keys.LWS_EXCLUSIVE).text()) and not owned.like_kai


def _exclusive(owned: Owned, replica: _Replica) -> GroupPlan:
    """All replicas in one group, apart; the sub-groups of replica 1 are `group-1-leader` and so on."""
    level, copies = owned.note(keys.LWS_EXCLUSIVE), replicas(owned.owner)
    bounds = exclusive_constraint(owned, level)
    inside = replica.entries
    outermost = sum(not entry.parent for entry in inside)
    entries = []
    for index in range(copies):
        group = f"group-{index}"
        entries.append(PlannedGroup(group, min_sub_group=outermost, constraint=bounds))
        for entry in inside:
            parent = f"{group}-{entry.parent}" if entry.parent else group
            entries.append(replace(entry, name=f"{group}-{entry.name}", parent=parent))

    def join(pod: Field) -> str:
        index, within = number_of(pod, GROUP_INDEX), replica.join(pod)
        return "" if index is None or not within else f"group-{index}-{within}"

    apart = level.text() if copies > 1 else ""
    topology = {"topology": bounds["topology"]} if bounds and apart else None
    return GroupPlan(min_sub_group=1, entries=tuple(entries), join=join, apart=apart, constraint=topology)


def pods(owner: Field) -> Iterator[Raw]:
    group, size, copies = owner.at("spec", "leaderWorkerTemplate"), _size(owner), replicas(owner)
    if size * copies > MOST_PODS:
        owner.at("spec", "replicas").wrong(f"makes {size * copies} pods", f"at most {MOST_PODS} are supported")
        return
    leader = group.at("leaderTemplate")
    for index in range(copies):
        for worker in range(size):
            template = leader if leader.given and not worker else group.at("workerTemplate")
            marks = {GROUP_INDEX: str(index), WORKER_INDEX: str(worker)}
            yield planned(owner, template, f"{name_of(owner)}-{index}{f'-{worker}' if worker else ''}", marks)


LEADER_WORKER_SET = GroupKind(plan=plan, naming=naming, pods=pods, numbered=True, kai_segments=True)
