"""Small random clusters: their objects at one moment, and the decisions of a control plane on them.

A cluster is built in two steps. First its queues and a few jobs are created and a control plane admits what it can; the
pods of admitted jobs are bound where they were placed. Then it is disturbed: pods drain, are orphaned or unmanaged,
jobs finish or are deleted, nodes are cordoned, queues stop, and new jobs of several forms arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.loop import Loop
from closeknit.cluster.embedded.rules import AdmissionSettings as RuleSettings
from closeknit.cluster.embedded.rules import HostRules
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Change, Key
from closeknit.controller.control_plane import ControlPlane
from closeknit.controller.decision_log import Record
from closeknit.dialects.kueue import objects as kueue
from closeknit.host.virtual import no_cost
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.model.workload import Workload
from observe.written import GPU, KUEUE, QUEUE, RACK, REQUIRED, Raw, cluster_queue, flavor, local_queue, node, topology
from observe.written import kueue as kueue_object

START = 1_800_000_000.0
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
UNCONSTRAINED = "kueue.x-k8s.io/podset-unconstrained-topology"
WORKLOAD = "kueue.x-k8s.io/workload"
POD_SET = "kueue.x-k8s.io/podset"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
GROUP, TOTAL = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
CLASS = "kueue.x-k8s.io/priority-class"
PREEMPTION = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
CLASSES = {"high": 10, "low": -10}
MOST_STEPS = 3_000


class Stopped:
    """Deletes the pods of a suspended job at once, as what-if does."""

    watches = (kinds.JOB,)

    def __init__(self, store: Store) -> None:
        self.store = store

    def see(self, change: Change) -> None:
        if change.type == "MODIFIED" and change.object["spec"].get("suspend"):
            for pod in self.store.owned(change.object["metadata"]["uid"], kinds.POD):
                meta = pod["metadata"]
                self.store.delete(Key(kinds.POD, meta["namespace"], meta["name"]), grace=0)

    def due(self) -> None:
        return None

    def step(self, now: float) -> tuple[()]:
        return ()

    def done(self, *_: object) -> None:
        raise AssertionError("it writes at once")


@dataclass
class Cluster:
    """Objects in a store with a clock that a test advances."""

    seed: int
    profile: str = "closeknit"
    clock: float = START

    def __post_init__(self) -> None:
        self.gates = Gates.profile(self.profile)
        rules = HostRules(RuleSettings(self.gates))
        self.store = Store(lambda: self.clock, RandomIds(self.seed), rules)
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})

    def create(self, raw: Raw) -> Raw:
        kind = kinds.kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None, raw["kind"]
        return self.store.create(kind, raw)

    def all(self, kind: Kind) -> list[Raw]:
        return list(self.store.all(kind))

    def objects(self) -> list[Raw]:
        return [raw for kind in kinds.KINDS if kind is not kinds.EVENT for raw in self.store.all(kind)]

    def workloads(self) -> dict[str, Workload]:
        return {one.key: one for one in map(kueue.workload, self.all(kinds.WORKLOAD))}

    def run(self, seconds: float = 4.0) -> list[Record]:
        """Run a new control plane for some seconds; return its decisions."""
        records: list[Record] = []
        plane = ControlPlane(self.gates, Settings(), lambda: self.clock, no_cost, keep=records.append)
        loop = Loop(self.store, [Stopped(self.store), plane])
        order = [*(kind for kind in kinds.KINDS if kind not in (kinds.WORKLOAD, kinds.POD)), kinds.WORKLOAD, kinds.POD]
        for kind in order:
            for raw in self.all(kind):
                loop.tell(Change(int(raw["metadata"]["resourceVersion"]), "ADDED", kind, raw))
        loop.seen = self.store.version
        end = self.clock + seconds
        while True:
            due = loop.run(self.clock, MOST_STEPS)
            assert due is None or due > self.clock, "it does not come to rest"
            if due is None or due > end:
                break
            self.clock = due
        self.clock = end
        return records


def resources(gpus: int) -> Raw:
    return {"requests": {GPU: str(gpus)}, "limits": {GPU: str(gpus)}}


def template(random: Random, gpus: int, level: str | None) -> Raw:
    notes = {} if level is None else {random.choice([REQUIRED, REQUIRED, PREFERRED]): level}
    if random.random() < 0.1:
        notes = {UNCONSTRAINED: "true"}
    spec: Raw = {"containers": [{"name": "c", "image": "i", "resources": resources(gpus)}], "restartPolicy": "Never"}
    if random.random() < 0.3:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    return {"metadata": {"annotations": notes}, "spec": spec}


def job(random: Random, name: str, queue: str, **labels: str) -> Raw:
    pods, level = random.randint(1, 4), random.choice([RACK, RACK, "kubernetes.io/hostname", None])
    if random.random() < 0.3:
        labels[CLASS] = random.choice(["high", "low"])
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {QUEUE: queue, **labels}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "template": template(random, random.randint(1, 4), level),
        },
    }


def workload(random: Random, name: str, like: Raw) -> Raw:
    """A Workload created by hand for the pods of this job."""
    spec = {"queueName": like["metadata"]["labels"][QUEUE], "priority": random.choice([0, 5])}
    pod_set: Raw = {"name": "main", "count": like["spec"]["parallelism"], "template": like["spec"]["template"]}
    notes = like["spec"]["template"]["metadata"]["annotations"]
    for note, said in ((REQUIRED, "required"), (PREFERRED, "preferred")):
        if note in notes:
            pod_set["topologyRequest"] = {said: notes[note]}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "spec": {**spec, "podSets": [pod_set]}}


def pod(name: str, on: str, gpus: int, meta: Raw | None = None) -> Raw:
    spec: Raw = {"containers": [{"name": "c", "image": "i", "resources": resources(gpus)}]}
    named = {"name": name, "namespace": "default", **(meta or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": {**spec, **({"nodeName": on} if on else {})}}


class Maker:
    """Builds the cluster of a seed."""

    def __init__(self, seed: int, profile: str = "closeknit") -> None:
        self.random = Random(seed)
        self.cluster = Cluster(seed, profile)
        self.queues: list[str] = []
        self.nodes: list[str] = []

    def make(self) -> Cluster:
        self.grow()
        self.random.choice(ARRIVALS)(self)
        self.cluster.clock += 1
        return self.cluster

    def grow(self) -> Cluster:
        """All but the last arrival."""
        self.set_up()
        for number in range(self.random.randint(1, 4)):
            self.cluster.create(job(self.random, f"old-{number}", self.random.choice(self.queues)))
        self.cluster.run()
        self.start_pods()
        for disturb in self.random.sample(DISTURBANCES, self.random.randint(1, 5)):
            self.cluster.clock += 1
            disturb(self)
        return self.cluster

    def set_up(self) -> None:
        random, create = self.random, self.cluster.create
        for number in range(random.randint(2, 4)):
            raw = node(f"n{number}", f"r{number % random.randint(1, 2)}", random.randint(2, 6))
            if random.random() < 0.1:
                raw["spec"] = {"taints": [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]}
            create(raw)
            self.nodes.append(f"n{number}")
        create(topology())
        create(flavor(topology="dc"))
        for name, value in CLASSES.items():
            create(kueue_object("WorkloadPriorityClass", name, value=value))
        shared = random.random() < 0.5
        for number in range(random.randint(1, 2)):
            policy: Raw = {"preemption": PREEMPTION} if random.random() < 0.3 else {}
            quota = random.choice([4, 8, 100])
            create(cluster_queue(f"cq-{number}", quota, "team" if shared else "", **policy))
            create(local_queue(f"lq-{number}", f"cq-{number}"))
            self.queues.append(f"lq-{number}")

    def start_pods(self) -> None:
        """The pods of admitted workloads, each bound where it was placed."""
        for one in self.cluster.workloads().values():
            jobs = [raw for raw in self.cluster.all(kinds.JOB) if raw["metadata"]["uid"] == one.job_uid]
            if one.admitted and jobs and one.status.admission is not None:
                assigned = one.status.admission.pod_sets[0].topology
                assert assigned is not None, "every flavor has a topology"
                self.start(jobs[0], [path[-1] for path, count in assigned.domains for _ in range(count)])

    def start(self, owner: Raw, hosts: list[str]) -> None:
        inner, meta = owner["spec"]["template"], owner["metadata"]
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"]}
        for number, host in enumerate(hosts):
            labels = inner["metadata"].get("labels") or {}
            named = {
                "name": f"{meta['name']}-{number}",
                "namespace": "default",
                "labels": {**labels, "batch.kubernetes.io/job-completion-index": str(number)},
                "annotations": inner["metadata"].get("annotations") or {},
                "ownerReferences": [{**reference, "controller": True}],
            }
            spec = {key: value for key, value in inner["spec"].items() if key != "schedulingGates"}
            spec |= {"nodeName": host}
            self.cluster.create({"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": spec})

    # Disturbances

    def some(self, kind: Kind) -> list[Raw]:
        found = self.cluster.all(kind)
        return self.random.sample(found, self.random.randint(0, len(found)))

    def key(self, kind: Kind, raw: Raw) -> Key:
        return Key(kind, raw["metadata"].get("namespace", ""), raw["metadata"]["name"])

    def drain_pods(self) -> None:
        for raw in self.some(kinds.POD):
            self.cluster.store.delete(self.key(kinds.POD, raw))

    def end_pods(self) -> None:
        for raw in self.some(kinds.POD):
            status = {"status": {"phase": self.random.choice(["Succeeded", "Failed"])}}
            self.cluster.store.patch(self.key(kinds.POD, raw), status, subresource="status")

    def delete_jobs(self) -> None:
        """Their pods and workloads remain, as orphans or until garbage collection."""
        for raw in self.some(kinds.JOB):
            if self.random.random() < 0.5:
                for one in self.cluster.store.owned(raw["metadata"]["uid"], kinds.WORKLOAD):
                    key = self.key(kinds.WORKLOAD, one)
                    self.cluster.store.patch(key, {"metadata": {"ownerReferences": None}})
            self.cluster.store.delete(self.key(kinds.JOB, raw))

    def delete_workloads(self) -> None:
        for raw in self.some(kinds.WORKLOAD):
            self.cluster.store.delete(self.key(kinds.WORKLOAD, raw))

    def end_jobs(self) -> None:
        for raw in self.some(kinds.JOB):
            conditions = [{"type": "Complete", "status": "True", "reason": "r", "message": "m"}]
            self.cluster.store.patch(
                self.key(kinds.JOB, raw), {"status": {"conditions": conditions}}, subresource="status"
            )

    def strays(self) -> None:
        """Unmanaged pods: with and without annotations, of an existing or missing workload."""
        for number in range(self.random.randint(1, 4)):
            notes: dict[str, str] = {}
            if self.random.random() < 0.6:
                notes[REQUIRED] = RACK
            if self.random.random() < 0.4:
                known = [raw["metadata"]["name"] for raw in self.cluster.all(kinds.WORKLOAD)]
                notes[WORKLOAD] = self.random.choice(["missing", *known])
            labels = {POD_SET: "main"} if self.random.random() < 0.3 else {}
            meta = {"annotations": notes, "labels": labels}
            self.cluster.create(pod(f"stray-{number}", self.random.choice(self.nodes), self.random.randint(1, 3), meta))

    def daemons(self) -> None:
        spec = {
            "selector": {"matchLabels": {"app": "agent"}},
            "template": {
                "metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": resources(1)}]},
            },
        }
        meta = {"name": "agent", "namespace": "default"}
        made = self.cluster.create({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": spec})
        owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": made["metadata"]["uid"]}
        for name in self.random.sample(self.nodes, self.random.randint(0, len(self.nodes))):
            owners = {"ownerReferences": [{**owner, "controller": True}]}
            self.cluster.create(pod(f"agent-{name}", name, self.random.randint(1, 2), owners))

    def nodes_change(self) -> None:
        for raw in self.some(kinds.NODE)[:2]:
            key = self.key(kinds.NODE, raw)
            match self.random.randint(0, 3):
                case 0:
                    self.cluster.store.patch(key, {"spec": {"unschedulable": True}})
                case 1:
                    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
                    self.cluster.store.patch(key, {"spec": {"taints": [taint]}})
                case 2 if len(self.cluster.all(kinds.NODE)) > 1:
                    self.cluster.store.delete(key)
                case _:
                    self.cluster.store.patch(key, {"metadata": {"labels": {RACK: "r9"}}})

    def prebuilt(self) -> None:
        """A job that names its Workload, and that Workload: both, either, or an unrelated one."""
        one = job(self.random, "prebuilt", self.random.choice(self.queues), **{PREBUILT: "made"})
        like = one if self.random.random() < 0.7 else job(self.random, "other", self.random.choice(self.queues))
        if self.random.random() < 0.8:
            self.cluster.create(workload(self.random, "made", like))
        if self.random.random() < 0.8:
            self.cluster.create(one)

    def workloads_alone(self) -> None:
        for number in range(self.random.randint(1, 2)):
            like = job(self.random, "like", self.random.choice(self.queues))
            self.cluster.create(workload(self.random, f"alone-{number}", like))

    def deactivate(self) -> None:
        for raw in self.some(kinds.WORKLOAD)[:1]:
            self.cluster.store.patch(self.key(kinds.WORKLOAD, raw), {"spec": {"active": False}})

    def stop_queue(self) -> None:
        policy = self.random.choice(["Hold", "HoldAndDrain"])
        for raw in self.some(kinds.CLUSTER_QUEUE)[:1]:
            self.cluster.store.patch(self.key(kinds.CLUSTER_QUEUE, raw), {"spec": {"stopPolicy": policy}})

    def limits(self) -> None:
        spec = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}, "default": {"cpu": "2"}}]}
        meta = {"name": "limits", "namespace": "default"}
        self.cluster.create({"apiVersion": "v1", "kind": "LimitRange", "metadata": meta, "spec": spec})

    # Arrivals

    def new_job(self) -> None:
        self.cluster.create(job(self.random, "new", self.random.choice(self.queues)))

    def group(self) -> None:
        total = self.random.randint(1, 3)
        there = total if self.random.random() < 0.7 else total - 1
        labels, notes = {QUEUE: self.random.choice(self.queues), GROUP: "gang"}, {TOTAL: str(total)}
        if self.random.random() < 0.5:
            notes[REQUIRED] = RACK
        for number in range(there):
            self.cluster.create(pod(f"gang-{number}", "", 1, {"labels": labels, "annotations": notes}))

    def lone_pod(self) -> None:
        labels = {QUEUE: self.random.choice(self.queues)}
        self.cluster.create(pod("lone", "", self.random.randint(1, 2), {"labels": labels}))


DISTURBANCES: list[Callable[[Maker], None]] = [
    Maker.drain_pods,
    Maker.end_pods,
    Maker.delete_jobs,
    Maker.delete_workloads,
    Maker.end_jobs,
    Maker.strays,
    Maker.daemons,
    Maker.nodes_change,
    Maker.prebuilt,
    Maker.workloads_alone,
    Maker.deactivate,
    Maker.stop_queue,
    Maker.limits,
]

ARRIVALS: list[Callable[[Maker], None]] = [Maker.new_job, Maker.new_job, Maker.group, Maker.lone_pod]
"""New jobs. Only one arrives, since workloads created in the same second would be queued in random order."""


def cluster_of(seed: int, profile: str = "closeknit") -> Cluster:
    return Maker(seed, profile).make()


class RoomMaker(Maker):
    """Clusters in which only free capacity decides: quota is plentiful, and every assignment has its pods."""

    def make(self) -> Cluster:
        self.set_up()
        for number in range(self.random.randint(0, 3)):
            self.cluster.create(job(self.random, f"old-{number}", "lq-0"))
        self.cluster.run()
        self.start_pods()
        for disturb in self.random.sample([Maker.strays, Maker.delete_jobs, RoomMaker.keep_off], 2):
            self.cluster.clock += 1
            disturb(self)
        return self.cluster

    def set_up(self) -> None:
        for number in range(self.random.randint(2, 5)):
            self.cluster.create(node(f"n{number}", f"r{number % 2}", self.random.randint(2, 6)))
            self.nodes.append(f"n{number}")
        for raw in (topology(), flavor(topology="dc"), cluster_queue("cq-0", 1000), local_queue("lq-0", "cq-0")):
            self.cluster.create(raw)
        for name, value in (("high", 10), ("low", -10)):
            meta = {"name": name}
            self.cluster.create(
                {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": meta, "value": value}
            )

    def keep_off(self) -> None:
        """Cordon a node."""
        for raw in self.some(kinds.NODE)[:1]:
            self.cluster.store.patch(self.key(kinds.NODE, raw), {"spec": {"unschedulable": True}})


def placed(one: Workload) -> Any:
    """The assignment of a workload, if it has one."""
    admission = one.status.admission
    if not one.reserved or admission is None:
        return None
    return admission.queue, [
        (each.name, dict(each.flavors), each.count, None if each.topology is None else sorted(each.topology.domains))
        for each in admission.pod_sets
    ]
