"""One control plane for all scenarios: real servers, our installation, and our controller under its own account.

The process that starts the run creates it, and its servers end with that process. Other processes attach to it through
`Place`, which holds its addresses.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import NamedTuple

from closeknit.cli.exit_codes import REPLACED
from closeknit.cluster import kinds
from closeknit.deploy.marks import NAME, NAMESPACE
from contract.client import Api
from contract.expect import eventually
from servers.cluster import USUAL, RealCluster
from servers.components import API_SERVER
from servers.policies import await_heeded, is_known
from servers.process import STOP_PATIENCE, die_with

OPERATED = ("mpi-operator", "training-operator", "trainer", "kuberay", "autoscaler")
"""Kinds whose operators the tests play."""
OPERATED_KINDS = (
    kinds.MPI_JOB,
    kinds.PYTORCH_JOB,
    kinds.TRAIN_JOB,
    kinds.RAY_JOB,
    kinds.RAY_CLUSTER,
)
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{NAME}"
STRICT = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"
"""The permission needed to create an object that blocks the deletion of its owner."""
READY = "this process leads"
DAY = 24 * 3600
PATIENCE = 120.0

CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
---
apiVersion: config.closeknit.dev/v1alpha1
kind: Configuration
notReadyDelay: 3s
"""
TOPOLOGY = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: scenes}
spec:
  levels:
  - {nodeLabel: cloud.provider.com/topology-block}
  - {nodeLabel: cloud.provider.com/topology-rack}
  - {nodeLabel: kubernetes.io/hostname}
"""


class Place(NamedTuple):
    """The kubeconfig of the control plane and the log of its controller."""

    kubeconfig: str
    log: str

    def api(self) -> Api:
        return Api.from_kubeconfig(Path(self.kubeconfig))


class Controller:
    """`closeknit controller` as its Deployment runs it: under its ServiceAccount, and restarted when it exits.

    It exits when it cannot renew its lease. Its output goes to `log`.
    """

    def __init__(self, kubeconfig: Path, config: Path, log: Path, options: Sequence[str] = ()) -> None:
        words = ["--kubeconfig", str(kubeconfig), "--config", str(config), *options]
        self.command = [sys.executable, "-m", "closeknit", "controller", *words]
        self.log, self.begin = log, log.stat().st_size if log.exists() else 0
        self._stopping = Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _keep(self) -> None:
        code = REPLACED
        while code == REPLACED and not self._stopping.is_set():
            with self.log.open("ab") as output:
                self._process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    preexec_fn=die_with(os.getpid()),
                )
            code = self._process.wait()

    def await_lead(self) -> None:
        end = monotonic() + PATIENCE
        while READY not in self._said():
            is_late = monotonic() > end or not self._keeper.is_alive()
            assert not is_late, f"the controller does not lead:\n{self._said()}"
            sleep(0.05)

    def _said(self) -> str:
        return self.log.read_bytes()[self.begin :].decode(errors="replace") if self.log.exists() else ""

    def stop(self) -> None:
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()
            self._keeper.join(STOP_PATIENCE)
            self._process.kill()
            self._keeper.join()


@contextmanager
def raised(
    folder: Path | None = None,
    components: Sequence[str] = (*USUAL, "jobset", "lws"),
    defined: Sequence[str] = OPERATED,
    configuration: str = CONFIGURATION,
) -> Iterator[RealCluster]:
    """Servers with our installation on them, without a controller yet."""
    with RealCluster(components, flags={API_SERVER: [STRICT]}, audit=ACCOUNT, folder=folder) as cluster:
        cluster.define(*defined)
        config = cluster.folder / "configuration.yaml"
        config.write_text(configuration)
        install(cluster, config)
        cluster.apply(TOPOLOGY)
        yield cluster


def install(cluster: RealCluster, config: Path) -> None:
    """Install as an administrator does. A local process replaces the Deployment, which cannot run code here."""
    command = [sys.executable, "-m", "closeknit", "install", "--kubeconfig", str(cluster.kubeconfig)]
    done = subprocess.run([*command, "--config", str(config)], capture_output=True, text=True)
    assert done.returncode == 0, f"closeknit install: {done.stdout}{done.stderr}"
    cluster.kubectl("-n", NAMESPACE, "scale", "deployment", NAME, "--replicas=0")
    await_heeded(cluster.api)
    served = {one["name"] for one in cluster.api.get("/apis").body["groups"]}
    for kind in (*OPERATED_KINDS, kinds.JOB_SET, kinds.LEADER_WORKER_SET):
        if kind.group in served:
            eventually(lambda kind=kind: is_known(cluster.api, kind))  # type: ignore[misc]


@contextmanager
def controlled(cluster: RealCluster, options: Sequence[str] = (), config: str = "") -> Iterator[Place]:
    """The control plane with its controller running."""
    log = cluster.folder / "logs" / "closeknit.log"
    file = cluster.folder / "configuration.yaml"
    if config:
        file = cluster.folder / "another-configuration.yaml"
        file.write_text(config)
    controller = Controller(cluster.kubeconfig_of(NAMESPACE, NAME, DAY), file, log, options)
    try:
        controller.await_lead()
        yield Place(str(cluster.kubeconfig), str(log))
    finally:
        controller.stop()
