"""Machines on demand: a job has its quota before it has hosts, an autoscaler brings them, and refuses what is too much.

The autoscaler is the host's own stand-in; which machines it may bring is written in a ConfigMap.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.standins import node_groups
from ...cluster.embedded.store import Store
from ...cluster.kinds import NODE, PROVISIONING_REQUEST
from ...cluster.port import Delete, Key, Raw
from ...observe.pool_form import BLOCK, RACK
from .demo import Act, Demo, Step, says
from .objects import GPU, NAMESPACE, POOL, cluster_queue, flavor, job, kueue, local_queue, topology
from .sights import cancel, hosts_of, racks_of, submit, workload_of

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
    yield cluster_queue("training", 32 * 8, admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})
    yield local_queue("training", "training")


def _start(_store: Store, _round: int) -> Act:
    text = "train is submitted: 4 hosts of one rack. It gets its quota, and an autoscaler is asked for the machines."
    return Act(text, submit(job(TRAIN, "training", 4, required=RACK)))


def _asked(store: Store, _round: int) -> Act:
    names = [one["metadata"]["name"] for one in store.all(PROVISIONING_REQUEST, NAMESPACE)]
    if not names:
        return Act("train waits for its quota.")
    return Act(f"ProvisioningRequest {names[0]} is accepted. train keeps its quota until the hosts are there.")


def _came(store: Store, _round: int) -> Act:
    racks, running = racks_of(store, TRAIN), hosts_of(store, TRAIN)
    if len(running) < 4 or len(racks) != 1:
        return Act("train still waits for its machines.")
    text = f"4 hosts have come, {running[0]} to {running[3]}. train runs on them, all in rack {racks[0]}."
    return Act(text)


def _too_much(_store: Store, _round: int) -> Act:
    text = f"huge is submitted: 16 hosts. It has the quota, but the group {GROUP} may not have more than {MOST} hosts."
    return Act(text, submit(job(HUGE, "training", 16, required=BLOCK)))


def _tries_again(store: Store, _round: int) -> Act:
    if not _asked_before(store):
        return Act("The autoscaler has not answered yet.")
    return Act("The autoscaler says no: 16 hosts are more than it may bring. It is asked once more, after 5 seconds.")


def _asked_before(store: Store) -> bool:
    checks = ((workload_of(store, HUGE) or {}).get("status") or {}).get("admissionChecks") or ()
    return any(one["name"] == CHECK and one.get("retryCount") for one in checks)


def _refused(store: Store, _round: int) -> Act:
    active = ((workload_of(store, HUGE) or {}).get("spec") or {}).get("active", True)
    if active:
        return Act("huge waits until the autoscaler is asked again.")
    return Act("It said no again: huge is taken out of line, and its quota is free for others. train runs on.")


def _clear(store: Store, _round: int) -> Act:
    return Act("Both jobs are cancelled.", cancel(store, (TRAIN, HUGE)))


def _tidy(store: Store, _round: int) -> Act:
    made = [one["metadata"]["name"] for one in store.all(NODE) if node_groups.GROUP in one["metadata"]["labels"]]
    text = f"{len(made)} empty hosts are given back. The story begins again."
    return Act(text, [Delete(Key(NODE, "", name)) for name in made])


DEMO = Demo(
    "provisioning",
    "machines on demand: an autoscaler brings the hosts of one job, and refuses those of another",
    _objects,
    (
        Step(1.0, says(f"No host is here yet. The group {GROUP} may bring up to {MOST}, in racks of four.")),
        Step(3.0, _start),
        Step(3.0, _asked),
        Step(8.0, _came),
        Step(5.0, _too_much),
        Step(8.0, _tries_again),
        Step(14.0, _refused),
        Step(6.0, _clear),
        Step(4.0, _tidy),
    ),
    again=4.0,
)
