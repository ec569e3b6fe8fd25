"""The state behind the live view of a running cluster, updated change by change.

The view is drawn several times per second while much happens, so pods are counted per host as they start and end,
workloads are counted as their state changes, and a job's domain is computed again only when its hosts have changed.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import NamedTuple

import msgspec

from .. import __version__
from ..cluster import kinds
from ..cluster.port import Change, Raw
from ..controller.decision_log import Record
from ..dialects import core
from ..dialects.kueue import keys
from ..model.natural import natural
from ..model.number import number_of
from ..model.resources import PODS
from ..report.host_grid import COLOURS
from ..report.picture import IDLE, OTHER, Access, Block, DecisionLine, Host, Picture, PictureJob, Queue, Rack
from ..report.quota import amounts
from .demo_place import KEY as DEMO
from .demo_place import place_in
from .layout import HostLayout, main_resource
from .runtime import Runtime

MOST_DECISIONS = 50
MOST_JOBS = 60
PALETTE = len(COLOURS)
USUAL_NAMESPACE = "default"
ENDED = ("Succeeded", "Failed")
WAITS = "Waits"


class Seat(NamedTuple):
    """A pod on a host; `load` is its request of the host's main resource."""

    node: str
    job: str
    load: int


class WorkloadState(NamedTuple):
    """A workload: the name of its job, and its state."""

    job: str
    queue: str
    pods: int
    state: str
    why: str = ""


