"""The DaemonSet controller: a pod on every eligible node.

It reconciles pairs of a node and a DaemonSet, and only those that a change affects: a new node costs one check per
DaemonSet. The status is recomputed over all pods at throttled intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import msgspec

from ....dialects import core
from ....model.node import Node
from ....model.shape import Shape
from ...kinds import DAEMON_SET, NODE, POD
from ...port import Change, Key, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import (
    available_at,
    children,
    deletion,
    family,
    is_active,
    is_deleting,
    is_ended,
    is_ready,
    number,
    part_of,
    status_write,
)
from .daemon_pods import GENERATION_NOTE, HASH, generation, hash_of, new_pod, shape_of, target
from .node_affinity import attracts
from .pace import ReconcileThrottle
from .revisions import Revisions, revisions
from .room import repels


class Pair(NamedTuple):
    owner: Key
    node: str


@dataclass(slots=True)
class DaemonSetState:
    """The cached state of a DaemonSet: the shape of its pods, the nodes that should have one, the template's hash."""

    template: Raw
    shape: Shape
    nodes: set[str]
    hash: str = ""

    def consider(self, name: str, node: Node | None) -> None:
        """Update whether a node should have a pod; None for a node that is gone."""
        if node is not None and attracts(node, self.shape) and not repels(node, self.shape):
            self.nodes.add(name)
        else:
            self.nodes.discard(name)


class DaemonSets:
    watches = (POD, NODE, DAEMON_SET)

    def __init__(self) -> None:
        self._pace = ReconcileThrottle()
        self._nodes: dict[str, Node] = {}
        self._sets: dict[Key, DaemonSetState] = {}
        self._pods: dict[Pair, dict[Key, None]] = {}

    # Keys of a change

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            return self._pod_changed(change)
        if change.kind is NODE:
            return self._node_changed(change)
        if change.kind is DAEMON_SET:
            return self._set_changed(change)
        return ()

    def _set_changed(self, change: Change) -> Iterable[Hashable]:
        key = change.key
        if change.type == "DELETED":
            self._sets.pop(key, None)
            return ()
        template = change.object["spec"]["template"]
        known = self._sets.get(key)
        if known is not None and known.template == template:
            return (key,)
        standing = self._sets[key] = DaemonSetState(template, shape_of(template), set())
        for name, node in self._nodes.items():
            standing.consider(name, node)
        return (key, *(Pair(key, name) for name in self._nodes))

    def _node_changed(self, change: Change) -> Iterable[Hashable]:
        name = change.object["metadata"]["name"]
        node = None
        if change.type == "DELETED":
            self._nodes.pop(name, None)
        else:
            node = core.node(msgspec.convert(change.object, core.WireNode))
            if node == self._nodes.get(name):
                return ()
            self._nodes[name] = node
        for standing in self._sets.values():
            standing.consider(name, node)
        return [key for owner in self._sets for key in (Pair(owner, name), owner)]

    def _pod_changed(self, change: Change) -> Iterable[Hashable]:
        found: list[Hashable] = []
        for key in family(change, DAEMON_SET):
            pair = Pair(key, target(change.object))
            on_it = self._pods.setdefault(pair, {})
            if change.type == "DELETED":
                on_it.pop(change.key, None)
                if not on_it:
                    del self._pods[pair]
            else:
                on_it[change.key] = None
            found += [pair, key]
        return found

    # Reconciling

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        owner_key = key.owner if isinstance(key, Pair) else key
        assert isinstance(owner_key, Key)
        owner, standing = store.find(DAEMON_SET, owner_key.namespace, owner_key.name), self._sets.get(owner_key)
        if owner is None or standing is None or is_deleting(owner):
            return
        if isinstance(key, Pair):
            standing.hash = standing.hash or self._revisions(store, owner).hash
            yield from self._pair(store, key, owner, standing)
            return
        at = self._pace.wait(key, now)
        if at is not None:
            yield ReconcileAt(at)
            return
        known = self._revisions(store, owner)
        standing.hash = known.hash
        yield from known.writes
        yield from self._whole(store, owner_key, owner, standing, known, now)

    def _revisions(self, store: Store, owner: Raw) -> Revisions:
        return revisions(store, DAEMON_SET, owner, HASH, {GENERATION_NOTE: generation(owner)})

    def _pair(self, store: Store, pair: Pair, owner: Raw, standing: DaemonSetState) -> Iterator[Step]:
        node, wanted = self._nodes.get(pair.node), pair.node in standing.nodes
        stays = node is not None and attracts(node, standing.shape) and not _driven_off(node, standing.shape)
        found = (store.find(POD, one.namespace, one.name) for one in self._pods.get(pair, ()))
        pods = [one for one in found if one is not None]
        ended = [one for one in pods if is_ended(one)]
        running = [one for one in pods if is_active(one)]
        for one in (*ended, *(running[1:] if stays else running)):
            yield from deletion(POD, one)
        if wanted and len(ended) == len(pods):
            yield new_pod(owner, pair.node, standing.hash)

    def _whole(
        self, store: Store, key: Key, owner: Raw, standing: DaemonSetState, known: Revisions, now: float
    ) -> Iterator[Step]:
        pods = [one for one in children(store, owner, POD) if is_active(one)]
        self._pace.looked(key, len(standing.nodes) + len(pods), now)
        spec = owner["spec"]
        times = {id(one): available_at(one, spec.get("minReadySeconds") or 0) for one in pods}
        available = [one for one in pods if (since := times[id(one)]) is not None and since <= now]
        yield from status_write(DAEMON_SET, owner, _status(owner, standing, pods, available, known.hash))
        if later := [since for since in times.values() if since is not None and since > now]:
            yield ReconcileAt(min(later))
        yield from _update(spec, standing, pods, available, known.hash)
        used = {f"{key.name}-{hash_of(one)}" for one in pods}
        yield from known.forget(used, number(spec.get("revisionHistoryLimit"), 10))


