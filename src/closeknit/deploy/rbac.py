"""The controller's permissions, each with its reason: one table, from which every kind of installation is made.

A row grants verbs on kinds for one reason; the controller has no other permission. There are no wildcards, no write
access to admission policies, definitions or roles, and no access to Secrets. Events are the only objects that it writes
without reading them, besides the ConfigMaps of host files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from ..cluster import kinds
from ..cluster.kinds import Kind
from ..dialects.kueue.configuration import KUEUE_LEASE, LEASE
from ..dialects.kueue.jobs.kinds import LIVE, SERVING
from .kinds import ACCESS_REVIEW, CRD, TOKEN_REVIEW
from .marks import METRICS_READER, READER

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
    Grant((kinds.VOLUME_CLAIM, kinds.VOLUME), FOLLOW, "on which nodes the volumes of a job let its pods run"),
    Grant((kinds.STORAGE_CLASS,), FOLLOW, "where volumes that do not exist yet can be created"),
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
        (kinds.WORKLOAD, *QUEUES, kinds.COHORT, kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY, kinds.ADMISSION_CHECK),
        READ,
        "quota, queues, cohorts, flavors, topologies and workloads",
    ),
    Grant(
        (kinds.WORKLOAD_PRIORITY_CLASS, kinds.PROVISIONING_CONFIG),
        FOLLOW,
        "priorities, and how nodes are provisioned",
    ),
    Grant((kinds.MAINTENANCE,), FOLLOW, "nodes that are reserved for maintenance"),
    Grant((kinds.NODE_TOPOLOGY,), READ, "the NUMA zones of nodes, as an agent on each node reports them"),
    Grant(
        (kinds.WORKLOAD,),
        ("create", "update", "delete"),
        "create, update and delete the Workload of each job",
    ),
    Grant(HELD, ("update",), "the finalizer that protects objects in use"),
    Grant(
        (kinds.WORKLOAD, *QUEUES, kinds.COHORT, kinds.ADMISSION_CHECK),
        ("update",),
        "admissions, and the status of queues, cohorts and checks",
        "status",
    ),
    Grant((kinds.WORKLOAD,), ("update",), "a ProvisioningRequest blocks the deletion of its Workload", "finalizers"),
    Grant((kinds.PROVISIONING_REQUEST,), READ, "progress of provisioning"),
    Grant((kinds.PROVISIONING_REQUEST,), ("create", "delete"), "provision nodes before admission"),
    Grant(
        (kinds.PROVISIONING_REQUEST,), ("update",), "its pod templates block the deletion of the request", "finalizers"
    ),
    Grant((TOKEN_REVIEW,), ("create",), "the user of a token that requests metrics or decisions"),
    Grant((ACCESS_REVIEW,), ("create",), "whether that user may read them"),
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


EXTENDER: tuple[Grant, ...] = (
    Grant((kinds.NODE,), FOLLOW, "labels of nodes, and which resources they have"),
    Grant((kinds.POD,), READ, "which pods are on which node; whether a binding whose answer was lost was made"),
    Grant((kinds.POD,), ("create",), "bind a pod to the node that the scheduler chose", "binding"),
    Grant((kinds.NODE_TOPOLOGY,), READ, "the NUMA zones of nodes, as an agent on each node reports them"),
    Grant((CRD,), FOLLOW, "notice that the definition of NodeResourceTopology is added or removed"),
)
"""The ClusterRole of `closeknit extender`, which runs under an account of its own."""

SIMULATION: tuple[Grant, ...] = (
    Grant((kinds.NODE,), FOLLOW, "which nodes are simulated, and their zones"),
    Grant((kinds.POD,), READ, "which pods wait for admission; whether a write whose answer was lost was made"),
    Grant((kinds.POD,), ("update",), "admit or refuse a pod, as its kubelet would", "status"),
    Grant((kinds.NODE_TOPOLOGY,), (*READ, "create", "update", "delete"), "the reports of simulated nodes"),
    Grant((kinds.EVENT,), ("create",), "events about refused pods"),
    Grant((CRD,), FOLLOW, "notice that the definition of NodeResourceTopology is added or removed"),
)
"""The same for `closeknit numa simulate`."""

METRICS_PATHS = ("/metrics",)
READER_PATHS = ("/closeknit/decisions", "/closeknit/config", "/closeknit/numa")
"""What the ClusterRoles closeknit-metrics-reader and closeknit-reader permit to get, on the controller's port."""


def reading_by_proxy(lease: str = LEASE) -> tuple[Grant, ...]:
    """The Role closeknit-reader, for users whose commands read decisions through the API server; it is not bound."""
    return (
        Grant((kinds.LEASE,), ("get",), "which controller leads", names=(lease,)),
        Grant((kinds.POD,), ("get",), "the port of its pod"),
        Grant((kinds.POD,), ("get",), "reach that port", "proxy"),
        Grant((kinds.SERVICE_ACCOUNT,), ("create",), "a token that permits to read it", "token", (READER,)),
    )


