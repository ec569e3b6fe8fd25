"""`closeknit extender` as a process beside an API server: it lists, binds, and stops when it is told to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from closeknit.extender.extender import RESERVED
from contract.objects import path
from host.node_topologies import topology, zone
from host.process import HostProcess
from host.test_extender import NO_CPUS, binding, node, pod

Raw = dict[str, Any]
MEMORY = ("32Gi", "32Gi", "32Gi")
TOPOLOGIES = "topology.node.k8s.io/v1alpha2/noderesourcetopologies"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    with HostProcess(tmp_path / "host") as process:
        yield process


def reported(name: str, *cpus: str) -> Raw:
    zones = (zone(at, {"cpu": ("8", "8", one), "memory": MEMORY}) for at, one in enumerate(cpus))
    return topology(name, *zones, topologyManagerPolicy="single-numa-node")


def make(host: HostProcess, where: str, body: Raw) -> Raw:
    answer = host.api.post(path(where, body["metadata"].get("namespace")), body)
    assert answer.status == 201, answer.body
    found: Raw = answer.body
    return found


def call(url: str, body: Raw | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=10) as answer:
        text = answer.read()
        return json.loads(text) if text[:1] in b"{[" else text.decode()


def until(holds: Any) -> None:
    end = monotonic() + RESERVED
    while not holds():
        assert monotonic() < end
        sleep(0.05)


def test_it_filters_binds_and_stops(host: HostProcess, tmp_path: Path) -> None:
    for name, cpus in (("n1", ("8", "0")), ("n2", ("4", "4"))):
        make(host, "v1/nodes", {"apiVersion": "v1", "kind": "Node", **node(name)})
        make(host, TOPOLOGIES, reported(name, *cpus))
    made = {}
    for name in ("p", "q"):
        body = pod(name)
        body["spec"]["schedulerName"] = "stock"
        body["spec"]["containers"][0]["image"] = "busybox"
        del body["metadata"]["uid"]
        made[name] = make(host, "v1/pods", {"apiVersion": "v1", "kind": "Pod", **body})
    log = tmp_path / "extender.log"
    words = ["extender", "--kubeconfig", str(host.folder / "kubeconfig"), "--listen", "127.0.0.1:0"]
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "closeknit", *words], stdout=output, stderr=output)
    try:
        until(lambda: "are listed: answering" in log.read_text())
        port = log.read_text().split(" answers on 127.0.0.1:")[1].split()[0]
        url = f"http://127.0.0.1:{port}"
        assert call(f"{url}/readyz") == "ok\n"
        asked = {"Pod": made["p"], "NodeNames": ["n1", "n2"]}
        found = call(f"{url}/filter", asked)
        assert found["NodeNames"] == ["n1"]
        assert found["FailedAndUnresolvableNodes"] == {"n2": NO_CPUS}
        request = {**binding("p", "n1"), "PodUID": made["p"]["metadata"]["uid"]}
        assert call(f"{url}/bind", request) == {"Error": ""}
        until(lambda: host.api.get(path("v1/pods", "default", "p")).body["spec"].get("nodeName") == "n1")
        assert call(f"{url}/filter", {"Pod": made["q"], "NodeNames": ["n1", "n2"]})["NodeNames"] == []
        host.api.delete(path("v1/pods", "default", "p"), {"gracePeriodSeconds": 0})
        until(lambda: call(f"{url}/filter", {"Pod": made["q"], "NodeNames": ["n1"]})["NodeNames"] == ["n1"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in log.read_text()