def _update(spec: Raw, standing: DaemonSetState, pods: list[Raw], available: list[Raw], text: str) -> Iterator[Step]:
    """Delete pods of an older template, as far as maxUnavailable allows."""
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return
    given = (strategy.get("rollingUpdate") or {}).get("maxUnavailable")
    most = max(1, part_of(1 if given is None else given, len(standing.nodes), up=True))
    spare = most - (len(standing.nodes) - len(available))
    well = {id(one) for one in available}
    for one in (one for one in pods if hash_of(one) != text):
        if id(one) not in well:
            yield from deletion(POD, one)
        elif spare > 0:
            spare -= 1
            yield from deletion(POD, one)


def _status(owner: Raw, standing: DaemonSetState, pods: list[Raw], available: list[Raw], text: str) -> Raw:
    right = {target(one): one for one in pods if target(one) in standing.nodes}
    desired = len(standing.nodes)
    at_hand = sum(target(one) in standing.nodes for one in available)
    status: Raw = {
        "currentNumberScheduled": len(right),
        "numberMisscheduled": sum(target(one) not in standing.nodes for one in pods),
        "desiredNumberScheduled": desired,
        "numberReady": sum(is_ready(one) for one in right.values()),
        "observedGeneration": owner["metadata"].get("generation", 1),
    }
    counts = {
        "updatedNumberScheduled": sum(hash_of(one) == text for one in right.values()),
        "numberAvailable": at_hand,
        "numberUnavailable": desired - at_hand,
    }
    return {**status, **{part: count for part, count in counts.items() if count}}


def _driven_off(node: Node, shape: Shape) -> bool:
    """Whether the node has a NoExecute taint that the pods do not tolerate."""
    hard = tuple(taint for taint in node.taints if taint.effect == "NoExecute")
    return repels(replace(node, taints=hard, unschedulable=False), shape)
