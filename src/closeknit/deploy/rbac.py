"""The controller's permissions, each with its reason: one table, from which every kind of installation is made.

A row grants verbs on kinds for one reason; the controller has no other permission. There are no wildcards, no write
access to admission policies, definitions or roles, and no access to Secrets. Events are the only objects that it writes
without reading them, besides the ConfigMaps of host files.
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
"""For kinds that the controller writes: if a response is lost, it gets the object by name."""


class Grant(NamedTuple):
    """`part`: only this subresource. `names`: only objects with these names."""

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
    """One grant per API group, since a rule that names several is hard to read."""
    for group in dict.fromkeys(one.group for one in of):
        yield Grant(tuple(one for one in of if one.group == group), verbs, reason, part)


CLUSTER_WIDE: tuple[Grant, ...] = (
    Grant((kinds.NODE,), FOLLOW, "capacity, failures, and the labels of the topology"),
    Grant((kinds.NAMESPACE,), FOLLOW, "which ClusterQueues a namespace may use"),
    Grant((kinds.LIMIT_RANGE,), FOLLOW, "default requests of pods"),
    Grant((kinds.RUNTIME_CLASS,), FOLLOW, "the overhead that a runtime adds to a pod's requests"),
    Grant((kinds.PRIORITY_CLASS,), FOLLOW, "the priority of jobs that name a class"),
    Grant((kinds.DAEMON_SET,), FOLLOW, "the requests of daemons that do not run on a node yet"),
    Grant((CRD,), FOLLOW, "notice kinds that are added or removed, without a restart; never written"),
    Grant((kinds.POD,), READ, "which pods use which node, and which can be ungated"),
    Grant(
        (kinds.POD,),
        ("update", "patch", "delete"),
        "remove gates and set the node selector; delete pods of a group that lost its places",
    ),
    Grant((kinds.POD,), ("update", "patch"), "record in the status why a pod was terminated", "status"),
    Grant((kinds.POD,), ("update",), "the pods of a group own its Workload", "finalizers"),
    Grant((kinds.POD_TEMPLATE,), READ, "what a ProvisioningRequest refers to"),
    Grant((kinds.POD_TEMPLATE,), ("create", "update", "delete"), "describe the pods for which nodes are provisioned"),
    Grant((kinds.CONFIG_MAP,), ("create", "patch"), "host files for jobs that request them; never read"),
    Grant((kinds.EVENT,), ("create", "patch"), "record events; a repeated one increments the count"),
    *_by_group(JOBS, READ, "create Workloads for jobs"),
    *_by_group(JOBS, ("update",), "start a job with the flavors and places of its Workload, and stop it"),
    *_by_group(JOBS, ("update",), "a Workload blocks the deletion of the job that owns it", "finalizers"),
    Grant((kinds.JOB,), ("update",), "clear the start time of a stopped job", "status"),
    *_by_group(SETS, FOLLOW, "sets whose pods form groups"),
    Grant((kinds.DEPLOYMENT,), FOLLOW, "warn if it cannot be queued because no policies are in force"),
    *_by_group(SETS, ("update",), "a Workload blocks the deletion of the set that owns it", "finalizers"),
    Grant(
        (kinds.TRAINING_RUNTIME, kinds.CLUSTER_TRAINING_RUNTIME),
        FOLLOW,
        "the templates of a TrainJob are in its runtime",
    ),
    Grant(
        (kinds.WORKLOAD, *QUEUES, kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY, kinds.ADMISSION_CHECK),
        READ,
        "quota, queues, flavors, topologies and workloads",
    ),
    Grant(
        (kinds.COHORT, kinds.WORKLOAD_PRIORITY_CLASS, kinds.PROVISIONING_CONFIG),
        FOLLOW,
        "shared quota, priorities, and how nodes are provisioned",
    ),
    Grant((kinds.MAINTENANCE,), FOLLOW, "nodes that are reserved for maintenance"),
    Grant(
        (kinds.WORKLOAD,),
        ("create", "update", "delete"),
        "create, update and delete the Workload of each job",
    ),
    Grant(HELD, ("update",), "the finalizer that protects objects in use"),
    Grant(
        (kinds.WORKLOAD, *QUEUES, kinds.ADMISSION_CHECK),
        ("update",),
        "admissions, and the status of queues and checks",
        "status",
    ),
    Grant((kinds.WORKLOAD,), ("update",), "a ProvisioningRequest blocks the deletion of its Workload", "finalizers"),
    Grant((kinds.PROVISIONING_REQUEST,), READ, "progress of provisioning"),
    Grant((kinds.PROVISIONING_REQUEST,), ("create", "delete"), "provision nodes before admission"),
    Grant(
        (kinds.PROVISIONING_REQUEST,), ("update",), "its pod templates block the deletion of the request", "finalizers"
    ),
    Grant(
        (kinds.LEASE,), ("list",), "whether Kueue runs: the controller does not start beside it", names=(KUEUE_LEASE,)
    ),
)
"""The ClusterRole."""


def own_namespace(lease: str = LEASE) -> tuple[Grant, ...]:
    """The Role in the controller's own namespace, with the Lease that its configuration names."""
    return (
        Grant((kinds.LEASE,), ("create",), "leader election; creation cannot be restricted by name"),
        Grant((kinds.LEASE,), ("get", "update"), "the leader renews its Lease", names=(lease,)),
        Grant(
            (kinds.JOB,),
            ("create",),
            "a dry run of a Job, which needs this verb, shows whether admission policies are in force; "
            "the policy closeknit-trial rejects any other creation",
        ),
    )


def table() -> Iterator[tuple[str, Grant]]:
    """Every row, with its scope."""
    for one in CLUSTER_WIDE:
        yield "every namespace", one
    for one in own_namespace():
        yield "its own namespace", one


def page() -> str:
    """The page docs/reference/permissions.md."""
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
    "The permissions of the controller's ServiceAccount, each with its reason. `make deploy` generates this page from",
    "the table in `src/closeknit/deploy/rbac.py`, as it does the roles of the kustomize base, of the chart and of",
    "`closeknit install`. There are no wildcards, no access to Secrets, and no write access to CRDs, admission",
    "policies or roles.",
    "",
    "| where | what | verbs | why |",
    "| --- | --- | --- | --- |",
)
