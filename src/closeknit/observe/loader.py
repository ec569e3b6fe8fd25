"""Loads the objects of a cluster, from files or listed from a server, into the control plane's cache.

    manifests ─▶ validate ─▶ ADDED changes ─▶ cache ─▶ due workloads ─▶ loaded cluster
                 mistakes    in the order of            Workloads that jobs
                 by file     a host's first list        do not have yet

There is no second reader: the code that decides also finds out what is used, pending and reserved. An object that
violates the API is left out with a warning, because the API server would not have accepted it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..cluster import kinds
from ..cluster.files import identity
from ..cluster.kinds import BY_NAME, KINDS, Kind
from ..cluster.port import Change, Key
from ..cluster.volumes import READERS
from ..decide.activity import PROVISIONING
from ..dialects.core import daemon_set
from ..dialects.field import Field
from ..dialects.kueue.objects.rules import CREATE_CHECKS
from ..dialects.limits import limit_ranges, runtime_class
from ..model.gates import Gates
from ..model.mistake import Mistake
from ..model.settings import Settings
from ..state.mirror import OtherPod
from .cluster_cache import UNREADABLE, ClusterCache
from .creation import as_created
from .due_workloads import DueWorkloads
from .file_zones import in_order_of_arrival, of_the_past
from .live_jobs import Managed
from .loaded import LoadedCluster
from .manifests import JOBS, POD, Found, Manifests, Raw
from .pod_owners import PodOwners

LAST = (*(BY_NAME[key] for key in JOBS if key in BY_NAME and key != POD), kinds.WORKLOAD, kinds.POD)
"""Kinds loaded after everything that they refer to."""
FIRST = (kinds.COHORT,)
"""Kinds loaded before the queues below them, so that each tree is built once."""
WITH_NODES = (kinds.NODE_TOPOLOGY,)
"""Kinds loaded before the pods, some of which may have come after what these report."""
ORDER = (*FIRST, *(kind for kind in KINDS if kind not in (*WITH_NODES, *FIRST, *LAST)), *LAST)

API_FORM = "write it as the Kubernetes API has it"


def load(found: Manifests, gates: Gates, settings: Settings, managed: Managed | None = None) -> LoadedCluster:
    """`managed` selects the jobs that this cluster's control plane manages."""
    return _Loader(found, gates, settings, managed or Managed()).loaded()


