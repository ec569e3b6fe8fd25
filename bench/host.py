"""The embedded host under load: 10,000 one-pod Jobs over REST, in real time, with pods that take no time.

    python -m bench.host [--jobs N] [--watchers N]

It starts `closeknit up` on a new folder, sends Jobs from a second process, waits until every Workload has finished, and
prints jobs per second and the host's CPU per job. Then it repeats this with watchers on all pods, each of which has to
see every event once and in order (this needs curl); with a watcher that does not read, which has to be disconnected;
and twice with Jobs that have a TTL, after which the file must not have grown. Compare ratios; the machine is shared.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import ssl
import subprocess
import sys
import tempfile
from base64 import b64decode
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import aiohttp

NODES, IN_FLIGHT = 64, 32
TICKS = os.sysconf("SC_CLK_TCK")
JOBS = "/apis/batch/v1/namespaces/default/jobs"
WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"
PODS = "/api/v1/pods"

Raw = dict[str, Any]


class Host:
    """The host's process, and how to reach it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "host"
        nodes = folder / "nodes.yaml"
        nodes.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [_node(n) for n in range(NODES)]}))
        command = [sys.executable, "-m", "closeknit", "up", "--data", str(self.folder), "--port", "0"]
        self.log = (folder / "host.log").open("wb")
        self.process = subprocess.Popen([*command, "--nodes", str(nodes)], stdout=self.log, stderr=self.log)
        while not (self.folder / "kubeconfig").exists():
            if self.process.poll() is not None:
                sys.exit(f"the host exited: {(folder / 'host.log').read_text()[-2000:]}")
            sleep(0.05)
        config = json.loads((self.folder / "kubeconfig").read_text())
        cluster = config["clusters"][0]["cluster"]
        self.url, self.token = cluster["server"], config["users"][0]["user"]["token"]
        self.tls = ssl.create_default_context(cadata=b64decode(cluster["certificate-authority-data"]).decode())

    def cpu(self) -> float:
        """CPU seconds of the host so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def size(self) -> int:
        return sum(one.stat().st_size for one in self.folder.glob("state.db*"))

    def session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(ssl=self.tls, limit=0)
        headers = {"Authorization": f"Bearer {self.token}"}
        return aiohttp.ClientSession(self.url, connector=connector, headers=headers, read_bufsize=1 << 20)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.log.close()


def _node(number: int) -> Raw:
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": f"n{number:03d}", "rack": f"r{number // 16}", "pool": "bench"}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number:03d}", "labels": labels},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready]},
    }


QUEUES: list[tuple[str, Raw]] = [
    (
        "topologies",
        {
            "kind": "Topology",
            "metadata": {"name": "bench"},
            "spec": {"levels": [{"nodeLabel": level} for level in ("rack", "kubernetes.io/hostname")]},
        },
    ),
    (
        "resourceflavors",
        {
            "kind": "ResourceFlavor",
            "metadata": {"name": "bench"},
            "spec": {"nodeLabels": {"pool": "bench"}, "topologyName": "bench"},
        },
    ),
    (
        "clusterqueues",
        {
            "kind": "ClusterQueue",
            "metadata": {"name": "bench"},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [{"name": "bench", "resources": [{"name": "cpu", "nominalQuota": 4096}]}],
                    }
                ],
            },
        },
    ),
    (
        "namespaces/default/localqueues",
        {"kind": "LocalQueue", "metadata": {"name": "bench"}, "spec": {"clusterQueue": "bench"}},
    ),
]


def _job(name: str, ttl: int | None) -> Raw:
    notes = {
        "closeknit.dev/run-time": "0s",
        "closeknit.dev/start-time": "0s",
        "kueue.x-k8s.io/podset-preferred-topology": "rack",
    }
    container = {"name": "c", "image": "example", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"annotations": notes}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    spec: Raw = {"template": template}
    if ttl is not None:
        spec["ttlSecondsAfterFinished"] = ttl
    labels = {"kueue.x-k8s.io/queue-name": "bench"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": spec}


class Figures(NamedTuple):
    seconds: float
    cpu: float
    jobs: int

    def __str__(self) -> str:
        return f"{self.jobs / self.seconds:6.0f} jobs/s, {self.cpu / self.jobs * 1000:5.2f} ms CPU per job"


async def run(host: Host, prefix: str, jobs: int, ttl: int | None = None) -> Figures:
    """Submit Jobs, and wait until the Workload of each has finished."""
    async with host.session() as session:
        done: set[str] = set()
        over = asyncio.Event()
        watch = asyncio.create_task(_finished(session, prefix, jobs, done, over))
        begin, cpu = monotonic(), host.cpu()
        numbers = iter(range(jobs))
        await asyncio.gather(*(_send(session, prefix, numbers, ttl) for _ in range(IN_FLIGHT)))
        await over.wait()
        figures = Figures(monotonic() - begin, host.cpu() - cpu, jobs)
        watch.cancel()
        return figures


async def _send(session: aiohttp.ClientSession, prefix: str, numbers: Any, ttl: int | None) -> None:
    for number in numbers:
        async with session.post(JOBS, json=_job(f"{prefix}{number}", ttl)) as answer:
            if answer.status != 201:
                sys.exit(f"a Job was refused: {await answer.text()}")


async def _finished(
    session: aiohttp.ClientSession, prefix: str, jobs: int, done: set[str], over: asyncio.Event
) -> None:
    async for event in _events(session, WORKLOADS):
        raw = event["object"]
        name = raw["metadata"]["name"]
        if event["type"] != "DELETED" and name.startswith(f"job-{prefix}"):
            conditions = (raw.get("status") or {}).get("conditions") or ()
            if any(one["type"] == "Finished" for one in conditions):
                done.add(name)
                if len(done) == jobs:
                    over.set()


async def _events(session: aiohttp.ClientSession, path: str) -> Any:
    rest = b""
    timeout = aiohttp.ClientTimeout(total=None)
    async with session.get(path, params={"watch": "true"}, timeout=timeout) as answer:
        async for piece in answer.content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield json.loads(line)


# Watchers are separate processes, so that they do not slow down the sender


class Crowd:
    """All watchers are curl: one writes its events to a file, whose order is checked; the others only a checksum."""

    def __init__(self, host: Host, count: int, folder: Path, version: str) -> None:
        authority = folder / "ca.crt"
        config = json.loads((host.folder / "kubeconfig").read_text())
        authority.write_bytes(b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]))
        url = f"{host.url}{PODS}?watch=true&resourceVersion={version}"
        curl = f"curl -sN --cacert {authority} -H 'Authorization: Bearer {host.token}' '{url}'"
        self.seen = folder / "seen"
        pipes = [f"{curl} > {self.seen}", *[f"{curl} | md5sum"] * (count - 1)]
        self.parts = [
            subprocess.Popen(["bash", "-c", one], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for one in pipes
        ]

    def verdict(self) -> Raw:
        """What all watchers saw, once no more events arrive; closing their connections ends them."""
        for part in self.parts:
            subprocess.run(["pkill", "-P", str(part.pid), "curl"], check=False)
        sums = {part.communicate()[0].split()[0] for part in self.parts[1:]}
        self.parts[0].communicate()
        mark = b'"resourceVersion":"'
        versions = []
        for line in self.seen.read_bytes().splitlines():
            at = line.rfind(mark) + len(mark)
            versions.append(int(line[at : line.index(b'"', at)]))
        own = hashlib.md5(self.seen.read_bytes(), usedforsecurity=False).hexdigest()
        in_order = all(earlier < later for earlier, later in pairwise(versions))
        return {"events": len(versions), "same": sums == {own}, "in_order": in_order}


async def deaf(host: Host) -> Any:
    """A watcher that sends its request and never reads."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(host.url.rsplit(":", 1)[1]), ssl=host.tls, server_hostname="127.0.0.1", limit=1024
    )
    port = host.url.rsplit(":", 1)[1]
    request = f"GET {PODS}?watch=true HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {host.token}\r\n\r\n"
    writer.write(request.encode())
    await writer.drain()
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    return reader, writer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--watchers", type=int, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder))
        try:
            asyncio.run(measure(host, given.jobs, given.watchers))
        finally:
            host.stop()


