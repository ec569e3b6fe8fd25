"""What the steps of demos look for in the store, and the few things that they do to it."""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.standins.silence import FAILED
from ...cluster.embedded.store import Store
from ...cluster.kinds import JOB, NODE, POD, WORKLOAD
from ...cluster.port import Create, Delete, Key, Patch, Raw, Write
from ...model.encoding import decode
from ...observe.pool_form import RACK
from .objects import NAMESPACE

JOB_NAME = "batch.kubernetes.io/job-name"
INDEX = "batch.kubernetes.io/job-completion-index"


def submit(*jobs: Raw) -> list[Write]:
    return [Create(JOB, one) for one in jobs]


def cancel(store: Store, names: Iterable[str]) -> list[Write]:
    """Those that are there."""
    return [Delete(Key(JOB, NAMESPACE, name)) for name in names if store.find(JOB, NAMESPACE, name) is not None]


def let_fail(nodes: Iterable[str]) -> list[Write]:
    return [_marked(node, "true") for node in nodes]


def repair(store: Store) -> list[Write]:
    """Every node that was let fail."""
    names = [node["metadata"]["name"] for node in store.all(NODE) if _notes(node).get(FAILED) == "true"]
    return [_marked(name, None) for name in names]


def _marked(node: str, value: str | None) -> Patch:
    return Patch(Key(NODE, "", node), {"metadata": {"annotations": {FAILED: value}}})


def _notes(raw: Raw) -> dict[str, str]:
    return raw["metadata"].get("annotations") or {}


def hosts_of(store: Store, job: str) -> dict[int, str]:
    """Where the pods of a job are, by rank; pods that are on their way out do not count."""
    found: dict[int, str] = {}
    for pod in store.all(POD, NAMESPACE):
        meta = pod["metadata"]
        labels, node = meta.get("labels") or {}, pod["spec"].get("nodeName")
        if labels.get(JOB_NAME) == job and node and "deletionTimestamp" not in meta:
            found[int(labels.get(INDEX, 0))] = node
    return dict(sorted(found.items()))


def label(store: Store, node: str, key: str) -> str:
    """Empty if there is no such node, or it has no such label."""
    found = store.find(NODE, "", node)
    labels: dict[str, str] = (found["metadata"].get("labels") or {}) if found is not None else {}
    return labels.get(key, "")


def nodes_with(store: Store, key: str, value: str) -> list[str]:
    nodes = (node["metadata"] for node in store.all(NODE))
    return [meta["name"] for meta in nodes if (meta.get("labels") or {}).get(key) == value]


def racks_of(store: Store, job: str) -> list[str]:
    return sorted({label(store, node, RACK) for node in hosts_of(store, job).values()})


def workload_of(store: Store, job: str) -> Raw | None:
    for one in store.all(WORKLOAD, NAMESPACE):
        if any(owner["name"] == job for owner in one["metadata"].get("ownerReferences") or ()):
            return one
    return None


def condition(raw: Raw | None, kind: str) -> Raw | None:
    conditions = ((raw or {}).get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), None)


def is_admitted(store: Store, job: str) -> bool:
    found = condition(workload_of(store, job), "Admitted")
    return found is not None and found["status"] == "True"


def plan_of(store: Store, job: str) -> list[str]:
    """The host that the plan has for every rank of a job with one pod set, rank 0 first."""
    admission = ((workload_of(store, job) or {}).get("status") or {}).get("admission") or {}
    for given in admission.get("podSetAssignments") or ():
        if given.get("topologyAssignment"):
            return [path[-1] for path in decode(given["topologyAssignment"]).slots()]
    return []
