"""KubeRay's RayCluster: one head, groups of workers, and a Service for the head.

             all pods ready                      suspend: true, all pods gone
    (new) ──────────────────▶ ready ─────────────────────────────────────────▶ suspended
                                ▲                 all pods ready                   │
                                └──────────────────────────────────────────────────┘

A cluster that was ready stays ready, even if pods end: they are created again. Once a suspension has begun to delete
pods, all of them are deleted. Autoscaling adds its container to the head, but does not scale.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....dialects.timestamps import stamp
from ....kinds import POD, RAY_CLUSTER, SERVICE
from ....port import Raw
from ...loop import Step
from ...store import Store
from ..children import children, deletion, is_deleting, is_ended, is_ready, phase, status_write
from ..conditions import Conditions
from ..controller import Controller, Observation
from .ray_parts import (
    GROUP,
    HEAD_GROUP,
    NODE_TYPE,
    REPLICA_INDEX,
    RayWorkerGroup,
    desired,
    endpoints,
    groups,
    head_service,
    new_head,
    new_workers,
    service_name,
)

CONTROLLER = "ray.io/kuberay-operator"
COMPONENT = "raycluster-controller"
SUSPENDING, SUSPENDED, PROVISIONED = "RayClusterSuspending", "RayClusterSuspended", "RayClusterProvisioned"
HEAD_READY, PROVISIONING = "HeadPodReady", "RayClusterPodsProvisioning"


class RayClusters(Controller):
    kind, watches = RAY_CLUSTER, (RAY_CLUSTER, POD)

    def minds(self, owner: Raw) -> bool:
        return super().minds(owner) and owner["spec"].get("managedBy") in (None, CONTROLLER)

    def observe(self, store: Store, owner: Raw, now: float) -> Observation:
        look = ObservedRayCluster(store, owner, now)
        return Observation(len(look.pods), look.steps())


STANDIN = RayClusters


class ObservedRayCluster:
    """The observed state of a RayCluster and its pods."""

    def __init__(self, store: Store, cluster: Raw, now: float) -> None:
        self.store, self.cluster, self.now = store, cluster, now
        self.name: str = cluster["metadata"]["name"]
        self.conditions = Conditions(RAY_CLUSTER, cluster, now, COMPONENT)
        self.pods = children(store, cluster, POD)
        self.groups = groups(cluster)

    def steps(self) -> Iterator[Step]:
        namespace = self.cluster["metadata"]["namespace"]
        if self.store.find(SERVICE, namespace, service_name(self.name)) is None:
            yield head_service(self.cluster)
        halts = bool(self.cluster["spec"].get("suspend"))
        if self.pods and (halts or self.conditions.holds(SUSPENDING)):
            yield from self._emptied()
        elif halts:
            self._flag(SUSPENDING, False)
            self._flag(SUSPENDED, True)
        else:
            self._flag(SUSPENDED, False)
            self._flag(SUSPENDING, False)
            yield from self._filled()
        yield from self._write(halts)

    def _flag(self, kind: str, status: bool) -> None:
        """Set one of the two suspension conditions, which have no other reason than their type."""
        self.conditions.set(kind, status, kind, "")

    def _emptied(self) -> Iterator[Step]:
        if not self.conditions.holds(SUSPENDING):
            self._flag(SUSPENDED, False)
            self._flag(SUSPENDING, True)
            text = f"Deleted Pods for RayCluster {self.cluster['metadata']['namespace']}/{self.name} due to suspension"
            self.conditions.record("DeletedPod", text)
        for one in self.pods:
            yield from deletion(POD, one)

    # Pods

    def _of(self, group: str) -> list[Raw]:
        return [one for one in self.pods if _label(one, GROUP) == group]

    def _filled(self) -> Iterator[Step]:
        heads = self._of(HEAD_GROUP)
        for one in self.pods:
            if is_ended(one):
                yield from deletion(POD, one)
        if not heads:
            yield new_head(self.cluster)
        for group in self.groups:
            yield from self._staffed(group)

    def _staffed(self, group: RayWorkerGroup) -> Iterator[Step]:
        """Scale a group to its replicas; workersToDelete are deleted first, then the last ones."""
        pods = [one for one in self._of(group.name) if not is_deleting(one) and not is_ended(one)]
        for one in pods:
            if one["metadata"]["name"] in group.doomed:
                yield from deletion(POD, one)
        kept = [one for one in pods if one["metadata"]["name"] not in group.doomed]
        replicas: dict[int, list[Raw]] = {}
        for one in kept:
            replicas.setdefault(int(_label(one, REPLICA_INDEX) or 0), []).append(one)
        for index in sorted(replicas)[group.replicas :]:
            for one in replicas[index]:
                yield from deletion(POD, one)
        free = (index for index in range(group.replicas + len(replicas)) if index not in replicas)
        for _ in range(group.replicas - len(replicas)):
            yield from new_workers(self.cluster, group, next(free))

    # Status

    def _write(self, halts: bool) -> Iterator[Step]:
        before: Raw = self.cluster.get("status") or {}
        head = next((one for one in self._of(HEAD_GROUP) if not is_deleting(one)), None)
        workers = [one for one in self.pods if _label(one, NODE_TYPE) == "worker" and not is_deleting(one)]
        ready = [one for one in workers if is_ready(one)]
        wanted = sum(one.replicas * one.hosts for one in self.groups)
        self._head(head)
        state = before.get("state", "")
        if self.conditions.holds(SUSPENDED):
            state = "suspended"
            self.conditions.set(PROVISIONED, False, PROVISIONING, "RayCluster has been suspended")
        elif not halts:
            complete = head is not None and is_ready(head) and len(ready) >= wanted
            if complete:
                state = "ready"
            self._provisioned(complete)
        counts = {
            "readyWorkerReplicas": len(ready),
            "availableWorkerReplicas": sum(phase(one) == "Running" for one in workers),
            "desiredWorkerReplicas": wanted,
            "minWorkerReplicas": sum(one.fewest * one.hosts for one in self.groups),
            "maxWorkerReplicas": min(2**31 - 1, sum(one.most * one.hosts for one in self.groups)),
        }
        status: Raw = {
            **({"state": state} if state else {}),
            **desired(self.cluster),
            "endpoints": {name: str(port) for name, port in endpoints(self.cluster).items()},
            "head": self._head_info(head),
            **{part: count for part, count in counts.items() if count},
            "observedGeneration": self.cluster["metadata"].get("generation", 1),
            "conditions": self.conditions.list,
        }
        times = before.get("stateTransitionTimes")
        if state and state != before.get("state"):
            times = {**(times or {}), state: stamp(self.now)}
        if times:
            status["stateTransitionTimes"] = times
        if status != {key: value for key, value in before.items() if key != "lastUpdateTime"}:
            yield from status_write(RAY_CLUSTER, self.cluster, {**status, "lastUpdateTime": stamp(self.now)})
        yield from self.conditions.events

    def _head(self, head: Raw | None) -> None:
        if head is None:
            self.conditions.set(HEAD_READY, False, "HeadPodNotFound", "Head Pod not found")
        elif is_ready(head):
            self.conditions.set(HEAD_READY, True, "HeadPodRunningAndReady", "")
        else:
            self.conditions.set(HEAD_READY, False, "Unknown", "")

    def _provisioned(self, complete: bool) -> None:
        """Set RayClusterProvisioned, which stays True until the cluster is suspended."""
        if complete:
            text = "All Ray Pods are ready for the first time"
            self.conditions.set(PROVISIONED, True, "AllPodRunningAndReadyFirstTime", text)
        elif not self.conditions.holds(PROVISIONED):
            text = "RayCluster Pods are being provisioned for first time"
            self.conditions.set(PROVISIONED, False, PROVISIONING, text)

    def _head_info(self, head: Raw | None) -> Raw:
        info = {"serviceName": service_name(self.name)}
        if head is not None:
            info["podName"] = head["metadata"]["name"]
            if ip := (head.get("status") or {}).get("podIP"):
                info |= {"podIP": ip, "serviceIP": ip}
        return info


def _label(pod: Raw, key: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(key, ""))
