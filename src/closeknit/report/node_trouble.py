"""Nodes in trouble under a workload that runs: since when, how many of its pods sit there, and what happens next.

What happens, and when, follows from the gates in force (`lifecycle/node_failure.py`): a node that is gone is replaced
at once, one that is not ready when its pods have stopped, or after a delay, 30 s. Pods stop when they bear the taint
no longer that such a node gets: after 300 s, unless they say otherwise.
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
BORNE = 300
"""Seconds for which Kubernetes lets pods bear these two, where they say nothing themselves."""
SOON = "in a second or two"


class Rules(NamedTuple):
    """What decides over failed nodes; `flavors` add tolerations, `delay` is for how long one may be unready."""

    gates: Gates
    flavors: Mapping[str, Flavor] = {}
    delay: float = NOT_READY_DELAY


class Trouble(NamedTuple):
    """`state` is NotReady, gone or lost; `at` is when `then` happens, None if nobody can say or it is at once."""

    node: str
    state: str
    pods: int
    since: float | None
    then: str
    at: float | None = None


def troubles(
    one: Workload, nodes: Iterable[Node], rules: Rules, pods_on: Mapping[str, int] | None = None
) -> list[Trouble]:
    """Of a workload that is admitted; `pods_on` are bound pods by node, of one that was not placed by topology."""
    held = _held(one) or dict(pods_on or {})
    known = {node.labels.get(HOSTNAME, node.name) if _held(one) else node.name: node for node in nodes}
    failing = [host for host in held if host not in known or not known[host].ready or host in one.status.unhealthy]
    most = MOST_UNHEALTHY if "ReplaceSeveralNodes" in rules.gates else 1
    return [_trouble(one, host, known.get(host), held[host], rules, len(failing) > most) for host in failing]


def _held(one: Workload) -> dict[str, int]:
    """Pods by host, as far as they were placed by host."""
    held: dict[str, int] = {}
    for given in () if one.status.admission is None else one.status.admission.pod_sets:
        if given.topology is not None and given.topology.by_host:
            for path, count in given.topology.domains:
                held[path[-1]] = held.get(path[-1], 0) + count
    return held


def _trouble(one: Workload, host: str, node: Node | None, pods: int, rules: Rules, too_many: bool) -> Trouble:
    since = None if node is None or node.ready or node.ready_since in (None, LONG_AGO) else node.ready_since
    state = "gone" if node is None else "lost" if host in one.status.unhealthy else "NotReady"
    if not _held(one) or "TASFailedNodeReplacement" not in rules.gates:
        return Trouble(host, state, pods, since, *_ended(one, node, since, rules))
    follows = _follows(one, rules, too_many)
    if state != "NotReady" or node is None:
        return Trouble(host, state, pods, since, f"{SOON}, {follows}")
    borne = _borne(one, node, rules)
    waits = [rules.delay] if "TASReplaceNodeDueToNotReadyOverFixedTime" in rules.gates else []
    if "TASReplaceNodeOnPodTermination" not in rules.gates:
        waits, cause = [rules.delay], f"it has been unready for {rules.delay:g} s"
    elif waits and (borne is None or borne > rules.delay):
        cause = f"it has been unready for {rules.delay:g} s"
    elif borne is None:
        then = f"nothing, unless it comes back or its pods are deleted, which bear it for ever; then {follows}"
        return Trouble(host, state, pods, since, then)
    else:
        waits, cause = [float(borne)], f"its pods have borne that for {borne} s and are evicted"
    at = None if since is None else since + min(waits)
    return Trouble(host, state, pods, since, f"once {cause}, {follows}", at)


def _follows(one: Workload, rules: Rules, too_many: bool) -> str:
    if one.owned_by_pod:
        return "its workload ends with its one pod; whoever made that has to make another"
    if too_many:
        return "the workload is evicted and queued again: it has lost more nodes than are replaced at once"
    failed = "the workload is evicted and queued again"
    if "TASFailedNodeReplacementFailFast" not in rules.gates:
        failed = "that is tried again, at most every 30 s"
    return f"these pods get another host; if none has room, {failed}"


def _ended(one: Workload, node: Node | None, since: float | None, rules: Rules) -> tuple[str, float | None]:
    """What becomes of pods whose node nobody replaces."""
    why = "TASFailedNodeReplacement is off" if _held(one) else "it was not placed by topology"
    borne = None if node is None else _borne(one, node, rules)
    again = "new ones are made where the plan has them" if _held(one) else "new ones go to other nodes"
    if node is not None and borne is None:
        return f"nothing, unless it comes back or its pods are deleted ({why})", None
    at = None if since is None or borne is None else since + borne
    return f"its pods are evicted, and {again} ({why})", at


def _borne(one: Workload, node: Node, rules: Rules) -> int | None:
    """For how long pods bear that the node is not ready; None for ever."""
    taint = next((each for each in node.taints if each.key == UNREACHABLE), Taint(NOT_READY, "", "NoExecute"))
    taint = taint._replace(effect="NoExecute")
    fitting = [each for each in _tolerations(one, rules) if each.tolerates(taint)]
    if not fitting:
        return BORNE
    seconds = [each.seconds for each in fitting if each.seconds is not None]
    return min(seconds) if seconds else None


def _tolerations(one: Workload, rules: Rules) -> Iterator[Toleration]:
    for pod_set in one.request.pod_sets:
        yield from pod_set.shape.tolerations
    for given in () if one.status.admission is None else one.status.admission.pod_sets:
        for name in set(given.flavors.values()) & rules.flavors.keys():
            yield from rules.flavors[name].tolerations


# For people


def trouble_lines(found: Iterable[Trouble], now: float) -> Iterator[str]:
    for one in found:
        since = "" if one.since is None else f" since {clock(one.since)}, {span(now - one.since)} ago"
        state = {"gone": "is gone", "lost": "counts as lost"}.get(one.state, "is NotReady")
        yield f"node {one.node} under {one.pods} of its pods {state}{since}"
        when = (
            "" if one.at is None else f" at {clock(one.at)}" + (f" (in {span(one.at - now)})" if one.at > now else "")
        )
        yield f"  next{when}: {one.then}"


def trouble_data(found: Iterable[Trouble]) -> list[dict[str, Any]]:
    return [
        {"node": one.node, "state": one.state, "pods": one.pods, "since": one.since, "next": one.then, "at": one.at}
        for one in found
    ]
