"""Older API versions, which commands accept: their conversion to the served version, and notes about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import click

from ..dialects.kueue.objects import to_v1beta2
from ..dialects.kueue.objects.versions import OLD_VERSIONS as OLD_KUEUE
from ..dialects.kueue.objects.versions import V1BETA2
from ..dialects.nrt.keys import V1ALPHA1, V1ALPHA2
from ..dialects.nrt.versions import to_v1alpha2

Pair = tuple[str, dict[str, Any]]

OLD_VERSIONS = {**dict.fromkeys(OLD_KUEUE, V1BETA2), V1ALPHA1: V1ALPHA2}
"""The served version by the older one."""


def converted(raw: dict[str, Any]) -> dict[str, Any]:
    """The object in the served version; ValueError if it is not valid in its own."""
    return to_v1alpha2(to_v1beta2(raw))


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
        several = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
        old_form, served = (one.rpartition("/")[2] for one in (version, OLD_VERSIONS[version]))
        click.echo(f"note: {count} {old_form} {kind if count == 1 else several} {done} as {served}", err=True)
