"""The two sides: a cluster of simulated machines with Kueue, and one of the same kind with Closeknit.

Both get the same gates, written out: those of Kueue's that we know, as our profile `kueue` has them. On our side the
definitions and the admission policies are ours too, and our controller has the permissions that are shipped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from closeknit.cluster.kinds import JOB_SET
from closeknit.deploy.crds import definitions
from closeknit.deploy.marks import NAME, NAMESPACE
from closeknit.deploy.objects import InstallOptions, access, namespace
from closeknit.model.gates import KUEUE_GATES
from closeknit.model.settings import FAIR
from contract.client import Api
from real.plane import DAY
from servers import manifests, policies
from servers.cluster import USUAL, RealCluster
from servers.process import HOST, Process, Recipe, free_ports

from .workload_log import WorkloadLog
from .worlds import Object

FRAMEWORKS = ["batch/job", "jobset.x-k8s.io/jobset"]
OTHERS = {"WorkloadPriorityClassDefaulting": True, "ReclaimablePods": False}
"""The first is no gate here and is always on. Without the second, jobs end at once instead of pod by pod at random."""
GATES = {gate.name: gate.default for gate in KUEUE_GATES} | OTHERS


def settings(fair: bool) -> Object:
    shared = {"integrations": {"frameworks": FRAMEWORKS}, "featureGates": GATES}
    return {**shared, "fairSharing": {"preemptionStrategies": list(FAIR)}} if fair else shared


class Ground(NamedTuple):
    """A cluster with a controller."""

    name: str
    kubeconfig: Path


class Side:
    """One world in a cluster: its connection, and the log of its workloads."""

    def __init__(self, ground: Ground, space: str) -> None:
        self.name, self.api = ground.name, Api.from_kubeconfig(ground.kubeconfig)
        self.log = WorkloadLog(ground.kubeconfig, space)


@contextmanager
def both(fair: bool, folder: Path | None = None, twins: bool = False) -> Iterator[tuple[Ground, Ground]]:
    """Both sides, Kueue first. `folder` is for files. `twins`: Kueue on both, to see how it differs from itself."""
    folders = [folder / name for name in ("first", "second")] if folder else [None, None]
    with ExitStack() as stack:
        first = stack.enter_context(kueue(fair, folders[0]))
        second = stack.enter_context(kueue(fair, folders[1]) if twins else closeknit(fair, folders[1]))
        yield first, second._replace(name=f"{second.name} again") if twins else second


@contextmanager
def kueue(fair: bool, folder: Path | None) -> Iterator[Ground]:
    flags = {"kueue": ["--zap-log-level=5"]} if folder else None
    with RealCluster([*USUAL, "jobset", "kueue"], flags=flags, folder=folder) as cluster:
        config = cluster.folder / "kueue" / "config.json"
        content = json.loads(config.read_text())
        gates = {**content["featureGates"], **GATES}
        config.write_text(json.dumps({**content, **settings(fair), "featureGates": gates}))
        cluster.restart("kueue")
        yield Ground("Kueue", cluster.kubeconfig)


@contextmanager
def closeknit(fair: bool, folder: Path | None) -> Iterator[Ground]:
    with RealCluster([*USUAL, "jobset"], folder=folder) as cluster:
        manifests.define(cluster.api, definitions())
        cluster.apply([namespace(InstallOptions()), *access(InstallOptions())])
        account = cluster.kubeconfig_of(NAMESPACE, NAME, DAY)
        policies.install(cluster.api, kinds=[JOB_SET])
        with running(cluster, settings(fair), "--profile", "kueue", "--kubeconfig", str(account)):
            yield Ground("Closeknit", cluster.kubeconfig)


@contextmanager
def running(cluster: RealCluster, configuration: Object, *flags: str) -> Iterator[Process]:
    """Run our controller as a separate process within this context."""
    process = controller(cluster, configuration, *flags)
    process.start()
    try:
        yield process
    finally:
        process.stop()


def controller(cluster: RealCluster, configuration: Object, *flags: str) -> Process:
    (port,) = free_ports(1)
    config = cluster.folder / "closeknit.json"
    head = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}
    config.write_text(json.dumps({**head, **configuration}))
    words = ["--kubeconfig", str(cluster.kubeconfig), "--config", str(config), "--no-leader-election"]
    listens = ["--health-address", f"{HOST}:{port}"]
    command = [sys.executable, "-m", "closeknit", "controller", *words, *listens, "--log-level", "debug", *flags]
    return Process(Recipe(command, f"http://{HOST}:{port}/readyz"), Path(cluster.folder) / "logs" / "closeknit.log")
