"""What the controller may do, and why: one table, from which every form of the installation is made.

A row is one sentence: these verbs on these kinds, for this reason. What is not in it the controller cannot do. There is
no wildcard, nothing that reaches admission policies, definitions or roles, and Secrets are never read. Events are the
only thing it writes that it does not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ..cluster import kinds
from ..cluster.kinds import Kind
from ..dialects.kueue.configuration import KUEUE_LEASE, LEASE
from ..dialects.kueue.jobs.kinds import LIVE, SERVING
from .kinds import CRD

Raw = dict[str, Any]
FOLLOW = ("list", "watch")
READ = ("get", *FOLLOW)
"""Of what we write: when an answer is lost, the object is looked at by its name."""


class Grant(NamedTuple):
    """`part`: of a subresource, and of nothing else. `names`: only objects of these names."""

    kinds: tuple[Kind, ...]
    verbs: tuple[str, ...]
    reason: str
    part: str = ""
    names: tuple[str, ...] = ()

    @property
    def group(self) -> str:
        return self.kinds[0].group

    @property
    def resources(self) -> tuple[str, ...]:
        return tuple(f"{one.plural}/{self.part}" if self.part else one.plural for one in self.kinds)

    def rule(self) -> Raw:
        names: Raw = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.group], "resources": list(self.resources), "verbs": list(self.verbs), **names}


HELD = (kinds.CLUSTER_QUEUE, kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY)
QUEUES = (kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE)
JOBS = tuple(one.served for one in LIVE.values() if one.hosted and one.served is not kinds.POD)
SETS = tuple(one.served for one in SERVING.values() if one.owner is None)


def _by_group(of: tuple[Kind, ...], verbs: tuple[str, ...], reason: str, part: str = "") -> Iterator[Grant]:
    """A rule is about one group: that is how it can be read."""
    for group in dict.fromkeys(one.group for one in of):
        yield Grant(tuple(one for one in of if one.group == group), verbs, reason, part)


CLUSTER_WIDE: tuple[Grant, ...] = (
    Grant((kinds.NODE,), FOLLOW, "where there is room, what fails, and the labels of the topology"),
    Grant((kinds.NAMESPACE,), FOLLOW, "which ClusterQueues a namespace may use"),
    Grant((kinds.LIMIT_RANGE,), FOLLOW, "what pods ask for where they do not say it"),
    Grant((kinds.RUNTIME_CLASS,), FOLLOW, "what a runtime adds to what pods ask for"),
    Grant((kinds.PRIORITY_CLASS,), FOLLOW, "the priority of jobs that name one"),
    Grant((kinds.DAEMON_SET,), FOLLOW, "what daemons will take of a node before they run there"),
    Grant((CRD,), FOLLOW, "kinds that come or go are noticed without a restart; never written"),
    Grant((kinds.POD,), READ, "who uses which node, and whose gates may come off"),
    Grant(
        (kinds.POD,),
        ("update", "patch", "delete"),
        "gates come off with the node selector of the place; pods of a group that lost its place are deleted",
    ),
    Grant((kinds.POD,), ("update", "patch"), "why a pod was ended is in its status", "status"),
    Grant((kinds.POD,), ("update",), "a Workload is owned by the pods of its group", "finalizers"),
    Grant((kinds.POD_TEMPLATE,), READ, "what a ProvisioningRequest refers to"),
    Grant((kinds.POD_TEMPLATE,), ("create", "update", "delete"), "the pods that machines are asked for"),
    Grant((kinds.EVENT,), ("create", "patch"), "what users are told; the same again is counted, not repeated"),
    *_by_group(JOBS, READ, "jobs become Workloads"),
    *_by_group(JOBS, ("update",), "a job starts with what its Workload was given, and is stopped again"),
    *_by_group(JOBS, ("update",), "a Workload blocks the deletion of the job that owns it", "finalizers"),
    Grant((kinds.JOB,), ("update",), "a job that is stopped forgets when it started", "status"),
    *_by_group(SETS, FOLLOW, "sets whose pods belong together"),
    Grant((kinds.DEPLOYMENT,), FOLLOW, "without policies it does not wait in its queue: that is told there"),
    *_by_group(SETS, ("update",), "a Workload blocks the deletion of the set that owns it", "finalizers"),
    Grant(
        (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME), FOLLOW, "a TrainJob says only in part what it runs"
    ),
    Grant(
        (kinds.WORKLOAD, *QUEUES, kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY, kinds.ADMISSION_CHECK),
        READ,
        "quota, queues, flavors, topologies, and who waits for them",
    ),
    Grant(
        (kinds.COHORT, kinds.WORKLOAD_PRIORITY_CLASS, kinds.PROVISIONING_CONFIG),
        FOLLOW,
        "what queues share, priorities, and how machines are asked for",
    ),
    Grant(
        (kinds.WORKLOAD,),
        ("create", "update", "delete"),
        "every job has one: made, kept as the job is, let go",
    ),
    Grant(HELD, ("update",), "the finalizer that keeps what is in use"),
    Grant((kinds.WORKLOAD, *QUEUES, kinds.ADMISSION_CHECK), ("update",), "admission, and how they stand", "status"),
    Grant((kinds.WORKLOAD,), ("update",), "a ProvisioningRequest blocks the deletion of its Workload", "finalizers"),
    Grant((kinds.PROVISIONING_REQUEST,), READ, "whether machines are on their way"),
    Grant((kinds.PROVISIONING_REQUEST,), ("create", "delete"), "machines that have to be brought first"),
    Grant((kinds.PROVISIONING_REQUEST,), ("update",), "its templates block the deletion of the request", "finalizers"),
    Grant((kinds.LEASE,), ("list",), "whether Kueue runs: it does not begin beside it", names=(KUEUE_LEASE,)),
)
"""The ClusterRole."""


def own_namespace(lease: str = LEASE) -> tuple[Grant, ...]:
    """The Role in the controller's own namespace, with the Lease that its configuration names."""
    return (
        Grant((kinds.LEASE,), ("create",), "one of the replicas leads; a creation cannot be restricted by name"),
        Grant((kinds.LEASE,), ("get", "update"), "the leader renews its Lease", names=(lease,)),
        Grant(
            (kinds.JOB,),
            ("create",),
            "whether admission policies are in force is asked by the dry run of a Job, which needs the verb; "
            "the policy closeknit-trial refuses to make one for good",
        ),
    )


