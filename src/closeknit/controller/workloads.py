"""The desk for workloads: checks, queues that stop, time limits, and workloads whose job is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..cluster import kinds
from ..cluster.port import Change, Raw, Write
from ..lifecycle.action import Change as StatusChange
from ..lifecycle.action import Deactivate, Later, Remove
from ..lifecycle.workload import WorkloadView, workload_life
from ..model.workload import Workload
from ..observe.known import Known
from ..observe.workloads import class_of, is_left_behind, rank_of
from ..write import workloads as write
from ..write.events import Recorder
from .desk import Again, Desk, Step, is_news


class Workloads(Desk[str]):
    def __init__(self, known: Known, recorder: Recorder) -> None:
        super().__init__(known, recorder)
        self._to_rank: dict[str, None] = {}
        """Those whose class has got another value, until they have it too."""

    def concerns(self, change: Change) -> Iterable[str]:
        meta = change.object["metadata"]
        match change.kind:
            case kinds.WORKLOAD:
                return [f"{meta['namespace']}/{meta['name']}"]
            case kinds.CLUSTER_QUEUE if is_news(change):
                return self._of_queue(meta["name"])
            case kinds.LOCAL_QUEUE if is_news(change):
                return self._of_local_queue(f"{meta['namespace']}/{meta['name']}")
            case kinds.WORKLOAD_PRIORITY_CLASS if change.type == "MODIFIED" and is_revalued(change):
                concerned = list(self.known.of_class.get(meta["name"], ()))
                self._to_rank |= dict.fromkeys(concerned)
                return concerned
            case kinds.ADMISSION_CHECK | kinds.RESOURCE_FLAVOR | kinds.TOPOLOGY if change.type != "MODIFIED":
                return list(self.known.workloads)
        if change.type == "DELETED":
            return list(self.known.workloads_of.get(meta.get("uid", ""), ()))
        return ()

    def _of_queue(self, name: str) -> list[str]:
        """Who holds quota of a queue, waits for it, or looks for a way to any."""
        lines, ledger = self.known.scheduler.lines, self.known.world.ledger
        holders = [one.key for one in ledger.holdings.values() if one.queue == name]
        waiting = [key for key, queue in lines.line_of.items() if queue == name]
        return [*holders, *waiting, *lines.homeless]

    def _of_local_queue(self, queue: str) -> list[str]:
        return [key for key, one in self.known.workloads.items() if one.local_queue == queue and not one.finished]

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        workload, raw = self.known.workloads.get(key), self.known.raw_workload(key)
        if workload is None or raw is None:
            self._to_rank.pop(key, None)
            return
        if key in self._to_rank:
            ranked = self._ranked(key, workload, raw)
            if ranked is not None:
                yield ranked
                return
        if "deletionTimestamp" in raw["metadata"] and self._is_orphan(raw):
            loose = write.finalized(raw)
            if loose is not None:
                yield loose
            return
        for action in workload_life(self.view(workload, is_left_behind(raw)), now):
            match action:
                case StatusChange():
                    yield from self.status(action.before, action.after, action.events, now)
                case Deactivate():
                    yield write.deactivated(raw)
                case Remove():
                    yield from write.removed(raw)
                case Later(at):
                    yield Again(at)

    def _is_orphan(self, raw: Raw) -> bool:
        owners = raw["metadata"].get("ownerReferences") or ()
        return not any(one["uid"] in self.known.by_uid for one in owners)

    def _ranked(self, key: str, workload: Workload, raw: Raw) -> Write | None:
        """With the value that its class has now; None once it has that, or needs none any more."""
        now = rank_of(class_of(raw), self.known.around)
        if now is not None and now.value != workload.priority and not workload.finished:
            return write.reprioritized(raw, now)
        del self._to_rank[key]
        return None

    def view(self, workload: Workload, orphaned: bool = False) -> WorkloadView:
        known, admission = self.known, workload.status.admission
        local = known.local_queues.get(workload.local_queue)
        name = admission.queue if admission is not None else "" if local is None else local.cluster_queue
        queue = known.world.cluster_queues.get(name)
        active = queue is not None and known.world.is_active(name)
        line = known.scheduler.lines.lines.get(name)
        bypassed = line is not None and line.is_bypassed(workload.key)
        return WorkloadView(workload, known.gates, known.settings, local, queue, active, orphaned, bypassed)


def is_revalued(change: Change) -> bool:
    """Whether a class has got another value."""
    return change.old is None or change.old.get("value") != change.object.get("value")
