"""What holds on hosts with NUMA zones, whatever happens: judged by simulated kubelets, which know what they gave away.

A host counts as known while its report is matched with pods and the zones of all its pods are known. What was promised
there has to be admitted when it is promised, and again by the kubelet when the pod comes, unless a pod of others came
in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from closeknit.cluster import kinds
from closeknit.cluster.embedded.standins.children import is_ended
from closeknit.cluster.embedded.standins.zone_admission import is_admitted, kubelet_of, zones_on
from closeknit.cluster.port import Change
from closeknit.dialects import core
from closeknit.host.embedded import EmbeddedCluster
from closeknit.numa.admission import NodeAdmission
from closeknit.numa.demand import PodDemand

from .invariants import HOST, PREFIX, Broken, Raw, holds, placed

ZONES = "closeknit.dev/numa-zones"
REFUSED = ("TopologyAffinityError", "UnexpectedAdmissionError")


class Promise(NamedTuple):
    """`machine` is the uid of the node: one of the same name may take its place."""

    host: str
    machine: str
    is_known: bool


NOTHING = Promise("", "", False)


def demand_of(spec: Raw) -> PodDemand:
    shape = core.shape(msgspec.convert(spec, core.PodSpec))
    return PodDemand.of(shape.containers, shape.pod_level)


class Promises:
    """Sees every change to pods and Workloads after all other participants. `counts` tell how much was checked."""

    watches = (kinds.POD, kinds.WORKLOAD)

    def __init__(self, cluster: EmbeddedCluster, late: bool = False, counts: Counter[str] | None = None) -> None:
        self.cluster, self.store, self.late = cluster, cluster.store, late
        self.counts: Counter[str] = Counter() if counts is None else counts
        self._open: dict[str, Promise] = {}
        self.broken: Broken | None = None
        """The first that broke: the loop of the cluster only counts what participants raise."""

    def see(self, change: Change) -> None:
        if self.late:
            return
        try:
            self._judge(change)
        except Broken as broken:
            self.broken = self.broken or broken

    def _judge(self, change: Change) -> None:
        if change.kind is kinds.POD and change.type != "DELETED":
            self._pod(change.object, change.old)
        elif change.kind is kinds.WORKLOAD and change.type == "MODIFIED":
            after = (change.object.get("status") or {}).get("admission")
            before = ((change.old or {}).get("status") or {}).get("admission")
            if after is not None and after != before:
                self._decided(change.object, change.old if before is not None else None)

    def due(self) -> float | None:
        return None

    def step(self, now: float) -> tuple[()]:
        return ()

    def done(self, *_: object) -> None:
        return

    # Pods

    def _pod(self, pod: Raw, old: Raw | None) -> None:
        uid, host = pod["metadata"]["uid"], (pod["spec"].get("nodeSelector") or {}).get(HOST, "")
        ours = PREFIX + "workload" in (pod["metadata"].get("annotations") or {})
        if ours and host and old is not None and _gates(old) and not _gates(pod):
            known = self.is_known(host) and self._is_told(pod)
            self.counts["ungated known" if known else "ungated unknown"] += 1
            self._open[uid] = Promise(host, self._machine(host), known)
        node, was = pod["spec"].get("nodeName", ""), ((old or {}).get("spec") or {}).get("nodeName", "")
        if node and not was and not self._open.get(uid, NOTHING).is_known:
            self._open = {key: one for key, one in self._open.items() if one.host != node or key == uid}
        status = pod.get("status") or {}
        if status.get("phase") == "Failed" and status.get("reason") in REFUSED:
            self._refused(pod, self._open.pop(uid, None))
        elif node and (is_admitted(pod) or is_ended(pod)):
            self._open.pop(uid, None)

    def _refused(self, pod: Raw, promise: Promise | None) -> None:
        self.counts["refused"] += 1
        if promise is not None and promise.is_known and promise.machine == self._machine(promise.host):
            meta, status = pod["metadata"], pod["status"]
            raise Broken(f"{meta['name']} was refused on {pod['spec']['nodeName']}: {status['message']}")

    def _is_told(self, pod: Raw) -> bool:
        """Whether the pod is told its zones: only then they were promised to it."""
        return ZONES in (pod["metadata"].get("annotations") or {}) or not demand_of(pod["spec"]).holds_zones

    # Decisions

    def is_known(self, host: str) -> bool:
        plans, zones = self.cluster.control_plane.cache.world.zoning.plans, self.zones(host)
        if plans is None or host not in plans.nodes or zones is None or not self._is_own_report(host):
            return False
        found = plans.accounts.readings(host, plans.now)
        if not found.is_known or any(one.unplaced for one in found.every):
            return False
        return zones.settings.policy in ("none", "single-numa-node") or all(map(self._is_located, self._on(host)))

    def _is_located(self, pod: Raw) -> bool:
        """Whether it is known from which zones the pod has memory: no report tells which serve others together."""
        return ZONES in (pod["metadata"].get("annotations") or {}) or not demand_of(pod["spec"]).pod_memory()

    def _on(self, host: str) -> list[Raw]:
        return [pod for pod in self.store.all(kinds.POD) if pod["spec"].get("nodeName") == host and not is_ended(pod)]

    def _machine(self, host: str) -> str:
        node = self.store.find(kinds.NODE, "", host)
        return "" if node is None else str(node["metadata"]["uid"])

    def _is_own_report(self, host: str) -> bool:
        """Whether the report is of this machine, not of one that had its name."""
        report = self.store.find(kinds.NODE_TOPOLOGY, "", host)
        owners = () if report is None else report["metadata"].get("ownerReferences") or ()
        return any(one["uid"] == self._machine(host) for one in owners)

    def zones(self, host: str) -> Any:
        node = self.store.find(kinds.NODE, "", host)
        return None if node is None else zones_on(node)

    def _decided(self, workload: Raw, before: Raw | None) -> None:
        old = {one["name"]: hosts for one, _, hosts in placed(before)} if before is not None else {}
        grown = {
            host
            for pod_set, _, hosts in placed(workload)
            for host, count in hosts.items()
            if count > old.get(pod_set["name"], Counter())[host]
        }
        for host in sorted(grown):
            known = self.is_known(host)
            self.counts["decided known" if known else "decided unknown"] += 1
            if known:
                self._is_admitted(workload, host)

    def _is_admitted(self, workload: Raw, host: str) -> None:
        """Check that the kubelet admits what is promised on its host, in the order of promises."""
        name = workload["metadata"]["name"]
        kubelet, there = self._truth(host)
        for other, pod_set, count in self._promised(host):
            demand = demand_of(pod_set["template"]["spec"])
            left = count - there[other["metadata"]["name"], pod_set["name"]]
            for number in range(left):
                verdict = kubelet.admit(f"{other['metadata']['name']} {pod_set['name']} {number}", demand)
                if not verdict.admitted and other["metadata"]["name"] == name:
                    raise Broken(
                        f"{name}: {pod_set['name']} is promised {host}, whose zones lack it: {verdict.message}"
                    )

    def _truth(self, host: str) -> tuple[NodeAdmission, Counter[tuple[str, str]]]:
        """The kubelet with all pods that are bound, and how many of each pod set are."""
        pods = self._on(host)
        kubelet = kubelet_of(self.zones(host), pods)
        there: Counter[tuple[str, str]] = Counter()
        for pod in sorted(pods, key=lambda one: int(one["metadata"]["resourceVersion"])):
            if not is_admitted(pod):
                kubelet.admit(pod["metadata"]["uid"], demand_of(pod["spec"]))
            notes, labels = pod["metadata"].get("annotations") or {}, pod["metadata"].get("labels") or {}
            there[notes.get(PREFIX + "workload", ""), labels.get(PREFIX + "podset", "")] += 1
        return kubelet, there

    def _promised(self, host: str) -> Iterator[tuple[Raw, Raw, int]]:
        """Pod sets with places on a host in the order of admission."""
        found = []
        for workload in self.store.all(kinds.WORKLOAD):
            if holds(workload):
                sets = [(pod_set, hosts[host]) for pod_set, _, hosts in placed(workload) if hosts[host]]
                found.append((_reserved(workload), workload["metadata"]["name"], workload, sets))
        for _, _, workload, sets in sorted(found, key=lambda one: one[:2]):
            yield from ((workload, pod_set, count) for pod_set, count in sets)


def _gates(pod: Raw) -> Any:
    return pod["spec"].get("schedulingGates")


def _reserved(workload: Raw) -> str:
    every = workload["status"]["conditions"]
    return next(str(one["lastTransitionTime"]) for one in every if one["type"] == "QuotaReserved")
