"""A scheduler that stands where a cluster stood when its objects were written down.

    manifests ─▶ nodes, pods ─▶ flavors, queues ─▶ workloads ─▶ jobs that have no Workload yet
                 room           quota               who holds    who will ask
                                                    what

An object that breaks a rule of the API is left out, and a warning says so: the API server would not have taken it.
A job counts once: where its Workload is there too, the Workload speaks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..cluster.files import identity
from ..decide.activity import PROVISIONING
from ..decide.scheduler import Scheduler
from ..dialects import timestamps
from ..dialects.core import daemon_set
from ..dialects.field import Field
from ..dialects.kueue import keys
from ..dialects.kueue import objects as kueue
from ..dialects.kueue.jobs import Job, read, workload_name
from ..dialects.kueue.objects.rules import CREATE_CHECKS
from ..dialects.limits import limit_ranges, runtime_class
from ..model.gates import Gates
from ..model.mistake import Mistake
from ..model.name import Name
from ..model.resources import Resources
from ..model.settings import NAMESPACE_NAME, Settings
from ..model.workload import LONG_AGO, Workload
from .manifests import Found, Manifests, Raw
from .pod_owners import PodOwners
from .workloads import Surroundings, workload_of

GROUP_OF_PODS = "Pod group"
ENDED = ("Complete", "Completed", "Succeeded", "Failed")
"""Conditions by which the kinds of jobs say that they are over."""
RAY_ENDED = ("Complete", "Failed")
"""What the status of a RayJob says then."""

T = TypeVar("T")


@dataclass(slots=True)
class ClusterState:
    """`workloads` are all that have not finished, by key, `finished` the others; the scheduler knows neither.

    `pods_of` are running pods, by the key of their workload, that count as other use of a node. `left_out` are the
    objects that broke a rule.
    """

    scheduler: Scheduler
    around: Surroundings = field(default_factory=Surroundings)
    workloads: dict[str, Workload] = field(default_factory=dict)
    finished: dict[str, Workload] = field(default_factory=dict)
    names: dict[str, Name] = field(default_factory=dict)
    pods_of: dict[str, list[str]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    warnings: list[Mistake] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    by_uid: dict[str, str] = field(default_factory=dict)
    by_stem: dict[str, str] = field(default_factory=dict)
    all_namespaces: bool = False
    """No Namespace was given, so any is taken to exist."""

    @property
    def gates(self) -> Gates:
        return self.scheduler.world.gates

    def name_of(self, key: str) -> Name:
        known = self.names.get(key)
        return Name("Workload", *key.split("/", 1)) if known is None else known

    def ensure_namespace(self, name: str) -> None:
        if self.all_namespaces:
            self.scheduler.world.namespaces.setdefault(name, {NAMESPACE_NAME: name})


def cluster_state(found: Manifests, gates: Gates, settings: Settings) -> ClusterState:
    state = ClusterState(Scheduler(gates, settings), warnings=list(found.warnings))
    filler = _Filler(state, found)
    filler.fill_nodes()
    filler.fill_rules()
    filler.fill_queues()
    filler.fill_workloads()
    filler.fill_jobs()
    owners = PodOwners(state.workloads, state.by_uid, filler.parents)
    owners.trace(found)
    state.pods_of = owners.others
    state.warnings += owners.warnings
    filler.look_for_gaps()
    return state


def stem(key: str) -> str:
    """The name of a Workload without the hash at its end, which depends on the uid of its owner."""
    return key.rpartition("-")[0]


class _Filler:
    """Everything but what was asked."""

    def __init__(self, state: ClusterState, found: Manifests) -> None:
        self.state, self.found = state, found
        self.scheduler, self.world = state.scheduler, state.scheduler.world
        self.parents: dict[str, tuple[str, ...]] = {}
        self.over: set[str] = set()
        """Uids of jobs whose Workload has finished."""

    # Objects of administrators

    def fill_nodes(self) -> None:
        """Nodes, and the pods on them that were not placed by topology: those count through their Workload."""
        for node in self.found.nodes.values():
            self.world.put_node(node)
        for bound in self.found.pods:
            if not bound.by_topology:
                self.world.put_pod(bound.key, bound.pod)
        for found in self.found.of("DaemonSet", "apps"):
            one = self._tried(found, daemon_set)
            if one is not None:
                self.world.put_daemon_set(
                    f"{found.raw['metadata'].get('namespace')}/{found.raw['metadata']['name']}", one
                )

    def fill_rules(self) -> None:
        """Namespaces, priority classes, and what is added to pods."""
        around = self.state.around
        namespaces = self.found.of("Namespace", "")
        for _, raw in namespaces:
            labels = raw["metadata"].get("labels") or {}
            self.world.namespaces[raw["metadata"]["name"]] = {NAMESPACE_NAME: raw["metadata"]["name"], **labels}
        self.state.all_namespaces = not namespaces
        for one in self._read("WorkloadPriorityClass", kueue.priority_class):
            around.workload_classes[one.name] = one.value
        for where, raw in self.found.of("PriorityClass", "scheduling.k8s.io"):
            value = raw.get("value")
            if isinstance(value, bool) or not isinstance(value, int):
                self._warn(Mistake("is not a whole number", "give one", where, identity(raw), "value"))
                continue
            around.pod_classes[raw["metadata"]["name"]] = value
            if raw.get("globalDefault") is True:
                before = around.default_priority
                around.default_priority = value if before is None else min(before, value)
        self._fill_limits()

    def _fill_limits(self) -> None:
        around = self.state.around
        ranges: dict[str, tuple[Any, ...]] = {}
        for found in self.found.of("LimitRange", ""):
            namespace = found.raw["metadata"].get("namespace") or "default"
            ranges[namespace] = (*ranges.get(namespace, ()), *(self._tried(found, limit_ranges) or ()))
        self.world.limit_ranges = around.limit_ranges = ranges
        for found in self.found.of("RuntimeClass", "node.k8s.io"):
            read: tuple[str, Resources] | None = self._tried(found, runtime_class)
            if read is not None and read[1]:
                around.runtime_classes[read[0]] = read[1]

    def fill_queues(self) -> None:
        for topology in self._read("Topology", kueue.topology):
            self.world.put_topology(topology)
        for flavor in self._read("ResourceFlavor", kueue.flavor):
            self.world.put_flavor(flavor)
        for check in self._read("AdmissionCheck", kueue.admission_check):
            self.world.put_check(check)
        for cohort in self._read("Cohort", kueue.cohort):
            self.world.put_cohort(cohort)
        for cluster_queue in self._read("ClusterQueue", kueue.cluster_queue):
            self.scheduler.put_cluster_queue(cluster_queue)
        for local_queue in self._read("LocalQueue", kueue.local_queue):
            self.scheduler.put_local_queue(local_queue)
            self.state.around.local_queues.setdefault(local_queue.namespace, []).append(local_queue.name)
            self.state.ensure_namespace(local_queue.namespace)
        self._look_at_checks()

    def _look_at_checks(self) -> None:
        configs = {one.name for one in self._read("ProvisioningRequestConfig", kueue.provisioning_config)}
        for check in self.world.checks.values():
            config = check.parameters.get("name")
            if check.controller == PROVISIONING and config not in configs:
                text = f"names ProvisioningRequestConfig {config or '(none)'}, which is not there"
                self._warn(Mistake(text, "create it", "", f"AdmissionCheck {check.name}", "spec.parameters"))

    # Workloads

    def fill_workloads(self) -> None:
        for found in self.found.of("Workload"):
            one = self._readable(found, lambda raw: kueue.workload(self._with_defaults(raw)))
            if one is None:
                continue
            if one.finished:
                self.state.finished[one.key] = one
                self.state.names[one.key] = _name(one, found.raw["metadata"])
                self.over |= _uids(one, found.raw["metadata"])
                continue
            self.state.workloads[one.key] = one
            self.state.ensure_namespace(one.namespace)
            self._note_owner(one, found.raw["metadata"])

    def _with_defaults(self, raw: Raw) -> Raw:
        """With what the cluster adds to its pods, where it adds anything."""
        spec = raw.get("spec")
        sets = spec.get("podSets") if isinstance(spec, dict) else None
        if not isinstance(sets, list) or not (self.state.around.limit_ranges or self.state.around.runtime_classes):
            return raw
        namespace = raw["metadata"].get("namespace") or ""
        filled = [
            {**one, "template": self.state.around.template(namespace, one["template"])}
            if isinstance(one, dict) and isinstance(one.get("template"), dict)
            else one
            for one in sets
        ]
        return {**raw, "spec": {**raw["spec"], "podSets": filled}}

    def _note_owner(self, one: Workload, meta: Mapping[str, Any]) -> None:
        self.state.by_uid |= dict.fromkeys(_uids(one, meta), one.key)
        self.state.names[one.key] = name = _name(one, meta)
        if _controllers(meta) and name.kind != GROUP_OF_PODS:
            self.state.by_stem[stem(one.key)] = one.key

    # Jobs

    def fill_jobs(self) -> None:
        """Jobs for which no Workload was made yet, as far as Kueue would make one."""
        waiting = [found for found in self.found.jobs if self._lacks_workload(found.raw)]
        for reading in read(waiting, self.state.gates):
            self.state.warnings += reading.warnings
            if reading.mistakes:
                self._leave_out(reading.what, reading.mistakes)
            for job in reading.jobs:
                self._add(job)

    def _lacks_workload(self, raw: Raw) -> bool:
        meta = raw["metadata"]
        uid, owners = str(meta.get("uid") or ""), _owners(meta)
        if uid:
            self.parents[uid] = owners
        namespace, name = str(meta.get("namespace") or "default"), str(meta.get("name") or "")
        labels = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}
        managed = keys.QUEUE in labels or "default" in self.state.around.local_queues.get(namespace, ())
        if owners or not managed or uid in self.state.by_uid or uid in self.over or _has_ended(raw):
            return False
        workload = labels.get(keys.POD_GROUP) or labels.get(keys.PREBUILT)
        if raw["kind"] == "Pod" and not workload:
            workload = workload_name("Pod", "", name, uid)
        key = f"{namespace}/{workload}"
        return workload is None or (key not in self.state.workloads and key not in self.state.finished)

    def _add(self, job: Job) -> None:
        created = timestamps.parse(job.standing.created) if job.standing.created else LONG_AGO
        made = workload_of(job, self.state.around, self.state.gates, created)
        name = Name(job.kind, job.namespace, job.name)
        if not isinstance(made, Workload):
            self._leave_out(str(name), made)
        elif made.key not in self.state.workloads:
            self.state.ensure_namespace(job.namespace)
            self.state.workloads[made.key], self.state.names[made.key] = made, name
            if job.standing.uid:
                self.state.by_uid[job.standing.uid] = made.key

    # What is wrong, and what is missing

    def look_for_gaps(self) -> None:
        if self.state.all_namespaces:
            self._warn(
                Mistake(
                    "there are no Namespaces: all are taken to exist, with no labels but their name",
                    "give them too, as `kubectl get namespaces -o yaml` prints them",
                )
            )
        if not self.found.nodes and any(flavor.topology for flavor in self.world.flavors.values()):
            remedy = "join machines to the cluster" if self.found.is_live else "give them too"
            self._warn(Mistake("there are no Nodes, so no flavor with a topology has room", remedy))
        for kind, count in self.found.old_versions.items():
            plural = kind if count == 1 else f"{kind}s"
            self.state.notes.append(f"{count} {plural} of v1beta1 {'is' if count == 1 else 'are'} read as v1beta2")

    def _read(self, kind: str, reader: Callable[[Raw], T]) -> Iterator[T]:
        """The objects of a kind that break no rule."""
        for found in self.found.of(kind):
            value = self._readable(found, reader)
            if value is not None:
                yield value

    def _readable(self, found: Found, reader: Callable[[Raw], T]) -> T | None:
        field = Field.root(found.raw, found.where, identity(found.raw))
        CREATE_CHECKS[found.raw["kind"]](field)
        self.state.warnings += field.report.warnings
        if field.report:
            self._leave_out(identity(found.raw), field.report.mistakes)
            return None
        return self._tried(found, reader)

    def _tried(self, found: Found, reader: Callable[[Raw], T]) -> T | None:
        try:
            return reader(found.raw)
        except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
            what = identity(found.raw)
            text = str(error).removeprefix(f"{what}: ")
            self._leave_out(what, [Mistake(text, "write it as the Kubernetes API has it", found.where, what)])
            return None

    def _leave_out(self, what: str, mistakes: Iterable[Mistake]) -> None:
        self.state.left_out.add(what)
        self.state.warnings += mistakes

    def _warn(self, mistake: Mistake) -> None:
        self.state.warnings.append(mistake)


def _controllers(meta: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [owner for owner in meta.get("ownerReferences") or () if isinstance(owner, dict)]


def _uids(one: Workload, meta: Mapping[str, Any]) -> set[str]:
    """Of the jobs that a Workload is of."""
    return {*(str(owner.get("uid") or "") for owner in _controllers(meta)), one.job_uid} - {""}


def _name(one: Workload, meta: Mapping[str, Any]) -> Name:
    """What people call it: by its job, if it has one."""
    if (meta.get("annotations") or {}).get(keys.IS_GROUP) == "true":
        return Name(GROUP_OF_PODS, one.namespace, one.name)
    for owner in _controllers(meta):
        return Name(str(owner.get("kind")), one.namespace, str(owner.get("name")))
    return Name("Workload", one.namespace, one.name)


def _owners(meta: Mapping[str, Any]) -> tuple[str, ...]:
    owners = meta.get("ownerReferences") or ()
    return tuple(str(one["uid"]) for one in owners if isinstance(one, dict) and one.get("uid"))


def _has_ended(raw: Raw) -> bool:
    """As its kind says it: most by a condition, RayJobs by a field of their own."""
    status = raw.get("status")
    if isinstance(status, dict) and status.get("jobDeploymentStatus") in RAY_ENDED:
        return True
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return any(
        isinstance(one, dict) and one.get("type") in ENDED and one.get("status") == "True" for one in conditions or ()
    )
