"""Topologies from files and from the command line, and how well the nodes' labels match them.

The rules are those the API server enforces for a Topology; `--levels` obeys the same.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..cluster.files import documents, identity, shown
from ..cluster.mistakes import Mistakes
from ..model.label_names import is_qualified_name
from ..model.mistake import Mistake, refuse
from ..model.topology import HOSTNAME, Topology
from ..state.table import MISSING, NodeTable
from .nodes import name_some

VERSIONS = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1", "kai.scheduler/v1alpha1")
GROUPS = tuple({version.partition("/")[0]: None for version in VERSIONS})
MAX_LEVELS = 16
MAX_KEY = 316


def read_topology(path: str) -> Topology:
    """The Topology of a manifest; `FILE#name` picks one of several."""
    file, _, name = path.rpartition("#") if "#" in path and not os.path.exists(path) else (path, "", "")
    found = [(where, raw) for where, raw in documents(file) if _is_topology(raw)]
    names = [str((raw.get("metadata") or {}).get("name") or "") for _, raw in found]
    if not found:
        remedy = "give a manifest with kind: Topology and apiVersion: kueue.x-k8s.io/v1beta2"
        raise refuse("there is no Topology in it", remedy, where=shown(file))
    if name and name not in names:
        raise refuse(f'there is no Topology "{name}" in it', f"it has {', '.join(names)}", where=shown(file))
    if not name and len(found) > 1:
        remedy = f"say which one: {file}#{names[0]}"
        raise refuse(f"there are {len(found)} Topologies in it: {', '.join(names)}", remedy, where=shown(file))
    where, raw = found[names.index(name) if name else 0]
    return _topology(raw, where)


def levels_from_text(text: str) -> Topology:
    """The levels of `--levels a,b,c`, coarse to fine."""
    levels = [part.strip() for part in text.split(",")]
    _check(levels, "", "--levels", "--levels")
    return Topology("levels", tuple(levels))


def missing_levels(table: NodeTable, topology: Topology) -> list[Mistake]:
    """A warning per level that some nodes lack; a level that all of them lack is refused."""
    return [warning for key in topology.levels for warning in _missing(table, key)]


def _missing(table: NodeTable, key: str) -> Iterator[Mistake]:
    column = table.labels.get(key)
    lacking = np.arange(len(table)) if column is None else np.flatnonzero(column.codes == MISSING)
    if len(lacking) == len(table):
        raise refuse(f'unknown level "{key}": no node has this label', _nearest(table, key))
    if len(lacking):
        names = [table.names[row] for row in lacking[:3].tolist()]
        text = f"nodes without the level {key}, left out: {len(lacking)} of {len(table)}"
        yield Mistake(f"{text} ({name_some(names, len(lacking))})", f"label them with {key}")


def _nearest(table: NodeTable, key: str) -> str:
    present = [name for name, column in table.labels.items() if (column.codes != MISSING).any()]
    near = difflib.get_close_matches(key, present, n=1, cutoff=0.0)
    return f"did you mean {near[0]}?" if near else "the nodes have no labels at all: label them first"


def _is_topology(raw: dict[str, Any]) -> bool:
    return raw["kind"] == "Topology" and str(raw["apiVersion"]).partition("/")[0] in GROUPS


def _topology(raw: dict[str, Any], where: str) -> Topology:
    what = identity(raw)
    name = (raw.get("metadata") or {}).get("name")
    if raw["apiVersion"] not in VERSIONS:
        text = f"{raw['apiVersion']} is not a version that is read here"
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
        return f'"{level}" is there twice', "name every level once"
    if level == HOSTNAME and index != len(levels) - 1:
        return f'"{level}" is not the last level', "put it last: nothing is finer than a host"
    return None
