"""Whether kubelets would admit the pods of a job: lines and data of `closeknit numa check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..model.container import Container
from ..model.numa import NodeZones
from ..model.request import PodSet
from ..model.resources import CPU, show
from ..numa.admission import Shortage, Verdict
from ..numa.demand import MILLI, PodDemand
from ..numa.masks import zones_of
from ..numa.reported import reported_admission, unknown
from ..numa.zone_names import zone_name


@dataclass(frozen=True)
class NodeAnswer:
    """How many pods of a pod set a node admits one after another, at most as many as there are.

    `first` is about the first pod; `last` about the one that the node refuses, None if it admits them all.
    """

    node: NodeZones
    admits: int
    first: Verdict
    last: Verdict | None

    @property
    def zones(self) -> list[str]:
        """The zones that the first pod is expected in."""
        masks = [hint.mask for hint in self.first.hints if hint.mask is not None]
        return [_named(zone) for zone in sorted({zone for mask in masks for zone in zones_of(mask)})]


def ask(node: NodeZones, pods: PodSet) -> NodeAnswer:
    """Let a node admit the pods of a pod set, one after another."""
    kubelet = reported_admission(node)
    demand = PodDemand.of_shape(pods.shape)
    verdicts: list[Verdict] = []
    for number in range(pods.count):
        verdicts.append(kubelet.admit(str(number), demand))
        if not verdicts[-1].admitted:
            return NodeAnswer(node, number, verdicts[0], verdicts[-1])
    return NodeAnswer(node, len(verdicts), verdicts[0] if verdicts else Verdict(), None)


def answer_lines(pods: PodSet, answers: Sequence[NodeAnswer]) -> Iterator[str]:
    """A table of nodes; below each that refuses the first pod, what its zones lack."""
    width = max((len(one.node.node) for one in answers), default=4)
    yield f"  {'NODE':{width}}  ADMITS  POLICY                       ZONES OF THE FIRST POD"
    for one in answers:
        manager = one.node.manager
        policy = f"{manager.policy}, {manager.scope}" if manager.policy != "none" else "none"
        zones = " ".join(one.zones) or ("-" if not one.first.admitted else "any")
        yield f"  {one.node.node:{width}}  {one.admits:>3}/{pods.count:<3} {policy:27}  {zones}"
        if one.last is not None:
            yield from (f"  {'':{width}}  {line}" for line in refusal_lines(pods.shape.containers, one.last))
        for what in unknown(one.node):
            yield f"  {'':{width}}  not reported: {what}"


def refusal_lines(containers: Sequence[Container], verdict: Verdict) -> Iterator[str]:
    """The kubelet's own words, then what the container asked for and what each zone had."""
    yield f"{verdict.reason}: {verdict.message}"
    if verdict.container is None:
        asking = "the pod"
    else:
        kind = {"init": "init container", "sidecar": "sidecar", "app": "container"}[containers[verdict.container].kind]
        asking = f"{kind} {verdict.container + 1} of {len(containers)}"
    for one in verdict.asked:
        yield f"  {asking} asks for {_amount(one.resource, one.asked)} of {one.resource}; {_free(one)}"
        if one.bound:
            zones = " and ".join(map(_named, one.bound))
            yield f"  it has to include {zones}, where init containers of the pod left CPUs to it"


def _free(one: Shortage) -> str:
    zones = ", ".join(f"{_named(zone)} {_amount(one.resource, left)}" for zone, left in one.free)
    total, most = sum(left for _, left in one.free), max((left for _, left in one.free), default=0)
    if total < one.asked:
        return f"{_amount(one.resource, total)} free in all ({zones})"
    if most < one.asked:
        return f"at most {_amount(one.resource, most)} free in one zone ({zones})"
    return f"free: {zones}"


def _named(zone: int) -> str:
    return zone_name(zone) or str(zone)


def _amount(resource: str, value: int) -> str:
    return show(resource, value * MILLI if resource == CPU else value)


def _shortage_data(one: Shortage) -> dict[str, Any]:
    free = {_named(zone): _amount(one.resource, left) for zone, left in one.free}
    return {"resource": one.resource, "amount": _amount(one.resource, one.asked), "free": free}


def answer_data(one: NodeAnswer) -> dict[str, Any]:
    last = one.last
    refused = (
        None
        if last is None
        else {
            "reason": last.reason,
            "message": last.message,
            "container": last.container,
            "asked": [_shortage_data(one) for one in last.asked],
        }
    )
    manager = one.node.manager
    return {
        "node": one.node.node,
        "policy": manager.policy,
        "scope": manager.scope,
        "admits": one.admits,
        "zones": one.zones,
        "refused": refused,
        "unknown": unknown(one.node),
    }
