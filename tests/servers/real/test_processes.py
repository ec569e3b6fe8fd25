"""No server outlives the process that started it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.client import Api
from contract.expect import eventually
from servers.cluster import RealCluster
from servers.process import StartError

TESTS = Path(__file__).parents[2]
STANDING = """
import pathlib, signal, sys
from servers.cluster import RealCluster
with RealCluster((), folder=pathlib.Path(sys.argv[1])) as cluster:
    print("up", flush=True)
    signal.pause()
"""


Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def started() -> Iterator[Started]:
    """Starts a Python; none outlives the test, and what it has started dies with it."""
    running: list[subprocess.Popen[str]] = []

    def begin(*words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        running.append(subprocess.Popen([sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield begin
    for one in running:
        one.kill()
        one.wait()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_servers_die_with_a_parent_that_is_killed(started: Started, tmp_path: Path) -> None:
    parent = started("-c", STANDING, str(tmp_path))
    assert parent.stdout is not None
    assert parent.stdout.readline() == "up\n"
    servers = children(parent.pid)
    assert len(servers) == 2
    parent.kill()
    parent.wait()
    eventually(lambda: not any(map(is_running, servers)))


def test_a_cluster_for_a_person_prints_how_to_connect_and_stops_on_ctrl_c(started: Started) -> None:
    parent = started("-m", "servers", "--blocks", "1", "--racks", "1", "--hosts", "2")
    assert parent.stdout is not None
    said = [parent.stdout.readline() for _ in range(4)]
    assert said[0].startswith("A cluster stands after")
    _, kubectls, ours = said[2].split()
    kubeconfig = Path(kubectls.removeprefix("KUBECONFIG="))
    assert ours == f"CLOSEKNIT_{kubectls}"
    assert len(Api.from_kubeconfig(kubeconfig).get("/api/v1/nodes").body["items"]) == 2
    servers = children(parent.pid)
    assert len(servers) == 5
    parent.send_signal(signal.SIGINT)
    assert parent.wait(30) == 0
    assert not any(map(is_running, servers))
    assert not kubeconfig.exists()


def test_a_server_that_does_not_start_shows_its_log_and_leaves_none_behind() -> None:
    before = children(os.getpid())
    with pytest.raises(StartError, match="no-such-flag"), RealCluster((), flags={"kube-apiserver": ["--no-such-flag"]}):
        pass
    assert children(os.getpid()) == before


def test_an_unknown_component_is_named() -> None:
    with pytest.raises(ValueError, match="no component kubelet; there are etcd, kube-apiserver"):
        RealCluster(["kubelet"])
