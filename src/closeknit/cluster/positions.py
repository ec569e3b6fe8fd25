"""Positions of fields in a YAML text, so that a mistake can be shown with line and column.

    positions(text)[0]["spec.levels[1].nodeLabel"] == (7, 5)

The texts are small, and are parsed a second time only when there is a mistake to show. Paths are written as in `Field`.
A ConfigMap holds a text within a text: fields of the inner text get their position in the outer one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from ..dialects.field import step

Position = tuple[int, int]
"""Line and column, from 1."""


def positions(text: str, inside: str = "") -> list[dict[str, Position]]:
    """Positions per document, by field; those of the text `inside` where a document's `data` holds one."""
    try:
        nodes = [node for node in yaml.compose_all(text, yaml.SafeLoader) if node is not None]
    except yaml.YAMLError:
        return []
    return [_inner(text, node, inside) or dict(_places(node, "")) for node in nodes]


def place_of(known: dict[str, Position], field: str) -> Position | None:
    """The position of a field, or of its nearest ancestor that exists."""
    while field:
        if field in known:
            return known[field]
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return known.get("")


def _places(node: yaml.Node, path: str) -> Iterator[tuple[str, Position]]:
    if not path:
        yield path, _at(node)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = step(path, str(key.value))
            yield inner, _at(key)
            yield from _places(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            inner = f"{path}[{index}]"
            yield inner, _at(value)
            yield from _places(value, inner)


def _at(node: yaml.Node) -> Position:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _inner(text: str, node: yaml.Node, name: str) -> dict[str, Position]:
    found = _child(_child(node, "data"), name) if name else None
    if not isinstance(found, yaml.ScalarNode) or found.style not in ("|", ">"):
        return {}
    lines, own = text.splitlines(), found.value.splitlines()
    first = found.start_mark.line + 1

    def outside(at: Position) -> Position:
        line, column = at
        return first + line, column + lines[first + line - 1].find(own[line - 1])

    inside = positions(found.value)
    return {field: outside(at) for field, at in (inside[0] if inside else {}).items()}


def _child(node: Any, name: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for key, value in node.value if key.value == name), None)
