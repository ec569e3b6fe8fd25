"""What is free in the NUMA zones of all nodes: what the nodes reported, and what has happened since.

Reports and pods come in any order, late, twice or never. A node without a report is placed as if it had no zones; its
pods are only remembered in case one comes. The rules for a node are in `node_account`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...model.numa import AmountsByZone, NodeZones
from .bound_pod import AccountedPod
from .node_account import MINUTE, NodeAccount
from .readings import Readings

AGENTS = "NFD's topology-updater or resource-topology-exporter"


class Doubt(NamedTuple):
    node: str
    sentence: str


class Reported(NamedTuple):
    """A report, and when it came."""

    zones: NodeZones
    at: float


class ZoneAccounts:
    """Accounts by node. Times are in seconds, of any one clock."""

    def __init__(self) -> None:
        self._nodes: dict[str, NodeAccount] = {}
        self._node_of: dict[str, str] = {}
        self._unmatched: set[str] = set()

    def report(self, zones: NodeZones, now: float) -> None:
        """A report that is new or has changed."""
        self._account(zones.node).put_report(zones, now)
        self._sort(zones.node, now)

    def drop_report(self, node: str) -> None:
        account = self._nodes.get(node)
        self._unmatched.discard(node)
        if account is not None:
            account.drop_report()
            self._drop_if_empty(account)

    def pod(self, pod: AccountedPod, now: float) -> None:
        """A pod that is bound to a node and new or changed. One that has ended pins nothing; agents may count it."""
        if self._node_of.get(pod.uid, pod.node) != pod.node:
            self.gone(pod.uid, now)
        self._node_of[pod.uid] = pod.node
        self._account(pod.node).put(pod, now)

    def gone(self, uid: str, now: float) -> None:
        """The pod was deleted."""
        node = self._node_of.pop(uid, None)
        if node is not None:
            self._nodes[node].remove(uid, now)
            self._drop_if_empty(self._nodes[node])

    def readings(self, node: str, now: float) -> Readings:
        """What is free on a node, by zone."""
        found = self._nodes.get(node, NodeAccount(node)).readings(now)
        self._sort(node, now)
        return found

    def report_of(self, node: str) -> Reported | None:
        """The last report of a node."""
        account = self._nodes.get(node)
        if account is None or account.last is None:
            return None
        return Reported(account.last.report, account.last.arrived)

    def zones_of(self, uid: str, now: float) -> AmountsByZone | None:
        """Where a pod is: as its node reported, else as KAI's agent observed, else as we expected; None if unknown."""
        node = self._node_of.get(uid)
        return None if node is None else self._nodes[node].zones_of(uid, now)

    def unaccounted(self, now: float) -> int:
        """Pods with resources of their own that the report of their node may not account for."""
        return sum(len(one.unaccounted(now)) for one in self._nodes.values())

    def told_zones(self, uid: str, now: float) -> tuple[str, AmountsByZone] | None:
        """The same, and the source: reported, observed or expected."""
        zones, node = self.zones_of(uid, now), self._node_of.get(uid)
        return None if zones is None or node is None else (self._nodes[node].told_by(uid, zones), zones)

    def doubtful(self, now: float) -> list[Doubt]:
        """Nodes whose reports do not tell which pods they account for, and what to do about it."""
        for node in sorted(self._unmatched):
            self._sort(node, now)
        return [doubt for node in sorted(self._unmatched) if (doubt := _doubt(self._nodes[node], now)) is not None]

    @property
    def unmatched(self) -> Iterable[str]:
        """The nodes whose readings may change by time alone."""
        return sorted(self._unmatched)

    def due(self, now: float, nodes: Iterable[str] | None = None) -> float | None:
        """The next time at which an answer about any of the nodes changes without an event; None if none does."""
        some = self._unmatched if nodes is None else self._unmatched.intersection(nodes)
        times = [self._nodes[node].due(now) for node in some]
        return min((time for time in times if time is not None), default=None)

    def _account(self, node: str) -> NodeAccount:
        return self._nodes.setdefault(node, NodeAccount(node))

    def _sort(self, node: str, now: float) -> None:
        if node in self._nodes and self._nodes[node].is_unmatched(now):
            self._unmatched.add(node)
        else:
            self._unmatched.discard(node)

    def _drop_if_empty(self, account: NodeAccount) -> None:
        if account.is_empty:
            self._nodes.pop(account.node, None)


def _doubt(account: NodeAccount, now: float) -> Doubt | None:
    reported = account.last.report.fingerprint if account.last is not None else ""
    effect = "pods are placed there only if they fit with and without the pods that came lately"
    if not reported:
        text = f"The NodeResourceTopology of node {account.node} has no fingerprint of its pods, so {effect}"
        return Doubt(account.node, f"{text}; run {AGENTS} with --pods-fingerprint.")
    if not account.has_fingerprint:
        text = f'The NodeResourceTopology of node {account.node} has a fingerprint of unknown form, "{reported[:24]}"'
        return Doubt(account.node, f"{text}, so {effect}; update the agent, {AGENTS}.")
    since = account.unmatched_since
    if since is None or now < since + MINUTE:
        return None
    text = (
        f"The NodeResourceTopology of node {account.node} has matched none of the node's recent sets of pods for "
        f"{round(now - since)} s, so {effect}"
    )
    return Doubt(account.node, f"{text}; restart the agent there, and let it count all pods (method all).")
