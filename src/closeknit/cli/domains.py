"""Which nodes somebody means: one by its name, or all of a rack, a block, or whatever else a topology has.

`b1` is a value of one of the levels, `b1/r1` the path to one, and `key=value` any label at all. A value that two
domains have is refused with both: nobody wants the other rack drained too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..model.mistake import InputError, Mistake
from ..model.nearest import did_you_mean

Raw = dict[str, Any]
Levels = tuple[str, ...]


def nodes_meant(words: Sequence[str], nodes: Sequence[Raw], topologies: Sequence[Levels]) -> list[str]:
    """The names of all of them, each once; raises for all words that mean nothing, or two things."""
    found: dict[str, None] = {}
    mistakes: list[Mistake] = []
    for word in words:
        names = _meant(word, nodes, topologies)
        if isinstance(names, Mistake):
            mistakes.append(names)
        else:
            found.update(dict.fromkeys(names))
    if mistakes:
        raise InputError(mistakes)
    return list(found)


def _meant(word: str, nodes: Sequence[Raw], topologies: Sequence[Levels]) -> list[str] | Mistake:
    names = {node["metadata"]["name"] for node in nodes}
    if word in names:
        return [word]
    key, equals, value = word.partition("=")
    if equals:
        chosen = [node["metadata"]["name"] for node in nodes if _labels(node).get(key) == value]
        return chosen or Mistake("no node has this label", "`closeknit get nodes -o wide` shows them", what=word)
    domains = _domains(tuple(word.split("/")), nodes, topologies)
    if len(domains) > 1:
        paths = " and ".join("/".join(path) for path in sorted(domains))
        return Mistake(f"is more than one domain: {paths}", "write which: all of its path, or KEY=VALUE", what=word)
    if not domains:
        values = {_labels(node).get(level, "") for node in nodes for levels in topologies for level in levels}
        near = did_you_mean(word, [*names, *(one for one in values if one)])
        remedy = f"{near}`closeknit tree` shows the domains; any label does as KEY=VALUE"
        return Mistake("is neither a node nor a domain of a topology", remedy, what=word)
    return next(iter(domains.values()))


def _domains(ending: tuple[str, ...], nodes: Sequence[Raw], topologies: Sequence[Levels]) -> dict[Levels, list[str]]:
    """Nodes by the path of the domain whose path ends so. Topologies may share levels: the same nodes are the same."""
    found: dict[Levels, list[str]] = {}
    for levels in topologies:
        for node in nodes:
            for path in _paths(node, levels):
                if path[-len(ending) :] == ending:
                    found.setdefault(path, []).append(node["metadata"]["name"])
    by_nodes = {tuple(dict.fromkeys(names)): path for path, names in found.items()}
    return {path: list(names) for names, path in by_nodes.items()}


def _paths(node: Raw, levels: Levels) -> Iterator[tuple[str, ...]]:
    labels = _labels(node)
    path: tuple[str, ...] = ()
    for level in levels:
        if level not in labels:
            return
        path = (*path, labels[level])
        yield path


def _labels(node: Raw) -> dict[str, str]:
    return node["metadata"].get("labels") or {}
