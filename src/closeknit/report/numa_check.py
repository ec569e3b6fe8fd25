"""Whether kubelets would admit the pods of a job: lines and data of `closeknit numa check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..engine.fit import Fit, fit_of
from ..engine.match import ABSENT, PASSES
from ..engine.policy import Policy
from ..model.container import Container
from ..model.numa import NodeZones
from ..model.request import PodSet
from ..model.resources import CPU, show
from ..numa.admission import Shortage, Verdict
from ..numa.demand import MILLI, PodDemand
from ..numa.masks import zones_of
from ..numa.reported import reported_admission, unknown
from ..numa.zone_names import zone_name
from ..state.numa.zone_states import NO_ZONES, ZoneStates
from ..state.snapshot import Snapshot


@dataclass(frozen=True)
class NodeAnswer:
    """How many pods of a pod set a node admits one after another, at most as many as there are.

    `node` is its report, None if it has none. `zones` are those that the first pod is expected in; None if it is not
    admitted. `last` is about the pod that the kubelet refuses; `cause` is what else keeps pods off the node.
    """

    name: str
    node: NodeZones | None
    admits: int
    zones: tuple[str, ...] | None = None
    last: Verdict | None = None
    cause: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def policy(self) -> str:
        if self.node is None:
            return "no report: by node totals"
        manager = self.node.manager
        return f"{manager.policy}, {manager.scope}" if manager.policy != "none" else "none"


def ask(node: NodeZones, pods: PodSet) -> NodeAnswer:
    """Let a node admit the pods of a pod set, one after another."""
    kubelet = reported_admission(node)
    demand = PodDemand.of_shape(pods.shape)
    verdicts: list[Verdict] = []
    for number in range(pods.count):
        verdicts.append(kubelet.admit(str(number), demand))
        if not verdicts[-1].admitted:
            break
    admits = sum(one.admitted for one in verdicts)
    zones = _zones_of(verdicts[0]) if admits else None
    last = verdicts[-1] if admits < len(verdicts) else None
    return NodeAnswer(node.node, node, admits, zones, last, unknown=tuple(unknown(node)))


def ask_all(snapshot: Snapshot, policy: Policy, pods: PodSet, reports: Mapping[str, NodeZones]) -> list[NodeAnswer]:
    """Ask every node of a snapshot whose leaves are nodes: what runs and is promised there counts, and taints do."""
    fit = fit_of(snapshot, pods.shape, None, policy)
    states = None if snapshot.zones is None else snapshot.zones.on(snapshot.rows, "now")
    found = []
    for leaf, row in enumerate(snapshot.rows.tolist()):
        name, admits = snapshot.table.names[row], min(pods.count, int(fit.pods[leaf]))
        number = NO_ZONES if states is None else int(states[leaf])
        if snapshot.zones is None or number == NO_ZONES:
            cause = "" if admits == pods.count else _cause(fit, leaf, admits)
            found.append(NodeAnswer(name, None, admits, () if admits else None, cause=cause))
        else:
            found.append(_asked(snapshot.zones, fit, leaf, NodeAnswer(name, reports[name], admits), number, pods.count))
    return found


def _asked(zones: ZoneStates, fit: Fit, leaf: int, known: NodeAnswer, number: int, wanted: int) -> NodeAnswer:
    demand, admits = zones.demand_of(fit.shape), known.admits
    after, given = zones.admissions.fill(number, demand, admits)
    first = tuple(_named(zone) for zone in sorted(given[0].by_zone)) if given else None
    last = zones.refusal(after, fit.shape) if admits < wanted else None
    cause = _cause(fit, leaf, admits) if admits < wanted else ""
    if not cause and last is None and admits < wanted:
        cause = "its kubelet refused such a pod lately, so none is sent there for a while"
    return replace(known, zones=first, last=last, cause=cause, unknown=tuple(zones.unknown_on(known.name)))


def _cause(fit: Fit, leaf: int, admits: int) -> str:
    """What besides zones keeps the next pod off a node; empty if nothing does."""
    code = int(fit.cause[leaf])
    if code != PASSES:
        return "it is not ready, or cordoned" if code == ABSENT else f"excluded by {fit.match.causes[code]}"
    snapshot = fit.snapshot
    for name, amount in fit.charge:
        at = snapshot.index.get(name)
        free = 0 if at is None else max(0, int(fit.view[at, leaf]))
        if amount > 0 and free < amount * (admits + 1):
            left = free - amount * admits
            return f"the whole node has {show(name, left)} of {name} left, a pod requests {show(name, amount)}"
    return ""


def _zones_of(verdict: Verdict) -> tuple[str, ...]:
    masks = [hint.mask for hint in verdict.hints if hint.mask is not None]
    return tuple(_named(zone) for zone in sorted({zone for mask in masks for zone in zones_of(mask)}))


def answer_lines(pods: PodSet, answers: Sequence[NodeAnswer]) -> Iterator[str]:
    """A table of nodes; below each that refuses a pod, what its zones lack."""
    width = max((len(one.name) for one in answers), default=4)
    yield f"  {'NODE':{width}}  ADMITS  POLICY                       ZONES OF THE FIRST POD"
    for one in answers:
        zones = "-" if one.zones is None else " ".join(one.zones) or "any"
        yield f"  {one.name:{width}}  {one.admits:>3}/{pods.count:<3} {one.policy:27}  {zones}"
        if one.cause:
            yield f"  {'':{width}}  {one.cause}"
        if one.last is not None:
            yield from (f"  {'':{width}}  {line}" for line in refusal_lines(pods.shape.containers, one.last))
        for what in one.unknown:
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
    manager = None if one.node is None else one.node.manager
    return {
        "node": one.name,
        "policy": None if manager is None else manager.policy,
        "scope": None if manager is None else manager.scope,
        "admits": one.admits,
        "zones": list(one.zones or ()),
        "refused": refused,
        "unknown": list(one.unknown),
        **({"cause": one.cause} if one.cause else {}),
    }
