"""Simulated machines with NUMA zones: a KWOK of their own, with our Stage, and `closeknit numa simulate`.

Nodes with the label ZONED belong to them, so that a cluster has machines with and without zones side by side. The
simulation runs under the permissions that it prints.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from closeknit.deploy.marks import NAMESPACE
from closeknit.deploy.numa_simulation import NAME, STARTING, permissions
from closeknit.dialects.own_marks import NUMA
from closeknit.dialects.zone_holdings import HELD
from contract.client import Api
from contract.objects import path

from .components import kwok_command, write_stages
from .manifests import Object, apply
from .process import Process, Recipe

ZONED = ("type", "kwok-zoned")
TOPOLOGIES = "topology.node.k8s.io/v1alpha2/noderesourcetopologies"


def zoned_meta(zones: int = 2, policy: str = "single-numa-node") -> Object:
    """Labels and annotations of a machine with zones."""
    return {"labels": dict([ZONED]), "annotations": {NUMA: f"{{zones: {zones}, policy: {policy}}}"}}


@contextmanager
def zoned_machines(api: Api, kubeconfig: Path, folder: Path, delay: str = "0.5s") -> Iterator[Path]:
    """Yields the log of the simulation."""
    apply(api, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *permissions()])
    account = account_file(api, kubeconfig, folder / "simulation.kubeconfig")
    kwok = kwok_command(kubeconfig, ZONED, zoned_stages(folder / "zoned-stages"))
    words = ["--kubeconfig", str(account), "--nodes", "=".join(ZONED), "--delay", delay]
    simulate = Recipe([sys.executable, "-m", "closeknit", "numa", "simulate", *words], kwok.ready)
    processes = [
        Process(one, folder / f"{name}.log") for name, one in (("kwok-zoned", kwok), ("numa-simulate", simulate))
    ]
    try:
        for one in processes:
            one.start()
        yield processes[-1].log
    finally:
        for one in reversed(processes):
            one.stop()


def zoned_stages(folder: Path) -> list[Path]:
    """The usual stages, except that pods start by the Stage that waits for admission."""
    files = write_stages(folder)
    for file in files:
        stages = [one for one in yaml.safe_load_all(file.read_text()) if one["metadata"]["name"] != "pod-start"]
        file.write_text(yaml.safe_dump_all(stages))
    (folder / "starting.yaml").write_text(STARTING)
    return [*files, folder / "starting.yaml"]


def account_file(api: Api, kubeconfig: Path, file: Path) -> Path:
    """A kubeconfig of the simulation's account."""
    answer = api.post(path("v1/serviceaccounts", NAMESPACE, NAME, "token"), {"spec": {"expirationSeconds": 3600}})
    assert answer.status == 201, answer.body
    config: Any = yaml.safe_load(kubeconfig.read_text())
    config["users"][0]["user"] = {"token": answer.body["status"]["token"]}
    file.write_text(yaml.safe_dump(config))
    return file


def held_zones(pod: Object) -> dict[str, int | None]:
    """The zone of each pinned container, as the simulated kubelet decided."""
    held = (pod["metadata"].get("annotations") or {}).get(HELD, "{}")
    found: dict[str, int | None] = yaml.safe_load(held).get("containers", {})
    return found


def is_refused(pod: Object) -> bool:
    status = pod["status"]
    return (status.get("phase"), status.get("reason")) == ("Failed", "TopologyAffinityError")
