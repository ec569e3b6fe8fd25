"""What `kubectl get` prints for built-in kinds: for each kind its columns, and the cells of a row after the name.

Columns that end in `+` are only shown with `-o wide`. Rows leave out name and age, which are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...kinds import (
    BUDGET,
    CONFIG_MAP,
    CONTROLLER_REVISION,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    EVENT,
    JOB,
    LEASE,
    LIMIT_RANGE,
    NAMESPACE,
    NODE,
    POD,
    POD_TEMPLATE,
    PRIORITY_CLASS,
    REPLICA_SET,
    RUNTIME_CLASS,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
    STATEFUL_SET,
    STORAGE_CLASS,
    VOLUME,
    VOLUME_CLAIM,
    Kind,
)
from ...port import Raw
from . import pod_rows, volume_rows
from .ages import UNKNOWN, age, seconds, shown
from .pod_rows import NONE
from .selectors import label_text, selector_text

ROLE = "node-role.kubernetes.io/"


class TableLayout(NamedTuple):
    """The columns of a kind and how to fill a row; `numbers`, `flags` and `dates` are those that are not strings."""

    columns: str
    row: Callable[[Raw, float], list[Any]]
    numbers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()


def _at(raw: Any, *path: str) -> Any:
    for step in path:
        raw = raw.get(step) if isinstance(raw, dict) else None
    return raw


def _count(raw: Raw, *path: str) -> int:
    return _at(raw, *path) or 0


def _containers(raw: Raw, *path: str) -> list[Any]:
    """The names and the images of the containers."""
    found = _at(raw, *(path or ("spec", "template", "spec")), "containers") or []
    return [",".join(one.get(field) or "" for one in found) for field in ("name", "image")]


def _selector(raw: Raw) -> str:
    return selector_text(_at(raw, "spec", "selector") or {}) or NONE


def _labels(labels: Raw | None) -> str:
    return label_text(labels or {}) or NONE


def _node(raw: Raw, _: float) -> list[Any]:
    ready = [one for one in _at(raw, "status", "conditions") or () if one.get("type") == "Ready"]
    status = ["Ready" if one.get("status") == "True" else "NotReady" for one in ready] or ["Unknown"]
    if _at(raw, "spec", "unschedulable"):
        status.append("SchedulingDisabled")
    labels = _at(raw, "metadata", "labels") or {}
    roles = {key.removeprefix(ROLE) for key in labels if key.startswith(ROLE)} - {""}
    if labels.get("kubernetes.io/role"):
        roles.add(labels["kubernetes.io/role"])
    addresses = {one.get("type"): one.get("address") for one in reversed(_at(raw, "status", "addresses") or ())}
    info = _at(raw, "status", "nodeInfo") or {}
    return [
        ",".join(status),
        ",".join(sorted(roles)) or NONE,
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        *(info.get(field) or UNKNOWN for field in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def _event(raw: Raw, now: float) -> list[Any]:
    first = raw.get("firstTimestamp") or raw.get("eventTime")
    last, count = raw.get("lastTimestamp") or first, raw.get("count") or 1
    if raw.get("series"):
        last, count = raw["series"].get("lastObservedTime"), raw["series"].get("count")
    about, source = raw.get("involvedObject") or {}, raw.get("source") or {}
    component = source.get("component") or raw.get("reportingComponent")
    host = source.get("host") or raw.get("reportingInstance")
    what = about.get("kind", "").lower()
    return [
        age(last, now),
        raw.get("type", ""),
        raw.get("reason", ""),
        f"{what}/{about['name']}" if about.get("name") else what,
        about.get("fieldPath", ""),
        ", ".join(one for one in (component, host) if one),
        (raw.get("message") or "").strip(),
        age(first, now),
        count,
    ]


def _service(raw: Raw, _: float) -> list[Any]:
    spec = raw.get("spec") or {}
    kind = spec.get("type") or "ClusterIP"
    outside = ",".join(spec.get("externalIPs") or ())
    if kind == "LoadBalancer":
        given = _at(raw, "status", "loadBalancer", "ingress") or ()
        shared = [one.get("ip") or one.get("hostname") for one in given]
        outside = ",".join([*filter(None, shared), *([outside] if outside else [])]) or "<pending>"
    elif kind == "ExternalName":
        outside = spec.get("externalName", "")
    ports = [
        f"{one['port']}{':' + str(one['nodePort']) if one.get('nodePort') else ''}/{one.get('protocol', 'TCP')}"
        for one in spec.get("ports") or ()
    ]
    address = spec.get("clusterIP") or NONE
    return [kind, address, outside or NONE, ",".join(ports) or NONE, _labels(spec.get("selector"))]


def _job(raw: Raw, now: float) -> list[Any]:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    true = {one.get("type") for one in status.get("conditions") or () if one.get("status") == "True"}
    if "deletionTimestamp" in raw["metadata"]:
        true.add("Terminating")
    order = ("Complete", "Failed", "Terminating", "Suspended", "FailureTarget", "SuccessCriteriaMet")
    done, wanted, parallel = status.get("succeeded") or 0, spec.get("completions"), spec.get("parallelism") or 0
    if wanted is None:
        wanted = f"1 of {parallel}" if parallel > 1 else 1
    began, ended = seconds(status.get("startTime")), seconds(status.get("completionTime"))
    took = "" if began is None else shown((now if ended is None else ended) - began)
    word = next((one for one in order if one in true), "Running")
    return [word, f"{done}/{wanted}", took, *_containers(raw), _selector(raw)]


def _cron_job(raw: Raw, now: float) -> list[Any]:
    spec, last = raw.get("spec") or {}, _at(raw, "status", "lastScheduleTime")
    return [
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(_at(raw, "status", "active") or ()),
        age(last, now) if last else NONE,
        *_containers(raw, "spec", "jobTemplate", "spec", "template", "spec"),
        selector_text(_at(spec, "jobTemplate", "spec", "selector") or {}) or NONE,
    ]


def _revision(raw: Raw, _: float) -> list[Any]:
    owner = next((one for one in raw["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    name = NONE
    if owner is not None:
        group = owner["apiVersion"].rpartition("/")[0]
        name = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"
    return [name, raw.get("revision", 0)]


def _deployment(raw: Raw, _: float) -> list[Any]:
    ready = f"{_count(raw, 'status', 'readyReplicas')}/{_count(raw, 'spec', 'replicas')}"
    counts = [_count(raw, "status", one) for one in ("updatedReplicas", "availableReplicas")]
    return [ready, *counts, *_containers(raw), _selector(raw)]


def _replica_set(raw: Raw, _: float) -> list[Any]:
    counts = [_count(raw, "status", one) for one in ("replicas", "readyReplicas")]
    return [_count(raw, "spec", "replicas"), *counts, *_containers(raw), _selector(raw)]


def _stateful_set(raw: Raw, _: float) -> list[Any]:
    return [f"{_count(raw, 'status', 'readyReplicas')}/{_count(raw, 'spec', 'replicas')}", *_containers(raw)]


def _daemon_set(raw: Raw, _: float) -> list[Any]:
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    more = ("updatedNumberScheduled", "numberAvailable")
    counts = [_count(raw, "status", one) for one in names + more]
    where = _labels(_at(raw, "spec", "template", "spec", "nodeSelector"))
    return [*counts, where, *_containers(raw), _selector(raw)]


def _budget(raw: Raw, _: float) -> list[Any]:
    limits = [_at(raw, "spec", one) for one in ("minAvailable", "maxUnavailable")]
    return [*("N/A" if one is None else str(one) for one in limits), _count(raw, "status", "disruptionsAllowed")]


def _priority_class(raw: Raw, _: float) -> list[Any]:
    return [raw.get("value", 0), bool(raw.get("globalDefault")), raw.get("preemptionPolicy", "")]


def _pod_template(raw: Raw, _: float) -> list[Any]:
    return [*_containers(raw, "template", "spec"), _labels(_at(raw, "template", "metadata", "labels"))]


_WORK = "Containers+|Images+|Selector+"
LAYOUTS: dict[Kind, TableLayout] = {
    NAMESPACE: TableLayout("Name|Status|Age", lambda raw, _: [_at(raw, "status", "phase") or ""]),
    NODE: TableLayout(
        "Name|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+", _node
    ),
    POD: TableLayout("Name|Ready|Status|Restarts|Age|IP+|Node+|Nominated Node+|Readiness Gates+", pod_rows.row),
    EVENT: TableLayout(
        "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name+",
        _event,
    ),
    CONFIG_MAP: TableLayout(
        "Name|Data|Age", lambda raw, _: [len(raw.get("data") or ()) + len(raw.get("binaryData") or ())]
    ),
    SECRET: TableLayout("Name|Type|Data|Age", lambda raw, _: [raw.get("type", ""), len(raw.get("data") or ())]),
    SERVICE: TableLayout("Name|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+", _service),
    SERVICE_ACCOUNT: TableLayout("Name|Age", lambda *_: []),
    POD_TEMPLATE: TableLayout("Name|Containers|Images|Pod Labels", _pod_template),
    LIMIT_RANGE: TableLayout(
        "Name|Created At", lambda raw, _: [raw["metadata"].get("creationTimestamp")], dates=("Created At",)
    ),
    DEPLOYMENT: TableLayout(f"Name|Ready|Up-to-date|Available|Age|{_WORK}", _deployment),
    REPLICA_SET: TableLayout(f"Name|Desired|Current|Ready|Age|{_WORK}", _replica_set, ("Desired", "Current", "Ready")),
    STATEFUL_SET: TableLayout("Name|Ready|Age|Containers+|Images+", _stateful_set),
    DAEMON_SET: TableLayout(
        f"Name|Desired|Current|Ready|Up-to-date|Available|Node Selector|Age|{_WORK}",
        _daemon_set,
        ("Desired", "Current", "Ready", "Up-to-date", "Available"),
    ),
    CONTROLLER_REVISION: TableLayout("Name|Controller|Revision|Age", _revision),
    JOB: TableLayout(f"Name|Status|Completions|Duration|Age|{_WORK}", _job),
    CRON_JOB: TableLayout(
        f"Name|Schedule|Timezone|Suspend|Active|Last Schedule|Age|{_WORK}", _cron_job, ("Active",), ("Suspend",)
    ),
    BUDGET: TableLayout(
        "Name|Min Available|Max Unavailable|Allowed Disruptions|Age", _budget, numbers=("Allowed Disruptions",)
    ),
    PRIORITY_CLASS: TableLayout(
        "Name|Value|Global-Default|Age|PreemptionPolicy", _priority_class, ("Value",), ("Global-Default",)
    ),
    RUNTIME_CLASS: TableLayout("Name|Handler|Age", lambda raw, _: [raw.get("handler", "")]),
    VOLUME_CLAIM: TableLayout(volume_rows.CLAIM, volume_rows.claim),
    VOLUME: TableLayout(volume_rows.VOLUME, volume_rows.volume),
    STORAGE_CLASS: TableLayout(volume_rows.STORAGE_CLASS, volume_rows.storage_class, flags=("AllowVolumeExpansion",)),
    LEASE: TableLayout("Name|Holder|Age", lambda raw, _: [_at(raw, "spec", "holderIdentity") or ""]),
}
