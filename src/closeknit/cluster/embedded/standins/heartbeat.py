"""The node status of kubelets: a new node becomes Ready, a silent one stops posting its status.

Unchanged heartbeats are not written: the Lease of a healthy node is created once and not renewed. When a machine falls
silent, its Lease gets the time of the last heartbeat and a mark, so that the duration of the silence is known after a
restart too; when it is back, the mark is removed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from zlib import crc32

from ....dialects.own_marks import PREFIX
from ....dialects.timestamps import parse, show, stamp
from ...kinds import LEASE, NAMESPACE, NODE
from ...port import Change, Create, Raw, Update
from ..loop import Step
from ..store import Store
from .children import condition, event, owner_reference, status_write
from .machine_faults import machine
from .settings import DEFAULTS, StandinSettings

LEASES = "kube-node-lease"
SILENT = PREFIX + "silent"
FINE = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "simulated",
    "osImage": "simulated",
    "containerRuntimeVersion": "simulated://1",
    "kubeletVersion": "v1.36.3",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


class Heartbeat:
    watches = (NODE,)

    def __init__(self, settings: StandinSettings = DEFAULTS) -> None:
        self.settings = settings

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is NODE and change.type != "DELETED":
            return (change.object["metadata"]["name"],)
        return ()

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        node = store.find(NODE, "", str(key))
        if node is None:
            return
        silent = machine(node).is_silent
        if not silent:
            yield from self._post_status(node, now)
        yield from self._lease(store, node, silent, now)

    def _post_status(self, node: Raw, now: float) -> Iterator[Step]:
        """Post the status of a node that is new (without a Ready condition) or back (with status Unknown)."""
        ready = condition(node, "Ready")
        if ready is not None and ready["status"] != "Unknown":
            return
        status = registered(node) if ready is None else node["status"]
        yield from status_write(NODE, node, {**status, "conditions": fine(status.get("conditions") or (), now)})
        if ready is not None:
            text = f"Node {node['metadata']['name']} status is now: NodeReady"
            yield event(NODE, node, "NodeReady", text, now, by="kubelet")

    def _lease(self, store: Store, node: Raw, silent: bool, now: float) -> Iterator[Step]:
        lease = store.find(LEASE, LEASES, node["metadata"]["name"])
        if lease is None:
            if self.settings.leases and store.find(NAMESPACE, "", LEASES) is not None:
                yield Create(LEASE, new_lease(node, silent, now))
        elif silent != (SILENT in (lease["metadata"].get("annotations") or {})):
            meta = {**lease["metadata"], "annotations": {SILENT: "true"} if silent else {}}
            yield Update(LEASE, {**lease, "metadata": meta, "spec": {**lease["spec"], "renewTime": moment(now)}})


def silent_since(store: Store, node: str) -> float | None:
    """The time of the node's last heartbeat, if it is marked as silent."""
    lease = store.find(LEASE, LEASES, node)
    if lease is None or SILENT not in (lease["metadata"].get("annotations") or {}):
        return None
    return parse(lease["spec"]["renewTime"])


def new_lease(node: Raw, silent: bool, now: float) -> Raw:
    name = node["metadata"]["name"]
    owner = owner_reference(NODE, node)
    return {
        "metadata": {
            "name": name,
            "namespace": LEASES,
            "annotations": {SILENT: "true"} if silent else {},
            "ownerReferences": [{part: owner[part] for part in ("apiVersion", "kind", "name", "uid")}],
        },
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": moment(now)},
    }


def moment(now: float) -> str:
    """A time in a Lease, with microseconds: moment(60.25) == "1970-01-01T00:01:00.250000Z"."""
    text = show(now)[:-1]
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction:0<6}Z"


def registered(node: Raw) -> Raw:
    """The status of a newly registered node: the given fields, completed with those that a kubelet sets."""
    given = node.get("status") or {}
    name = node["metadata"]["name"]
    status = {**given, "nodeInfo": NODE_INFO}
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = status["capacity"]
    if "capacity" not in status and "allocatable" in status:
        status["capacity"] = status["allocatable"]
    known = [{"type": "InternalIP", "address": address(name)}, {"type": "Hostname", "address": name}]
    status.setdefault("addresses", known)
    return status


def address(name: str) -> str:
    """An IP address derived from the name, between 172.16.0.0 and 172.31.255.255."""
    number = crc32(name.encode())
    return f"172.{16 + (number >> 16 & 15)}.{number >> 8 & 255}.{number & 255}"


def fine(conditions: Iterable[Raw], now: float) -> list[Raw]:
    """The conditions of a healthy node; those that others set are kept."""
    at = stamp(now)
    before = {one["type"]: one for one in conditions}
    for kind, status, reason, message in FINE:
        was = before.get(kind)
        since = was.get("lastTransitionTime") if was is not None and was["status"] == status else None
        before[kind] = {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": at,
            "lastTransitionTime": since or at,
            "reason": reason,
            "message": message,
        }
    return list(before.values())
