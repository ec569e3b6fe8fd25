"""A complete embedded cluster for tests of the commands: the host as users run it, in a thread, on a free port.

Its timings are short. Commands connect as users do, through the kubeconfig in its folder.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from closeknit.cluster import kinds
from closeknit.cluster.embedded.folder import Folder
from closeknit.cluster.embedded.standins.settings import StandinSettings as Pace
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import BY_NAME
from closeknit.host.embedded import EmbeddedOptions
from closeknit.host.service import Service

T = TypeVar("T")
Raw = dict[str, Any]

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
PACE = Pace(start_time=0.02, run_time=3600.0, stop_time=0.02, heartbeat_grace=0.2)


class Live:
    """Touch the store only through `do`, which runs in the cluster's thread."""

    def __init__(self, folder: Path, options: EmbeddedOptions | None = None) -> None:
        self.folder, self.kubeconfig = folder, str(folder / "kubeconfig")
        self._options = options or EmbeddedOptions(pace=PACE, seed=1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._service = self._called(self._start())
        self._life = asyncio.run_coroutine_threadsafe(self._service.run(), self._loop)

    async def _start(self) -> Service:
        self._held = Folder(self.folder)
        service = Service(self._held, self._options)
        service.begin()
        await service.serve()
        return service

    def _called(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def do(self, action: Callable[[Store], T]) -> T:
        async def done() -> T:
            result = action(self._service.store)
            self._service.nudge()
            return result

        return self._called(done())

    def create(self, *objects: Raw) -> None:
        for raw in objects:
            kind = BY_NAME[raw["apiVersion"].rpartition("/")[0], raw["kind"]]
            self.do(lambda store, kind=kind, raw=raw: store.create(kind, raw))  # type: ignore[misc]

    def until(self, condition: Callable[[Store], T], seconds: float = 30.0) -> T:
        """Wait until the condition returns a true value; return that value."""
        end = monotonic() + seconds
        while monotonic() < end:
            found = self.do(condition)
            if found:
                return found
            sleep(0.02)
        raise AssertionError("it did not come to that in time")

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._service.stop)
        self._life.result(60)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
        self._held.close()


def node(name: str, block: str, rack: str, cpu: int = 8) -> Raw:
    room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {BLOCK: block, RACK: rack, HOST: name, "pool": "main"}},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def topology() -> Raw:
    levels = [{"nodeLabel": level} for level in (BLOCK, RACK, HOST)]
    return {**_kueue("Topology", "default"), "spec": {"levels": levels}}


def flavor() -> Raw:
    return {**_kueue("ResourceFlavor", "main"), "spec": {"nodeLabels": {"pool": "main"}, "topologyName": "default"}}


def cluster_queue(name: str, cpu: int, cohort: str = "") -> Raw:
    quotas = [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "1Ti"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "main", "resources": quotas}]}
    spec: Raw = {"namespaceSelector": {}, "resourceGroups": [group], **({"cohortName": cohort} if cohort else {})}
    return {**_kueue("ClusterQueue", name), "spec": spec}


def local_queue(name: str, of: str, namespace: str = "default") -> Raw:
    made = _kueue("LocalQueue", name)
    return {**made, "metadata": {"name": name, "namespace": namespace}, "spec": {"clusterQueue": of}}


def job(name: str, pods: int, queue: str = "main", cpu: str = "2", required: str = RACK, **meta: Any) -> Raw:
    notes = {"kueue.x-k8s.io/podset-required-topology": required} if required else {}
    container = {"name": "main", "image": "example.com/work:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": queue}, **meta},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "suspend": True,
            "template": {
                "metadata": {"annotations": notes},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def _kueue(kind: str, name: str) -> Raw:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}}


NODES = [node(f"n{rack}{number}", f"b{(rack + 1) // 2}", f"r{rack}") for rack in (1, 2, 3, 4) for number in (1, 2)]
"""2 blocks of 2 racks of 2 nodes with 8 cores each."""
QUEUES = [topology(), flavor(), cluster_queue("research", 64), local_queue("main", "research")]


def admitted(name: str) -> Callable[[Store], bool]:
    """Whether the Workload of this job is admitted."""

    def look(store: Store) -> bool:
        for one in store.all(kinds.WORKLOAD):
            owners = one["metadata"].get("ownerReferences") or ()
            if any(owner["name"] == name for owner in owners):
                conditions = (one.get("status") or {}).get("conditions") or ()
                return any(each["type"] == "Admitted" and each["status"] == "True" for each in conditions)
        return False

    return look
