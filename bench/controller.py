"""The CPU of the control plane alone, on Kueue's scale test in virtual time: `python -m bench.controller`.

Objects arrive as JSON, as an API server sends them, and a stand-in for the server answers writes: it takes a fixed time
per request and shows the result. Creations, run times and finishes are those of Kueue's runner. Only time inside the
control plane counts, so two versions of it can be compared on a busy machine; the numbers of steps, cycles and plans
are the same in every run.
"""

from __future__ import annotations

import argparse
import cProfile
import heapq
import pstats
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import msgspec

from closeknit.cluster import kinds
from closeknit.cluster.errors import Conflict
from closeknit.cluster.kinds import CLUSTER_QUEUE, EVENT, LOCAL_QUEUE, WORKLOAD, Kind
from closeknit.cluster.port import Change, Key, Raw, Update, Write, target_of
from closeknit.controller.control_plane import ControlPlane
from closeknit.decide import cycle as cycles
from closeknit.decide import nominate as nomination
from closeknit.dialects import timestamps
from closeknit.host.kubernetes import KubernetesOptions
from closeknit.host.trimming import Trimmer

from .cluster import BLOCK, RACK
from .scale import COHORTS, KINDS, QUEUES, RACK_NODES, RACKS
from .scale import Kind as Size

START = 1_700_000_000.0
CREATE, STATUS, TELL = 0.0033, 0.006, 0.003
"""Seconds that the stand-in takes for a creation, a status update, and an event."""
LANES = {WORKLOAD: (6, 6), CLUSTER_QUEUE: (2, 10**9), LOCAL_QUEUE: (2, 10**9), EVENT: (1, 10**9)}
"""The outbox's lanes: the writes in flight at once, and those queued behind them at which the control plane pauses."""


@dataclass
class Lane:
    size: int
    most: int
    under_way: int = 0
    behind: deque[Write] = field(default_factory=deque)


