"""How long a controller takes to sync a large cluster, and how much memory: real etcd and kube-apiserver.

    python -m bench.sync [--nodes 5000] [--pods 50000]

Nodes and bound pods of realistic size are created first. Then `closeknit controller` is started; printed are seconds to
ready, peak resident memory and the longest lag of its event loop. The goals are below 60 s, 400 MB and 100 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from closeknit.cluster.errors import AlreadyExists
from closeknit.cluster.kinds import NODE, POD, Kind
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.kube.retries import Retries
from closeknit.deploy.crds import definitions
from servers import manifests
from servers.cluster import RealCluster

Raw = dict[str, Any]
IN_FLIGHT, RACK = 64, 32
IMAGES = 30
"""Images of a node; each has two long names."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sync", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    given = parser.parse_args()
    without = "ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds"
    flags = {"kube-apiserver": [f"--disable-admission-plugins={without}"]}
    with RealCluster((), flags=flags) as cluster:
        manifests.define(cluster.api, definitions())
        asyncio.run(fill(cluster.kubeconfig, given.nodes, given.pods))
        seconds, peak, gap = started(cluster.kubeconfig)
    print(f"ready after {seconds:.1f} s, peak {peak / 1000:.0f} MB, longest gap {gap * 1000:.0f} ms")


def started(kubeconfig: Path) -> tuple[float, float, float]:
    """Seconds to ready, peak memory in kB, longest lag of the event loop in seconds."""
    port, metrics_port = free_port(), free_port()
    listening = ["--health-address", f"127.0.0.1:{port}", "--metrics-address", f"127.0.0.1:{metrics_port}"]
    command = [sys.executable, "-m", "closeknit", "controller", "--kubeconfig", str(kubeconfig)]
    begin = monotonic()
    process = subprocess.Popen([*command, "--no-leader-election", *listening])
    try:
        while not answers(f"http://127.0.0.1:{port}/readyz"):
            if process.poll() is not None:
                sys.exit("the controller exited")
            sleep(0.05)
        seconds = monotonic() - begin
        sleep(5)
        status = Path(f"/proc/{process.pid}/status").read_text()
        asked = urllib.request.Request(f"http://127.0.0.1:{metrics_port}/metrics")
        asked.add_header("Authorization", f"Bearer {read_config([kubeconfig]).token}")
        metrics = urllib.request.urlopen(asked, timeout=10).read().decode()
        found = re.search(r"^closeknit_event_loop_longest_lag_seconds (\S+)$", metrics, re.MULTILINE)
        return seconds, float(status.split("VmHWM:")[1].split()[0]), float(found[1]) if found else float("nan")
    finally:
        process.terminate()
        process.wait(20)


def answers(url: str) -> bool:
    try:
        return bool(urllib.request.urlopen(url, timeout=2).status == 200)
    except (urllib.error.URLError, OSError):
        return False


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


async def fill(kubeconfig: Path, nodes: int, pods: int) -> None:
    async with Client(read_config([kubeconfig]), retries=Retries()) as client:
        await made(client, NODE, "", map(node, range(nodes)), nodes)
        await made(client, POD, "default", (pod(number, number % nodes) for number in range(pods)), pods)


async def made(client: Client, kind: Kind, namespace: str, bodies: Iterable[Raw], count: int) -> None:
    todo, done = iter(bodies), 0

    async def worker(bodies: Iterator[Raw], tick: Callable[[], None]) -> None:
        for body in bodies:
            with suppress(AlreadyExists):
                await client.create(kind, namespace, body)
            tick()

    def tick() -> None:
        nonlocal done
        done += 1
        if done % 5_000 == 0:
            print(f"  {done} of {count} {kind.plural}", file=sys.stderr, flush=True)

    await asyncio.gather(*(worker(todo, tick) for _ in range(IN_FLIGHT)))


def node(number: int) -> Raw:
    """A node as large as a real one: about 10 kB, most of it images."""
    name, rack = f"n{number:05d}", number // RACK
    labels = {
        "kubernetes.io/hostname": name,
        "rack": f"r{rack}",
        "block": f"b{rack // 16}",
        "kubernetes.io/os": "linux",
    }
    size = {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}
    images = [
        {"names": [f"registry.example/team/{n}@sha256:{n:064d}", f"registry.example/team/{n}:v1"], "sizeBytes": n}
        for n in range(IMAGES)
    ]
    conditions = [
        {"type": kind, "status": status, "reason": "Kubelet", "message": "the kubelet says so"}
        for kind, status in (("Ready", "True"), ("MemoryPressure", "False"), ("DiskPressure", "False"))
    ]
    status = {"capacity": size, "allocatable": size, "images": images, "conditions": conditions}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


def pod(number: int, at: int) -> Raw:
    name = f"p{number:06d}"
    env = [{"name": f"VARIABLE_{n}", "value": "x" * 40} for n in range(20)]
    container = {
        "name": "main",
        "image": f"registry.example/team/app@sha256:{number % 7:064d}",
        "env": env,
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "4Gi"}},
    }
    labels = {"app": f"app-{number % 100}", "pod-template-hash": "5d4f8c7b9"}
    spec = {"nodeName": f"n{at:05d}", "containers": [container, {**container, "name": "side"}]}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


if __name__ == "__main__":
    main()
