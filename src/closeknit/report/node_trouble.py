"""Failed nodes of a running workload: since when, how many of its pods are there, and what happens next.

What happens and when depends on the gates (`lifecycle/node_failure.py`): a deleted node is replaced at once, a node
that is not ready once its pods have stopped, or after a delay of 30 s. Pods stop when their toleration of the node's
taint expires: after 300 s by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..lifecycle.node_failure import MOST_UNHEALTHY
from ..model.flavor import Flavor
from ..model.gates import Gates
from ..model.node import Node
from ..model.settings import NOT_READY_DELAY
from ..model.shape import Taint, Toleration
from ..model.topology import HOSTNAME
from ..model.workload import LONG_AGO, Workload
from .lines import clock, span

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
DEFAULT_TOLERATION = 300
"""The seconds for which Kubernetes makes pods tolerate these two taints by default."""
SOON = "in a second or two"


class NodeFailureRules(NamedTuple):
    """What decides about failed nodes; `flavors` add tolerations, `delay` is how long a node may be unready."""

    gates: Gates
    flavors: Mapping[str, Flavor] = {}
    delay: float = NOT_READY_DELAY


class Trouble(NamedTuple):
    """`state` is NotReady, gone or lost; `at` is when `then` happens, None if that is unknown or at once."""

    node: str
    state: str
    pods: int
    since: float | None
    then: str
    at: float | None = None


def troubles(
    one: Workload, nodes: Iterable[Node], rules: NodeFailureRules, pods_on: Mapping[str, int] | None = None
) -> list[Trouble]:
    """The failed nodes of an admitted workload; `pods_on` counts its pods by node if it has no topology assignment."""
    held = _held(one) or dict(pods_on or {})
    known = {node.labels.get(HOSTNAME, node.name) if _held(one) else node.name: node for node in nodes}
    failing = [host for host in held if host not in known or not known[host].ready or host in one.status.unhealthy]
    most = MOST_UNHEALTHY if "ReplaceSeveralNodes" in rules.gates else 1
    return [_trouble(one, host, known.get(host), held[host], rules, len(failing) > most) for host in failing]


def _held(one: Workload) -> dict[str, int]:
    """Assigned pods by host; empty if the assignment is not by host."""
    held: dict[str, int] = {}
    for given in () if one.status.admission is None else one.status.admission.pod_sets:
        if given.topology is not None and given.topology.by_host:
            for path, count in given.topology.domains:
                held[path[-1]] = held.get(path[-1], 0) + count
    return held


def _trouble(
    one: Workload, host: str, node: Node | None, pods: int, rules: NodeFailureRules, too_many: bool
) -> Trouble:
    since = None if node is None or node.ready or node.ready_since in (None, LONG_AGO) else node.ready_since
    state = "gone" if node is None else "lost" if host in one.status.unhealthy else "NotReady"
    if not _held(one) or "TASFailedNodeReplacement" not in rules.gates:
        return Trouble(host, state, pods, since, *_ended(one, node, since, rules))
    follows = _follows(one, rules, too_many)
    if state != "NotReady" or node is None:
        return Trouble(host, state, pods, since, f"{SOON}, {follows}")
    tolerated = _tolerated_for(one, node, rules)
    waits = [rules.delay] if "TASReplaceNodeDueToNotReadyOverFixedTime" in rules.gates else []
    if "TASReplaceNodeOnPodTermination" not in rules.gates:
        waits, cause = [rules.delay], f"it has been unready for {rules.delay:g} s"
    elif waits and (tolerated is None or tolerated > rules.delay):
        cause = f"it has been unready for {rules.delay:g} s"
    elif tolerated is None:
        then = f"nothing, unless it recovers or its pods, which tolerate it forever, are deleted; then {follows}"
        return Trouble(host, state, pods, since, then)
    else:
        waits, cause = [float(tolerated)], f"the pods' {tolerated} s toleration expires and they are evicted"
    at = None if since is None else since + min(waits)
    return Trouble(host, state, pods, since, f"after {cause}, {follows}", at)


def _follows(one: Workload, rules: NodeFailureRules, too_many: bool) -> str:
    if one.owned_by_pod:
        return "the workload ends with its only pod; create the pod again"
    if too_many:
        return "the workload is evicted and requeued: it has lost more nodes than can be replaced at once"
    failed = "the workload is evicted and requeued"
    if "TASFailedNodeReplacementFailFast" not in rules.gates:
        failed = "it is retried, at most every 30 s"
    return f"these pods get another host; if none has room, {failed}"


def _ended(one: Workload, node: Node | None, since: float | None, rules: NodeFailureRules) -> tuple[str, float | None]:
    """What happens to pods on a node that is not replaced."""
    why = "TASFailedNodeReplacement is off" if _held(one) else "it was not placed by topology"
    tolerated = None if node is None else _tolerated_for(one, node, rules)
    again = "new ones are created with the same assignment" if _held(one) else "new ones go to other nodes"
    if node is not None and tolerated is None:
        return f"nothing, unless it recovers or its pods are deleted ({why})", None
    at = None if since is None or tolerated is None else since + tolerated
    return f"its pods are evicted, and {again} ({why})", at


def _tolerated_for(one: Workload, node: Node, rules: NodeFailureRules) -> int | None:
    """How many seconds the pods tolerate that the node is not ready; None means forever."""
    taint = next((each for each in node.taints if each.key == UNREACHABLE), Taint(NOT_READY, "", "NoExecute"))
    taint = taint._replace(effect="NoExecute")
    fitting = [each for each in _tolerations(one, rules) if each.tolerates(taint)]
    if not fitting:
        return DEFAULT_TOLERATION
    seconds = [each.seconds for each in fitting if each.seconds is not None]
    return min(seconds) if seconds else None


def _tolerations(one: Workload, rules: NodeFailureRules) -> Iterator[Toleration]:
    for pod_set in one.request.pod_sets:
        yield from pod_set.shape.tolerations
    for given in () if one.status.admission is None else one.status.admission.pod_sets:
        for name in set(given.flavors.values()) & rules.flavors.keys():
            yield from rules.flavors[name].tolerations


# Text


def trouble_lines(found: Iterable[Trouble], now: float) -> Iterator[str]:
    for one in found:
        since = "" if one.since is None else f" since {clock(one.since)}, {span(now - one.since)} ago"
        state = {"gone": "is gone", "lost": "counts as lost"}.get(one.state, "is NotReady")
        yield f"node {one.node} with {one.pods} of its pods {state}{since}"
        when = (
            "" if one.at is None else f" at {clock(one.at)}" + (f" (in {span(one.at - now)})" if one.at > now else "")
        )
        yield f"  next{when}: {one.then}"


def trouble_data(found: Iterable[Trouble]) -> list[dict[str, Any]]:
    return [
        {"node": one.node, "state": one.state, "pods": one.pods, "since": one.since, "next": one.then, "at": one.at}
        for one in found
    ]