class _Loader:
    def __init__(self, found: Manifests, gates: Gates, settings: Settings, managed: Managed) -> None:
        self.found, self.managed = found, managed
        now = found.newest or 0.0
        self.cache = ClusterCache(gates, settings, lambda: now, managed.without_queue, self._unreadable)
        self.state = LoadedCluster(self.cache, warnings=list(found.warnings))
        self.files: dict[Key, Found] = {}
        """The objects that the cache was shown, as written."""

    def loaded(self) -> LoadedCluster:
        knows_volumes = self.found.knows_volumes
        self.cache.world.volumes.is_known = lambda: knows_volumes
        self._add_capacity()
        for kind in ORDER:
            for found in self.found.of(kind.kind, kind.group):
                self._add(kind, found)
        self._find_namespaces()
        DueWorkloads(self.state, self.managed, self.files, self.found).apply()
        self._sort_workloads()
        owners = PodOwners(self.state.workloads, self.state.by_uid)
        owners.trace(self.found, "CountDrainingPods" in self.cache.gates)
        self.state.pods_of = owners.stops_with
        self.state.warnings += owners.warnings
        self._check_admission_checks()
        self._warn_of_gaps()
        return self.state

    # Objects as changes

    def _add_capacity(self) -> None:
        for node in self.found.nodes.values():
            self.cache.put_node(node)
        for zones in self.found.zones:
            self.cache.world.put_zones(zones)
        for found in self.found.of(kinds.NODE_TOPOLOGY.kind, kinds.NODE_TOPOLOGY.group):
            self._add(kinds.NODE_TOPOLOGY, found)
        pods = [(one.key, one.pod) for one in self.found.pods if one.pod is not None]
        for key, pod in sorted(pods, key=lambda one: in_order_of_arrival(one[1].needs)):
            self.cache.put_pod(key, self._placed_in_time(pod))

    def _placed_in_time(self, pod: OtherPod) -> OtherPod:
        """Files are one moment: a pod of which nothing tells when it was accepted was there before all reports."""
        if self.found.is_live or pod.needs is None:
            return pod
        return pod._replace(needs=of_the_past(pod.needs, self.cache.now()))

    def _add(self, kind: Kind, found: Found) -> None:
        if not self._is_valid(kind, found):
            return
        raw = self._completed(kind, found.raw)
        change = Change(0, "ADDED", kind, raw)
        self.files[change.key] = found
        self.cache.see(change)
        if kind is kinds.NODE_TOPOLOGY:
            self._warn_of_zones(found, change.key.name)

    def _warn_of_zones(self, found: Found, node: str) -> None:
        """Mistakes in a report concern that node only; the rest of it counts."""
        zones = self.cache.world.zones.get(node)
        for mistake in () if zones is None else zones.mistakes:
            self._warn(replace(mistake, where=found.where))

    def _is_valid(self, kind: Kind, found: Found) -> bool:
        check = CREATE_CHECKS.get(kind.kind)
        if check is not None:
            field = Field.root(found.raw, found.where, identity(found.raw))
            check(field)
            self.state.warnings += field.report.warnings
            if field.report:
                self._leave_out(identity(found.raw), field.report.mistakes)
            return not field.report
        meta = found.raw["metadata"]
        if not any(isinstance(meta.get(key), str) and meta[key] for key in ("name", "generateName")):
            what = identity(found.raw)
            self._leave_out(what, [Mistake("is missing", "set a name", found.where, what, "metadata.name")])
            return False
        reader = _TRIED.get(kind)
        try:
            if reader is not None:
                reader(found.raw)
        except UNREADABLE as error:
            self._refuse(found, str(error))
            return False
        if kind is kinds.PRIORITY_CLASS and not _is_number(found.raw.get("value")):
            mistake = Mistake("is not a whole number", "give one", found.where, identity(found.raw), "value")
            self.state.warnings.append(mistake)
            return False
        return True

    def _completed(self, kind: Kind, raw: Raw) -> Raw:
        """The object with what a server adds to every object, and to a job on creation."""
        meta = dict(raw["metadata"])
        if kind.namespaced and not meta.get("namespace"):
            meta["namespace"] = "default"
        if not isinstance(meta.get("name"), str) or not meta["name"]:
            meta["name"] = self._free_name(kind, meta)
        raw = {**raw, "metadata": meta}
        if (kind.group, kind.kind) not in JOBS:
            return raw
        queues = self.cache.around.local_queues.get(meta["namespace"], ())
        try:
            return as_created(kind, raw, queues, self.cache.gates)
        except UNREADABLE:
            return raw  # its mistakes are reported when its Workload is created

    def _free_name(self, kind: Kind, meta: Raw) -> str:
        prefix, number = str(meta["generateName"]), 1
        name = prefix
        while Key(kind, meta["namespace"], name) in self.files:
            number += 1
            name = f"{prefix}{number}"
        return name

    # After loading

    def _find_namespaces(self) -> None:
        self.state.all_namespaces = not self.found.of("Namespace", "")
        for queue in self.cache.local_queues.values():
            self.state.ensure_namespace(queue.namespace)
        for one in self.cache.workloads.values():
            if not one.finished:
                self.state.ensure_namespace(one.namespace)

    def _sort_workloads(self) -> None:
        for key, one in self.cache.workloads.items():
            (self.state.finished if one.finished else self.state.workloads)[key] = one

    # Warnings

    def _check_admission_checks(self) -> None:
        for check in self.cache.world.checks.values():
            config = check.parameters.get("name")
            if check.controller == PROVISIONING and config not in self.cache.configs:
                text = f"names ProvisioningRequestConfig {config or '(none)'}, which does not exist"
                self._warn(Mistake(text, "create it", "", f"AdmissionCheck {check.name}", "spec.parameters"))

    def _warn_of_gaps(self) -> None:
        if self.state.all_namespaces:
            self._warn(
                Mistake(
                    "there are no Namespaces: all are taken to exist, with no labels but their name",
                    "give them too, as `kubectl get namespaces -o yaml` prints them",
                )
            )
        if not self.found.nodes and any(flavor.topology for flavor in self.cache.world.flavors.values()):
            remedy = "join machines to the cluster" if self.found.is_live else "give them too"
            self._warn(Mistake("there are no Nodes, so no flavor with a topology has room", remedy))
        for (version, kind), count in self.found.old_versions.items():
            plural, name = kind if count == 1 else f"{kind}s", version.rpartition("/")[2]
            self.state.notes.append(f"{count} {plural} of {name} {'is' if count == 1 else 'are'} read as v1beta2")

    def _unreadable(self, change: Change, error: Exception) -> None:
        self._refuse(self.files[change.key], str(error))

    def _refuse(self, found: Found, text: str) -> None:
        what = identity(found.raw)
        self._leave_out(what, [Mistake(text.removeprefix(f"{what}: "), API_FORM, found.where, what)])

    def _leave_out(self, what: str, mistakes: Iterable[Mistake]) -> None:
        self.state.left_out.add(what)
        self.state.warnings += mistakes

    def _warn(self, mistake: Mistake) -> None:
        self.state.warnings.append(mistake)


_TRIED: dict[Kind, Callable[[Raw], Any]] = {
    kinds.DAEMON_SET: daemon_set,
    kinds.LIMIT_RANGE: limit_ranges,
    kinds.RUNTIME_CLASS: runtime_class,
    **{kind: read for kind, (read, _) in READERS.items()},
}
"""Kinds without rules of ours: an invalid object is left out, so that it does not affect others of its kind."""


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
