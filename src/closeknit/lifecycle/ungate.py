"""Ungating: remove the topology gate of pods and send each one to its place in the assignment of its pod set.

A pod with a rank gets the slot of that rank, so that neighbours in rank are neighbours in the tree. That requires all
pods of the set to be consistent: ranks that are integers, in range and distinct, and earlier pods on the domains of
their ranks. Otherwise the whole set is filled greedily: free slots of each domain go to the waiting pods in order.

    a×2 b×1                        ranks 0 1 2 → a a b
    a×2 b×1, rank 1 is on b        b is full, so 0 and 2 both go to a

Pods whose ungating is in flight would look like free places, so nothing is done until it is observed.

Where NUMA zones are known, pods of different shapes on one host start in the order in which they were planned: a pod is
kept back until those before it are admitted by their kubelet.

A pod set that is placed replica by replica has its places in that order. Each replica is handled by itself: its pods go
only to its own places.

A pod set that has lost a host gets other places in the scheduler's second pass. Filling it greedily before that could
conflict: places of finished pods look free here, and the second pass may use them too, or evict the workload. With the
gate ReuseFinishedPlaces such a pod set waits for the second pass; in Kueue it does not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, islice, pairwise
from operator import attrgetter
from typing import NamedTuple

from ..model.assignment import Assignment
from ..model.gates import Gates
from ..model.numa import AmountsByZone
from ..model.pod import Pod
from ..model.request import Ranks
from ..model.shape import whole_number
from ..model.topology import HOSTNAME
from ..model.workload import Admission, Workload
from .action import Action, GiveUp, Requeue, Ungate
from .ranks import first_ranks, rank_of

BATCH = 1.0
"""Seconds for which changes to the pods of one workload are batched."""

PENDING = "pending ungate operations"
EARLIER = "pods that start earlier on the same host"
BAD_OFFSET = "failed to parse offset annotation"


@dataclass(frozen=True, slots=True)
class UngateView:
    """`pods` in the order in which they are to be ungated; pods of other workloads are ignored.

    `under_way` has the uids of pods whose ungating is in flight. `family` is the name that the slices of an elastic
    workload share, or "" for the workload's own name. `gates` are the enabled feature gates. Pods of the pod sets
    `unranked` have no rank. `turns` tells for each pod set what its hosts wait for.
    """

    workload: Workload
    pods: Sequence[Pod]
    under_way: Collection[str] = ()
    family: str = ""
    gates: Gates = field(default_factory=lambda: Gates(frozenset()))
    unranked: Collection[str] = ()
    turns: Mapping[str, Turns] = field(default_factory=dict)


class StartTurn(NamedTuple):
    """Whether pods of a pod set may start on a host now, and the zones that its next pods are expected to get.

    Where pods of different shapes share the NUMA zones of a host, they start in the planned order. While it is
    strict, a pod for which no zones are expected is kept back.
    """

    is_now: bool
    zones: Sequence[AmountsByZone] = ()
    is_strict: bool = False


Turns = Mapping[str, StartTurn]
"""By host; on any other host pods may start."""


class Span(NamedTuple):
    """The range of pod indexes of a pod set: from `first` to below `bound`."""

    first: int
    bound: int


class Section(NamedTuple):
    """Pods with places of their own: those of a pod set, or of one of its replicas.

    `size` is how many ranks there are, and `first` how many places of the pod set come before these.
    """

    pods: Sequence[Pod]
    topology: Assignment
    ranks: Ranks
    size: int
    span: Span
    first: int = 0


def ungate(view: UngateView, now: float) -> list[Action]:
    """Which pods to ungate, and for which domains."""
    admission = view.workload.status.admission
    if admission is None or not view.workload.admitted:
        return []
    if view.under_way:
        return [Requeue(now + BATCH, PENDING)]
    actions: list[Action] = []
    unhealthy = set(view.workload.status.unhealthy)
    ranks = {one.name: one.ranks for one in view.workload.request.pod_sets}
    spans = _spans(view.workload, admission)
    firsts = first_ranks(view.workload, view.unranked) if "PlacesOnPods" in view.gates else {}
    pods = _by_pod_set(view)
    for given in admission.pod_sets:
        listed = pods.get(given.name)
        if given.topology is None or not listed:
            continue
        span = _shifted(spans[given.name], listed[0].index_offset)
        if span is None:
            return [GiveUp(BAD_OFFSET)]
        whole = Section(listed, given.topology, ranks.get(given.name, Ranks()), given.count, span)
        for one in _by_replica(whole, _replica_size(view, given.name)):
            first = firsts[given.name] + one.first if given.name in firsts else None
            actions += _sent(one, view.gates, unhealthy, first)
    return _in_turn(actions, view.turns, now) if view.turns else actions


def _in_turn(actions: Iterable[Action], turns: Mapping[str, Turns], now: float) -> list[Action]:
    """Keep back pods whose turn is later; the others are told their zones."""
    found: list[Action] = []
    zones = {(name, host): iter(turn.zones) for name, hosts in turns.items() for host, turn in hosts.items()}
    waits = False
    for action in actions:
        if isinstance(action, Ungate):
            at = action.pod.pod_set, action.selector.get(HOSTNAME, "")
            turn = turns.get(at[0], {}).get(at[1])
            expected = next(zones[at], None) if turn is not None else {}
            if turn is not None and (not turn.is_now or (turn.is_strict and expected is None)):
                waits = True
                continue
            action = replace(action, zones=expected or {})
        found.append(action)
    return [*found, Requeue(now + BATCH, EARLIER)] if waits else found


def _sent(one: Section, gates: Gates, unhealthy: set[str], first: int | None) -> Iterator[Ungate]:
    """The pods of a section to ungate; `first` is the rank of its first place, if its pods get ranks."""
    places = _by_rank(one.pods, one.ranks, one.size, one.span, one.topology)
    if places is None and _awaits_second_pass(gates, one.topology, unhealthy):
        return
    placed = _greedily(one.pods, one.topology) if places is None else zip(one.pods, places, strict=True)
    let_go = _let_go(placed, one.topology, unhealthy)
    if first is not None:
        has_index = one.ranks.index_label
        indexes = {pod.uid: _rank(pod, one.ranks, one.size, one.span) for pod in one.pods} if has_index else {}
        let_go = _numbered(let_go, indexes, one.pods, one.topology, first)
    yield from let_go


def _by_pod_set(view: UngateView) -> dict[str, list[Pod]]:
    """The workload's pods that have not ended; terminating pods still occupy their place."""
    family = view.family or view.workload.name
    found: dict[str, list[Pod]] = {}
    for pod in view.pods:
        if pod.family == family and pod.namespace == view.workload.namespace and not pod.ended:
            found.setdefault(pod.pod_set, []).append(pod)
    return found


