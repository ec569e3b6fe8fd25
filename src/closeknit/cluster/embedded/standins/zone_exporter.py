"""The agent on every simulated node with NUMA zones that reports them in a NodeResourceTopology.

    a pod is admitted, or gone ──delay──▶ report of what is there then, if it differs from the last one

It reports late, as agents do, and not at all while its machine is silent. The report belongs to its node and is deleted
with it. The attributes tell which pods it accounts for, and in which zone each of their pinned containers runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from ....dialects.nrt import keys
from ....dialects.zone_holdings import HeldZones
from ....model.numa import ReportedPlacement
from ....model.resources import CPU, show
from ....numa.admission import NodeAdmission
from ....numa.demand import MILLI
from ....numa.fingerprint import fingerprint
from ....numa.managers import MOST_ZONES, OPTION, POLICY, SCOPE
from ....numa.placement_vector import ContainerName, encoded
from ....numa.simulated import MAXIMUM, SimulatedZones, is_memory
from ...kinds import NODE, NODE_TOPOLOGY, POD
from ...port import Change, Create, Delete, Key, Raw, Update, Write
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import owner_reference
from .machine_faults import machine
from .pods_by_node import PodsByNode
from .zone_admission import held_by, is_active, kubelet_of, zones_on

Placement = dict[ContainerName, int | None]


class ZoneExporter:
    watches = (POD, NODE)

    def __init__(self, pods_by_node: PodsByNode) -> None:
        self.pods_by_node = pods_by_node
        self._zones: dict[str, SimulatedZones] = {}
        self._since: dict[str, float] = {}
        """Nodes with a change that is not reported yet, and when it happened."""

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            self.pods_by_node.see(change)
            node = change.object["spec"].get("nodeName", "")
            changed = node in self._zones and accounted(_left(change)) != accounted(change.old)
            return (node,) if changed else ()
        return self._node_changed(change)

    def _node_changed(self, change: Change) -> Iterable[str]:
        name = change.object["metadata"]["name"]
        before = self._zones.pop(name, None)
        if change.type == "DELETED":
            self._since.pop(name, None)
            return ()
        try:
            now = zones_on(change.object)
        except ValueError:
            now = None
        if now is not None:
            self._zones[name] = now
        return (name,) if now != before or (now is not None and _is_back(change)) else ()

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        assert isinstance(key, str)
        zones, node = self._zones.get(key), store.find(NODE, "", key)
        if node is None:
            return
        if zones is None:
            yield from withdrawn(node, store.find(NODE_TOPOLOGY, "", key))
        elif zones.delay is not None and not machine(node).is_silent:
            due = self._since.setdefault(key, now) + zones.delay
            if due > now:
                yield ReconcileAt(due)
                return
            self._since.pop(key, None)
            yield from reported(node, zones, self.pods_by_node.pods(store, key), store.find(NODE_TOPOLOGY, "", key))


def _left(change: Change) -> Raw | None:
    return None if change.type == "DELETED" else change.object


def _is_back(change: Change) -> bool:
    """Whether the node is new, or no longer silent."""
    return change.old is None or (machine(change.old).is_silent and not machine(change.object).is_silent)


def accounted(pod: Raw | None) -> HeldZones | None:
    """What a report says of a pod; None if it does not count it."""
    return held_by(pod) if pod is not None and is_active(pod) else None


def withdrawn(node: Raw, found: Raw | None) -> Iterator[Write]:
    """Delete the report of a node that has no zones any more, if it is ours."""
    owners = () if found is None else found["metadata"].get("ownerReferences") or ()
    if found is not None and any(one["uid"] == node["metadata"]["uid"] for one in owners):
        yield Delete(Key(NODE_TOPOLOGY, "", found["metadata"]["name"]), uid=found["metadata"]["uid"])


def reported(node: Raw, zones: SimulatedZones, pods: Iterable[Raw], found: Raw | None) -> Iterator[Write]:
    """Report the node with these pods, if that differs from the report that was found."""
    active = [pod for pod in pods if is_active(pod)]
    content = _content(zones, kubelet_of(zones, active), active)
    name = node["metadata"]["name"]
    if found is None:
        meta = {"name": name, "ownerReferences": [owner_reference(NODE, node, controller=False, block=False)]}
        yield Create(NODE_TOPOLOGY, {**_identity(), "metadata": meta, **content})
    elif any(found.get(part) != value for part, value in content.items()):
        yield Update(NODE_TOPOLOGY, {**found, **content})


def _identity() -> Raw:
    return {"apiVersion": NODE_TOPOLOGY.api_version, "kind": NODE_TOPOLOGY.kind}


def _content(zones: SimulatedZones, kubelet: NodeAdmission, pods: list[Raw]) -> Raw:
    placement = _placement(pods, len(zones.zones))
    named = [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in pods]
    values = {
        POLICY: zones.settings.policy,
        SCOPE: zones.settings.scope,
        **_options(zones.options),
        keys.FINGERPRINT: fingerprint(named),
        keys.FINGERPRINT_METHOD: "all",
        **({} if placement is None else {keys.PLACEMENT: placement.metadata}),
    }
    vectors = {} if placement is None else placement.vectors
    every = range(len(zones.zones))
    return {"attributes": _pairs(values), "zones": [_zone(zones, kubelet, one, vectors.get(one, "")) for one in every]}


def _options(options: Iterable[tuple[str, str]]) -> dict[str, str]:
    """_options([("prefer-closest-numa-nodes", "true")]) == {"topologyManagerOptionPreferClosestNumaNodes": "true"}."""
    found = dict(options)
    most = found.pop(MAXIMUM, None)
    spelled = {f"{OPTION}{name.title().replace('-', '')}": value for name, value in found.items()}
    return spelled if most is None else {MOST_ZONES: most, **spelled}


def _placement(pods: Iterable[Raw], zones: int) -> ReportedPlacement | None:
    """The zones of all pinned containers; None if one of them spans several, which cannot be written."""
    found: Placement = {}
    for pod in pods:
        meta = pod["metadata"]
        for name, zone in held_by(pod).containers.items():
            found[ContainerName(meta["namespace"], meta["name"], name)] = zone
    known = {name: zone for name, zone in found.items() if zone is not None}
    return encoded(known, zones) if len(known) == len(found) else None


def _zone(zones: SimulatedZones, kubelet: NodeAdmission, number: int, vector: str) -> Raw:
    every = range(len(zones.zones))
    return {
        "name": f"node-{number}",
        "type": keys.ZONE_TYPE,
        "costs": [{"name": f"node-{other}", "value": zones.distance(number, other)} for other in every],
        **({"attributes": _pairs({keys.PLACEMENT_VECTOR: vector})} if vector else {}),
        "resources": [
            _resource(zones, kubelet, number, name, value) for name, value in sorted(zones.zones[number].items())
        ],
    }


def _resource(zones: SimulatedZones, kubelet: NodeAdmission, number: int, name: str, capacity: int) -> Raw:
    allocatable, available = capacity, capacity
    if name == CPU:
        own = kubelet.cpus.places.zones.get(number, 0)
        allocatable = (own & ~zones.reserved).bit_count() * MILLI
        available = (own & kubelet.cpus.free).bit_count() * MILLI
    elif is_memory(name):
        known = kubelet.memory.zones.get(number)
        available = capacity if known is None else known.free.get(name, 0)
    else:
        available = kubelet.devices.free[name][1 << number]
    amounts = {"capacity": capacity, "allocatable": allocatable, "available": available}
    return {"name": name, **{part: show(name, value) for part, value in amounts.items()}}


def _pairs(values: Mapping[str, str]) -> list[Raw]:
    return [{"name": name, "value": value} for name, value in values.items()]
