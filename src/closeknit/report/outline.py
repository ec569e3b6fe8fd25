"""The topology as an indented outline with bars, and the same as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..model.escaping import in_one_line
from ..model.resources import rough
from .bars import FREE, USED, bar
from .census import Census
from .zone_outline import ZonesOfLeaves, zone_rows, zones_of_leaf_json

FEW = 60


def default_level(census: Census) -> int:
    """The lowest level that still fits on a screen."""
    sizes = [len(column) for column in census.nodes]
    return max((level for level, size in enumerate(sizes) if size <= FEW), default=0)


def outline(
    census: Census, deepest: int, resource: str, wide: bool = False, zones: ZonesOfLeaves | None = None
) -> Iterator[str]:
    """One line per domain, down to a level: nodes, a bar of usage, numbers. `zones` are shown below hosts."""
    at = census.resources.index(resource)
    rows = list(_rows(census, 0, 0, len(census.nodes[0]), "", deepest, top=True))
    width = max((len(label) for label, _, _ in rows), default=0) + (10 if zones is not None else 0)
    for label, level, domain in rows:
        whole, used = int(census.allocatable[level][at, domain]), int(census.used[level][at, domain])
        drawn = bar([(USED, used), (FREE, whole - used)])
        free = f"{rough(resource, whole - used):>8} of {rough(resource, whole)} {resource} free"
        yield (
            f"{label:<{width}}  {_nodes(census, level, domain):<22}  {drawn}  {free}"
            + (_others(census, level, domain, resource) if wide else "")
            + _maintenance(census, level, domain, deepest)
        )
        if zones is not None and level == census.tree.topology.lowest:
            yield from _zones(zones.of(domain), label, width, resource)


def _zones(zones: Mapping[int, Mapping[str, tuple[int, int]]], label: str, width: int, resource: str) -> Iterator[str]:
    """The zones of the host with this label."""
    indent = label.replace("├─ ", "│  ").replace("└─ ", "   ")
    indent = indent[: len(indent) - len(indent.lstrip(" │"))]
    rows = list(zone_rows(zones, resource))
    for number, (name, text) in enumerate(rows):
        branch = "└─ " if number == len(rows) - 1 else "├─ "
        yield f"{indent + branch + name:<{width}}  {'':<22}  {text}"


def _rows(
    census: Census, level: int, first: int, last: int, indent: str, deepest: int, top: bool = False
) -> Iterator[tuple[str, int, int]]:
    for domain in range(first, last):
        end = domain == last - 1
        branch = "" if top else ("└─ " if end else "├─ ")
        yield f"{indent}{branch}{in_one_line(census.tree.values[level][domain]) or '(empty)'}", level, domain
        if level < deepest:
            below = indent if top else indent + ("   " if end else "│  ")
            start, stop = census.tree.first[level][domain : domain + 2].tolist()
            yield from _rows(census, level + 1, start, stop, below, deepest)


def _nodes(census: Census, level: int, domain: int) -> str:
    nodes, out = int(census.nodes[level][domain]), int(census.nodes[level][domain] - census.usable[level][domain])
    text = "1 node" if nodes == 1 else f"{nodes} nodes"
    return f"{text}, {out} out" if out else text


def _maintenance(census: Census, level: int, domain: int, deepest: int) -> str:
    """The windows that cover the domain, at its own line; those of a part of it only where the part has no line.

    A window that covers the domain above is shown there.
    """
    shown = []
    above = int(census.tree.parent[level][domain]) if level else -1
    for taint, counts in census.windows:
        covered, nodes = int(counts[level][domain]), int(census.nodes[level][domain])
        if level and counts[level - 1][above] == census.nodes[level - 1][above]:
            continue
        if covered == nodes or (covered and level == deepest):
            part = "" if covered == nodes else f" ({covered} of {nodes} nodes)"
            shown.append(f"  {taint.cause}{part}")
    return "".join(shown)


def _others(census: Census, level: int, domain: int, shown: str) -> str:
    parts = []
    for at, name in enumerate(census.resources):
        if name != shown:
            whole, used = int(census.allocatable[level][at, domain]), int(census.used[level][at, domain])
            parts.append(f"{name} {rough(name, whole - used)}/{rough(name, whole)}")
    return "  " + "  ".join(parts)


def outline_json(census: Census, deepest: int, zones: ZonesOfLeaves | None = None) -> dict[str, Any]:
    """The same as data, nested like the tree."""
    return {
        "topology": census.tree.topology.name,
        "levels": list(census.tree.topology.levels),
        "domains": [_domain_json(census, 0, domain, deepest, zones) for domain in range(len(census.nodes[0]))],
    }


def _domain_json(census: Census, level: int, domain: int, deepest: int, zones: ZonesOfLeaves | None) -> dict[str, Any]:
    resources = {
        name: {
            "allocatable": int(census.allocatable[level][at, domain]),
            "used": int(census.used[level][at, domain]),
            "free": int(census.allocatable[level][at, domain] - census.used[level][at, domain]),
        }
        for at, name in enumerate(census.resources)
    }
    value: dict[str, Any] = {
        "level": census.tree.topology.levels[level],
        "value": census.tree.values[level][domain],
        "path": list(census.tree.path(level, domain)),
        "nodes": int(census.nodes[level][domain]),
        "usable": int(census.usable[level][domain]),
        "resources": resources,
    }
    windows = [taint.key for taint, counts in census.windows if counts[level][domain]]
    if windows:
        value["maintenance"] = windows
    if level < deepest:
        first, last = census.tree.first[level][domain : domain + 2].tolist()
        value["domains"] = [_domain_json(census, level + 1, child, deepest, zones) for child in range(first, last)]
    elif zones is not None and level == census.tree.topology.lowest and (known := zones.of(domain)):
        value["zones"] = zones_of_leaf_json(known)
    return value