def _awaits_second_pass(gates: Gates, topology: Assignment, unhealthy: set[str]) -> bool:
    lost = topology.by_host and any(path[-1] in unhealthy for path in topology.values)
    return lost and "ReuseFinishedPlaces" in gates


def _let_go(placed: Iterable[tuple[Pod, int]], topology: Assignment, unhealthy: set[str]) -> Iterator[Ungate]:
    """Ungate pods, except those for a failed host: they wait until it is replaced."""
    selectors: dict[int, Mapping[str, str]] = {}
    for pod, domain in placed:
        path = topology.values[domain]
        if not pod.gated or (topology.by_host and path[-1] in unhealthy):
            continue
        if domain not in selectors:
            selectors[domain] = dict(zip(topology.levels, path, strict=True))
        yield Ungate(pod, selectors[domain])


def _numbered(
    ungated: Iterable[Ungate],
    indexes: Mapping[str, int | None],
    pods: Sequence[Pod],
    topology: Assignment,
    first: int,
) -> Iterator[Ungate]:
    """Add the rank of each pod: by its index, otherwise that of a free slot in its domain, or any that is free."""
    taken = {rank for pod in pods if not pod.gated and not pod.deleting and (rank := rank_of(pod)) is not None}
    taken |= {first + index for index in indexes.values() if index is not None}
    ends = [first, *(first + end for end in accumulate(topology.counts))]
    slots = {path: iter(range(*pair)) for path, pair in zip(topology.values, pairwise(ends), strict=True)}
    rest = iter(range(first, ends[-1]))
    for one in ungated:
        index = indexes.get(one.pod.uid)
        if index is not None:
            yield replace(one, rank=first + index)
            continue
        own = slots[tuple(one.selector.values())]
        rank = next((slot for slot in chain(own, rest) if slot not in taken), None)
        if rank is not None:
            taken.add(rank)
        yield replace(one, rank=rank)


# By replica


def _replica_size(view: UngateView, name: str) -> int:
    """The pods of each replica, if the pod set is placed replica by replica; else 0."""
    constraints = view.workload.request.constraints(name) if "PlacementPerReplica" in view.gates else ()
    return next((one.replicas.size for one in constraints if one.replicas is not None), 0)


def _by_replica(whole: Section, size: int) -> list[Section]:
    """A section for each replica, so that its pods go only to its own places; one if a pod's replica is unknown."""
    crews: dict[int, list[Pod]] = {}
    for pod in whole.pods if size else ():
        replica = _below(pod, whole.ranks.group_label, whole.ranks.group_count or 0)
        if replica is None:
            return [whole]
        crews.setdefault(replica, []).append(pod)
    if not crews:
        return [whole]
    runs, alone = whole.topology.cut(size), Ranks(whole.ranks.index_label)
    return [
        Section(crews[replica], runs[at], alone, runs[at].pods, Span(0, runs[at].pods), at * size)
        for replica, at in _homes(crews, runs)
    ]


