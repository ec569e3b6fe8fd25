"""NUMA zones: kubelets refuse what only looks as if it fits, and what is placed by zones they admit.

    b1-r1   4 hosts  zone 0: 3 of 4 GPUs in use   zone 1: 3 of 4 in use     two GPUs free, on different sockets
    b1-r2   4 hosts  zone 0: empty                zone 1: empty

The kubelets have the policy single-numa-node. A pod with two GPUs fits on the first host by its total, and its kubelet
refuses it; its Deployment creates the next one, and so on. The same pod in a queue is sent where a zone has two GPUs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ...cluster.embedded.store import Store
from ...cluster.kinds import DEPLOYMENT, POD
from ...cluster.port import Create, Delete, Key, Raw
from ...dialects.own_marks import NUMA, RUN_TIME
from ...numa.refusal import AFFINITY
from ...observe.pool_form import RACK
from .demo import Act, Demo, DemoStep
from .objects import GPU, NAMESPACE, cluster_queue, flavor, hosts, job, local_queue, topology
from .room import hall
from .steps import ended, submitted
from .views import JOB_NAME, hosts_of, how_it_stands, is_here, is_whole, racks_of, waits

QUEUE, APP = "training", "app"
SERVER, TRAIN, GANG, WIDE = "server", "train", "gang", "wide"
ZONES = {"zones": 2, "policy": "single-numa-node", "exporter": "2s"}
FULL_RACK, IN_USE = "b1-r1", 3


def _objects() -> Iterable[Raw]:
    for one in hosts(1, 2, 4):
        meta = one["metadata"]
        yield {**one, "metadata": {**meta, "annotations": {NUMA: json.dumps(ZONES)}}}
        if meta["labels"][RACK] == FULL_RACK:
            yield from (_inference(f"inference-{meta['name']}-{number}", meta["name"]) for number in (1, 2))
    yield topology()
    yield flavor()
    yield cluster_queue(QUEUE, 2 * 4 * 8)
    yield local_queue(QUEUE, QUEUE)


def _inference(name: str, node: str) -> Raw:
    meta = {"name": name, "namespace": NAMESPACE, "annotations": {RUN_TIME: "forever"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**_spec(IN_USE), "nodeName": node}}


def _spec(gpus: int) -> Raw:
    """A Guaranteed pod: its CPUs and memory come from the same zone as its GPUs."""
    amounts = {"cpu": str(8 * gpus), "memory": f"{32 * gpus}Gi", GPU: str(gpus)}
    resources = {"requests": amounts, "limits": amounts}
    return {"containers": [{"name": "main", "image": "example.com/train:1", "resources": resources}]}


def _job(name: str, pods: int, gpus: int, required: str = "") -> Raw:
    made = job(name, QUEUE, pods, gpus=gpus, required=required)
    made["spec"]["template"]["spec"].update(_spec(gpus))
    return made


def _hosts(store: Store, _round: int) -> Act:
    return Act(f"{hall(store)}, with two NUMA zones each. Their kubelets admit a pod only if one zone can hold it.")


def _server(store: Store, _round: int) -> Act:
    if store.find(DEPLOYMENT, NAMESPACE, SERVER) is not None:
        return Act(f"Deployment {SERVER} exists already, so none is created.")
    labels = {APP: SERVER}
    template = {"metadata": {"labels": labels}, "spec": _spec(2)}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": SERVER, "namespace": NAMESPACE}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    text = "Creating the Deployment server without a queue: one pod with 2 GPUs, for the first host with 2 free GPUs."
    return Act(text, [Create(DEPLOYMENT, made)])


def _storm(store: Store, _round: int) -> Act:
    return Act(_count(store))


def _stopped(store: Store, _round: int) -> Act:
    if store.find(DEPLOYMENT, NAMESPACE, SERVER) is None:
        return Act("Deployment server is gone.")
    return Act("Deployment server is being deleted, with all its failed pods.", [Delete(_KEY)])


def _train(store: Store, _round: int) -> Act:
    return submitted(store, _job(TRAIN, 1, 2), "Submitting train to a queue: one pod with 2 GPUs, as that of server.")


def _trains(store: Store, _round: int) -> Act:
    refused = refusals(store, JOB_NAME, TRAIN)
    if refused or not is_whole(store, TRAIN, 1):
        return Act(_refused_or_not(store, TRAIN))
    return Act(f"train runs on {hosts_of(store, TRAIN)[0]}, where one zone has room for it. No kubelet refused it.")


def _gang(store: Store, _round: int) -> Act:
    text = "Submitting gang: 6 pods with 4 GPUs each, all in one rack, each in one zone."
    return submitted(store, _job(GANG, 6, 4, RACK), text)


def _gang_runs(store: Store, _round: int) -> Act:
    racks = racks_of(store, GANG)
    if refusals(store, JOB_NAME, GANG) or not is_whole(store, GANG, 6) or len(racks) != 1:
        return Act(_refused_or_not(store, GANG))
    return Act(f"All pods of gang run in rack {racks[0]}, each in a zone of its own. No kubelet refused one.")


def _wide(store: Store, _round: int) -> Act:
    text = "Submitting wide: one pod with 6 GPUs. Hosts have 8, but no zone has more than 4."
    return submitted(store, _job(WIDE, 1, 6), text)


def _wide_waits(store: Store, _round: int) -> Act:
    if waits(store, WIDE) and not refusals(store, JOB_NAME, WIDE):
        return Act("wide is pending, and no kubelet was asked. Run `closeknit explain wide` to see why.")
    return Act(_refused_or_not(store, WIDE))


def _count(store: Store) -> str:
    count = _pods(refusals(store, APP, SERVER))
    return f"Kubelets refused {count} of server so far ({AFFINITY}), and the Deployment makes another each time."


def _pods(count: int) -> str:
    return "one pod" if count == 1 else f"{count or 'no'} pods"


def _refused_or_not(store: Store, name: str) -> str:
    refused = refusals(store, JOB_NAME, name)
    if not refused or not is_here(store, name):
        return how_it_stands(store, name)
    return f"Kubelets refused {_pods(refused)} of {name} so far."


def refusals(store: Store, key: str, value: str) -> int:
    """How many pods with this label a kubelet refused because of their zones."""
    return sum(
        (pod.get("status") or {}).get("reason") == AFFINITY and _labels(pod).get(key) == value
        for pod in store.all(POD, NAMESPACE)
    )


def _labels(pod: Raw) -> Mapping[str, str]:
    return pod["metadata"].get("labels") or {}


_KEY = Key(DEPLOYMENT, NAMESPACE, SERVER)

DEMO = Demo(
    "numa",
    "what a kubelet refuses for its NUMA zones: a storm without a queue, then jobs placed by zones",
    _objects,
    (
        DemoStep(1.0, _hosts),
        DemoStep(4.0, _server),
        DemoStep(3.0, _storm),
        DemoStep(3.0, _storm),
        DemoStep(3.0, _stopped),
        DemoStep(3.0, _train),
        DemoStep(5.0, _trains),
        DemoStep(4.0, _gang),
        DemoStep(6.0, _gang_runs),
        DemoStep(4.0, _wide),
        DemoStep(4.0, _wide_waits),
        DemoStep(10.0, ended),
    ),
)
