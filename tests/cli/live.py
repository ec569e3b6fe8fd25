"""A whole embedded cluster for tests of the commands: store, stand-ins, control plane and server, on a free port.

It runs in a thread of its own by the real clock, but everything in it is quick. Commands get at it as users do, by the
kubeconfig that it writes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any, TypeVar
from urllib.parse import parse_qs

import msgspec
from aiohttp import web

from closeknit.cluster import kinds
from closeknit.cluster.embedded.certificate import credentials, write_kubeconfig
from closeknit.cluster.embedded.rest.server import Server
from closeknit.cluster.embedded.standins.settings import Settings as Pace
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import Kind
from closeknit.controller.records import Record
from closeknit.host.embedded import EmbeddedCluster, Options

T = TypeVar("T")
Raw = dict[str, Any]

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"


class Live:
    """Touch the store only through `do`, which runs in the cluster's thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        made = credentials(folder, time())
        self.records: list[Record] = []
        pace = Pace(start_time=0.02, run_time=3600.0, stop_time=0.02, heartbeat_grace=0.2)
        self.cluster = EmbeddedCluster(time, Options(pace=pace, seed=1), keep=self._keep)
        self.server = Server(
            self.cluster.store, made.token, extra={"decisions": self._decisions}, on_change=self._go_on
        )
        self._timer: asyncio.TimerHandle | None = None
        self._more = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        started: Future[int] = asyncio.run_coroutine_threadsafe(self._start(made.tls()), self._loop)
        self.kubeconfig = str(write_kubeconfig(folder, started.result(30)))

    async def _start(self, tls: Any) -> int:
        self.cluster.begin()
        port = await self.server.start(tls)
        self._go_on()
        return port

    def _go_on(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self.cluster.run(most=2000)
        self.server.settle()
        if due is not None:
            self._timer = self._loop.call_later(max(0.0, due - time()), self._go_on)

    def do(self, action: Callable[[Store], T]) -> T:
        async def done() -> T:
            result = action(self.cluster.store)
            self._go_on()
            return result

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(60)

    def create(self, kind: Kind, **body: Any) -> Raw:
        return self.do(lambda store: store.create(kind, body))

    def all(self, kind: Kind) -> list[Raw]:
        return self.do(lambda store: list(store.all(kind)))

    def until(self, condition: Callable[[Store], T], seconds: float = 30.0) -> T:
        """What a condition gives as soon as that is something."""
        end = monotonic() + seconds
        while monotonic() < end:
            found = self.do(condition)
            if found:
                return found
            sleep(0.02)
        raise AssertionError("it did not come to that in time")

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self.server.stop()

    # What was decided

    def _keep(self, record: Record) -> None:
        self.records.append(record)

    async def _decisions(self, request: web.BaseRequest) -> web.StreamResponse:
        query = {name: values[0] for name, values in parse_qs(request.query_string).items()}
        since = time() - float(query["since"]) if "since" in query else 0.0
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        sent = 0
        while True:
            for record in self.records[sent:]:
                if record.at >= since and query.get("workload") in (None, record.workload):
                    await response.write(msgspec.json.encode(record._asdict()) + b"\n")
            sent = len(self.records)
            if query.get("watch") != "true":
                break
            await asyncio.sleep(0.02)
        await response.write_eof()
        return response


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
