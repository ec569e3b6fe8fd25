"""Reconciles gated pods, which it sends to their assigned domains, and nodes that fail under placed pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import inf

from ..cluster import kinds
from ..cluster.errors import Refused
from ..cluster.port import Change, Raw, target_of
from ..lifecycle.action import EndPod, GiveUp, Requeue, StatusChange, Ungate
from ..lifecycle.node_failure import BATCH as NODE_BATCH
from ..lifecycle.node_failure import node_failure
from ..lifecycle.ungate import Expectations, UngateView, ungate
from ..model.event import Event
from ..model.pod import Pod
from ..model.topology import HOSTNAME
from ..observe.cluster_cache import ClusterCache
from ..observe.launching import place_labels, unranked
from ..observe.live_nodes import is_well, node_view
from ..observe.membership import Kinship, kinship
from ..observe.pod_cache import workload_of
from ..observe.start_order import turns_of
from ..write import pods as write
from ..write.events import Recorder, RecordEvent
from ..write.in_flight import Flight
from .reconciler import Reconciler, RequeueAt, Step

POD_BATCH = 0.1
"""Seconds for which a workload's gated pods are collected after a batch of them was ungated."""


PATIENCE, PATIENCE_ENDS, LATER = 1.0, 30.0, 60.0
"""Seconds until the owner of a pod is looked up again, for how long, and how often after that."""
NOT_A_MEMBER = (
    "It stays gated: it names Workload {workload}, but its owners do not lead to {owner}. "
    "Delete it, or create it through that object"
)


