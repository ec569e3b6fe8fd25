"""Writes JSON and YAML, fast enough for a million lines.

The YAML is written here, not by a library: plans contain only mappings, lists, strings, numbers, booleans and null,
and a library takes a minute for the ranks of a million pods.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import click
import msgspec

OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml", "wide"]),
    help="json, yaml: structured output; wide: more details.",
)

BATCH = 10_000
_SAFE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*", re.ASCII)
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def emit(value: Any, form: str) -> None:
    """Write a plain value as JSON or YAML."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
    else:
        write(yaml_lines(value, ""))


def emit_manifests(objects: Sequence[Any], form: str) -> None:
    """Write objects as kubectl reads them: in YAML one document each, in JSON one object or a List."""
    if form == "json":
        emit(objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}, form)
        return
    for number, one in enumerate(objects):
        write(chain(["---"] if number else [], yaml_lines(one, "")))


def write(lines: Iterable[str]) -> None:
    """Print lines in large batches."""
    source = iter(lines)
    while batch := list(islice(source, BATCH)):
        click.echo("\n".join(batch))


def yaml_lines(value: Any, indent: str) -> Iterator[str]:
    """A plain value in YAML block style, as `kubectl -o yaml` prints it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            head = f"{indent}{_scalar(key)}:"
            if _nests(item):
                yield head
                yield from yaml_lines(item, indent if isinstance(item, list) else indent + "  ")
            else:
                yield f"{head} {_scalar(item)}"
    elif isinstance(value, list) and value:
        for item in value:
            yield from _list_item(item, indent)
    else:
        yield f"{indent}{_scalar(value)}"


def _list_item(item: Any, indent: str) -> Iterator[str]:
    if not _nests(item):
        yield f"{indent}- {_scalar(item)}"
        return
    mark = "- "
    for line in yaml_lines(item, indent + "  "):
        yield indent + mark + line[len(indent) + 2 :] if mark else line
        mark = ""


def _nests(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _scalar(value: Any) -> str:
    if type(value) is int:
        return str(value)
    return _text(value) if isinstance(value, str) else json.dumps(value)


@lru_cache(maxsize=1 << 16)
def _text(value: str) -> str:
    """A plain scalar if YAML reads it as a string; else quoted as in JSON, which YAML accepts."""
    if _SAFE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    inside = (json.dumps(c)[1:-1] if ord(c) < 0x10000 else f"\\U{ord(c):08x}" for c in value)
    return f'"{"".join(inside)}"'
