"""LeaderWorkerSet: the pods of each replica are a group; the leader may have a template of its own."""

from __future__ import annotations

from .....model.gates import Gates
from .....model.request import Ranks
from .... import known_fields as known
from ....field import Field
from ....served import Kind
from ... import keys
from .. import marks
from ..integration import forms
from ..job_kind import AGE, ALL_RULES, Column
from ..names import workload_name
from ..raw import Raw, at, mapping, number, put
from ..roles import MAIN, Role
from ..workload_object import WorkloadPriority
from .serving import Serving, group_marks, group_workload, marked, replicas, standing_labels

SERVED = Kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", True, ("lws",), scale=True)
FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
LEADER_NAME = "leaderworkerset.sigs.k8s.io/leader-name"


def roles(body: Field) -> list[Role]:
    """The roles of one replica; a leader with a template of its own is a separate role."""
    group = body.at("spec", "leaderWorkerTemplate")
    size, leader, workers = (
        group.at("size").count(1, least=1),
        group.at("leaderTemplate"),
        group.at("workerTemplate"),
    )
    if not leader.given:
        return [Role(MAIN, size, workers, Ranks(WORKER_INDEX))]
    return [Role("leader", 1, leader), Role("worker", size - 1, workers, Ranks(WORKER_INDEX))]


def prepared(raw: Raw, gates: Gates) -> Raw:
    """Set the workers' index offset to 1 if the leader is a separate role, unless both are one topology group."""
    path = ("spec", "leaderWorkerTemplate")
    notes = {marks.PARENT: FRAMEWORK, marks.SERVING: "true"}
    leader, worker = at(raw, *path, "leaderTemplate"), mapping(raw, *path, "workerTemplate")
    if leader is None:
        return put(raw, (*path, "workerTemplate"), marked(worker, standing_labels(raw), notes))
    raw = put(raw, (*path, "leaderTemplate"), marked(leader, standing_labels(raw), notes))
    if "TopologyAwareScheduling" in gates and keys.GROUP not in mapping(worker, "metadata", "annotations"):
        notes = {**notes, marks.INDEX_OFFSET: "1"}
    return put(raw, (*path, "workerTemplate"), marked(worker, standing_labels(raw), notes))


def replica_name(raw: Raw, index: int | str) -> str:
    """The name of the Workload of one replica."""
    name = f"{at(raw, 'metadata', 'name')}-{index}"
    return workload_name(SERVED.kind, SERVED.group, name, at(raw, "metadata", "uid") or "")


def replica_workload(raw: Raw, index: int, gates: Gates, priority: WorkloadPriority) -> Raw:
    notes = {marks.COMPONENT: str(index)}
    return group_workload(raw, replica_name(raw, index), forms(raw, roles), notes, gates, priority)


def workloads(raw: Raw, gates: Gates, priority: WorkloadPriority) -> tuple[Raw, ...]:
    replicas = number(raw, "spec", "replicas", default=1)
    return tuple(replica_workload(raw, index, gates, priority) for index in range(replicas))


def marked_pod(raw: Raw, pod: Raw) -> Raw:
    """The pod with the marks of its group; unchanged if the group is not known yet."""
    index = at(pod, "metadata", "labels", GROUP_INDEX)
    if index is None:
        return pod
    labels, notes = group_marks(replica_name(raw, index))
    labels |= {key: name for key, name in standing_labels(raw).items() if key == keys.QUEUE}
    template = mapping(raw, "spec", "leaderWorkerTemplate")
    role = MAIN
    if template.get("leaderTemplate") is not None:
        role = "worker" if LEADER_NAME in mapping(pod, "metadata", "annotations") else "leader"
    notes |= {keys.POD_GROUP_COUNT: str(number(template, "size", default=1)), keys.ROLE_HASH: role}
    return marked(pod, labels, notes)


LEADER_WORKER_SET = Serving(
    served=SERVED,
    framework=FRAMEWORK,
    description="Groups of pods, each with a leader and its workers.",
    roles=roles,
    rules=ALL_RULES,
    copies=replicas,
    fields={"spec": known.LEADER_WORKER_SET, "spec.leaderWorkerTemplate": known.LEADER_AND_WORKERS},
    columns=(
        Column("Ready", "status.readyReplicas", "integer"),
        Column("Desired", "spec.replicas", "integer"),
        Column("Up-to-date", "status.updatedReplicas", "integer"),
        AGE,
    ),
    prepared=prepared,
    workloads=workloads,
    marked=marked_pod,
)
