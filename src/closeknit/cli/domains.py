"""Resolves node arguments: a node by its name, or all nodes of a rack, a block or another topology domain.

`b1` is a value of one of the levels, `b1/r1` the path of a domain, and `key=value` any node label. A value that two
domains share is an error that names both, so that the wrong rack is never drained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..model.mistake import InputError, NotThere, not_there, refuse
from ..model.nearest import did_you_mean
from ..model.topology import HOSTNAME
from .hints import hint

Raw = dict[str, Any]
Levels = tuple[str, ...]


def nodes_meant(words: Sequence[str], nodes: Sequence[Raw], topologies: Sequence[Levels]) -> list[str]:
    """The node names, each once; raises one error for all words that match nothing or are ambiguous."""
    found: dict[str, None] = {}
    errors: list[InputError] = []
    for word in words:
        try:
            found.update(dict.fromkeys(_meant(word, nodes, topologies)))
        except InputError as error:
            errors.append(error)
    if errors:
        what = NotThere if all(isinstance(error, NotThere) for error in errors) else InputError
        raise what([mistake for error in errors for mistake in error.mistakes])
    return list(found)


def labels_meant(words: Sequence[str], nodes: Sequence[Raw], topologies: Sequence[Levels]) -> list[dict[str, str]]:
    """The labels that define each domain, so that they also match a node that joins it later.

    The words are those that `nodes_meant` has accepted.
    """
    return [_labels_of(word, nodes, topologies) for word in words]


def _labels_of(word: str, nodes: Sequence[Raw], topologies: Sequence[Levels]) -> dict[str, str]:
    for node in nodes:
        if node["metadata"]["name"] == word:
            if HOSTNAME not in _labels(node):
                raise refuse(f"has no label {HOSTNAME}", "set it, or use KEY=VALUE", what=f"node/{word}")
            return {HOSTNAME: _labels(node)[HOSTNAME]}
    key, equals, value = word.partition("=")
    if equals:
        return {key: value}
    (meant,) = _domains(tuple(word.split("/")), nodes, topologies)
    return next(
        dict(zip(levels, meant, strict=False))
        for levels in topologies
        for node in nodes
        if meant in _paths(node, levels)
    )


def _meant(word: str, nodes: Sequence[Raw], topologies: Sequence[Levels]) -> list[str]:
    names = {node["metadata"]["name"] for node in nodes}
    if word in names:
        return [word]
    key, equals, value = word.partition("=")
    if equals:
        chosen = [node["metadata"]["name"] for node in nodes if _labels(node).get(key) == value]
        if not chosen:
            show = hint("get", "nodes", "-o", "yaml")
            raise not_there("no node has this label", f"`{show}` shows the labels of all nodes", what=word)
        return chosen
    domains = _domains(tuple(word.split("/")), nodes, topologies)
    if len(domains) > 1:
        paths = " and ".join("/".join(path) for path in sorted(domains))
        raise refuse(f"matches more than one domain: {paths}", "give the full path, or KEY=VALUE", what=word)
    if not domains:
        values = {_labels(node).get(level, "") for node in nodes for levels in topologies for level in levels}
        near = did_you_mean(word, [*names, *(one for one in values if one)])
        remedy = f"{near}`{hint('tree')}` shows the domains; KEY=VALUE selects nodes by any label"
        raise not_there("is neither a node nor a topology domain", remedy, what=word)
    return next(iter(domains.values()))


def _domains(ending: tuple[str, ...], nodes: Sequence[Raw], topologies: Sequence[Levels]) -> dict[Levels, list[str]]:
    """Nodes by domain path, for paths that end in `ending`. Topologies may share levels: equal node sets count once."""
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
