"""Notes about Kueue manifests of older versions, which commands accept and read as v1beta2, the served version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import click

from ..dialects.kueue.objects.versions import OLD_VERSIONS

Pair = tuple[str, dict[str, Any]]


def telling(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Pass the objects through; at the end, print a note for each kind and version with objects of an older one."""
    old: Counter[tuple[str, str]] = Counter()
    for where, raw in pairs:
        if raw.get("apiVersion") in OLD_VERSIONS:
            old[raw["apiVersion"], str(raw["kind"])] += 1
        yield where, raw
    tell(old, "read")


def tell(old: Counter[tuple[str, str]], done: str) -> None:
    for (version, kind), count in old.items():
        click.echo(
            f"note: {count} {version.rpartition('/')[2]} {kind}{'' if count == 1 else 's'} {done} as v1beta2", err=True
        )