class LiveState:
    """A watcher of the runtime. `changed` is called when the view would look different."""

    watches = (
        *(kinds.NODE, kinds.POD, kinds.WORKLOAD, kinds.TOPOLOGY, kinds.CLUSTER_QUEUE),
        *(kinds.CONFIG_MAP, kinds.MAINTENANCE),
    )

    def __init__(
        self,
        runtime: Runtime,
        access: Access,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.runtime, self.access, self.changed = runtime, access, changed
        self.since = runtime.now()
        self.notes: tuple[str, ...] = ()
        self.demo = self.says = ""
        self.hall = HostLayout()
        self._seats: dict[str, Seat] = {}
        self._on: dict[str, Counter[str]] = defaultdict(Counter)
        """For each host the number of pods by job."""
        self._load: Counter[str] = Counter()
        self._of: dict[str, Counter[str]] = defaultdict(Counter)
        """For each job the number of pods by host."""
        self._where: dict[str, str] = {}
        self._colours: dict[str, int] = {}
        self._workloads: dict[str, WorkloadState] = {}
        self._states: Counter[str] = Counter()
        self._decisions: deque[DecisionLine] = deque(maxlen=MOST_DECISIONS)

    def see(self, change: Change) -> None:
        match change.kind:
            case kinds.POD:
                self._pod(change)
            case kinds.WORKLOAD:
                self._workload(change)
            case kinds.NODE:
                self.hall.see_node(change)
                self._where.clear()
            case kinds.TOPOLOGY:
                self.hall.see_topology(change)
                self._where.clear()
            case kinds.CONFIG_MAP:
                if change.key != DEMO:
                    return
                place = None if change.type == "DELETED" else place_in(change.object)
                self.demo, self.says = ("", "") if place is None else (place.demo, place.says)
        self.changed()

    # Pods on hosts

    def _pod(self, change: Change) -> None:
        pod, meta = change.object, change.object["metadata"]
        key, node = f"{meta['namespace']}/{meta['name']}", pod["spec"].get("nodeName")
        ended = change.type == "DELETED" or "deletionTimestamp" in meta
        runs = node and not ended and (pod.get("status") or {}).get("phase") not in ENDED
        if key in self._seats and not runs:
            self._count(self._seats.pop(key), -1)
        elif runs and key not in self._seats:
            self._seats[key] = Seat(node, self._job_of(pod), self._load_of(pod, node))
            self._count(self._seats[key], 1)

    def _count(self, seat: Seat, sign: int) -> None:
        self._load[seat.node] += sign * seat.load
        for table, row, column in ((self._on, seat.node, seat.job), (self._of, seat.job, seat.node)):
            counts = table[row]
            counts[column] += sign
            if not counts[column]:
                del counts[column]
            if not counts:
                del table[row]
        self._where.pop(seat.job, None)

    def _job_of(self, pod: Raw) -> str:
        """The job of a pod; "" if it belongs to no workload."""
        meta = pod["metadata"]
        name = (meta.get("annotations") or {}).get(keys.WORKLOAD) or (meta.get("labels") or {}).get(keys.POD_GROUP)
        known = self._workloads.get(f"{meta['namespace']}/{name}")
        return known.job if known is not None else name or ""

    def _load_of(self, pod: Raw, node: str) -> int:
        on = self.hall.machines.get(node)
        if on is None:
            return 0
        requests = core.requests(msgspec.convert(pod["spec"], core.PodSpec))
        return requests.get(on.resource, 1 if on.resource == PODS else 0)

    # Workloads and decisions

    def _workload(self, change: Change) -> None:
        meta = change.object["metadata"]
        key = f"{meta['namespace']}/{meta['name']}"
        before = self._workloads.pop(key, None)
        if before is not None:
            self._states[before.state] -= 1
        if change.type != "DELETED":
            after = self._workloads[key] = standing(change.object)
            self._states[after.state] += 1

    def add(self, record: Record) -> DecisionLine | None:
        """Note a decision; returns None if it only repeats that a workload is pending."""
        known = self._workloads.get(record.workload)
        job = record.workload.partition("/")[2] if known is None else known.job
        line = DecisionLine(record.at, record.outcome, job, self._text(record, job), record.cost)
        before = next((one for one in reversed(self._decisions) if one.job == job), None)
        waited = before is not None and before.outcome == WAITS
        if before is not None and waited:
            self._decisions.remove(before)
        self._decisions.append(line)
        self.changed()
        return None if waited and line.outcome == WAITS else line

    def _text(self, record: Record, job: str) -> str:
        """Where the workload goes, or why it does not start; for one that moves, only its new hosts."""
        if not record.domains:
            return "".join(one if one.isprintable() else " " for one in record.reason)
        hosts = [path.rpartition("/")[2] for path in record.domains]
        domain = self.hall.covering(hosts)
        if record.outcome == "Moved":
            hosts = [host for host in hosts if host not in self._of.get(job, ())]
        named = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
        return f"{named} in {domain}" if domain else named

    # The picture

    def picture(self) -> Picture:
        blocks = tuple(
            Block(block, tuple(Rack(row.name, tuple(map(self._host, row.hosts))) for row in rows))
            for block, rows in self.hall.rows().items()
        )
        jobs, more = self._jobs()
        return Picture(
            __version__,
            self.access,
            self.since,
            self.runtime.now(),
            self.demo,
            self.access.typed(self.says),
            blocks,
            len(self._seats),
            jobs,
            self._queues(),
            {state: count for state, count in sorted(self._states.items()) if count},
            tuple(self._decisions),
            more,
            (*self.notes, *self._windows()),
        )

    def _host(self, name: str) -> Host:
        machine, on = self.hall.machines[name], self._on.get(name)
        state = "held" if machine.state == "up" and self._is_maintained(machine.labels) else machine.state
        if not on:
            return Host(name, state)
        job = max(on, key=lambda one: (on[one], one))
        share = self._load[name] / machine.room if machine.room else 1.0
        return Host(name, state, self._colour(job), min(1.0, share))

    def _is_maintained(self, labels: Mapping[str, str]) -> bool:
        now, windows = self.runtime.now(), self.runtime.control_plane.cache.world.windows
        return any(one.is_active(now) and one.covers(labels) for one in windows.values())

    def _windows(self) -> Iterator[str]:
        """One line for each maintenance window that is not over."""
        for one in self.runtime.control_plane.cache.world.windows.values():
            nodes = sum(one.covers(machine.labels) for machine in self.hall.machines.values())
            yield f"{one.taint.cause}: {number_of(nodes, 'node')}"

    def _colour(self, job: str) -> int:
        """The job's colour, kept for as long as the job exists: a number that no other job has.

        There are more jobs than colours. One is repeated only if all are used, and not on a host or line beside it.
        """
        if not job:
            return OTHER
        if job not in self._colours:
            taken = set(self._colours.values())
            used = Counter(number % PALETTE for number in taken)
            beside = {self._colours[one] % PALETTE for one in self._beside(job) if one in self._colours}
            best = min(range(PALETTE), key=lambda one: (one in beside, used[one], one))
            self._colours[job] = next(number for number in count(best, PALETTE) if number not in taken)
        return self._colours[job]

    def _beside(self, job: str) -> Iterator[str]:
        """The jobs on hosts next to those of a job, and next to it in the list."""
        order = [host for rows in self.hall.rows().values() for row in rows for host in row.hosts]
        at = {host: number for number, host in enumerate(order)}
        for host in self._of.get(job, ()):
            number = at.get(host, len(order))
            for near in order[max(0, number - 1) : number + 2]:
                yield from self._on.get(near, ())
        names = sorted(self._of, key=natural)
        if job in self._of:
            place = names.index(job)
            yield from names[max(0, place - 1) : place + 2]

    def _jobs(self) -> tuple[tuple[PictureJob, ...], int]:
        """Pending jobs, then running ones, and how many are left out. Neither takes the lines of the other."""
        alive = {one.job: one for one in self._workloads.values() if one.state != "finished"}
        for gone in self._colours.keys() - self._of.keys() - alive.keys():
            del self._colours[gone]
        running = [self._running(name, alive.get(name)) for name in sorted(self._of, key=natural) if name]
        waiting = [
            PictureJob(one.job, one.queue, one.pods, IDLE, "", one.why or "just submitted")
            for one in sorted(alive.values(), key=lambda one: natural(one.job))
            if one.state in ("waiting", "reserved")
        ]
        first = waiting[: max(MOST_JOBS // 2, MOST_JOBS - len(running))]
        shown = (*first, *running[: MOST_JOBS - len(first)])
        return shown, len(waiting) + len(running) - len(shown)

    def _running(self, name: str, known: WorkloadState | None) -> PictureJob:
        if name not in self._where:
            self._where[name] = self.hall.covering(self._of[name])
        queue = "" if known is None else known.queue
        return PictureJob(name, queue, self._of[name].total(), self._colour(name), self._where[name])

    def _queues(self) -> tuple[Queue, ...]:
        known = self.runtime.control_plane.cache
        waiting: Counter[str] = Counter()
        for local in known.local_queues.values():
            waiting[local.cluster_queue] += known.tally.local[local.key].pending
        result = []
        for name, node in known.world.tree.queues.items():
            whole: Counter[str] = Counter()
            used: Counter[str] = Counter()
            for of, one in amounts(node).items():
                whole[of.resource] += one.whole
                used[of.resource] += one.used
            main, running = main_resource(whole), known.tally.queues[name].admitted
            result.append(Queue(name, main, used[main], whole[main], running, waiting[name], self._trouble(name)))
        for local in known.local_queues.values():
            if local.cluster_queue not in known.world.cluster_queues:
                trouble = f"ClusterQueue {local.cluster_queue} doesn't exist"
                pending = known.tally.local[local.key].pending
                result.append(Queue(f"LocalQueue {local.key}", PODS, 0, 0, 0, pending, trouble))
        return tuple(sorted(result, key=lambda one: (not one.trouble, natural(one.name))))

    def _trouble(self, queue: str) -> str:
        """Why a ClusterQueue admits nothing, or which of its LocalQueues are stopped."""
        known = self.runtime.control_plane.cache
        why = known.world.inactive(queue)
        if why is not None:
            return "stopped" if why.reason == "Stopped" else f"inactive: {why.message}"
        every = known.local_queues.values()
        stopped = [one.key for one in every if one.cluster_queue == queue and one.stop != "None"]
        return f"LocalQueue {', '.join(sorted(stopped, key=natural))} stopped" if stopped else ""


def standing(raw: Raw) -> WorkloadState:
    meta, spec = raw["metadata"], raw["spec"]
    conditions = {one["type"]: one for one in (raw.get("status") or {}).get("conditions") or ()}
    owners: list[Raw] = meta.get("ownerReferences") or []
    name = owners[0]["name"] if len(owners) == 1 else meta["name"]
    job = name if meta["namespace"] == USUAL_NAMESPACE else f"{meta['namespace']}/{name}"
    pods = sum(one.get("count", 1) for one in spec.get("podSets") or ())
    queue = spec.get("queueName", "")
    for kind, state in (("Finished", "finished"), ("Admitted", "running")):
        if _holds(conditions, kind):
            return WorkloadState(job, queue, pods, state)
    if spec.get("active") is False:
        return WorkloadState(job, queue, pods, "inactive")
    if _holds(conditions, "QuotaReserved"):
        return WorkloadState(job, queue, pods, "reserved", "holds quota and waits for its admission checks")
    return WorkloadState(job, queue, pods, "waiting", (conditions.get("QuotaReserved") or {}).get("message", ""))


def _holds(conditions: dict[str, Raw], kind: str) -> bool:
    return kind in conditions and conditions[kind]["status"] == "True"