class TenantRole(NamedTuple):
    """A ClusterRole for users. `joins` is the role of Kubernetes that includes it: view, edit or admin."""

    name: str
    joins: str
    grants: tuple[Grant, ...]


CHANGE = ("create", "update", "patch", "delete", "deletecollection")
TENANT_ROLES: tuple[TenantRole, ...] = (
    TenantRole(
        "closeknit-viewer",
        "view",
        (
            Grant((kinds.WORKLOAD, kinds.LOCAL_QUEUE), READ, "see what waits, where, and why"),
            Grant(
                (kinds.CLUSTER_QUEUE, kinds.COHORT, kinds.RESOURCE_FLAVOR, kinds.TOPOLOGY, kinds.ADMISSION_CHECK),
                READ,
                "see quota and topology; only if the role is bound in all namespaces",
            ),
            Grant((kinds.WORKLOAD_PRIORITY_CLASS,), READ, "see which priorities exist; likewise"),
            Grant((kinds.MAINTENANCE,), READ, "see which nodes are reserved for maintenance; likewise"),
            *_by_group(JOBS, READ, "see jobs of every kind"),
            *_by_group(SETS, READ, "see sets whose pods form groups"),
        ),
    ),
    TenantRole(
        "closeknit-batch-user",
        "edit",
        (
            *_by_group(JOBS, CHANGE, "submit and delete jobs of every kind"),
            *_by_group(SETS, CHANGE, "the same for sets whose pods form groups"),
        ),
    ),
    TenantRole(
        "closeknit-batch-admin",
        "admin",
        (Grant((kinds.WORKLOAD,), ("delete", "deletecollection"), "remove Workloads that a job left behind"),),
    ),
)
"""Roles for users. None can write a queue, quota, or a Workload's content; `admin` includes `edit`, and that `view`."""


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
    tenants = [
        f"| `{role.name}` | `{role.joins}` | {', '.join(f'`{one}`' for one in names(grant))} "
        f"| {', '.join(grant.verbs)} | {grant.reason} |"
        for role in TENANT_ROLES
        for grant in role.grants
    ]
    extender, simulation = _rows(EXTENDER), _rows(SIMULATION)
    parts = (_HEAD, rows, _EXTENDER, extender, _SIMULATION, simulation, _READING, _TENANTS, tenants, _OVERRIDE, ("",))
    return "\n".join(chain.from_iterable(parts))


def _rows(grants: Iterable[Grant]) -> list[str]:
    return [
        f"| {', '.join(f'`{one}`' for one in names(grant))} | {', '.join(grant.verbs)} | {grant.reason} |"
        for grant in grants
    ]


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
_EXTENDER = (
    "",
    "## The extender",
    "",
    "`closeknit extender` needs only these, in every namespace; `closeknit extender --print-rbac` prints the objects.",
    "",
    "| what | verbs | why |",
    "| --- | --- | --- |",
)
_SIMULATION = (
    "",
    "## The simulation of NUMA zones",
    "",
    "`closeknit numa simulate` needs only these, in every namespace; `--print-rbac` prints the objects.",
    "",
    "| what | verbs | why |",
    "| --- | --- | --- |",
)
_READING = (
    "",
    "## Readers",
    "",
    "Roles for users, besides the controller's own. Bind them to those that need them.",
    "",
    "| role | permits | for |",
    "| --- | --- | --- |",
    f"| ClusterRole `{METRICS_READER}` | get {', '.join(f'`{one}`' for one in METRICS_PATHS)} | Prometheus |",
    f"| ClusterRole `{READER}` | get {', '.join(f'`{one}`' for one in READER_PATHS)} | "
    f"the ServiceAccount `{READER}`, to which it is bound |",
    f"| Role `{READER}` in the controller's namespace | "
    + "; ".join(f"{', '.join(one.verbs)} {', '.join(f'`{name}`' for name in names(one))}" for one in reading_by_proxy())
    + " | users of `closeknit decisions`, `explain` and `what-if` |",
)
_TENANTS = (
    "",
    "## Users",
    "",
    "Roles for users, which the built-in roles `view`, `edit` and `admin` include by aggregation: a user that may edit",
    "a namespace may submit jobs of any kind there. No role allows writing queues, quota, or the content of Workloads;",
    "that is up to cluster administrators. Bind `closeknit-viewer` in all namespaces to let a user see quota and",
    "topology.",
    "",
    "| role | included in | what | verbs | why |",
    "| --- | --- | --- | --- | --- |",
)
_OVERRIDE = (
    "",
    "## What no role allows",
    "",
    "Whatever the roles say, admission policies (`closeknit-trust-…`) let only the controller's account write",
    "`workloads/status`, change the spec or the owners of a Workload that holds quota (except `spec.active`), and",
    "remove our scheduling gates from pods. Exempt are the accounts in `trustedAccounts` of the",
    "[configuration](configuration.md), Kubernetes' own controllers, and accounts with the verb `override` on",
    "`workloads.kueue.x-k8s.io` in all namespaces, as cluster administrators have by `*`.",
)
