"""Manifests that are to be sent to a cluster: all of them read, and found good enough to send, before one is sent.

Objects of v1beta1 are sent as v1beta2, since that is what is served; a note says so. Pools in the compact form stand
for nodes of an embedded host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import click

from ..cluster.files import STDIN, decoded, documents, files, identity, opened, shown, stdin_kept
from ..cluster.kinds import BY_NAME, NODE, Kind
from ..cluster.mistakes import Mistakes
from ..dialects.kueue.objects import to_v1beta2
from ..dialects.kueue.objects.versions import V1BETA1
from ..model.mistake import InputError, Mistake, refuse
from ..model.nearest import did_you_mean
from ..model.node import Node
from ..model.resources import show
from ..observe.nodes import holds_pools
from ..observe.pool_form import read_pool
from ..observe.pool_nodes import nodes_of_pool
from .old_versions import tell

Raw = dict[str, Any]

OF_THE_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
"""What only a server sets; manifests that `kubectl get` printed have it, and no cluster takes it from another."""


class Manifest(NamedTuple):
    """`where` is the file; `is_pool`: it was not written out, but stands for a place in a pool."""

    where: str
    kind: Kind
    raw: Raw
    is_pool: bool = False

    @property
    def namespace(self) -> str:
        namespace: str = self.raw["metadata"].get("namespace", "")
        return namespace if self.kind.namespaced else ""

    @property
    def name(self) -> str:
        name: str = self.raw["metadata"].get("name", "")
        return name

    @property
    def label(self) -> str:
        """As kubectl calls it: job.batch/train."""
        group = f".{self.kind.group}" if self.kind.group else ""
        return f"{self.kind.singular}{group}/{self.name or self.raw['metadata'].get('generateName', '')}"


def read_objects(paths: Sequence[str], namespace: str, is_told: bool) -> list[Manifest]:
    """Everything in these files, where it belongs; every mistake is raised together.

    `namespace` is for objects that name none; if it `is_told`, others are refused.
    """
    if list(paths).count(STDIN) > 1:
        raise refuse("standard input can be read only once", "give it once", what=STDIN)
    mistakes, converted = Mistakes(), Counter[str]()
    found: list[Manifest] = []
    every = [file for path in paths for file in files(path)]
    with stdin_kept() if STDIN in every else nullcontext():
        for file in every:
            if holds_pools(file):
                found += _nodes(file, mistakes)
                continue
            for where, raw in documents(file):
                one = _manifest(where, raw, namespace, is_told, converted)
                if isinstance(one, Mistake):
                    mistakes.add(one)
                else:
                    found.append(one)
    mistakes.check()
    tell(converted, "sent")
    return found


def _manifest(where: str, raw: Raw, namespace: str, is_told: bool, converted: Counter[str]) -> Manifest | Mistake:
    what = identity(raw)
    if raw.get("apiVersion") == V1BETA1:
        converted[raw["kind"]] += 1
        try:
            raw = to_v1beta2(raw)
        except ValueError as error:
            return Mistake(str(error), "write it as the API has it", where, what)
    kind = _kind(where, what, raw)
    if isinstance(kind, Mistake):
        return kind
    meta = raw.get("metadata")
    if not isinstance(meta, dict) or not (meta.get("name") or meta.get("generateName")):
        return Mistake("is missing", "give it a name", where, what, "metadata.name")
    meta = {field: value for field, value in meta.items() if field not in OF_THE_SERVER}
    if not kind.namespaced:
        return Manifest(where, kind, {**raw, "metadata": meta})
    home = meta.get("namespace")
    if is_told and home not in (None, "", namespace):
        remedy = f"leave out -n, or say -n {home}"
        return Mistake(f"is not the namespace that -n names, {namespace}", remedy, where, what, "metadata.namespace")
    return Manifest(where, kind, {**raw, "metadata": {**meta, "namespace": home or namespace}})


def _kind(where: str, what: str, raw: Raw) -> Kind | Mistake:
    group, _, _version = str(raw["apiVersion"]).rpartition("/")
    found = BY_NAME.get((group, str(raw["kind"])))
    if found is None:
        near = did_you_mean(str(raw["kind"]), [one.kind for one in BY_NAME.values()])
        text = f"{raw['apiVersion']} {raw['kind']} is not a kind that is known here"
        return Mistake(text, f"{near}send it by kubectl", where, what, "kind")
    if found.api_version != raw["apiVersion"]:
        return Mistake(f"{raw['apiVersion']} is not served", f"use {found.api_version}", where, what, "apiVersion")
    return found


def _nodes(file: str, mistakes: Mistakes) -> Iterator[Manifest]:
    """The nodes that pools stand for. What a pool says to be in use is not made: nobody would know whose it is."""
    with opened(file) as pieces:
        trees = [decoded(file, pieces, data) for data in pieces]
    for raw in (one for tree in trees for one in (tree if isinstance(tree, list) else [tree])):
        pool = read_pool(raw, shown(file), mistakes)
        if pool is not None:
            if raw.get("used"):
                click.echo(f"note: {shown(file)}: nodes are made empty, without what `used` says", err=True)
            for node in nodes_of_pool(pool):
                yield Manifest(shown(file), NODE, node_object(node), is_pool=True)


def node_object(node: Node) -> Raw:
    room = {resource: show(resource, amount) for resource, amount in node.allocatable.items()}
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.taints]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels)},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def only_embedded(objects: Sequence[Manifest], is_embedded: bool) -> None:
    """Machines of a real cluster are not made by writing them down."""
    pools = dict.fromkeys(one.where for one in objects if one.is_pool)
    if pools and not is_embedded:
        text = "holds pools, which stand for nodes of an embedded host, and this cluster has its own"
        raise InputError([Mistake(text, "leave it out", where) for where in pools])
