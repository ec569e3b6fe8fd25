"""Kubelets by state: nodes whose reports and later pods are the same are one kubelet, which is asked once.

    report ──base()──▶ state ──after(admit)──▶ state ──after(remove)──▶ state
                         │
                         └── outcome(pod): memoised; the kubelet admits the pod and takes it back

A state is what was reported and what happened since, in order, so it can be rebuilt at any time; a kubelet is kept
while it is in use. What a kubelet says about a pod is a value: the reason, the container, the resources, and the cost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import deepcopy
from itertools import combinations
from typing import NamedTuple

from ..model.numa import NodeZones
from ..model.numa_settings import NodeNuma
from ..numa.admission import NodeAdmission, Verdict
from ..numa.demand import PodDemand
from ..numa.layout import MOST_ZONES, KubeletRules
from ..numa.masks import mask_of, mean_distance
from ..numa.reported import reported_admission
from .zones import HIGHEST

PROBE = "probe"
MOST_OUTCOMES = 200_000
"""Outcomes that are kept before all are forgotten."""
FIRST_LIMIT = 4096
"""States that are kept before those that no node is in are forgotten."""


class KubeletStep(NamedTuple):
    """A pod that was admitted, or the number of the one that is gone."""

    admitted: PodDemand | None
    gone: int = 0


class KubeletState(NamedTuple):
    base: int
    steps: tuple[KubeletStep, ...] = ()


class Outcome(NamedTuple):
    """`reason` is empty if the pod is admitted; `container` None means the pod as a whole."""

    reason: str = ""
    message: str = ""
    container: int | None = None
    resources: tuple[str, ...] = ()
    score: int = 0


class Kubelets:
    def __init__(self) -> None:
        self._bases: dict[Hashable, int] = {}
        self._reports: list[tuple[NodeZones, NodeNuma] | None] = []
        self._numbers: dict[KubeletState, int] = {}
        self._states: dict[int, KubeletState] = {}
        self._kubelets: dict[int, NodeAdmission] = {}
        self._outcomes: dict[tuple[int, PodDemand, tuple[PodDemand, ...]], Outcome] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._states)

    def base(self, report: NodeZones, given: NodeNuma) -> int:
        """The state of a node just as it was reported."""
        key = _likeness(report), given
        number = self._bases.get(key)
        if number is None:
            number = self._bases[key] = len(self._reports)
            self._reports.append((report, given))
        return self._numbered(KubeletState(number))

    def _numbered(self, state: KubeletState) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = self._next
            self._states[number] = state
            self._next += 1
        return number

    def admitted(self, state: int, demand: PodDemand) -> int:
        """The state after the kubelet was given this pod, whether it admits it or not."""
        before = self._states[state]
        return self._numbered(KubeletState(before.base, (*before.steps, KubeletStep(demand))))

    def removed(self, state: int, number: int) -> int:
        """The state after the pod of this step is gone; as reported, if none is left."""
        before = self._states[state]
        steps = (*before.steps, KubeletStep(None, number))
        gone = {one.gone for one in steps if one.admitted is None}
        left = any(at not in gone for at, one in enumerate(steps) if one.admitted is not None)
        return self._numbered(KubeletState(before.base, steps if left else ()))

    def steps(self, state: int) -> int:
        return len(self._states[state].steps)

    def kubelet(self, state: int) -> NodeAdmission:
        found = self._kubelets.get(state)
        if found is None:
            base, steps = self._states[state]
            begin = self._one_before(state)
            report = self._reports[base]
            assert report is not None
            done = 0 if begin is None else len(steps) - 1
            found = self._kubelets[state] = _played(begin or _reported(*report), steps, done)
        return found

    def _one_before(self, state: int) -> NodeAdmission | None:
        """A copy of the kubelet before the last step; None if it is not at hand."""
        base, steps = self._states[state]
        kubelet = self._kubelets.get(self._numbers.get(KubeletState(base, steps[:-1]), -1)) if steps else None
        if kubelet is None:
            return None
        shared = (kubelet.cpus.places, kubelet.merger, kubelet.settings, kubelet.devices.total)
        return deepcopy(kubelet, {id(one): one for one in shared})

    def outcome(self, state: int, demand: PodDemand, before: tuple[PodDemand, ...] = ()) -> Outcome:
        """What the kubelet says about a pod, if it gets those `before` as well."""
        key = state, demand, before
        found = self._outcomes.get(key)
        if found is None:
            if len(self._outcomes) >= MOST_OUTCOMES:
                self._outcomes.clear()
            found = self._outcomes[key] = _asked(self.kubelet(state), demand, before)
        return found

    def keep(self, used: Iterable[int]) -> None:
        """Forget the states that no node is in, and what was said about them."""
        kept = set(used)
        self._states = {number: state for number, state in self._states.items() if number in kept}
        self._numbers = {state: number for number, state in self._states.items()}
        self._kubelets = {number: one for number, one in self._kubelets.items() if number in kept}
        self._outcomes = {key: one for key, one in self._outcomes.items() if key[0] in kept}
        bases = {state.base for state in self._states.values()}
        self._bases = {key: number for key, number in self._bases.items() if number in bases}
        self._reports = [one if number in bases else None for number, one in enumerate(self._reports)]


def _reported(report: NodeZones, given: NodeNuma) -> NodeAdmission:
    return reported_admission(report, KubeletRules.of(given))


def _likeness(report: NodeZones) -> Hashable:
    """What nodes that admit the same pods have in common."""
    zones = (
        (zone.id, tuple(sorted(zone.resources.items())), tuple(sorted(zone.costs.items()))) for zone in report.zones
    )
    return report.manager, tuple(zones)


def _played(kubelet: NodeAdmission, steps: Sequence[KubeletStep], done: int) -> NodeAdmission:
    """The kubelet after these steps, of which some are done."""
    for at, (demand, gone) in enumerate(steps[done:], done):
        if demand is None:
            kubelet.remove(str(gone))
        else:
            kubelet.admit(str(at), demand)
    return kubelet


def _asked(kubelet: NodeAdmission, demand: PodDemand, before: tuple[PodDemand, ...]) -> Outcome:
    for at, one in enumerate(before):
        kubelet.admit(f"{PROBE}-{at}", one)
    whole = _whole_zones(kubelet)
    verdict = kubelet.admit(PROBE, demand)
    if verdict.admitted:
        outcome = Outcome(score=_score(kubelet, verdict, bool(whole - _whole_zones(kubelet))))
    else:
        outcome = Outcome(verdict.reason, verdict.message, verdict.container, _short(verdict))
    for uid in (PROBE, *(f"{PROBE}-{at}" for at in range(len(before)))):
        kubelet.remove(uid)
    return outcome


def _short(verdict: Verdict) -> tuple[str, ...]:
    """The resources of which no single zone had enough; all that were asked for if they only fail together."""
    short = tuple(one.resource for one in verdict.asked if max((left for _, left in one.free), default=0) < one.asked)
    return short or tuple(one.resource for one in verdict.asked)


def _whole_zones(kubelet: NodeAdmission) -> set[int]:
    """The zones none of whose CPUs is in use."""
    cpus = kubelet.cpus
    own = {zone: every & ~cpus.reserved for zone, every in cpus.places.zones.items()}
    return {zone for zone, every in own.items() if every and not every & ~cpus.free}


def _score(kubelet: NodeAdmission, verdict: Verdict, breaks_zone: bool) -> int:
    """Fewest zones first, then the smallest distance, then whole zones kept free: 10 to 0."""
    mask = 0
    for hint in verdict.hints:
        mask |= hint.mask or 0
    if not mask:
        return HIGHEST
    count = mask.bit_count()
    band = 8 if count == 1 else 5 if count == 2 else 2 if count <= 4 else 0
    return band + _is_closest(kubelet, mask) + (not breaks_zone)


def _is_closest(kubelet: NodeAdmission, mask: int) -> bool:
    """Whether no other set of as many zones is closer together."""
    merger = kubelet.merger
    zones, count = merger.zones, mask.bit_count()
    if count == 1 or not merger.distances:
        return True
    if len(zones) > MOST_ZONES:
        return False
    own = mean_distance(mask, merger.distances)
    return all(own <= mean_distance(mask_of(some), merger.distances) for some in combinations(zones, count))
