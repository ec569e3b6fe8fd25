"""Topologies from files and from the command line, and how well the nodes' labels match them.

The rules are those that the API server enforces for a Topology; `--levels` follows the same. A ResourceFlavor in the
same file selects the topology's nodes, and has the tolerations of the pods on them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..cluster.files import documents, identity, shown
from ..cluster.mistakes import Mistakes
from ..dialects import core
from ..dialects.cloud_labels import is_written_by_cloud
from ..dialects.field import Field
from ..dialects.kueue.admin import check_flavor
from ..model.label_names import is_qualified_name
from ..model.mistake import InputError, Mistake, refuse
from ..model.nearest import did_you_mean
from ..model.shape import Toleration
from ..model.topology import HOSTNAME, NODE, Topology
from ..state.table import MISSING, BoolArray, IntArray, NodeTable
from .nodes import NAMED, name_some

VERSIONS = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1alpha1", "kai.scheduler/v1alpha1")
GROUPS = tuple({version.partition("/")[0]: None for version in VERSIONS})
MAX_LEVELS = 16
MAX_KEY = 316
FLAVOR = ("kueue.x-k8s.io", "ResourceFlavor")
LINES = 3


class LevelSource(NamedTuple):
    """The node labels that select a topology's nodes, and the tolerations of every pod placed there."""

    where: str
    name: str
    labels: dict[str, str]
    tolerations: tuple[Toleration, ...]


def read_topology(path: str) -> tuple[Topology, LevelSource | None]:
    """The Topology of a manifest, and its flavor if the file has exactly one; `FILE#name` picks one of several."""
    file, _, name = path.rpartition("#") if "#" in path and not os.path.exists(path) else (path, "", "")
    objects = list(documents(file))
    found = [(where, raw) for where, raw in objects if _is_topology(raw)]
    names = [str((raw.get("metadata") or {}).get("name") or "") for _, raw in found]
    if not found:
        remedy = "give a manifest with kind: Topology and apiVersion: kueue.x-k8s.io/v1beta2"
        raise refuse("contains no Topology", remedy, where=shown(file))
    if name and name not in names:
        raise refuse(f'contains no Topology "{name}"', f"it has {', '.join(names)}", where=shown(file))
    if not name and len(found) > 1:
        remedy = f"name one: {file}#{names[0]}"
        raise refuse(f"contains {len(found)} Topologies: {', '.join(names)}", remedy, where=shown(file))
    where, raw = found[names.index(name) if name else 0]
    topology = _topology(raw, where)
    flavors = [(where, raw) for where, raw in objects if _uses(raw, topology.name)]
    return topology, _flavor(*flavors[0]) if len(flavors) == 1 else None


def levels_from_text(text: str) -> Topology:
    """The levels of `--levels a,b,c`, coarse to fine."""
    levels = [part.strip() for part in text.split(",")]
    _check(levels, "", "--levels", "--levels")
    return Topology("levels", tuple(levels))


def missing_levels(table: NodeTable, topology: Topology, what: str = "") -> list[Mistake]:
    """One warning per set of missing levels, about all nodes that lack them; a level that no node has is refused.

    There are at most three warnings, about the most nodes, and one that counts the rest. `what` names the topology.
    """
    lacking = np.zeros(len(table), dtype=np.int64)  # a bit per level
    for bit, key in enumerate(topology.levels):
        lacking |= _lacking(table, key, what).astype(np.int64) << bit
    sets, counts = np.unique(lacking[lacking != 0], return_counts=True)
    sets, counts = (each[np.argsort(-counts, kind="stable")] for each in (sets, counts))
    warnings = []
    for bits in sets[:LINES].tolist():
        keys = [key for bit, key in enumerate(topology.levels) if bits >> bit & 1]
        warnings.append(_missing(table, keys, np.flatnonzero(lacking == bits)))
    if len(sets) > LINES:
        text = f"and {len(sets) - LINES} more sets of nodes without some of the levels, left out"
        warnings.append(Mistake(f"{text}: {counts[LINES:].sum()} of {len(table)}"))
    return warnings


