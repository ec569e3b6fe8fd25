"""Manifests of Kueue's v1beta1: commands take them, and say that they are read as v1beta2, which is what is served."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import click

from ..dialects.kueue.objects.versions import V1BETA1

Pair = tuple[str, dict[str, Any]]


def telling(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """The same objects; when they have all been read, a note for each kind that some of v1beta1 are of."""
    old: Counter[str] = Counter()
    for where, raw in pairs:
        if raw.get("apiVersion") == V1BETA1:
            old[str(raw["kind"])] += 1
        yield where, raw
    tell(old, "read")


def tell(old: Counter[str], done: str) -> None:
    for kind, count in old.items():
        click.echo(f"note: {count} {kind}{'' if count == 1 else 's'} of v1beta1 {done} as v1beta2", err=True)