def table() -> Iterator[tuple[str, Grant]]:
    """Every row, with where it holds."""
    for one in CLUSTER_WIDE:
        yield "every namespace", one
    for one in own_namespace():
        yield "its own namespace", one


def page() -> str:
    """The table for people: docs/reference/permissions.md."""
    rows = [
        f"| {where} | {', '.join(f'`{one}`' for one in names(grant))} | {', '.join(grant.verbs)} | {grant.reason} |"
        for where, grant in table()
    ]
    return "\n".join([*_HEAD, *rows, ""])


def names(grant: Grant) -> Iterator[str]:
    suffix = f".{grant.group}" if grant.group else ""
    for kind, one in zip(grant.kinds, grant.resources, strict=True):
        yield (f"{one}{suffix}" if not grant.part else f"{kind.plural}{suffix}/{grant.part}") + (
            f" {', '.join(grant.names)}" if grant.names else ""
        )


_HEAD = (
    "# Permissions",
    "",
    "What the controller's ServiceAccount may do, and why. Made by `make deploy` from the table in",
    "`src/closeknit/deploy/rbac.py`, like the roles of the kustomize base, of the chart and of `closeknit install`.",
    "There is no wildcard, no Secret, and no way to write definitions, admission policies or roles.",
    "",
    "| where | what | verbs | why |",
    "| --- | --- | --- | --- |",
)
