"""What it would take to admit a workload: which quota and room is short, what waiting cannot change, and remedies.

Every remedy was tried against quota and room together, and is offered only if the workload would then be admitted,
alone or together with the additional steps that it names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..engine.explain import Explanation, explain
from ..engine.remedy import Remedy, largest
from ..model.cluster_queue import Preemption
from ..model.request import Constraints, PodSet
from ..model.topology import HOSTNAME
from .decision import Wait
from .leave_to_preempt import leave_to_preempt
from .nominate import Nomination
from .topology import Wanted, pod_set_in, wanted_of
from .trial import Gap, Trial, raising

ALL_MAY_GO = Preemption("LowerOrNewerEqualPriority", "Any")
HIGHEST = 2**31 - 1
BY_DOMAIN = "VictimsByDomain"
CLAIM = re.compile(r'PersistentVolumeClaim "([^"]+)"( does not exist| is not bound| is being deleted|: )')
OF_CLAIMS = {
    " does not exist": "create PersistentVolumeClaim {claim} in namespace {namespace}",
    " is not bound": "provide a PersistentVolume for PersistentVolumeClaim {claim}, or use a StorageClass with "
    "volumeBindingMode WaitForFirstConsumer",
    " is being deleted": "create PersistentVolumeClaim {claim} again once it is gone",
    ": ": "create PersistentVolumeClaim {claim} again: its volume is gone",
}
"""What helps if no node can take the pods because of a claim; it goes before all other changes."""


@dataclass(frozen=True, slots=True)
class Prospects:
    """`never` lists facts that waiting does not change; `numbers` explains the pod counts in Kueue's message.

    `least` names the pod counts that were checked if the workload accepts fewer pods. `first` is what has to be done
    before any change can be tried, and `preemption` why nothing is preempted. With `is_reserved`, nodes that it needs
    are reserved for maintenance, so that it cannot start before that is over, whatever else finishes.
    """

    gaps: tuple[Gap, ...] = ()
    never: tuple[str, ...] = ()
    numbers: str = ""
    rooms: tuple[Explanation, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    least: str = ""
    first: tuple[str, ...] = ()
    preemption: str = ""
    is_reserved: bool = False

    @property
    def may_wait(self) -> bool:
        """Whether it starts once enough other workloads finish."""
        return not self.never and not self.is_reserved


def prospects(whole: Trial, wait: Wait) -> Prospects:
    trial = whole.at_least()
    gaps = tuple(trial.gaps())
    asked = _by_flavor(trial)
    rooms = tuple(_rooms(trial, asked))
    remedies = [remedy for room in rooms for remedy in room.remedies]
    empty = [name for name in asked if _is_empty(trial, name)]
    never = [*_beyond_quota(trial, gaps), *_without_nodes(trial, empty), *_beyond_room(rooms)]
    is_reserved = any(room.is_reserved for room in rooms)
    if not trial.works():
        if not rooms:
            remedies += _of_quota(trial, gaps)
        remedies += _by_gates(trial)
    return Prospects(
        gaps,
        tuple(never),
        _numbers(wait),
        rooms,
        tuple(remedies),
        _least(whole, trial),
        (*_claims(trial, wait), *_labels(trial, empty)),
        "" if never or is_reserved else leave_to_preempt(trial),
        is_reserved,
    )


def _claims(trial: Trial, wait: Wait) -> Iterator[str]:
    """What has to be done about a claim because of which no node can take the pods."""
    found = CLAIM.search(wait.message)
    if found is not None:
        yield OF_CLAIMS[found[2]].format(claim=found[1], namespace=trial.one.namespace)


def _least(whole: Trial, trial: Trial) -> str:
    pairs = zip(trial.one.request.pod_sets, whole.one.request.pod_sets, strict=True)
    fewer = [f"{few.count} of {all_.count} pods of {few.name}" for few, all_ in pairs]
    return f"it accepts fewer pods; checked with its minimum: {', '.join(fewer)}" if trial is not whole else ""


def _by_flavor(trial: Trial) -> Wanted:
    """What has to be placed, by the flavor that was tried."""
    found: dict[str, list[PodSet]] = {}
    sets = {one.name: one for one in trial.one.request.pod_sets}
    for part in trial.one.parts:
        names = [trial.flavors.get((part.name, key)) for key in (*part.requests, "")]
        flavor = next((name for name in names if name is not None and name in trial.world.views), None)
        if flavor is not None:
            pod_set = sets[part.name]
            found.setdefault(flavor, []).append(pod_set_in(trial.world, trial.one, pod_set, pod_set.count, flavor))
    return wanted_of(trial.one.request, found)


def _rooms(trial: Trial, asked: Wanted) -> Iterator[Explanation]:
    """Why the pods do not fit now, flavor by flavor."""
    for flavor, request in asked.items():
        snapshot = trial.world.snapshot(flavor)
        assert snapshot is not None
        found = explain(snapshot, request, trial.world.policy, trial.admits)
        if isinstance(found, Explanation):
            yield found


# What waiting does not change


def _beyond_quota(trial: Trial, gaps: tuple[Gap, ...]) -> Iterator[str]:
    for gap in gaps:
        if gap.is_final:
            borrowed = ", borrowing included" if trial.queue.cohort else ""
            yield (
                f"it requests {gap.amount(gap.need)} {gap.what}, but ClusterQueue {trial.queue.name} never has more "
                f"than {gap.amount(gap.most)}{borrowed}"
            )


def _is_empty(trial: Trial, flavor: str) -> bool:
    snapshot = trial.world.snapshot(flavor)
    return snapshot is not None and not len(snapshot.rows)


def _without_nodes(trial: Trial, empty: Iterable[str]) -> Iterator[str]:
    for name in empty:
        wanted, levels = _lacking(trial, name)
        selected = [f"the labels {', '.join(f'{key}={value}' for key, value in wanted)}"] if wanted else []
        keyed = [f"the levels of its Topology: {', '.join(levels)}"] if levels else []
        yield f"flavor {name} has no nodes: no node has {' and '.join([*selected, *keyed])}"


def _labels(trial: Trial, empty: Iterable[str]) -> Iterator[str]:
    """The labels that make a node part of the flavor, except the hostname, which every node has."""
    for name in empty:
        wanted, levels = _lacking(trial, name)
        keyed = [f"{level}=…" for level in levels if level != HOSTNAME]
        words = " ".join([*(f"{key}={value}" for key, value in wanted), *keyed])
        if words:
            yield f"label the nodes of flavor {name}: kubectl label node NODE {words}"


def _lacking(trial: Trial, flavor: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The labels of the flavor and the levels of its topology that no node has; all if each is on some node."""
    nodes = [node.labels for node in trial.world.nodes.values()]
    labels, levels = sorted(trial.world.flavors[flavor].labels.items()), list(_levels(trial, flavor))
    wanted = [one for one in labels if not any(one in node.items() for node in nodes)]
    keyed = [one for one in levels if not any(one in node for node in nodes)]
    return (wanted, keyed) if wanted or keyed else (labels, levels)


