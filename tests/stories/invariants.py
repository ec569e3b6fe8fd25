"""The invariants, computed from the objects alone; nothing here calls the code under test.

Admissions are checked when they are made: capacity may be taken away later, and then nothing may be added to it. What
has to hold at any time is checked whenever the cluster is quiet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from math import ceil
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.port import Change
from host.lab import condition

from .steps import QUEUES

Raw = dict[str, Any]
HOST = "kubernetes.io/hostname"
PREFIX = "kueue.x-k8s.io/"
TOPOLOGY_NOTES = tuple(
    f"{PREFIX}podset-{name}"
    for name in (
        "required-topology",
        "preferred-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
        "unconstrained-topology",
    )
)


class Broken(AssertionError):  # noqa: N818 - it is what a story ends with
    """An invariant does not hold."""


def milli(text: object) -> int:
    """An amount of cpu, rounded up: milli("1500m") == 1500, milli("1n") == 1, milli("1e3") == 1000000."""
    given = str(text)
    number, power = (given[:-1], {"m": 0, "n": -6}[given[-1]]) if given[-1] in "mn" else (given, 3)
    return ceil(Decimal(number).scaleb(power))


def cpu_of(spec: Raw) -> int:
    return sum(milli(one["resources"]["requests"]["cpu"]) for one in spec["containers"])


def domains(assignment: Raw) -> list[tuple[tuple[str, ...], int]]:
    """A topologyAssignment as paths and counts."""
    found: list[tuple[tuple[str, ...], int]] = []
    for one in assignment["slices"]:
        columns = [_values(values, one["domainCount"]) for values in one["valuesPerLevel"]]
        counts = one["podCounts"]
        numbers = [counts["universal"]] * one["domainCount"] if "universal" in counts else counts["individual"]
        found += zip(zip(*columns, strict=True), numbers, strict=True)
    return found


def _values(values: Raw, count: int) -> list[str]:
    if "universal" in values:
        return [values["universal"]] * count
    each = values["individual"]
    return [each.get("prefix", "") + root + each.get("suffix", "") for root in each["roots"]]


def placed(workload: Raw) -> Iterator[tuple[Raw, Raw, Counter[str]]]:
    """Pod set, assignment and pods by host, for every pod set with a topology assignment."""
    admission = (workload.get("status") or {}).get("admission")
    sets = {one["name"]: one for one in workload["spec"]["podSets"]}
    for one in (admission or {}).get("podSetAssignments") or ():
        if "topologyAssignment" in one:
            hosts: Counter[str] = Counter()
            for path, count in domains(one["topologyAssignment"]):
                hosts[path[-1]] += count
            yield sets[one["name"]], one, hosts


def holds(workload: Raw) -> bool:
    return condition(workload, "QuotaReserved") and not condition(workload, "Finished")


def same(believed: Raw, rebuilt: Raw) -> None:
    """Compare a dump with that of a control plane that lists all objects again."""
    for part, known in rebuilt.items():
        differ = list(_differences(believed[part], known))
        if differ:
            raise Broken(f"{part} is not what the objects say: {'; '.join(differ)}")


def _differences(before: Any, after: Any, at: str = "") -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(key), after.get(key), f"{at} {key}".strip())
    elif before != after:
        yield f"{at}: {before}, rebuilt {after}"


class Invariants:
    """Sees every change to a Workload, after all other participants. `rack` is the label of a rack.

    `late`: the control plane sees the changes of others late. Then its decisions are checked only against its own
    earlier ones.
    """

    watches = (kinds.WORKLOAD,)
    rack = "rack"

    def __init__(self, store: Store, late: bool = False, decisions: int = 0) -> None:
        self.store, self.late, self.decisions = store, late, decisions

    # A participant that never has anything to do

    def see(self, change: Change) -> None:
        if change.kind is not kinds.WORKLOAD or change.type != "MODIFIED":
            return
        new, old = change.object, change.old
        before = ((old or {}).get("status") or {}).get("admission")
        after = (new.get("status") or {}).get("admission")
        if after is not None and after != before:
            self.decisions += 1
            self._decided(new, old if before is not None else None)

    def due(self) -> float | None:
        return None

    def step(self, now: float) -> tuple[()]:
        return ()

    def done(self, *_: object) -> None:
        return

    # When a decision is taken

    def _decided(self, workload: Raw, before: Raw | None) -> None:
        name = workload["metadata"]["name"]
        old = {one["name"]: hosts for one, _, hosts in placed(before)} if before is not None else {}
        grown: set[str] = set()
        for pod_set, given, hosts in placed(workload):
            self._is_whole(workload, pod_set, given, hosts)
            if not self.late:
                self._is_together(name, pod_set, hosts)
            grown |= {host for host, count in hosts.items() if count > old.get(pod_set["name"], Counter())[host]}
        for host in grown:
            self._has_room(name, host)
        if before is None and not self.late:
            self._is_within_quota(name, workload)

    def _is_whole(self, workload: Raw, pod_set: Raw, given: Raw, hosts: Counter[str]) -> None:
        """Check that an admission is all or nothing; finished pods need no place any more."""
        name, done = workload["metadata"]["name"], workload["status"].get("reclaimablePods") or ()
        fewest = pod_set["count"] - sum(one["count"] for one in done if one["name"] == pod_set["name"])
        if not (fewest <= sum(hosts.values()) <= given["count"] == pod_set["count"]):
            raise Broken(f"{name}: {pod_set['name']} wants {pod_set['count']}, has {given['count']}, placed {hosts}")

    def _is_together(self, name: str, pod_set: Raw, hosts: Counter[str]) -> None:
        wish = pod_set.get("topologyRequest") or {}
        racks: Counter[str] = Counter()
        for host, count in hosts.items():
            node = self._node(host)
            if node is None:
                raise Broken(f"{name}: placed on {host}, which is not there")
            racks[node["metadata"]["labels"][self.rack]] += count
        if wish.get("required") == self.rack and len(racks) > 1:
            raise Broken(f"{name}: required one rack, has {racks}")
        if wish.get("required") == HOST and len(hosts) > 1:
            raise Broken(f"{name}: required one host, has {hosts}")
        size = wish.get("podSetSliceSize")
        if size and any(count % size for count in racks.values()):
            raise Broken(f"{name}: slices of {size} are torn between {racks}")

    def _node(self, host: str) -> Raw | None:
        return self.store.find(kinds.NODE, "", host)

    def _has_room(self, name: str, host: str) -> None:
        """Check the room on hosts: allocatable, less other pods, less terminating pods, less what is promised."""
        node = self._node(host)
        if node is None and self.late:
            return
        assert node is not None
        promised, pods = self._promised(host), [] if self.late else self._bound(node["metadata"]["name"])
        used, count = 0, 0
        covered: Counter[tuple[str, str]] = Counter()
        for workload, pod_set, one, number in promised:
            used += one * number
            count += number
            covered[workload, pod_set] += number
        for pod in pods:
            notes, labels = pod["metadata"].get("annotations") or {}, pod["metadata"].get("labels") or {}
            key = notes.get(PREFIX + "workload", ""), labels.get(PREFIX + "podset", "")
            if any(note in notes for note in TOPOLOGY_NOTES) and covered[key] > 0:
                covered[key] -= 1
                continue
            used += cpu_of(pod["spec"])
            count += 1
        for cpu in () if self.late else self._expected(host, pods):
            used += cpu
            count += 1
        room = milli(node["status"]["allocatable"]["cpu"])
        if used > room or count > ceil(milli(node["status"]["allocatable"]["pods"]) / 1000):
            raise Broken(f"{name}: {host} holds {used}m of {room}m, {count} pods: {promised}")

    def _promised(self, host: str) -> list[tuple[str, str, int, int]]:
        found = []
        for workload in self.store.all(kinds.WORKLOAD):
            if holds(workload):
                for pod_set, _, hosts in placed(workload):
                    if hosts[host]:
                        cpu = cpu_of(pod_set["template"]["spec"])
                        found.append((workload["metadata"]["name"], pod_set["name"], cpu, hosts[host]))
        return found

    def _bound(self, node: str) -> list[Raw]:
        return [
            pod
            for pod in self.store.all(kinds.POD)
            if pod["spec"].get("nodeName") == node and pod["status"]["phase"] not in ("Succeeded", "Failed")
        ]

    def _expected(self, host: str, pods: list[Raw]) -> Iterator[int]:
        """Pods of DaemonSets that do not exist yet."""
        owners = {owner["uid"] for pod in pods for owner in pod["metadata"].get("ownerReferences") or ()}
        node = self._node(host)
        assert node is not None
        tainted = any(taint["key"] == "broken" for taint in (node.get("spec") or {}).get("taints") or ())
        for one in self.store.all(kinds.DAEMON_SET):
            if one["metadata"]["uid"] not in owners and "deletionTimestamp" not in one["metadata"] and not tainted:
                yield cpu_of(one["spec"]["template"]["spec"])

    def _is_within_quota(self, name: str, workload: Raw) -> None:
        """Check quota: the queues share one cohort without limits, so only their sums count."""
        total = sum(self._nominal(queue) for queue in self._queues())
        used = 0
        for one in self.store.all(kinds.WORKLOAD):
            if holds(one):
                used += self._usage(one)
        if used > total:
            raise Broken(f"{name}: {used}m are in use, quota is {total}m")

    def _queues(self) -> Iterable[str]:
        return QUEUES

    def _nominal(self, queue: str) -> int:
        raw = self.store.get(kinds.CLUSTER_QUEUE, "", queue)
        return milli(raw["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"])

    def _usage(self, workload: Raw) -> int:
        done = {one["name"]: one["count"] for one in workload["status"].get("reclaimablePods") or ()}
        total = 0
        for one in workload["status"]["admission"]["podSetAssignments"]:
            each = milli(one["resourceUsage"]["cpu"]) // one["count"]
            total += each * max(0, one["count"] - done.get(one["name"], 0))
        return total

    # At any time

    def quiet(self, ledger: set[str]) -> None:
        """Check a quiet cluster; `ledger` has the workloads that hold quota according to the control plane."""
        held = set()
        owners: Counter[str] = Counter()
        for workload in self.store.all(kinds.WORKLOAD):
            meta = workload["metadata"]
            if holds(workload):
                held.add(f"{meta['namespace']}/{meta['name']}")
            if not condition(workload, "Finished") and "deletionTimestamp" not in meta:
                for owner in meta.get("ownerReferences") or ():
                    if owner.get("controller"):
                        owners[owner["uid"]] += 1
            if condition(workload, "Admitted") and not condition(workload, "QuotaReserved"):
                raise Broken(f"{meta['name']} is admitted and holds no quota")
        if held != ledger:
            raise Broken(f"the ledger says {sorted(ledger)}, the objects say {sorted(held)}")
        for uid, count in owners.items():
            if count > 1:
                raise Broken(f"{count} workloads for the job {uid}")
        self._slots()

    def rid(self) -> None:
        """Check long after that nothing deleted is left; pods of a group stay until they are replaced."""
        for kind in kinds.KINDS:
            for raw in self.store.all(kind):
                meta = raw["metadata"]
                if "deletionTimestamp" in meta and meta.get("finalizers") != [PREFIX + "managed"]:
                    raise Broken(f"{kind.kind} {meta['name']} never went: {meta.get('finalizers')}")

    def _slots(self) -> None:
        """Check that no two pods share a slot: no host has more pods of a pod set than were assigned to it."""
        there: Counter[tuple[str, str, str]] = Counter()
        for pod in self.store.all(kinds.POD):
            meta, notes = pod["metadata"], pod["metadata"].get("annotations") or {}
            host = (pod["spec"].get("nodeSelector") or {}).get(HOST)
            gated = pod["spec"].get("schedulingGates")
            lives = pod["status"]["phase"] in ("Pending", "Running") and "deletionTimestamp" not in meta
            if lives and host and not gated and PREFIX + "workload" in notes:
                pod_set = (meta.get("labels") or {}).get(PREFIX + "podset", "")
                there[notes[PREFIX + "workload"], pod_set, host] += 1
        for (name, pod_set, host), count in there.items():
            workload = self.store.find(kinds.WORKLOAD, "default", name)
            if workload is None or not condition(workload, "Admitted") or condition(workload, "Evicted"):
                continue
            planned = {one["name"]: hosts for one, _, hosts in placed(workload)}.get(pod_set)
            if planned is not None and planned[host] and count > planned[host]:
                raise Broken(f"{name}: {count} pods of {pod_set} on {host}, planned are {planned[host]}")