def _lacking(table: NodeTable, key: str, what: str) -> BoolArray:
    """Which nodes lack a level."""
    column = table.labels.get(key)
    if column is None or (column.codes == MISSING).all():
        raise refuse(f'unknown level "{key}": no node has this label', _nearest(table, key), what=what)
    lacking: BoolArray = column.codes == MISSING
    return lacking


def _missing(table: NodeTable, keys: Sequence[str], rows: IntArray) -> Mistake:
    names = [table.names[row] for row in rows[:NAMED].tolist()]
    levels = f"the {'level' if len(keys) == 1 else 'levels'} {', '.join(keys)}"
    text = f"nodes without {levels}, left out: {len(rows)} of {len(table)} ({name_some(names, len(rows))})"
    by_cloud = any(map(is_written_by_cloud, keys))
    return Mistake(text, "they are not part of this topology" if by_cloud else f"label them with {', '.join(keys)}")


def _nearest(table: NodeTable, key: str) -> str:
    present = [name for name, one in table.labels.items() if name != NODE and (one.codes != MISSING).any()]
    if not present:
        return "the nodes have no labels at all: label them first"
    return did_you_mean(key, present).strip() or f"the nodes have {name_some(sorted(present))}"


def _uses(raw: dict[str, Any], topology: str) -> bool:
    """Whether this is a ResourceFlavor with that topology."""
    spec = raw.get("spec")
    key = (str(raw["apiVersion"]).partition("/")[0], raw["kind"])
    return key == FLAVOR and isinstance(spec, dict) and spec.get("topologyName") == topology


def _flavor(where: str, raw: dict[str, Any]) -> LevelSource:
    field = Field.root(raw, where, identity(raw))
    check_flavor(field)
    tolerations = [one.decode(core.WireToleration) for one in field.at("spec", "tolerations").items()]
    labels = field.at("spec", "nodeLabels").strings()
    if field.report:
        raise InputError(field.report.mistakes)
    name = field.at("metadata", "name").text()
    return LevelSource(where, name, labels, core.tolerations(one for one in tolerations if one is not None))


def _is_topology(raw: dict[str, Any]) -> bool:
    return raw["kind"] == "Topology" and str(raw["apiVersion"]).partition("/")[0] in GROUPS


def _topology(raw: dict[str, Any], where: str) -> Topology:
    what = identity(raw)
    name = (raw.get("metadata") or {}).get("name")
    if raw["apiVersion"] not in VERSIONS:
        text = f"{raw['apiVersion']} is not a supported version"
        raise refuse(text, f"use one of {', '.join(VERSIONS)}", where, what, "apiVersion")
    if not name:
        raise refuse("is missing", "give the Topology a name", where, what, "metadata.name")
    spec = raw.get("spec")
    entries = spec.get("levels") if isinstance(spec, dict) else None
    if not isinstance(entries, list) or not entries:
        remedy = f"list 1 to {MAX_LEVELS} levels, each with a nodeLabel"
        raise refuse("has no levels", remedy, where, what, "spec.levels")
    levels = [entry.get("nodeLabel") if isinstance(entry, dict) else None for entry in entries]
    _check(levels, where, what, "spec.levels")
    return Topology(str(name), tuple(map(str, levels)))


def _check(levels: Sequence[Any], where: str, what: str, field: str) -> None:
    mistakes = Mistakes()
    if len(levels) > MAX_LEVELS:
        text = f"has {len(levels)} levels"
        mistakes.add(Mistake(text, f"a topology has at most {MAX_LEVELS}", where, what, field))
    for index, level in enumerate(levels):
        problem = _bad_level(levels, index, level)
        if problem is not None:
            place = f"{field}[{index}].nodeLabel" if where else ""
            mistakes.add(Mistake(*problem, where, what, place))
    mistakes.check()


def _bad_level(levels: Sequence[Any], index: int, level: Any) -> tuple[str, str] | None:
    if not isinstance(level, str) or not level:
        return f"level {index + 1} is empty", "write the key of a node label"
    if len(level) > MAX_KEY or not is_qualified_name(level):
        return f'"{level}" is not a label key', "write one such as cloud.provider.com/topology-rack"
    if level in levels[:index]:
        return f'"{level}" is listed twice', "name every level once"
    if level == HOSTNAME and index != len(levels) - 1:
        return f'"{level}" is not the last level', "put it last: nothing is finer than a host"
    return None
