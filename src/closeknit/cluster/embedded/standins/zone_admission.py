"""Admission of pods on a simulated node with NUMA zones, as the kubelet's topology manager does it.

    bound ──admission time──▶ admitted: status.startTime, annotation closeknit.dev/numa-held
                         └──▶ Failed, with the kubelet's reason and message, and a Warning event

Pods are admitted one after another in the order in which they were bound. Nothing is kept in memory: what a pod holds
is written on the pod in the same write that says it is admitted, and the state of a node is computed from its pods. So
a host that is killed at any point continues exactly where it was. That costs a pass over the pods of one node per
admission; nodes without zones never come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ....dialects import core
from ....dialects.simulated_zones import NUMA, annotated_zones
from ....dialects.timestamps import stamp
from ....dialects.zone_holdings import HELD, HeldZones, read, written
from ....model.quantity import QuantityError
from ....model.resources import amounts
from ....numa.admission import NodeAdmission, Verdict
from ....numa.demand import PodDemand
from ....numa.holding import container_zones, holding_of, put_back
from ....numa.pod_needs import PodNeeds
from ....numa.simulated import SimulatedZones
from ...kinds import POD
from ...port import Raw, Update, Write
from .children import event, is_deleting, is_ended, phase


def zones_on(node: Raw) -> SimulatedZones | None:
    """The NUMA zones of a node; None if it has none, ValueError if its annotation is invalid."""
    text = (node["metadata"].get("annotations") or {}).get(NUMA)
    if text is None:
        return None
    status = node.get("status") or {}
    try:
        room = [amounts(status[part]) if part in status else None for part in ("allocatable", "capacity")]
    except (QuantityError, ValueError, TypeError) as error:
        raise ValueError(f"the node's amounts cannot be read: {error}") from None
    return annotated_zones(text, room[0] or {}, room[1])


def is_admitted(pod: Raw) -> bool:
    return "startTime" in (pod.get("status") or {})


def is_active(pod: Raw) -> bool:
    """Whether the pod was admitted and has not ended: the kubelet reports it, and it holds what it got."""
    return is_admitted(pod) and not is_ended(pod)


def held_by(pod: Raw) -> HeldZones:
    """What the pod holds; memory of its init containers only until the others run."""
    found = read(pod["metadata"].get("annotations") or {})
    return found if phase(pod) != "Running" else found._replace(holding=found.holding.started)


def kubelet_of(zones: SimulatedZones, pods: Iterable[Raw]) -> NodeAdmission:
    """The kubelet of a node with what its pods hold taken, in an order that is the same after a restart."""
    kubelet = zones.admission()
    for pod in sorted(filter(is_active, pods), key=_admitted):
        put_back(kubelet, pod["metadata"]["uid"], held_by(pod).holding)
    return kubelet


def _admitted(pod: Raw) -> tuple[str, str, str]:
    return pod["status"]["startTime"], pod["metadata"]["namespace"], pod["metadata"]["name"]


def admissions(zones: SimulatedZones, pods: Iterable[Raw], waiting: Iterable[Raw], now: float) -> Iterator[Write]:
    """Admit or refuse the waiting ones of a node's pods, in their order."""
    kubelet = kubelet_of(zones, pods)
    for pod in waiting:
        yield from _decided(kubelet, zones, pod, now)


def waiting_before(pods: Iterable[Raw], last: Raw) -> list[Raw]:
    """This pod of a node, and before it the waiting ones that were bound before."""
    return sorted((pod for pod in pods if waits(pod) and _bound(pod) <= _bound(last)), key=_bound)


def waits(pod: Raw) -> bool:
    return not is_admitted(pod) and not is_ended(pod) and not is_deleting(pod)


def _bound(pod: Raw) -> int:
    """The version of a pod that waits is that of its binding, for no one has written to it since."""
    return int(pod["metadata"]["resourceVersion"])


def _decided(kubelet: NodeAdmission, zones: SimulatedZones, pod: Raw, now: float) -> Iterator[Write]:
    meta = pod["metadata"]
    shape = core.shape(msgspec.convert(pod["spec"], core.PodSpec))
    demand = PodDemand.of(shape.containers, shape.pod_level)
    verdict = kubelet.admit(meta["uid"], demand)
    status = {**(pod.get("status") or {}), "startTime": stamp(now)}
    if verdict.admitted:
        held = written(_held(kubelet, zones, pod, demand, verdict, PodNeeds.of(shape)))
        noted = {**meta, "annotations": {**(meta.get("annotations") or {}), HELD: held}}
        yield Update(POD, {**pod, "metadata": noted, "status": status}, "status")
    else:
        why = {"phase": "Failed", "reason": verdict.reason, "message": f"Pod was rejected: {verdict.message}"}
        yield Update(POD, {**pod, "status": {**status, **why}}, "status")
        yield event(POD, pod, verdict.reason, verdict.message, now, by="kubelet", warning=True)


def _held(
    kubelet: NodeAdmission, zones: SimulatedZones, pod: Raw, demand: PodDemand, verdict: Verdict, needs: PodNeeds
) -> HeldZones:
    holding = holding_of(kubelet, pod["metadata"]["uid"])
    names = [one["name"] for part in ("initContainers", "containers") for one in pod["spec"].get(part) or ()]
    found = zip(names, demand.containers, container_zones(kubelet, demand, verdict, holding), strict=True)
    pinned = {
        name: zone
        for name, container, zone in found
        if container.kind != "init" and needs.exclusive(container, zones.resources)
    }
    return HeldZones(holding, pinned)