def _homes(crews: Mapping[int, Sequence[Pod]], runs: Sequence[Assignment]) -> Iterator[tuple[int, int]]:
    """The run of places of each replica: its own, by number.

    If some replicas have finished there are fewer runs. Then a replica has the run on which its pods are, or one that
    is left.
    """
    if max(crews) < len(runs):
        yield from ((replica, replica) for replica in crews)
        return
    left = list(range(len(runs)))
    on = {one: {_sits(pod, runs[0]) for pod in crews[one] if not pod.gated} for one in crews} if runs else {}
    for replica in sorted(on, key=lambda one: (not on[one], one)):
        at = next((at for at in left if not on[replica].isdisjoint(runs[at].values)), left[0] if left else None)
        if at is not None:
            left.remove(at)
            yield replica, at


# By rank


def _spans(workload: Workload, admission: Admission) -> dict[str, Span]:
    """Pod indexes continue across the pod sets of a group, the smallest first: a leader comes before its workers."""
    spans = {given.name: Span(0, given.count) for given in admission.pod_sets}
    for members in workload.request.numbered:
        names, first = {one.name for one in members}, 0
        for given in sorted((one for one in admission.pod_sets if one.name in names), key=attrgetter("count")):
            spans[given.name] = Span(first, first + given.count)
            first += given.count
    return spans


def _shifted(span: Span, offset: str) -> Span | None:
    """Shift the span by the first pod's offset annotation; None if that is not a number."""
    more = whole_number(offset) if offset else 0
    return None if more is None else Span(span.first + more, span.bound + more)


def _by_rank(pods: Sequence[Pod], ranks: Ranks, count: int, span: Span, topology: Assignment) -> list[int] | None:
    """The domain index of each pod by its rank; None if any pod is inconsistent."""
    if not ranks.index_label:
        return None
    ends = list(accumulate(topology.counts))
    places: list[int] = []
    taken: set[int] = set()
    for pod in pods:
        rank = _rank(pod, ranks, count, span)
        if rank is None or rank in taken or not 0 <= rank < min(count, ends[-1] if ends else 0):
            return None
        taken.add(rank)
        domain = bisect_right(ends, rank)
        if not pod.gated and _sits(pod, topology) != topology.values[domain]:
            return None
        places.append(domain)
    return places


def _rank(pod: Pod, ranks: Ranks, count: int, span: Span) -> int | None:
    """In a job made of jobs, pod indexes restart in each of them: with 2 jobs of 3 pods, pod 1 of job 1 has rank 4."""
    index = _below(pod, ranks.index_label, span.bound)
    if index is None or not ranks.group_label:
        return None if index is None else index - span.first
    groups = ranks.group_count or 0
    size = count // groups if groups > 0 else 0
    group = _below(pod, ranks.group_label, groups)
    return None if group is None or index >= size else index + group * size - span.first


def _below(pod: Pod, label: str | None, bound: int) -> int | None:
    """The number in a label, without a sign, if it is below the bound."""
    text = pod.labels.get(label or "", "")
    number = whole_number(text) if text.isdigit() else None
    return number if number is not None and number < bound else None


def _sits(pod: Pod, topology: Assignment) -> tuple[str, ...]:
    """The domain that a pod was ungated for."""
    return tuple(pod.selector.get(level, "") for level in topology.levels)


# Greedily


def _greedily(pods: Sequence[Pod], topology: Assignment) -> Iterator[tuple[Pod, int]]:
    taken = Counter(_sits(pod, topology) for pod in pods if not pod.gated)
    waiting = (pod for pod in pods if pod.gated)
    for domain, (path, count) in enumerate(topology.domains):
        here = min(count, taken[path])
        taken[path] -= here
        for pod in islice(waiting, count - here):
            yield pod, domain


# Ungating in flight


@dataclass(slots=True)
class Expectations:
    """Ungating in flight, by workload.

        expect()              observe(): seen without its gate, or gone; or the write failed, or changed nothing
    ∅ ───────────▶ in flight ─────────────────────────────────────────────────────────────────────────────▶ ∅
    """

    _uids: dict[str, set[str]] = field(default_factory=dict)
    _workloads: dict[str, str] = field(default_factory=dict)

    def expect(self, workload: str, uids: Iterable[str]) -> None:
        for uid in uids:
            self.observe(uid)
            self._uids.setdefault(workload, set()).add(uid)
            self._workloads[uid] = workload

    def observe(self, uid: str) -> None:
        """Record that a pod was observed; pods that were not expected are ignored."""
        workload = self._workloads.pop(uid, None)
        if workload is not None:
            self._uids[workload].discard(uid)
            if not self._uids[workload]:
                del self._uids[workload]

    def under_way(self, workload: str) -> frozenset[str]:
        return frozenset(self._uids.get(workload, ()))
