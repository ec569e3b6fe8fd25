"""A scenario's own part of the control plane: a namespace, nodes, a flavor, queues; and helpers to act and wait.

    scene.nodes(racks=2, hosts=4, cpu=8)
    scene.queue(cpu=64)
    scene.submit(job("train", pods(5, cpu=4, required=RACK)))
    scene.await_true("train", "Admitted")
    assert scene.places("train") == scene.plan("train")

Nodes have a taint that only the scene's flavor tolerates, so that no other pods come. Every wait has a timeout; then
the current state is shown, with the end of the controller's log.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from closeknit.observe.pool_form import BLOCK, RACK
from contract.client import Api
from contract.objects import path
from servers import manifests
from servers.manifests import Object, is_true
from servers.nodes import HOSTNAME, node
from servers.process import tail
from stories.invariants import domains

from .plane import Place

QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE = "kueue.x-k8s.io/v1beta2"
INDEX = "batch.kubernetes.io/job-completion-index"
WORKLOADS, PODS, NODES, JOBS = f"{KUEUE}/workloads", "v1/pods", "v1/nodes", "batch/v1/jobs"
CLUSTER_QUEUES, EVENTS = f"{KUEUE}/clusterqueues", "v1/events"
MAINTENANCES = "closeknit.dev/v1alpha1/maintenances"
SCENE = "scene"
WITHIN = 60.0
SHOWN = 6000
NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Scene:
    """`name` is the namespace, and the prefix of all cluster-scoped objects."""

    def __init__(self, place: Place, api: Api, name: str) -> None:
        self.place, self.api, self.name = place, api, name
        self._made: list[str] = []

    @classmethod
    @contextmanager
    def begin(cls, place: Place) -> Iterator[Scene]:
        scene = cls(place, place.api(), f"s{secrets.token_hex(3)}")
        scene.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": scene.name}})
        try:
            yield scene
        finally:
            scene.end()

    def end(self) -> None:
        """Delete everything, nodes last, because pods on deleted nodes never report that they stopped."""
        self.api.delete(path("v1/namespaces", None, self.name))
        for one in reversed(self._made):
            self.api.delete(one)
        self.api.close()

    # What there is

    def apply(self, *objects: Object) -> list[Object]:
        return manifests.apply(self.api, objects)

    def of_all(self, **body: Any) -> Object:
        """Create a cluster-scoped object, which is deleted with the scene."""
        (made,) = self.apply(body)
        self._made.append(manifests.address(self.api, made))
        return made

    def nodes(
        self, racks: int = 2, hosts: int = 4, *, blocks: int = 1, cpu: int = 8, meta: Object | None = None
    ) -> list[str]:
        """Create nodes such as b1-r2-h3, prefixed with the scene's name, with `cpu` and plenty of memory."""
        names = [
            self.node(f"b{block}-r{rack}-h{host}", cpu=cpu, wait=False, meta=meta)
            for block in range(1, blocks + 1)
            for rack in range(1, racks + 1)
            for host in range(1, hosts + 1)
        ]
        for name in names:
            self.await_node(name)
        return names

    def node(self, short: str, *, cpu: int = 8, wait: bool = True, meta: Object | None = None) -> str:
        """Create a node; `meta` has more labels and annotations."""
        block, rack, _ = short.split("-")
        where = {BLOCK: f"{self.name}-{block}", RACK: f"{self.name}-{block}-{rack}", SCENE: self.name}
        size = {"cpu": str(cpu), "memory": "256Gi", "pods": "110"}
        body = node(f"{self.name}-{short}", where, size)
        for part, more in (meta or {}).items():
            body["metadata"][part] = {**body["metadata"].get(part, {}), **more}
        body["spec"] = {"taints": [{"key": SCENE, "value": self.name, "effect": "NoSchedule"}]}
        self.of_all(**body)
        if wait:
            self.await_node(f"{self.name}-{short}")
        return f"{self.name}-{short}"

    def await_node(self, name: str) -> None:
        def is_up() -> bool:
            found = self.get(NODES, name)
            taints = {one["key"] for one in found["spec"].get("taints") or ()}
            return is_true(found, "Ready") and not taints & set(NOT_READY)

        self.until(is_up, f"node {name} is up")

    def flavor(self, name: str = "", **spec: Any) -> str:
        toleration = {"key": SCENE, "operator": "Equal", "value": self.name, "effect": "NoSchedule"}
        usual = {"nodeLabels": {SCENE: self.name}, "topologyName": "scenes", "tolerations": [toleration]}
        full = f"{self.name}{name}"
        self.of_all(apiVersion=KUEUE, kind="ResourceFlavor", metadata={"name": full}, spec={**usual, **spec})
        return full

    def queue(self, name: str = "main", *, cpu: int = 1000, **spec: Any) -> str:
        """A LocalQueue of this name, and its ClusterQueue, which is returned. The first makes the scene's flavor."""
        if not any("/resourceflavors/" in one for one in self._made):
            self.flavor()
        quota = [{"name": "cpu", "nominalQuota": str(cpu), **spec.pop("limits", {})}]
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": self.name, "resources": quota}]}]
        full = f"{self.name}-{name}"
        body = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
        self.of_all(apiVersion=KUEUE, kind="ClusterQueue", metadata={"name": full}, spec=body)
        local = {"name": name, "namespace": self.name}
        self.apply({"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": full}})
        return full

    # What people do

    def submit(self, body: Object, queue: str = "main") -> Object:
        """Submit to the scene's namespace, and a queue there."""
        meta = dict(body["metadata"])
        meta["namespace"] = self.name
        if queue:
            meta["labels"] = {**(meta.get("labels") or {}), QUEUE: queue}
        return self.create({**body, "metadata": meta})

    def create(self, body: Object) -> Object:
        where = manifests.address(self.api, {**body, "metadata": {"name": "x", **body["metadata"]}})
        answer = self.api.post(where.rpartition("/")[0], body)
        assert answer.status == 201, answer.body
        made: Object = answer.body
        return made

    def patch(self, resource: str, name: str, body: Object, *more: str) -> Object:
        answer = self.api.merge(self._path(resource, name, *more), body)
        assert answer.status == 200, answer.body
        found: Object = answer.body
        return found

    def delete(self, resource: str, name: str) -> None:
        answer = self.api.delete(self._path(resource, name), {"propagationPolicy": "Background"})
        assert answer.status in (200, 202), answer.body

    def collect(self, node: str) -> None:
        """Delete the pods of a deleted node, as Kubernetes does after a while."""
        for pod in self.pods(gone=True):
            if pod["spec"].get("nodeName") == node:
                self.api.delete(self._path(PODS, pod["metadata"]["name"]), {"gracePeriodSeconds": 0})

    def finish(self, *pods: Object) -> None:
        """Let the pods succeed now."""
        for pod in pods:
            self.patch(PODS, pod["metadata"]["name"], {"metadata": {"annotations": {"closeknit.dev/run-time": "1s"}}})

    # What can be seen

    def get(self, resource: str, name: str) -> Object:
        answer = self.api.get(self._path(resource, name))
        assert answer.status == 200, answer.body
        found: Object = answer.body
        return found

    def find(self, resource: str, name: str) -> Object | None:
        answer = self.api.get(self._path(resource, name))
        return answer.body if answer.status == 200 else None

    def all(self, resource: str, selector: str = "") -> list[Object]:
        query = {"labelSelector": selector} if selector else {}
        found: list[Object] = self.api.get(path(resource, self.name), **query).body["items"]
        return sorted(found, key=lambda one: str(one["metadata"]["name"]))

    def workload(self, owner: str) -> Object:
        """The workload of a job or pod group by that name, or by its own name."""
        found = self.workloads(owner)
        assert len(found) == 1, f"{len(found)} workloads of {owner}: {[one['metadata']['name'] for one in found]}"
        return found[0]

    def workloads(self, owner: str) -> list[Object]:
        return [one for one in self.all(WORKLOADS) if owner in _names(one)]

    def pods(self, selector: str = "", *, gone: bool = False) -> list[Object]:
        """The pods that are not being deleted, or all of them if asked for."""
        return [one for one in self.all(PODS, selector) if gone or "deletionTimestamp" not in one["metadata"]]

    def plan(self, owner: str, pod_set: str = "", workload: Object | None = None) -> list[str]:
        """The host of each rank in the admission."""
        found = workload or self.workload(owner)
        assignments = found["status"]["admission"]["podSetAssignments"]
        (one,) = [one for one in assignments if pod_set in ("", one["name"])]
        return [at[-1] for at, count in domains(one["topologyAssignment"]) for _ in range(count)]

    def places(self, selector: str = "", rank: str = INDEX) -> list[str]:
        """The node of each pod, by rank; "" for one that has none yet. Of a rank that runs twice, all are shown."""
        pods = sorted(self.pods(selector), key=lambda one: int(one["metadata"]["labels"][rank]))
        return [one["spec"].get("nodeName", "") for one in pods if not _has_failed(one)]

    def finalizers(self) -> list[str]:
        """The finalizers of all pods."""
        return [one for pod in self.pods() for one in pod["metadata"].get("finalizers") or ()]

    def racks(self, hosts: list[str]) -> list[str]:
        """Without the scene's name: ["b1-r2"]"""
        return sorted({host.removeprefix(f"{self.name}-").rpartition("-")[0] for host in hosts})

    def short(self, hosts: list[str]) -> list[str]:
        return [host.removeprefix(f"{self.name}-") for host in hosts]

    def used(self, queue: str = "main") -> str:
        """The CPU in use in a ClusterQueue's status."""
        status = self.get(CLUSTER_QUEUES, f"{self.name}-{queue}").get("status") or {}
        flavors = status.get("flavorsUsage") or [{"resources": [{"total": "?"}]}]
        total: str = flavors[0]["resources"][0]["total"]
        return total

    def why(self, owner: str, condition: str = "QuotaReserved") -> str:
        """The message of a condition of its workload."""
        (found,) = [one for one in self.workload(owner)["status"]["conditions"] if one["type"] == condition]
        message: str = found["message"]
        return message

    def event_messages(self, reason: str) -> list[str]:
        return [one["message"] for one in self.all(EVENTS) if one["reason"] == reason]

    # What is waited for

    def until(self, check: Callable[[], Any], what: str, within: float = WITHIN) -> Any:
        """Wait for the first true result; a check that raises because something is missing counts as false."""
        end, answer = monotonic() + within, None
        while True:
            try:
                answer = check()
                problem = ""
            except (AssertionError, KeyError, IndexError, ValueError) as error:
                answer, problem = None, f"{type(error).__name__}: {error}"
            if answer:
                return answer
            if monotonic() > end:
                raise AssertionError(f"not so within {within:.0f} s: {what} {problem}\n{self.state()}")
            sleep(0.1)

    def await_true(self, owner: str, condition: str, within: float = WITHIN) -> Object:
        return self._await(owner, condition, True, within)

    def await_false(self, owner: str, condition: str, within: float = WITHIN) -> Object:
        return self._await(owner, condition, False, within)

    def _await(self, owner: str, condition: str, wanted: bool, within: float) -> Object:
        def as_wanted() -> Object | None:
            found = self.workload(owner)
            return found if is_true(found, condition) is wanted else None

        found: Object = self.until(as_wanted, f"workload of {owner}: {condition} is {wanted}", within)
        return found

    def await_running(self, count: int, selector: str = "", within: float = WITHIN) -> list[Object]:
        def running() -> list[Object]:
            pods = [one for one in self.pods(selector) if one["status"].get("phase") == "Running"]
            return pods if len(pods) == count else []

        found: list[Object] = self.until(running, f"{count} pods {selector} run", within)
        return found

    def stays(self, check: Callable[[], Any], what: str, seconds: float = 3.0) -> None:
        end = monotonic() + seconds
        while monotonic() < end:
            assert check(), f"no longer so: {what}\n{self.state()}"
            sleep(0.2)

    # When it went wrong

    def state(self) -> str:
        lines = [f"namespace {self.name}"]
        lines += [f"workload {one['metadata']['name']} {_conditions(one)}" for one in self.all(WORKLOADS)]
        lines += [f"job {one['metadata']['name']} suspend={one['spec'].get('suspend')}" for one in self.all(JOBS)]
        lines += [_line(one) for one in self.all(PODS)]
        events = sorted(self.all(EVENTS), key=lambda one: one.get("lastTimestamp") or "")
        lines += [f"event {one['involvedObject']['name']} {one['reason']}: {one['message']}" for one in events[-25:]]
        return "\n".join([*lines, "", f"end of {self.place.log}:", tail(Path(self.place.log), SHOWN)])

    def _path(self, resource: str, name: str, *more: str) -> str:
        kueues = (f"{KUEUE}/resourceflavors", f"{KUEUE}/admissionchecks")
        is_wide = resource in (NODES, CLUSTER_QUEUES, *kueues, MAINTENANCES)
        return path(resource, None if is_wide else self.name, name, *more)


def _names(workload: Object) -> set[str]:
    owners: list[Mapping[str, str]] = workload["metadata"].get("ownerReferences") or []
    return {workload["metadata"]["name"], *(one["name"] for one in owners)}


def _has_failed(pod: Object) -> bool:
    return bool(pod["status"].get("phase") == "Failed")


def _conditions(workload: Object) -> str:
    status = workload.get("status") or {}
    words = [
        f"{one['type']}={one['status']}({one['reason']}: {one['message'][:120]})"
        for one in status.get("conditions") or ()
    ]
    admission = status.get("admission")
    return f"{' '.join(words)} admission={admission} unhealthy={status.get('unhealthyNodes')}"


def _line(pod: Object) -> str:
    meta, spec = pod["metadata"], pod["spec"]
    gates = [one["name"] for one in spec.get("schedulingGates") or ()]
    host = (spec.get("nodeSelector") or {}).get(HOSTNAME)
    going = "deletionTimestamp" in meta
    return f"pod {meta['name']} {pod['status'].get('phase')} node={spec.get('nodeName')} host={host} {gates=} {going=}"
