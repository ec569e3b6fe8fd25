"""What demo steps read of hosts and quota."""

from __future__ import annotations

from collections import Counter

from ...cluster.embedded.store import Store
from ...cluster.kinds import CLUSTER_QUEUE, NODE, POD, WORKLOAD
from ...cluster.port import Raw
from ...dialects.own_marks import FAILED
from ...model.resources import amount
from ...observe.pool_form import RACK
from .objects import GPU


def holds(raw: Raw | None, kind: str) -> bool:
    """Whether the object has this condition with status True."""
    conditions = ((raw or {}).get("status") or {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def failed(store: Store) -> set[str]:
    """Hosts that were made to fail, whether or not the control plane has noticed."""
    return {one["metadata"]["name"] for one in store.all(NODE) if _notes(one).get(FAILED) == "true"}


def _notes(raw: Raw) -> dict[str, str]:
    return raw["metadata"].get("annotations") or {}


def label(store: Store, node: str, key: str) -> str:
    """The value of a node's label; "" without such a node or label."""
    found = store.find(NODE, "", node)
    labels: dict[str, str] = (found["metadata"].get("labels") or {}) if found is not None else {}
    return labels.get(key, "")


def nodes_with(store: Store, key: str, value: str) -> list[str]:
    nodes = (node["metadata"] for node in store.all(NODE))
    return [meta["name"] for meta in nodes if (meta.get("labels") or {}).get(key) == value]


def free_gpus(store: Store) -> dict[str, int]:
    """GPUs that no pod requests, by host; 0 for a host that has failed, is not ready or is cordoned."""
    broken, free = failed(store), {}
    for node in store.all(NODE):
        name = node["metadata"]["name"]
        usable = name not in broken and holds(node, "Ready") and not (node.get("spec") or {}).get("unschedulable")
        free[name] = _amount((node.get("status") or {}).get("allocatable")) if usable else 0
    for pod in store.all(POD):
        host = pod["spec"].get("nodeName")
        if free.get(host) and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            asked = sum(_amount((one.get("resources") or {}).get("requests")) for one in pod["spec"]["containers"])
            free[host] = max(0, free[host] - asked)
    return free


def _amount(amounts: Raw | None) -> int:
    return amount(GPU, (amounts or {}).get(GPU, 0))


def most_free(store: Store, level: str, each: int) -> int:
    """How many pods with `each` GPUs the emptiest domain of a level has room for."""
    found: Counter[str] = Counter()
    for host, gpus in free_gpus(store).items():
        found[label(store, host, level)] += gpus // each
    return max(found.values(), default=0)


def free_in(store: Store, rack: str) -> int:
    """Unused GPUs of a rack."""
    return sum(gpus for host, gpus in free_gpus(store).items() if label(store, host, RACK) == rack)


def quota_left(store: Store, queue: str) -> int:
    """Unreserved GPUs of a queue's own quota, counted from workloads because the queue's status may lag."""
    found = store.find(CLUSTER_QUEUE, "", queue) or {}
    own = sum(_nominal(one) for group in _groups(found) for one in group["flavors"])
    return own - sum(_reserved(one, queue) for one in store.all(WORKLOAD))


def _reserved(workload: Raw, queue: str) -> int:
    admission = (workload.get("status") or {}).get("admission") or {}
    if admission.get("clusterQueue") != queue or holds(workload, "Finished"):
        return 0
    return sum(_amount(one.get("resourceUsage")) for one in admission.get("podSetAssignments") or ())


def _groups(queue: Raw) -> list[Raw]:
    return list((queue.get("spec") or {}).get("resourceGroups") or ())


def _nominal(flavor: Raw) -> int:
    return sum(amount(GPU, one["nominalQuota"]) for one in flavor["resources"] if one["name"] == GPU)


def hall(store: Store) -> str:
    """36 hosts in 6 racks, 2 of them failed."""
    hosts, broken = [one["metadata"]["name"] for one in store.all(NODE)], failed(store)
    racks = {label(store, host, RACK) for host in hosts}
    return f"{_counted(len(hosts), 'host')} in {_counted(len(racks), 'rack')}" + (
        f", {len(broken)} of them failed" if broken else ""
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
