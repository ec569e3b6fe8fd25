"""Machines on demand: a job gets quota before there are hosts, an autoscaler adds them, and refuses a larger job.

The autoscaler is the embedded host's stand-in; a ConfigMap defines the node groups that it may grow.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from ...cluster.embedded.standins import node_groups
from ...cluster.embedded.store import Store
from ...cluster.kinds import CONFIG_MAP, NODE, POD, PROVISIONING_REQUEST
from ...cluster.port import Delete, Key, Raw
from ...observe.pool_form import BLOCK, RACK
from .demo import Act, Demo, DemoStep
from .objects import GPU, NAMESPACE, POOL, cluster_queue, flavor, job, kueue, local_queue, topology
from .room import holds
from .steps import cancel, submitted
from .views import has_quota, hosts_of, how_it_stands, is_whole, racks_of, waits, workload_of

QUEUE = "training"
TRAIN, HUGE = "train", "huge"
GROUP, CHECK = "burst", "machines"
MOST = 8
_GROUP = f"""\
max: {MOST}
allocatable: {{cpu: "96", memory: 1Ti, {GPU}: "8", pods: "110"}}
labels: {{pool: {POOL["pool"]}}}
topology:
- {{label: {BLOCK}, nodes: 16}}
- {{label: {RACK}, nodes: 4}}
"""


def _objects() -> Iterable[Raw]:
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": node_groups.CONFIG_MAP, "namespace": node_groups.NAMESPACE},
        "data": {GROUP: _GROUP},
    }
    config = {
        "provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
        "managedResources": [GPU],
        "parameters": {"delay": "6s"},
        "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 5, "backoffMaxSeconds": 5},
    }
    yield kueue("ProvisioningRequestConfig", GROUP, config)
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": GROUP}
    check = {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters}
    yield kueue("AdmissionCheck", CHECK, check)
    yield topology()
    yield flavor()
    yield cluster_queue(QUEUE, 32 * 8, admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    yield local_queue(QUEUE, QUEUE)


def _begin(store: Store, _round: int) -> Act:
    here = sum(1 for _ in store.all(NODE))
    text = f"There are {here} hosts." if here else "There are no hosts yet."
    return Act(f"{text} Node group {GROUP} can grow to {_most(store)}, in racks of four.")


def _most(store: Store) -> int:
    found = store.find(CONFIG_MAP, node_groups.NAMESPACE, node_groups.CONFIG_MAP)
    with suppress(ValueError):
        return sum(one.most for one in node_groups.read(found) if one.name == GROUP)
    return 0


def _start(store: Store, _round: int) -> Act:
    return submitted(store, job(TRAIN, QUEUE, 4, required=RACK), "Submitting train: 4 hosts, all in one rack.")


def _asked(store: Store, _round: int) -> Act:
    request = _request(store, TRAIN)
    if request is None or not holds(request, "Accepted") or holds(request, "Provisioned"):
        return Act(how_it_stands(store, TRAIN))
    if not has_quota(store, TRAIN):
        return Act(how_it_stands(store, TRAIN))
    name = request["metadata"]["name"]
    return Act(f"train holds quota and waits for hosts: the autoscaler accepted ProvisioningRequest {name}.")


def _request(store: Store, of: str) -> Raw | None:
    """The latest request for a job."""
    workload = workload_of(store, of)
    for one in reversed(list(store.all(PROVISIONING_REQUEST, NAMESPACE))):
        owners = one["metadata"].get("ownerReferences") or ()
        if workload is not None and any(owner["uid"] == workload["metadata"]["uid"] for owner in owners):
            return one
    return None


def _came(store: Store, _round: int) -> Act:
    racks, running = racks_of(store, TRAIN), hosts_of(store, TRAIN)
    if not is_whole(store, TRAIN, 4) or len(racks) != 1 or not set(running.values()) <= set(_brought(store)):
        return Act(how_it_stands(store, TRAIN))
    return Act(f"The hosts have joined: train runs on {', '.join(running.values())}, all in rack {racks[0]}.")


def _brought(store: Store) -> list[str]:
    nodes = (one["metadata"] for one in store.all(NODE))
    return [meta["name"] for meta in nodes if node_groups.GROUP in (meta.get("labels") or {})]


def _too_much(store: Store, _round: int) -> Act:
    text = f"Submitting huge: 16 hosts. Node group {GROUP} cannot grow beyond {_most(store)}."
    return submitted(store, job(HUGE, QUEUE, 16, required=BLOCK), text)


def _tries_again(store: Store, _round: int) -> Act:
    if not waits(store, HUGE) or not _asked_before(store):
        return Act(how_it_stands(store, HUGE))
    return Act("The autoscaler refused: 16 hosts are more than the group allows. huge waits for the next attempt.")


def _asked_before(store: Store) -> bool:
    checks = ((workload_of(store, HUGE) or {}).get("status") or {}).get("admissionChecks") or ()
    return any(one["name"] == CHECK and one.get("retryCount") for one in checks)


def _refused(store: Store, _round: int) -> Act:
    active = ((workload_of(store, HUGE) or {}).get("spec") or {}).get("active", True)
    if active or has_quota(store, HUGE):
        return Act(how_it_stands(store, HUGE))
    text = "The autoscaler refused again: huge is deactivated, and its quota is free for others."
    return Act(f"{text} train keeps running." if is_whole(store, TRAIN, 4) else text)


def _clear(store: Store, _round: int) -> Act:
    return Act("The jobs of this round are being cancelled.", cancel(store, (TRAIN, HUGE)))


def _tidy(store: Store, _round: int) -> Act:
    used = {pod["spec"].get("nodeName") for pod in store.all(POD)}
    empty = [name for name in _brought(store) if name not in used]
    text = f"{len(empty)} empty hosts are being removed. The demo starts again."
    return Act(text, [Delete(Key(NODE, "", name)) for name in empty])


DEMO = Demo(
    "provisioning",
    "machines on demand: an autoscaler adds hosts for one job, and refuses another",
    _objects,
    (
        DemoStep(1.0, _begin),
        DemoStep(3.0, _start),
        DemoStep(3.0, _asked),
        DemoStep(8.0, _came),
        DemoStep(5.0, _too_much),
        DemoStep(8.0, _tries_again),
        DemoStep(14.0, _refused),
        DemoStep(6.0, _clear),
        DemoStep(4.0, _tidy),
    ),
    again=4.0,
)
