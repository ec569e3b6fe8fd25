"""Our commands on a real cluster, and the controller as its Deployment would start it, as a local process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

from closeknit.deploy.objects import FOLDER, METRICS_PORT, PORT
from contract.client import Api
from contract.expect import eventually
from contract.objects import path
from servers.cluster import RealCluster
from servers.components import API_SERVER
from servers.process import HOST, Process, Recipe, free_ports

Raw = dict[str, Any]
HOME, NAME = "closeknit-system", "closeknit-controller"
ACCOUNT = f"system:serviceaccount:{HOME}:{NAME}"
BIN = Path(sys.executable).parent


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def ck(cluster: RealCluster, *words: str, kubeconfig: Path | None = None) -> Ran:
    """Run one of our commands, as the administrator unless another user is named."""
    command = [str(BIN / "closeknit"), *words, "--kubeconfig", str(kubeconfig or cluster.kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CLOSEKNIT_TRACEBACK": "1"})
    return Ran(done.returncode, done.stdout, done.stderr)


def done(ran: Ran) -> str:
    assert ran.code == 0, ran.out + ran.err
    return ran.out


@contextmanager
def installed(*flags: str, config: Path | None = None) -> Iterator[RealCluster]:
    """A bare API server with `flags`, and our installation on it."""
    with RealCluster((), flags={API_SERVER: flags}, audit=ACCOUNT) as cluster:
        done(ck(cluster, "install", *(() if config is None else ("--config", str(config)))))
        yield cluster


def said(process: Process) -> str:
    return process.log.read_text()


def findings(cluster: RealCluster, kubeconfig: Path | None = None) -> list[tuple[str, str, str]]:
    """The findings of `doctor`: check, state, text."""
    ran = ck(cluster, "doctor", "-o", "json", kubeconfig=kubeconfig)
    found = [(one["check"], one["state"], one["text"]) for one in json.loads(ran.out)]
    assert ran.code == (3 if any(state != "ok" for _, state, _ in found) else 0), ran.err
    return found


def ailments(cluster: RealCluster, kubeconfig: Path | None = None) -> list[tuple[str, str]]:
    return [(check, text) for check, state, text in findings(cluster, kubeconfig) if state != "ok"]


def await_policies(cluster: RealCluster) -> None:
    """Wait until the policies are in force."""
    eventually(lambda: not [one for one in ailments(cluster) if one[0] == "policies"])


def await_well(cluster: RealCluster, within: float = 90.0) -> None:
    """Wait until `doctor` finds no problem; its last findings are the failure."""
    end = monotonic() + within
    while (found := ailments(cluster)) and monotonic() < end:
        sleep(0.5)
    assert found == []


def deployed(api: Api) -> Raw:
    """The Deployment's one container, as stored by the server."""
    body = api.get(path("apps/v1/deployments", HOME, NAME)).body
    [container] = body["spec"]["template"]["spec"]["containers"]
    assert body["spec"]["template"]["spec"]["serviceAccountName"] == NAME
    found: Raw = container
    return found


@contextmanager
def controller(cluster: RealCluster, pod: str = "controller-0") -> Iterator[Process]:
    """The controller with the Deployment's command, environment and account, and the test's files and ports."""
    container = deployed(cluster.api)
    port, metrics = free_ports(2)
    folder = cluster.folder / "etc"
    folder.mkdir(exist_ok=True)
    for file, text in cluster.api.get(path("v1/configmaps", HOME, f"{NAME}-config")).body["data"].items():
        (folder / file).write_text(text)
    words = [*container["command"], *container["args"]]
    ports = (f"0.0.0.0:{PORT}", f"{HOST}:{port}"), (f"0.0.0.0:{METRICS_PORT}", f"{HOST}:{metrics}")
    moved = words
    for old, new in ((FOLDER, str(folder)), *ports):
        before, moved = moved, [one.replace(old, new) for one in moved]
        assert moved != before
    given = {one["name"]: one.get("value", pod) for one in container["env"]}
    ours = {"CLOSEKNIT_KUBECONFIG": str(cluster.kubeconfig_of(HOME, NAME)), "PATH": f"{BIN}:{os.environ['PATH']}"}
    command = ["env", *(f"{key}={value}" for key, value in {**given, **ours}.items()), *moved]
    process = Process(
        Recipe(command, f"http://{HOST}:{port}{container['readinessProbe']['httpGet']['path']}"),
        cluster.folder / "logs" / f"{pod}.log",
    )
    process.start()
    try:
        yield process
    finally:
        process.stop()


def leader(api: Api) -> str:
    answer = api.get(path("coordination.k8s.io/v1/leases", HOME, NAME))
    return str(answer.body["spec"]["holderIdentity"]) if answer.status == 200 else ""


def refusals(cluster: RealCluster) -> list[str]:
    """The controller's forbidden requests, from the server's audit log."""
    refused = [one for one in cluster.requests() if one["responseStatus"]["code"] in (401, 403)]
    return [f"{one['verb']} {one['requestURI']}" for one in refused]
