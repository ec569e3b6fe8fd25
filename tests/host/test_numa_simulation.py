"""The simulation over HTTP: an API server in this process, whose own kubelets start only what is admitted, as KWOK."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from closeknit.cli.numa_simulate import install
from closeknit.cli.target import NoCluster
from closeknit.cluster.embedded.standins.settings import StandinSettings
from closeknit.cluster.kinds import EVENT, NODE_TOPOLOGY, POD
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.host.embedded import EmbeddedOptions
from closeknit.host.numa_simulation import Delay, NumaSimulation
from host.over_rest import Cluster, cluster
from host.zoned_nodes import node, pod

UNREPORTED = {"zones": 2, "policy": "single-numa-node", "exporter": "never"}
HOSTNAME = "kubernetes.io/hostname=n1"
NEVER = 1e9


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[Cluster]:
    """Its stand-ins never admit a pod themselves, and report nothing."""
    pace = StandinSettings(start_time=0.0, admission_time=NEVER)
    async with cluster(folder, EmbeddedOptions(seed=1, pace=pace)) as there:
        there.create(node("n1", numa=UNREPORTED))
        yield there


@asynccontextmanager
async def simulating(there: Cluster, delay: Delay | None = None) -> AsyncIterator[NumaSimulation]:
    async with Client(read_config([there.kubeconfig])) as client:
        simulation = NumaSimulation(client, {}, delay)
        running = asyncio.create_task(simulation.run())
        try:
            yield simulation
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def fates(there: Cluster) -> dict[str, str]:
    return {one["metadata"]["name"]: one["status"].get("reason") or one["status"]["phase"] for one in there.all(POD)}


def test_pods_start_or_fail_as_the_simulation_decides(tmp_path: Path) -> None:
    async def check() -> None:
        async with stage(tmp_path) as there:
            for name in ("a", "b", "c"):
                there.create(pod(name, 3, nodeName="n1"))
            async with simulating(there, Delay(0.0)):
                wanted = {"a": "Running", "b": "Running", "c": "TopologyAffinityError"}
                await there.until(lambda: fates(there) == wanted)
                await there.until(lambda: [one["involvedObject"]["name"] for one in refusals(there)] == ["c"])
                await there.until(lambda: free(there) == ["1", "1"])

    asyncio.run(check())


def test_a_simulation_that_starts_again_refuses_what_the_first_would_have(tmp_path: Path) -> None:
    async def check() -> None:
        async with stage(tmp_path) as there:
            for name in ("a", "b"):
                there.create(pod(name, 3, nodeName="n1"))
            async with simulating(there):
                await there.until(lambda: fates(there) == {"a": "Running", "b": "Running"})
            there.create(pod("c", 2, nodeName="n1"))
            async with simulating(there):
                await there.until(lambda: fates(there).get("c") == "TopologyAffinityError")
            assert there.all(NODE_TOPOLOGY) == [], "its annotation says that nothing is reported"

    asyncio.run(check())


def refusals(there: Cluster) -> list[dict[str, dict[str, str]]]:
    return [one for one in there.all(EVENT) if one["reason"] == "TopologyAffinityError"]


def free(there: Cluster) -> list[str]:
    zones = [zone for report in there.all(NODE_TOPOLOGY) for zone in report["zones"]]
    return [one["available"] for zone in zones for one in zone["resources"] if one["name"] == "cpu"]


def test_the_command_tells_what_it_does_and_stops_cleanly(tmp_path: Path) -> None:
    async def check() -> None:
        async with stage(tmp_path) as there:
            for name in ("a", "b", "c"):
                there.create(pod(name, 3, nodeName="n1"))
            words = ("-m", "closeknit", "numa", "simulate", "--kubeconfig", str(there.kubeconfig), "--nodes", HOSTNAME)
            process = await asyncio.create_subprocess_exec(sys.executable, *words, stderr=asyncio.subprocess.PIPE)
            assert process.stderr is not None
            await there.until(lambda: refusals(there))
            process.terminate()
            said = (await process.stderr.read()).decode()
            assert await process.wait() == 0
            assert "simulating 1 node, 1 of them with NUMA zones" in said
            assert "node n1 refuses pod default/c: TopologyAffinityError: Resources cannot be allocated" in said
            assert said.splitlines()[-1].endswith("stopped")
            assert "warning" not in said.lower()

    asyncio.run(check())


def test_a_stage_is_installed_only_where_kwok_reads_stages_from_the_server(tmp_path: Path) -> None:
    async def check() -> None:
        async with stage(tmp_path) as there:
            with pytest.raises(
                NoCluster, match="does not serve KWOK's kind Stage; start KWOK with --enable-crds=Stage"
            ):
                await install(read_config([there.kubeconfig]))

    asyncio.run(check())