class Stand:
    """The stand-in for the API server and the runner: stores objects and serves one request at a time."""

    def __init__(self, share: float, rest: float | None = None) -> None:
        self.now, self.busy_until = START, START
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.objects: dict[Key, Raw] = {}
        self.version = self._ticket = 0
        self.spent = 0.0
        self.counts: Counter[str] = Counter()
        self.profile: cProfile.Profile | None = None
        options = KubernetesOptions()
        self.plane = ControlPlane(
            options.gates, options.settings, lambda: self.now, perf_counter, options.managed,
            pace=options.pace, policy=options.reports, rest=options.rest if rest is None else rest,
        )  # fmt: skip
        self.trim = Trimmer()
        self.statuses = Lane(*LANES[CLUSTER_QUEUE])
        self.lanes = {kind: Lane(*of) for kind, of in LANES.items()}
        self.lanes[CLUSTER_QUEUE] = self.lanes[LOCAL_QUEUE] = self.statuses
        self.running: deque[Key] = deque()
        self.worker_busy = False
        self.left = 0
        self._begin(share)

    # Time

    def at(self, time: float, what: Callable[[], None]) -> None:
        self._ticket += 1
        heapq.heappush(self.events, (time, self._ticket, what))

    def run(self) -> None:
        while self.left:
            self._work()
            due = self._timed(self.plane.due)
            if self.events and (due is None or self._is_full() or self.events[0][0] <= due):
                time, _, what = heapq.heappop(self.events)
                self.now = max(self.now, time)
                what()
                while self.events and self.events[0][0] <= self.now:
                    heapq.heappop(self.events)[2]()
            elif due is not None:
                self.now = max(self.now, due)
            else:
                raise SystemExit(f"error: nothing left to do, and {self.left} workloads did not finish")

    def _is_full(self) -> bool:
        return any(len(lane.behind) >= lane.most for lane in self.lanes.values())

    def _work(self) -> None:
        while not self._is_full():
            due = self._timed(self.plane.due)
            if due is None or due > self.now:
                return
            writes = self._timed(self.plane.step, self.now)
            self.counts["steps"] += 1
            for write in writes:
                self._send(write)

    def _timed(self, call: Callable[..., Any], *given: Any) -> Any:
        if self.profile is not None:
            return self.profile.runcall(call, *given)
        begin = process_time()
        result = call(*given)
        self.spent += process_time() - begin
        return result

    # Requests

    def _served(self, seconds: float) -> float:
        self.busy_until = max(self.now, self.busy_until) + seconds
        return self.busy_until

    def _send(self, write: Write) -> None:
        lane = self.lanes.get(target_of(write).kind, self.lanes[WORKLOAD])
        lane.behind.append(write)
        self._next(lane)

    def _next(self, lane: Lane) -> None:
        while lane.behind and lane.under_way < lane.size:
            lane.under_way += 1
            write = lane.behind.popleft()
            kind = target_of(write).kind
            self.counts[f"writes {kind.kind}"] += 1
            self.at(self._served(TELL if kind is EVENT else STATUS), partial(self._answer, lane, write))

    def _answer(self, lane: Lane, write: Write) -> None:
        lane.under_way -= 1
        result: Raw = {}
        if target_of(write).kind is not EVENT:
            assert isinstance(write, Update), write
            sent, there = msgspec.json.encode(write.body), self.objects[target_of(write)]
            result = msgspec.json.decode(sent)
            if result["metadata"]["resourceVersion"] != there["metadata"]["resourceVersion"]:
                self.counts["conflicts"] += 1
                self._timed(self.plane.done, write, Conflict("another version"), self.now)
                self._next(lane)
                return
            result = self._put(write.kind, result)
        self._timed(self.plane.done, write, result, self.now)
        self._next(lane)

    def _put(self, kind: Kind, raw: Raw) -> Raw:
        """Store an object and show it."""
        self.version += 1
        meta = raw["metadata"]
        meta["resourceVersion"] = str(self.version)
        raw |= {"apiVersion": kind.api_version, "kind": kind.kind}
        key = Key(kind, meta.get("namespace", ""), meta["name"])
        old = self.objects.get(key)
        self.objects[key] = raw
        data = msgspec.json.encode(raw)
        self._timed(self._show, kind, data, "ADDED" if old is None else "MODIFIED")
        if kind is WORKLOAD:
            self._watch(key, raw)
        return raw

    def _show(self, kind: Kind, data: bytes, type_: Any) -> None:
        raw = self.trim(kind, data)
        change = Change(self.version, type_, kind, raw)
        self.plane.see(change._replace(old=self.plane.cache.find(change.key)))

    # The runner

    def _watch(self, key: Key, raw: Raw) -> None:
        conditions = {one["type"]: one["status"] == "True" for one in raw.get("status", {}).get("conditions") or ()}
        if conditions.get("Finished"):
            self.left -= 1
        elif conditions.get("Admitted") or (conditions.get("Evicted") and conditions.get("QuotaReserved")):
            runs = 0.0 if conditions.get("Evicted") else int(raw["metadata"]["labels"]["ms"]) / 1000
            self.at(self.now + runs, lambda: self._enqueue(key))

    def _enqueue(self, key: Key) -> None:
        self.running.append(key)
        self._reconcile()

    def _reconcile(self) -> None:
        if self.running and not self.worker_busy:
            self.worker_busy = True
            key = self.running.popleft()
            self.at(self._served(STATUS), lambda: self._end(key))

    def _end(self, key: Key) -> None:
        self.worker_busy = False
        raw = self.objects[key]
        conditions = {one["type"]: one for one in raw.get("status", {}).get("conditions") or ()}
        holds = {name for name, one in conditions.items() if one["status"] == "True"}
        if "Evicted" in holds and "QuotaReserved" in holds:
            self.counts["evictions"] += 1
            for name in ("QuotaReserved", "Admitted"):
                if name in conditions:
                    conditions[name] = self._condition(name, "False", "Pending", "Evicted by the test runner")
            status = {part: value for part, value in raw["status"].items() if part != "admission"}
            self._rewrite(raw, {**status, "conditions": list(conditions.values())})
        elif "Admitted" in holds and "Finished" not in holds:
            conditions["Finished"] = self._condition("Finished", "True", "ByTest", "By test runner")
            self._rewrite(raw, {**raw["status"], "conditions": list(conditions.values())})
        self._reconcile()

    def _rewrite(self, raw: Raw, status: Raw) -> None:
        self._put(WORKLOAD, {**raw, "metadata": dict(raw["metadata"]), "status": status})

    def _condition(self, name: str, status: str, reason: str, message: str) -> Raw:
        when = timestamps.stamp(float(int(self.now)))
        return {"type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": when}

    # Initial objects

    def _begin(self, share: float) -> None:
        for rack in range(RACKS):
            for number in range(RACK_NODES):
                name = f"r{rack}-n{number}"
                labels = {BLOCK: "b0", RACK: f"r{rack}", "kubernetes.io/hostname": name, "tas": "true"}
                status = {"allocatable": {"cpu": "96", "memory": "256Gi", "pods": "110"},
                          "conditions": [{"type": "Ready", "status": "True"}]}  # fmt: skip
                self._put(kinds.NODE, self._named(name, "", labels, {"status": status, "spec": {}}))
        levels = [{"nodeLabel": one} for one in (BLOCK, RACK, "kubernetes.io/hostname")]
        self._put(kinds.TOPOLOGY, self._named("default", "", {}, {"spec": {"levels": levels}}))
        flavor = {"nodeLabels": {"tas": "true"}, "topologyName": "default"}
        self._put(kinds.RESOURCE_FLAVOR, self._named("tas", "", {}, {"spec": flavor}))
        for cohort in range(COHORTS):
            for number in range(QUEUES):
                self._queue(f"cq-{number}-cohort-{cohort}", f"cohort-{cohort}", share)

    def _queue(self, name: str, cohort: str, share: float) -> None:
        self._put(kinds.NAMESPACE, self._named(name, "", {}, {}))
        quota = {"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}
        spec = {
            "cohortName": cohort, "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "tas", "resources": [quota]}]}],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        }  # fmt: skip
        self._put(CLUSTER_QUEUE, self._named(name, "", {}, {"spec": spec}))
        self._put(LOCAL_QUEUE, self._named(name, name, {}, {"spec": {"clusterQueue": name}}))
        for size in KINDS:
            forms = ({"required": RACK}, {"preferred": RACK},
                     {"podSetSliceRequiredTopology": RACK, "podSetSliceSize": size.slice})  # fmt: skip
            for at, (count, form) in enumerate(zip(size.counts, forms, strict=True)):
                many = max(1, round(count * share))
                self.left += many
                self.at(self.now + size.every, lambda *_, of=(name, size, form, at, 0, many): self._create(*of))

    def _create(self, queue: str, size: Size, form: Raw, at: int, number: int, many: int) -> None:
        template = {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "resources": {"requests": {"cpu": f"{size.cpu}m"}}}]}}  # fmt: skip
        pod_set = {"name": "main", "count": size.pods, "template": template, "topologyRequest": form}
        spec = {"active": True, "queueName": queue, "priority": size.priority, "podSets": [pod_set]}
        raw = self._named(f"{size.name}-{at}-{number}", queue, {"ms": str(int(size.runs * 1000))}, {"spec": spec})

        def created() -> None:
            raw["metadata"]["creationTimestamp"] = timestamps.stamp(float(int(self.now)))
            self._put(WORKLOAD, raw)
            if number + 1 < many:
                self.at(self.now + size.every, lambda: self._create(queue, size, form, at, number + 1, many))

        self.at(self._served(CREATE), created)

    def _named(self, name: str, namespace: str, labels: Raw, rest: Raw) -> Raw:
        meta: Raw = {"name": name, "uid": f"uid-{namespace}-{name}", "labels": labels, "generation": 1,
                     "creationTimestamp": timestamps.stamp(self.now)}  # fmt: skip
        if namespace:
            meta["namespace"] = namespace
        return {"metadata": meta, **rest}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=0.2, help="fraction of the 15,000 workloads")
    parser.add_argument("--rest", type=float, help="seconds between two cycles (default: the host's)")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="print the N most expensive functions")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    plain = nomination.nominate

    def counted(*args: Any) -> Any:
        counts["plans"] += 1
        return plain(*args)

    with patch.object(nomination, "nominate", counted), patch.object(cycles, "nominate", counted):
        stand = Stand(given.share, given.rest)
        begun = stand.spent
        if given.profile:
            stand.profile = cProfile.Profile()
        stand.run()
    print(f"CPU {stand.spent - begun:.2f} s, {stand.now - START:.1f} virtual s, "
          f"{stand.plane.cache.scheduler.number} cycles, {dict(counts)}, {dict(stand.counts)}")  # fmt: skip
    if stand.profile is not None:
        stats = pstats.Stats(stand.profile)
        stats.sort_stats("cumulative").print_stats(given.profile)
        stats.sort_stats("tottime").print_stats(given.profile)


if __name__ == "__main__":
    main()
