"""The kubelets of all nodes: bound pods start, run and end according to their annotations, deleted ones are stopped.

    Pending ──start──▶ Running ──run──▶ Succeeded │ Failed        on nodes with NUMA zones admission is first
                        ▲   │ failed, and restartPolicy allows a restart
                        └───┘ after an exponential backoff

A pod's progress is counted in seconds at normal speed, so that a slow node takes longer for the rest. Exact times are
in memory; after a restart only the whole seconds in a pod's status are known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from ....dialects.simulated_zones import NUMA
from ....dialects.timestamps import parse
from ....numa.simulated import SimulatedZones
from ...kinds import NODE, POD
from ...port import Change, Delete, Key, Raw
from ..loop import ReconcileAt, Step
from ..store import Store
from .children import condition, event, is_deleting, is_ended, phase, status_write
from .machine_faults import MachineFaults, machine
from .pod_plan import Course, course, is_drawn, plan_of
from .pod_status import PodAddress, container_state, ended, running, termination, waiting
from .pods_by_node import PodsByNode
from .settings import DEFAULTS, StandinSettings
from .zone_admission import admissions, is_admitted, waiting_before, zones_on

KILLED, STOPPED = 137, 143
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 300.0


@dataclass(slots=True)
class Life:
    """The progress of a pod: it had run for `done` seconds at `since`; from then on the factor is `slow`."""

    uid: str
    course: Course
    bound: float
    began: float | None = None
    restarts: int = 0
    last: Raw | None = None
    again_at: float | None = None
    done: float = 0.0
    since: float = 0.0
    slow: float = 1.0
    stopping: float | None = None

    def begin(self, at: float, slow: float) -> None:
        self.began, self.again_at = at, None
        self.done, self.since, self.slow = 0.0, at, slow

    def turn(self, now: float, slow: float) -> None:
        """Change the speed from now on."""
        if slow != self.slow:
            self.done += (now - self.since) / self.slow
            self.since, self.slow = now, slow

    @property
    def ends_at(self) -> float | None:
        if self.course.run is None:
            return None
        return self.since + max(0.0, self.course.run - self.done) * self.slow


class Kubelet:
    """`random` draws the durations of each pod from its uid, so that equal seeds give equal runs."""

    watches = (POD, NODE)

    def __init__(
        self, settings: StandinSettings = DEFAULTS, random: Random | None = None, pods_by_node: PodsByNode | None = None
    ) -> None:
        self.settings = settings
        self.pods_by_node = pods_by_node or PodsByNode()
        self._salt = (random or Random(0)).getrandbits(64)
        self._machines: dict[str, MachineFaults] = {}
        self._zones: dict[str, SimulatedZones] = {}
        self._lives: dict[Key, Life] = {}
        self._killed: set[Key] = set()
        self._addresses = 0

    # Keys of a change

    def concerns(self, store: Store, change: Change) -> Iterable[Hashable]:
        if change.kind is POD:
            return self._pod_changed(change)
        if change.kind is NODE:
            return self._node_changed(change)
        return ()

    def _pod_changed(self, change: Change) -> Iterable[Key]:
        self.pods_by_node.see(change)
        pod = change.object
        if not pod["spec"].get("nodeName"):
            return ()
        key = change.key
        if change.type == "DELETED":
            self._lives.pop(key, None)
            self._killed.discard(key)
            return ()
        if change.type == "ADDED" and (given := (pod.get("status") or {}).get("podIP")):
            self._addresses = max(self._addresses, _number(given))
        return (key,) if not is_ended(pod) or is_deleting(pod) else ()

    def _node_changed(self, change: Change) -> Iterable[Hashable]:
        name = change.object["metadata"]["name"]
        before = self._machines.get(name)
        if change.type == "DELETED":
            self._machines.pop(name, None)
            self._zones.pop(name, None)
            return ()
        now = self._zoned(name, change.object)
        if now == before:
            return ()
        self._machines[name] = now
        keys = self.pods_by_node.keys(name)
        if before is not None and before.failed and not now.failed:
            self._killed.update(keys)
        wrong: tuple[Hashable, ...] = (name,) if now.wrong and (before is None or before.wrong != now.wrong) else ()
        return (*keys, *wrong)

    def _zoned(self, name: str, node: Raw) -> MachineFaults:
        """The faults of a machine; its NUMA zones, if it has any, are noted. Invalid ones are a fault, too."""
        found = machine(node)
        self._zones.pop(name, None)
        try:
            zones = zones_on(node)
        except ValueError as error:
            return found._replace(wrong=f"annotation {NUMA}: {error}")
        if zones is not None:
            self._zones[name] = zones
        return found

    # Reconciling

    def reconcile(self, store: Store, key: Hashable, now: float) -> Iterator[Step]:
        if isinstance(key, str):
            node = store.find(NODE, "", key)
            if node is not None and (wrong := self._zoned(key, node).wrong):
                yield event(NODE, node, "InvalidAnnotation", wrong, now, by="kubelet", warning=True)
            return
        assert isinstance(key, Key)
        pod = store.find(POD, key.namespace, key.name)
        if pod is None or not (name := pod["spec"].get("nodeName")):
            self._lives.pop(key, None)
            return
        on = self._machines.get(name)
        if on is None or on.is_silent:
            return
        if is_deleting(pod):
            yield from self._stop(key, pod, on, now)
        elif not is_ended(pod):
            yield from self._live(store, key, pod, on, now)

    def _live(self, store: Store, key: Key, pod: Raw, on: MachineFaults, now: float) -> Iterator[Step]:
        life = self._life(key, pod, on, now)
        if key in self._killed:
            self._killed.discard(key)
            if life.began is not None:
                yield from self._end(key, pod, life, on, KILLED, now, now)
                return
        life.turn(now, on.slow)
        if life.began is None:
            zones = self._zones.get(pod["spec"]["nodeName"])
            if zones is None or is_admitted(pod):
                yield from self._start(key, pod, life, on, now)
            else:
                yield from self._admit(store, pod, zones, life, now)
        elif life.again_at is not None:
            if life.again_at > now:
                yield ReconcileAt(life.again_at)
            else:
                life.begin(now, on.slow)
                life.restarts += 1
                yield from self._say_running(key, pod, life, on, now)
        else:
            at = life.ends_at
            if at is not None and at <= now:
                yield from self._end(key, pod, life, on, life.course.exit_code, at, now)
                return
            if condition_lost(pod):
                yield from self._say_running(key, pod, life, on, now)
            elif at is not None:
                yield ReconcileAt(at)

    def _admit(self, store: Store, pod: Raw, zones: SimulatedZones, life: Life, now: float) -> Iterator[Step]:
        """Admit the pod to its zones, or refuse it; the write brings it back here."""
        at = life.bound + self.settings.admission_time
        if at > now:
            yield ReconcileAt(at)
            return
        there = self.pods_by_node.pods(store, pod["spec"]["nodeName"])
        yield from admissions(zones, there, waiting_before(there, pod), now)

    def _start(self, key: Key, pod: Raw, life: Life, on: MachineFaults, now: float) -> Iterator[Step]:
        if life.course.start is None:
            return
        at = life.bound + life.course.start
        if at > now:
            yield ReconcileAt(at)
            return
        for wrong in plan_of(pod, self.settings).wrong:
            yield event(POD, pod, "InvalidAnnotation", wrong, now, by="kubelet", warning=True)
        life.begin(now, on.slow)
        if life.ends_at is not None and life.ends_at <= now:
            yield from self._end(key, pod, life, on, life.course.exit_code, now, now)
        else:
            yield from self._say_running(key, pod, life, on, now)

    def _say_running(self, key: Key, pod: Raw, life: Life, on: MachineFaults, now: float) -> Iterator[Step]:
        assert life.began is not None
        status = running(pod, self._place(pod, on), life.began, life.restarts, life.last, now)
        yield from status_write(POD, pod, status)
        if life.ends_at is not None:
            yield ReconcileAt(life.ends_at)

    def _end(
        self, key: Key, pod: Raw, life: Life, on: MachineFaults, code: int, at: float, now: float
    ) -> Iterator[Step]:
        """End the pod after its containers have exited, or restart them."""
        began = life.began if life.began is not None else at
        last = termination(began, at, code)
        policy = pod["spec"].get("restartPolicy", "Always")
        if policy == "Never" or (policy == "OnFailure" and code == 0):
            self._lives.pop(key, None)
            yield from status_write(POD, pod, ended(pod, self._place(pod, on), last, life.restarts, now))
            return
        life.last = last
        pause = _pause(life.restarts)
        if pause:
            life.again_at = at + pause
            yield from status_write(POD, pod, waiting(pod, self._place(pod, on), life.restarts, last, pause, now))
            yield ReconcileAt(life.again_at)
        else:
            life.begin(now, on.slow)
            life.restarts += 1
            yield from self._say_running(key, pod, life, on, now)

    def _stop(self, key: Key, pod: Raw, on: MachineFaults, now: float) -> Iterator[Step]:
        """Stop a deleted pod within its grace period, report its end, and remove it."""
        meta = pod["metadata"]
        grace = meta.get("deletionGracePeriodSeconds", 0)
        if not is_ended(pod):
            life = self._life(key, pod, on, now)
            if life.stopping is None:
                life.stopping = moment(meta["deletionTimestamp"], now + grace) - grace
            at = life.stopping + min(grace, self.settings.stop_time)
            if at > now and key not in self._killed:
                yield ReconcileAt(at)
                return
            last = termination(life.began if life.began is not None else now, now, STOPPED)
            yield from status_write(POD, pod, ended(pod, self._place(pod, on), last, life.restarts, now))
        self._lives.pop(key, None)
        self._killed.discard(key)
        if grace:
            yield Delete(key, uid=meta["uid"], grace=0)

    # The state of a pod

    def _life(self, key: Key, pod: Raw, on: MachineFaults, now: float) -> Life:
        uid = pod["metadata"]["uid"]
        life = self._lives.get(key)
        if life is None or life.uid != uid:
            plan = plan_of(pod, self.settings)
            share = Random(f"{self._salt}/{uid}").random() if is_drawn(plan) else 0.0
            life = self._lives[key] = self._remembered(pod, Life(uid, course(plan, share), _bound(pod, now)), on, now)
        return life

    def _remembered(self, pod: Raw, life: Life, on: MachineFaults, now: float) -> Life:
        """Restore the progress of a pod from its status, after a restart of the host."""
        if phase(pod) != "Running":
            return life
        seen = container_state(pod)
        life.restarts = seen.get("restartCount", 0)
        life.last = (seen.get("lastState") or {}).get("terminated")
        state = seen.get("state") or {}
        if "running" in state:
            life.begin(moment(state["running"]["startedAt"], now), on.slow)
        elif life.last is not None:
            life.began = moment(life.last["startedAt"], now)
            life.again_at = moment(life.last["finishedAt"], now) + _pause(life.restarts)
        else:
            life.begin(now, on.slow)
        return life

    def _place(self, pod: Raw, on: MachineFaults) -> PodAddress:
        given = (pod.get("status") or {}).get("podIP")
        if given:
            return PodAddress(given, on.address)
        self._addresses += 1
        return PodAddress(_address(self._addresses), on.address)


def condition_lost(pod: Raw) -> bool:
    """Whether a running pod was marked not ready from outside, because its node counted as lost."""
    ready = condition(pod, "Ready")
    return ready is None or ready["status"] != "True"


def moment(text: str, now: float) -> float:
    """Parse a time. Objects have whole seconds, so a time in the current second counts as now."""
    at = parse(text)
    return now if int(now) == at else at


def _bound(pod: Raw, now: float) -> float:
    scheduled = condition(pod, "PodScheduled")
    return now if scheduled is None else moment(scheduled["lastTransitionTime"], now)


def _pause(restarts: int) -> float:
    """The backoff before a restart: none before the first, then 10 s, doubled up to five minutes."""
    return 0.0 if restarts == 0 else min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(restarts - 1, 10))


def _address(number: int) -> str:
    """_address(258) == "10.0.1.2"."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _number(address: str) -> int:
    parts = address.split(".")
    if len(parts) != 4 or parts[0] != "10" or not all(part.isdigit() for part in parts):
        return 0
    return int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3])