async def measure(host: Host, jobs: int, count: int) -> None:
    async with host.session() as session:
        for path, raw in QUEUES:
            body = {"apiVersion": "kueue.x-k8s.io/v1beta2", **raw}
            async with session.post(f"/apis/kueue.x-k8s.io/v1beta2/{path}", json=body) as answer:
                assert answer.status == 201, await answer.text()
    await run(host, "warm", min(200, jobs))
    plain = await run(host, "plain", jobs)
    print(f"{jobs} Jobs              {plain}", flush=True)
    async with host.session() as session, session.get(PODS, params={"limit": "1"}) as answer:
        version = (await answer.json())["metadata"]["resourceVersion"]
    crowd = Crowd(host, count, host.folder.parent, version)
    await asyncio.sleep(3)
    watched = await run(host, "watched", jobs)
    await asyncio.sleep(3)
    verdict = crowd.verdict()
    ratio = plain.seconds / watched.seconds
    print(f"with {count} watchers     {watched}; {ratio:.2f} of the rate without; {verdict}", flush=True)
    reader, writer = await deaf(host)
    ignored = await run(host, "deaf", jobs)
    reader._transport.resume_reading()
    cut = await _is_cut(reader)
    writer.close()
    print(f"with a deaf watcher {ignored}; it was {'disconnected' if cut else 'NOT DISCONNECTED'}", flush=True)
    sizes = []
    for turn in ("first", "second"):
        await run(host, turn, jobs, ttl=1)
        await asyncio.sleep(15)
        sizes.append(host.size())
    print(f"file after Jobs with a TTL: {sizes[0] >> 20} MiB, then {sizes[1] >> 20} MiB", flush=True)


async def _is_cut(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(20):
            while await reader.read(1 << 20):
                pass
    except TimeoutError:
        return False
    except (ConnectionError, ssl.SSLError):
        return True
    return True


if __name__ == "__main__":
    main()
