"""Simulated machines: created in blocks and racks, silenced, and restored.

KWOK leaves a node without its label alone: its lease is no longer renewed, and the real controller manager reacts to
that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from closeknit.observe.pool_form import BLOCK, RACK
from contract.client import Api
from contract.expect import eventually, make
from contract.objects import path

from .components import MANAGED
from .manifests import is_true

NODES = "v1/nodes"
HOSTNAME = "kubernetes.io/hostname"
SIZE = {"cpu": "32", "memory": "128Gi", "pods": "110", "nvidia.com/gpu": "8"}


def make_nodes(
    api: Api, *, blocks: int = 1, racks: int = 2, hosts: int = 4, size: Mapping[str, str] = SIZE, prefix: str = ""
) -> list[str]:
    """Racks in each block, hosts in each rack: b1-r2-h3. Returns their names when all take pods."""
    names = []
    for block in range(1, blocks + 1):
        for rack in range(1, racks + 1):
            for host in range(1, hosts + 1):
                where = {BLOCK: f"{prefix}b{block}", RACK: f"{prefix}b{block}-r{rack}"}
                name = f"{where[RACK]}-h{host}"
                make(api, path(NODES), node(name, where, size))
                names.append(name)
    await_nodes(api, names)
    return names


def node(name: str, labels: Mapping[str, str], size: Mapping[str, str] = SIZE) -> dict[str, Any]:
    key, value = MANAGED
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **labels, key: value}},
        "status": {"capacity": dict(size), "allocatable": dict(size)},
    }


def await_nodes(api: Api, names: Iterable[str], within: float = 90.0) -> None:
    """Wait until each node is ready and has no taint."""
    wanted = set(names)

    def all_there() -> bool:
        there = {one["metadata"]["name"] for one in api.get(path(NODES)).body["items"] if takes_pods(one)}
        return wanted <= there

    eventually(all_there, within)


def takes_pods(body: Mapping[str, Any]) -> bool:
    return is_true(dict(body), "Ready") and not body["spec"].get("taints")


def silence(api: Api, name: str) -> None:
    """Stop a node's heartbeats."""
    _label(api, name, None)


def bring_back(api: Api, name: str) -> None:
    _label(api, name, MANAGED[1])


def _label(api: Api, name: str, value: str | None) -> None:
    answer = api.merge(path(NODES, None, name), {"metadata": {"labels": {MANAGED[0]: value}}})
    assert answer.status == 200, answer.body