def _levels(trial: Trial, flavor: str) -> tuple[str, ...]:
    snapshot = trial.world.snapshot(flavor)
    return () if snapshot is None else snapshot.topology.levels


def _beyond_room(rooms: tuple[Explanation, ...]) -> Iterator[str]:
    for room in rooms:
        if room.never is not None and room.levels:
            yield f"its pods would not fit even if all usable nodes were empty: {room.never}"


def _numbers(wait: Wait) -> str:
    """What the pod counts in Kueue's message refer to: it does not say so itself."""
    if wait.reason != "TopologyPlacementFailed" or wait.plan is None or wait.plan.waits_for_tighter:
        return ""
    match sum(reason.startswith("topology ") for one in wait.plan.pod_sets for reason in set(one.reasons)):
        case 0:
            return ""
        case 1:
            return "the message counts pods as if no other workload ran"
        case _:
            return "the message counts pods twice: as if no other workload ran, and with what runs now"


# Remedies where only quota is short


def _of_quota(trial: Trial, gaps: tuple[Gap, ...]) -> Iterator[Remedy]:
    least = _fewer(trial)
    if least is not None:
        yield least
    if gaps:
        with trial.raised(gaps):
            helps = trial.works()
        if helps:
            yield Remedy("quota", mode=raising(gaps, trial.queue))
    urgent = replace(trial.one, priority=HIGHEST)
    if trial.works(urgent):
        yield Remedy("priority", mode=f"give it a higher priority: {_victims(trial)}")
    elif trial.queue.preemption != ALL_MAY_GO:
        with trial.instead(replace(trial.queue, preemption=ALL_MAY_GO)):
            helps = trial.works()
        if helps:
            yield Remedy("preemption", mode=f"let ClusterQueue {trial.queue.name} preempt (spec.preemption)")


def _by_gates(trial: Trial) -> Iterator[Remedy]:
    """Our gates that are off and would help."""
    if BY_DOMAIN in trial.world.gates:
        return
    with trial.gated(BY_DOMAIN):
        found = trial.nomination()
    if found.works:
        yield Remedy("gate", mode=f"turn on the gate {BY_DOMAIN}: {_may_preempt(found)}")


def _victims(trial: Trial) -> str:
    return _may_preempt(trial.nomination(replace(trial.one, priority=HIGHEST)))


def _may_preempt(found: Nomination) -> str:
    names = [victim.holding.key for victim in found.victims]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"it may then preempt {', '.join(names[:3])}{more}"


def _fewer(trial: Trial) -> Remedy | None:
    """The largest number of pods of its largest pod set that would be admitted."""
    pod_set, constraints = max(trial.one.request.walk(), key=lambda one: one[0].count)
    size, count = _size(constraints), pod_set.count

    def works(number: int) -> bool:
        return trial.works(trial.changed([replace(pod_set, count=number * size)]))

    most = largest((count - 1) // size, works)
    return Remedy("fewer", pods=most * size, count=count) if most else None


def _size(constraints: Constraints) -> int:
    """The slice size, since pods come in whole slices."""
    return next((one.slices[0].size or 1 for one in constraints if one.slices), 1)