class Batches:
    """When a key may be reconciled next: at once, but at most once per `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._last: dict[str, float] = {}

    def next(self, key: str, now: float) -> float:
        return max(now, self.last(key) + self.seconds)

    def last(self, key: str) -> float:
        """When the key was last reconciled."""
        return self._last.get(key, -inf)

    def done(self, key: str, now: float) -> None:
        self._last[key] = now
        if len(self._last) > 10_000:
            self._last = {one: at for one, at in self._last.items() if at + self.seconds > now}


class TopologyUngater(Reconciler[str]):
    """Keyed by workload; the slices of an elastic workload share the key of their family."""

    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self.expected = Expectations()
        self.batches = Batches(POD_BATCH)

    def see(self, change: Change) -> None:
        now = self.cache.now()
        for key in self.keys_for(change):
            self.queue.add_after(key, self.batches.next(key, now))

    def keys_for(self, change: Change) -> Iterable[str]:
        meta = change.object["metadata"]
        if change.kind is kinds.WORKLOAD:
            key = f"{meta['namespace']}/{meta['name']}"
            workload = self.cache.workloads.get(key)
            return [key] if workload is not None and workload.admitted and not workload.finished else ()
        if change.kind is kinds.POD:
            pod = self.cache.pods.all.get(f"{meta['namespace']}/{meta['name']}")
            if change.type == "DELETED" or (pod is not None and not pod.gated):
                self.expected.observe(meta["uid"])
            name = workload_of(change.object)
            freed = change.type == "DELETED" or (pod is not None and pod.ended)
            if name and (freed or (pod is not None and pod.gated)):
                return [f"{meta['namespace']}/{name}"]
        return ()

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        workload, raw = self.cache.workloads.get(key), self.cache.raw_workload(key)
        if workload is None or raw is None or workload.finished or workload.evicted:
            return
        self.batches.done(key, self.cache.now())
        family = self.cache.family_of(raw)
        named = self.cache.pods_of(key)
        kin = {pod.key: kinship(self.cache, pod, raw) for pod in named}
        yield from self._others([pod for pod in named if kin[pod.key] is not Kinship.MEMBER], kin, raw, now)
        pods = [pod for pod in named if kin[pod.key] is Kinship.MEMBER]
        told = "PlacesOnPods" in self.cache.gates
        starters = unranked(self.cache, raw) if told else ()
        waiting = self.expected.under_way(key)
        turns = {} if waiting else turns_of(self.cache, workload)
        view = UngateView(workload, pods, waiting, family, self.cache.gates, starters, turns)
        for action in ungate(view, now):
            match action:
                case Ungate(pod):
                    raw_pod = self.cache.raw[kinds.POD].get((pod.namespace, pod.name))
                    if raw_pod is not None:
                        self.expected.expect(key, [pod.uid])
                        labels = place_labels(self.cache.world, workload, action) if told else {}
                        yield write.ungated(action, raw_pod, labels)
                case Requeue(at):
                    yield RequeueAt(at)
                case GiveUp(why):
                    yield RecordEvent(raw, Event(key, "Warning", "TopologyUngateFailed", why), now)

    def _others(self, pods: Iterable[Pod], kin: Mapping[str, Kinship], workload: Raw, now: float) -> Iterator[Step]:
        """Tell pods that name the workload but are not its own; one whose owner is not known yet is tried again."""
        for pod in pods:
            if not pod.gated or pod.deleting:
                continue
            if kin[pod.key] is Kinship.UNKNOWN:
                yield RequeueAt(now + (PATIENCE if now - pod.created < PATIENCE_ENDS else LATER))
                if now - pod.created < PATIENCE_ENDS:
                    continue
            raw = self.cache.raw[kinds.POD].get((pod.namespace, pod.name))
            if raw is not None:
                text = NOT_A_MEMBER.format(workload=workload["metadata"]["name"], owner=_owner_of(workload))
                yield RecordEvent(raw, Event(pod.key, "Warning", "NotAMember", text), now)

    def done(self, flight: Flight[str], result: Raw | Refused, now: float) -> None:
        """Stop expecting an ungate that was refused; if the pod is gone, its deletion has already done so."""
        if isinstance(result, Refused):
            target = target_of(flight.write)
            pod = self.cache.pods.all.get(f"{target.namespace}/{target.name}")
            if pod is not None:
                self.expected.observe(pod.uid)
        super().done(flight, result, now)


class NodeFailureReconciler(Reconciler[str]):
    """Keyed by node name."""

    def __init__(self, cache: ClusterCache, recorder: Recorder) -> None:
        super().__init__(cache, recorder)
        self.batches = Batches(NODE_BATCH)
        self._hosts: dict[str, str] = {}
        self._nodes: dict[str, str] = {}

    def see(self, change: Change) -> None:
        now = self.cache.now()
        for key in self.keys_for(change):
            self.queue.add_after(key, self.batches.next(key, now))

    def keys_for(self, change: Change) -> Iterable[str]:
        if change.kind is kinds.NODE:
            return self._of_node(change)
        if change.kind is kinds.WORKLOAD and change.type == "ADDED":
            hosts = self.cache.hosts_of(f"{change.object['metadata']['namespace']}/{change.object['metadata']['name']}")
            names = (self._nodes.get(host, host) for host in hosts)
            return [name for name in names if not self._is_well(name)]
        if change.kind is kinds.POD:
            meta = change.object["metadata"]
            pod = self.cache.pods.all.get(f"{meta['namespace']}/{meta['name']}")
            if pod is not None and pod.workload:
                return self._of_pod(pod)
        return ()

    def _of_node(self, change: Change) -> Iterable[str]:
        name = change.object["metadata"]["name"]
        host = (change.object["metadata"].get("labels") or {}).get(HOSTNAME, name)
        self._hosts[name], self._nodes[host] = host, name
        old = change.old
        if old is not None and change.type == "MODIFIED" and _health(old) == _health(change.object):
            return ()
        return [name] if self.cache.at_host.get(host) or self.cache.pods.at(name, host) else ()

    def _of_pod(self, pod: Pod) -> Iterable[str]:
        """A pod on a healthy node needs nothing, unless it is unbound and selects a node it was not assigned to."""
        host = pod.node or pod.selector.get(HOSTNAME, "")
        name = pod.node or self._nodes.get(host, host)
        if not host or (pod.gated if not pod.node else not (pod.deleting or pod.ended)):
            return ()
        at_home = bool(pod.node) or f"{pod.namespace}/{pod.workload}" in self.cache.at_host.get(host, ())
        return () if at_home and self._is_well(name) else [name]

    def about(self, key: str) -> Raw | None:
        return self.cache.raw[kinds.NODE].get(("", key))

    def _is_well(self, name: str) -> bool:
        return is_well(self.cache.world.nodes.get(name))

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        known = self.cache
        self.batches.done(key, known.now())
        view = node_view(known, key, self._hosts.get(key, key))
        node, delay = view.node, view.delay
        if node is not None and not node.ready and node.ready_since is not None and now < node.ready_since + delay:
            yield RequeueAt(node.ready_since + delay)
        for action in node_failure(view, now):
            match action:
                case StatusChange():
                    yield from self.status(action.before, action.after, action.events, now)
                case EndPod(pod):
                    raw = known.raw[kinds.POD].get((pod.namespace, pod.name))
                    if raw is not None:
                        yield write.ended(action, raw, now)
                        for event in action.events:
                            yield RecordEvent(raw, event, now)
                case Requeue(at):
                    yield RequeueAt(at)


def _owner_of(workload: Raw) -> str:
    """The kind and name of a Workload's owner, for a message."""
    owners = workload["metadata"].get("ownerReferences") or ()
    return next((f"{one.get('kind')} {one.get('name')}" for one in owners), "its owner, which it does not have")


def _health(raw: Raw) -> tuple[object, ...]:
    """The parts of a node that decide whether it has failed: readiness, taints and host name."""
    conditions = (raw.get("status") or {}).get("conditions") or ()
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    return ready, (raw.get("spec") or {}).get("taints"), (raw["metadata"].get("labels") or {}).get(HOSTNAME)
