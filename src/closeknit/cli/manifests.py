"""Reads the manifests to send to a cluster; all are validated before the first is sent.

v1beta1 and v1alpha1 objects are converted to v1beta2, the served version, with a note. Pools in the compact form become
nodes of an embedded host.
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
from ..dialects.kueue.objects.versions import OLD_VERSIONS
from ..dialects.own_marks import NUMA
from ..model.mistake import InputError, Mistake, refuse
from ..model.nearest import did_you_mean
from ..model.node import Node
from ..model.resources import CPU, show
from ..observe.nodes import holds_pools
from ..observe.pool_form import Pool, read_pool
from ..observe.pool_nodes import nodes_of_pool
from .old_versions import tell

Raw = dict[str, Any]

OF_THE_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink")
"""Fields that only a server sets; they are dropped, so that the output of `kubectl get` can be applied elsewhere."""


class Manifest(NamedTuple):
    """One object; `where` is its file, and `is_pool` marks a node generated from a pool."""

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
        """The name in kubectl's form: job.batch/train."""
        group = f".{self.kind.group}" if self.kind.group else ""
        return f"{self.kind.singular}{group}/{self.name or self.raw['metadata'].get('generateName', '')}"


def read_objects(paths: Sequence[str], namespace: str, namespace_given: bool) -> list[Manifest]:
    """Every object in these files with its namespace; all mistakes are raised together.

    `namespace` is the default for objects without one; with `namespace_given` (by -n) other namespaces are mistakes.
    """
    if list(paths).count(STDIN) > 1:
        raise refuse("standard input can be read only once", "give it once", what=STDIN)
    mistakes, converted = Mistakes(), Counter[tuple[str, str]]()
    found: list[Manifest] = []
    every = [file for path in paths for file in files(path)]
    with stdin_kept() if STDIN in every else nullcontext():
        for file in every:
            if holds_pools(file):
                found += _nodes(file, mistakes)
                continue
            for where, raw in documents(file):
                one = _manifest(where, raw, namespace, namespace_given, converted)
                if isinstance(one, Mistake):
                    mistakes.add(one)
                else:
                    found.append(one)
    mistakes.check()
    tell(converted, "sent")
    return found


def _manifest(
    where: str, raw: Raw, namespace: str, namespace_given: bool, converted: Counter[tuple[str, str]]
) -> Manifest | Mistake:
    what = identity(raw)
    if raw.get("apiVersion") in OLD_VERSIONS:
        converted[raw["apiVersion"], raw["kind"]] += 1
        try:
            raw = to_v1beta2(raw)
        except ValueError as error:
            return Mistake(str(error), "correct it as the API of that version requires", where, what)
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
    if namespace_given and home not in (None, "", namespace):
        remedy = f"omit -n, or use -n {home}"
        return Mistake(f"is {home}, but -n is {namespace}", remedy, where, what, "metadata.namespace")
    return Manifest(where, kind, {**raw, "metadata": {**meta, "namespace": home or namespace}})


def _kind(where: str, what: str, raw: Raw) -> Kind | Mistake:
    group, _, _version = str(raw["apiVersion"]).rpartition("/")
    found = BY_NAME.get((group, str(raw["kind"])))
    if found is None:
        near = did_you_mean(str(raw["kind"]), [one.kind for one in BY_NAME.values()])
        text = f"{raw['apiVersion']} {raw['kind']} is not supported"
        return Mistake(text, f"{near}apply it with kubectl", where, what, "kind")
    if found.api_version != raw["apiVersion"]:
        return Mistake(f"{raw['apiVersion']} is not served", f"use {found.api_version}", where, what, "apiVersion")
    return found


def _nodes(file: str, mistakes: Mistakes) -> Iterator[Manifest]:
    """The nodes of the pools in a file. A pool's `used` is ignored, since no pod would account for it."""
    with opened(file) as pieces:
        trees = [decoded(file, pieces, data) for data in pieces]
    for raw in (one for tree in trees for one in (tree if isinstance(tree, list) else [tree])):
        pool = read_pool(raw, shown(file), mistakes)
        if pool is not None:
            if raw.get("used"):
                click.echo(f"note: {shown(file)}: nodes are created empty; `used` is ignored", err=True)
            for node in nodes_of_pool(pool):
                yield Manifest(shown(file), NODE, node_object(node, pool), is_pool=True)


def node_object(node: Node, pool: Pool) -> Raw:
    room = {resource: show(resource, amount) for resource, amount in node.allocatable.items()}
    capacity, notes = room, {}
    if pool.numa is not None:
        kept = pool.numa.reserved_cpus * 1000
        capacity, notes = {**room, CPU: show(CPU, node.allocatable.get(CPU, 0) + kept)}, {NUMA: pool.note}
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.taints]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), **({"annotations": notes} if notes else {})},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": capacity, "allocatable": room, "conditions": [ready]},
    }


def only_embedded(objects: Sequence[Manifest], is_embedded: bool) -> None:
    """Raise for pools unless the cluster is an embedded host: real nodes cannot be created from a manifest."""
    pools = dict.fromkeys(one.where for one in objects if one.is_pool)
    if pools and not is_embedded:
        text = "contains pools, which create nodes only on an embedded host"
        raise InputError([Mistake(text, "remove the file", where) for where in pools])
