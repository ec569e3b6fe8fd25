"""The extender under a steady load: `make bench`, or `python -m bench.extender`.

Requests of kube-scheduler with 1,000 node names, 50 a second over one connection to a server of its own on loopback:
filter, then prioritize, then bind of one pod after another. Nodes have two zones and one of 40 states. The times are
those between sending a request and having read its answer: by the clock, and CPU time of client and server together,
which other processes on the machine do not change.
"""

from __future__ import annotations

import asyncio
import json
from statistics import median
from time import perf_counter, process_time
from typing import Any, cast

import numpy as np

from closeknit.cluster.kinds import NODE, NODE_TOPOLOGY, POD
from closeknit.cluster.kube.client import Client
from closeknit.cluster.port import Bind, Change
from closeknit.extender.compat import CompatZones
from closeknit.extender.extender import Extender
from closeknit.extender.strict import StrictZones
from closeknit.extender.zones import Zones
from closeknit.host.extender import ExtenderHost
from closeknit.host.http_server import HttpServer
from closeknit.model.address import Address

NODES = 1_000
RATE = 50
PODS = 150
STATES = 40
Raw = dict[str, Any]


class Api:
    async def carry_out(self, write: Bind) -> None:
        await asyncio.sleep(0)


def report(name: str, free: tuple[int, int]) -> Raw:
    def amount(resource: str, whole: str, available: str) -> Raw:
        return {"name": resource, "capacity": whole, "allocatable": whole, "available": available}

    zones = [
        {
            "name": f"node-{at}",
            "type": "Node",
            "costs": [{"name": f"node-{other}", "value": 10 if other == at else 20} for other in (0, 1)],
            "resources": [
                amount("cpu", "64", str(cpus)),
                amount("memory", "256Gi", f"{4 * cpus}Gi"),
                amount("nvidia.com/gpu", "4", str(cpus // 16)),
            ],
        }
        for at, cpus in enumerate(free)
    ]
    attributes = [{"name": "topologyManagerPolicy", "value": "single-numa-node"}]
    return {"metadata": {"name": name}, "attributes": attributes, "zones": zones}


def pod(name: str) -> Raw:
    needs = {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "1"}
    containers = [{"name": "main", "resources": {"requests": needs, "limits": needs}}]
    meta = {"name": name, "namespace": "default", "uid": name}
    return {"metadata": meta, "spec": {"containers": containers}, "status": {"qosClass": "Guaranteed"}}


def host(zones: Zones) -> ExtenderHost:
    """A host that knows the nodes; its bindings go nowhere."""
    found = ExtenderHost(Extender(zones))
    found.client, found.is_synced = cast(Client, Api()), True
    random = np.random.default_rng(1)
    states = [tuple(one) for one in random.integers(8, 65, (STATES, 2)).tolist()]
    allocatable = {"cpu": "128", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"}
    for number in range(NODES):
        name = f"node-{number:04}"
        found.told(Change(1, "ADDED", NODE, {"metadata": {"name": name}, "status": {"allocatable": allocatable}}))
        found.told(Change(1, "ADDED", NODE_TOPOLOGY, report(name, states[number % STATES])))
    return found


class Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.times: dict[str, list[tuple[float, float]]] = {}

    async def post(self, verb: str, body: Raw) -> Any:
        data = json.dumps(body).encode()
        begin, used = perf_counter(), process_time()
        self.writer.write(f"POST /{verb} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = await self.reader.readexactly(size)
        self.times.setdefault(verb, []).append(((perf_counter() - begin) * 1000, (process_time() - used) * 1000))
        return json.loads(answer)


async def load(zones: Zones) -> dict[str, list[tuple[float, float]]]:
    found = host(zones)
    server = HttpServer(found.routes(), posts=found.posts())
    port = await server.start(Address("127.0.0.1", 0))
    caller = Caller(*await asyncio.open_connection("127.0.0.1", port))
    names = [f"node-{number:04}" for number in range(NODES)]
    due = perf_counter()
    for number in range(PODS):
        one = pod(f"p{number}")
        found.told(Change(1, "ADDED", POD, one))
        passing = (await caller.post("filter", {"Pod": one, "NodeNames": names}))["NodeNames"]
        ranked = await caller.post("prioritize", {"Pod": one, "NodeNames": names})
        scores = {each["Host"]: each["Score"] for each in ranked}
        best = max(passing, key=lambda name: scores[name])
        asked = {"PodName": one["metadata"]["name"], "PodNamespace": "default", "PodUID": f"p{number}", "Node": best}
        answer = await caller.post("bind", asked)
        assert answer == {"Error": ""}, answer
        due += 3 / RATE
        await asyncio.sleep(max(0.0, due - perf_counter()))
    caller.writer.close()
    await server.stop()
    return caller.times


def main() -> None:
    print(f"extender: {NODES:,} node names, {RATE} requests a second, {PODS} pods; ms by the clock, and of CPU")
    for mode, make in (("strict", StrictZones), ("compat", CompatZones)):
        times = asyncio.run(load(make()))
        every = [one for some in times.values() for one in some]
        for verb, some in (*times.items(), ("all", every)):
            clock, used = zip(*some, strict=True)
            words = (f"median {median(one):6.2f}  p99 {np.percentile(one, 99):6.2f}" for one in (clock, used))
            print(f"{mode:7} {verb:10} " + "   CPU ".join(words) + f"   first {used[0]:6.2f}")


if __name__ == "__main__":
    main()
