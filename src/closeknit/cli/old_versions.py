"""Notes about Kueue v1beta1 manifests, which commands accept and read as v1beta2, the served version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import click

from ..dialects.kueue.objects.versions import V1BETA1

Pair = tuple[str, dict[str, Any]]


def telling(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Pass the objects through; at the end, print a note for each kind with v1beta1 objects."""
    old: Counter[str] = Counter()
    for where, raw in pairs:
        if raw.get("apiVersion") == V1BETA1:
            old[str(raw["kind"])] += 1
        yield where, raw
    tell(old, "read")


def tell(old: Counter[str], done: str) -> None:
    for kind, count in old.items():
        click.echo(f"note: {count} v1beta1 {kind}{'' if count == 1 else 's'} {done} as v1beta2", err=True)
