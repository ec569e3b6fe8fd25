"""Applies what the reconcilers would do to workloads before the next decision, to a cluster that was read once.

A snapshot of a cluster may be taken between two steps of its reconcilers. So their rules are applied here, on the
cache, as far as they affect the next decision: a job without a Workload gets the same object that the control plane
would create, a workload finishes with its job, and an orphaned one is finished. A job that has a Workload keeps it.
Nothing is started or stopped: the what-if simulation does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..cluster import kinds
from ..cluster.kinds import BY_NAME
from ..cluster.port import Change, Key, Raw
from ..decide.status import evicted
from ..decide.what_if import DELETED
from ..dialects import timestamps
from ..dialects.kueue import keys
from ..dialects.kueue.jobs import Reading, read
from ..dialects.kueue.jobs.train_job import GROUP as TRAINER
from ..dialects.kueue.jobs.train_job import RUNTIMES
from ..lifecycle.action import StatusChange
from ..lifecycle.job import DELETED as WORKLOAD_DELETED
from ..lifecycle.job import OUT_OF_SYNC, finished, finished_job
from ..lifecycle.node_failure import node_failure
from ..lifecycle.workload import OWNERLESS
from ..model.mistake import Mistake
from ..model.name import Name
from ..model.workload import Status, Workload
from .cluster_cache import UNREADABLE
from .live_groups import SETS, LiveGroups, LivePodGroup, prebuilt_name
from .live_jobs import LiveJob, LiveJobs, Managed, Refusal
from .live_nodes import unwell
from .loaded import GROUP_OF_PODS, LoadedCluster
from .manifests import JOBS, Found, Manifests
from .workloads import is_left_behind, priority_of, workload_of


class DueWorkloads:
    """`files` has the objects that the cache was shown, as written in the files; new Workloads are added to it."""

    def __init__(self, state: LoadedCluster, managed: Managed, files: dict[Key, Found], manifests: Manifests) -> None:
        self.state, self.cache, self.files, self.manifests = state, state.cache, files, manifests
        self.jobs = LiveJobs(self.cache, managed)
        self.groups = LiveGroups(self.cache, self.jobs)
        self._runtimes = [found for kind in RUNTIMES for found in manifests.of(kind, TRAINER)]

    def apply(self) -> None:
        for key in [key for key in self.files if key.kind is kinds.WORKLOAD]:
            self._process_workload(key)
        for key in [key for key in self.files if key.kind in self.jobs.kinds]:
            self._process_job(key)
        for group in self.cache.pods.groups:
            self._process_group(group)
        for key in [key for key in self.files if key.kind in SETS]:
            self._process_set(key)
        for found in self._other_jobs():
            self._process_other(found)
        if self.manifests.nodes or self.manifests.is_live:
            self._process_nodes()

    # Existing workloads

    def _process_workload(self, key: Key) -> None:
        raw, one = self.cache.find(key), self.cache.workloads.get(f"{key.namespace}/{key.name}")
        if raw is None or one is None:
            return
        meta = raw["metadata"]
        if "deletionTimestamp" in meta and not one.finished:
            if not any(each.get("uid") in self.cache.by_uid for each in meta.get("ownerReferences") or ()):
                self.cache.see(Change(0, "DELETED", kinds.WORKLOAD, raw))
                return
            self._begin_again(one)
        elif is_left_behind(raw) and not one.finished:
            self._end(one, "OwnerNotFound", OWNERLESS)
        self.state.note_owner(self.cache.workloads[one.key], meta)

    def _begin_again(self, one: Workload) -> None:
        """Replace a workload that is being deleted: its job stops and gets a new one of the same name, queued last."""
        again = replace(one, created=self.cache.moment, active=True)
        if not one.reserved:
            again = replace(again, status=Status())
        elif not one.evicted:
            again, _ = evicted(again, DELETED, WORKLOAD_DELETED, self.cache.moment)
        self.cache.put_workload(again)

    def _end(self, one: Workload, reason: str, message: str) -> None:
        self.cache.put_workload(finished(one, reason, message, self.cache.moment).after)

    def _end_with_job(self, several: Iterable[Workload | None], ended: tuple[bool, str]) -> None:
        for one in several:
            if one is not None and not one.finished:
                self.cache.put_workload(finished_job(one, ended, self.cache.moment).after)

    def _process_nodes(self) -> None:
        """List the lost nodes of workloads for replacement, or evict the workload."""
        for view in unwell(self.cache):
            for action in node_failure(view, self.cache.moment):
                if isinstance(action, StatusChange):
                    self.cache.put_workload(action.after)

    # Jobs

    def _process_job(self, key: Key) -> None:
        found = self.files[key]
        try:
            seen = self.jobs.live_job(key)
        except UNREADABLE as error:
            self._leave_out(found, [Mistake(str(error), "", found.where)])
            return
        if seen is None:
            return
        view = seen.view
        if view.ended is not None:
            self._end_with_job((view.workload, *view.others), view.ended)
        elif view.prebuilt and view.workload is not None:
            if not view.workload.finished and self.jobs.differs(seen):
                self._end(view.workload, "OutOfSync", OUT_OF_SYNC)
        elif not view.prebuilt and not self.cache.owned_by(seen.raw["metadata"].get("uid", "")) and _may_wait(seen):
            self._make(found, seen)

    def _make(self, found: Found, seen: LiveJob) -> None:
        if self._is_right(found, self._read([found])):
            self._create(found, [self.jobs.wanted(seen.raw, seen.integration, seen.source)])

    def _process_group(self, key: str) -> None:
        try:
            group = self.groups.live_group(key, self.cache.moment)
        except UNREADABLE as error:
            namespace, _, name = key.partition("/")
            self._warn(str(Name(GROUP_OF_PODS, namespace, name)), [Mistake(str(error))])
            return
        if group is None:
            return
        if group.view is not None and group.view.ended is not None:
            self._end_with_job([group.view.workload], group.view.ended)
        elif key not in self.cache.workloads and not (group.over or group.given_up or prebuilt_name(group.pods[0])):
            self._make_for_group(group)

    def _make_for_group(self, group: LivePodGroup) -> None:
        """Create a group's workload if enough pods exist; mistakes are reported in terms of the manifests."""
        pods = [self.files[Key(kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"])] for pod in group.pods]
        if not group.short and group.wrong is None:
            self._create(pods[0], [self.groups.wanted(group.pods)])
        elif self._is_right(pods[0], self._read(pods)) and group.wrong is not None:
            self._leave_out(pods[0], [Mistake(group.wrong.message)])

    def _process_set(self, key: Key) -> None:
        found = self.files[key]
        try:
            wanted = None if self.groups.on_hold(key) else self.groups.workloads(key)
        except UNREADABLE as error:
            wanted = Refusal("InvalidJob", str(error))
        if wanted is None:
            return
        several = [wanted] if isinstance(wanted, Refusal) else [one for one in wanted if self._is_missing(one)]
        if several and self._is_right(found, self._read([found])):
            self._create(found, several)

    def _is_missing(self, raw: Raw) -> bool:
        return f"{raw['metadata']['namespace']}/{raw['metadata']['name']}" not in self.cache.workloads

    # Kinds of jobs that Kueue runs and our control plane does not

    def _other_jobs(self) -> Iterator[Found]:
        for found in self.manifests.jobs:
            version = found.raw.get("apiVersion")
            key = (version.rpartition("/")[0] if isinstance(version, str) else "", found.raw["kind"])
            if key in JOBS and key not in BY_NAME:
                yield found

    def _process_other(self, found: Found) -> None:
        meta = found.raw["metadata"]
        named = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}
        is_ours = keys.QUEUE in named and keys.PREBUILT not in named and not meta.get("ownerReferences")
        if not is_ours or meta.get("uid") in self.state.by_uid or self.cache.owned_by(meta.get("uid") or ""):
            return
        reading = self._read([found])
        for job in reading.jobs if self._is_right(found, reading) else ():
            made = workload_of(job, self.cache.around, self.cache.gates, self.cache.moment)
            if isinstance(made, Workload):
                self.state.add(made, Name(job.kind, job.namespace, job.name))
            else:
                self._leave_out(found, made)

    # Creating workloads

    def _read(self, objects: Sequence[Found]) -> Reading:
        """Read a job's manifest, to report mistakes field by field."""
        return read([*objects, *self._runtimes], self.cache.gates)[0]

    def _is_right(self, found: Found, reading: Reading) -> bool:
        self.state.warnings += reading.warnings
        if reading.mistakes:
            self.state.left_out.add(reading.what)
            self.state.warnings += reading.mistakes
            return False
        for job in reading.jobs[:1]:
            priority = priority_of(job.standing, self.cache.around)
            if isinstance(priority, Mistake):
                self._leave_out(found, [priority], str(Name(job.kind, job.namespace, job.name)))
                return False
        return True

    def _create(self, found: Found, wanted: Iterable[Raw | Refusal]) -> None:
        for one in wanted:
            if isinstance(one, Refusal):
                self._leave_out(found, [Mistake(one.message, "", found.where)])
                return
            meta = dict(one["metadata"])
            if self.manifests.newest is not None:
                meta["creationTimestamp"] = timestamps.show(self.cache.moment)
            change = Change(0, "ADDED", kinds.WORKLOAD, {**one, "metadata": meta})
            self.files[change.key] = found
            self.state.ensure_namespace(meta["namespace"])
            self.cache.see(change)
            made = self.cache.workloads.get(f"{meta['namespace']}/{meta['name']}")
            if made is not None:
                self.state.note_owner(made, meta)

    def _leave_out(self, found: Found, mistakes: Iterable[Mistake], what: str = "") -> None:
        meta = found.raw["metadata"]
        name = Name(found.raw["kind"], str(meta.get("namespace") or "default"), str(meta.get("name") or ""))
        self._warn(what or str(name), [replace(one, where=found.where) for one in mistakes])

    def _warn(self, what: str, mistakes: Iterable[Mistake]) -> None:
        self.state.left_out.add(what)
        self.state.warnings += [replace(one, what=what) for one in mistakes]


def _may_wait(seen: LiveJob) -> bool:
    """Whether the job waits, or will once stopped; a pod that runs without a Workload is deleted instead."""
    return seen.view.suspended or seen.key.kind is not kinds.POD
