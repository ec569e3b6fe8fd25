"""The rank of each pod among all processes of its workload, and the host of each rank.

Ranks continue across the pod sets in order, a leader before its workers, as in the files of `model/launch.py`. A pod
with an index has the rank of its index. Other pods get the ranks of the slots of their domain, or any that is free, and
keep them: a pod that replaces another gets a rank that no running pod has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from ..model.launch import RANK
from ..model.pod import Pod
from ..model.shape import whole_number
from ..model.workload import PodSetAssignment, Workload


def in_rank_order(workload: Workload, unranked: Collection[str] = ()) -> list[PodSetAssignment]:
    """What each pod set was assigned, in the order of ranks; without those whose pods only start the others."""
    admission = workload.status.admission
    given = {} if admission is None else {one.name: one for one in admission.pod_sets if one.name not in unranked}
    names: list[str] = []
    for group in workload.request.groups:
        sets = [one.name for one in group.pod_sets if one.name in given]
        names += sorted(sets, key=lambda name: given[name].count) if group.name else sets
    return [given[name] for name in names]


def first_ranks(workload: Workload, unranked: Collection[str] = ()) -> dict[str, int]:
    """The first rank of each pod set that has ranks."""
    firsts, first = {}, 0
    for one in in_rank_order(workload, unranked):
        firsts[one.name] = first
        first += one.count
    return firsts


def rank_of(pod: Pod) -> int | None:
    """The rank that a pod was given when it was ungated."""
    return whole_number(pod.labels.get(RANK, ""))


def hosts_by_rank(workload: Workload, pods: Iterable[Pod], unranked: Collection[str] = ()) -> list[str]:
    """The host of every rank: where its pod was sent, and for ranks without a pod what is left of the assignment.

    With a×1 b×2 assigned and rank 0 on b, the other two are on a and b.
    """
    sets = [one.topology for one in in_rank_order(workload, unranked) if one.topology is not None]
    slots = [path[-1] for topology in sets for path in topology.slots()]
    known = {rank: host for rank, host in _sent(pods, sets[0].levels[-1] if sets else "") if rank < len(slots)}
    free = Counter(slots)
    free.subtract(known.values())
    left = _left(slots, free)
    return [known[rank] if rank in known else next(left, slots[rank]) for rank in range(len(slots))]


def _sent(pods: Iterable[Pod], level: str) -> Iterator[tuple[int, str]]:
    for pod in pods:
        rank = None if pod.gated or pod.ended or pod.deleting else rank_of(pod)
        if rank is not None and rank >= 0 and level in pod.selector:
            yield rank, pod.selector[level]


def _left(slots: list[str], free: Mapping[str, int]) -> Iterator[str]:
    """The hosts in the order of the assignment, each as often as it is free."""
    for host in dict.fromkeys(slots):
        for _ in range(free[host]):
            yield host
