"""The few things that the steps of demos do: what a person would, with kubectl or with a hand on a plug."""

from __future__ import annotations

from collections.abc import Iterable

from ...cluster.embedded.store import Store
from ...cluster.kinds import JOB, NODE
from ...cluster.port import Create, Delete, Key, Patch, Raw, Write
from ...dialects.own_marks import FAILED
from .demo import Act
from .objects import NAMESPACE
from .room import failed


def submitted(store: Store, one: Raw, text: str) -> Act:
    """With that sentence, unless somebody else has a job of that name."""
    name = one["metadata"]["name"]
    if store.find(JOB, NAMESPACE, name) is not None:
        return Act(f"There is a job {name} already, and no other is submitted.")
    return Act(text, [Create(JOB, one)])


def cancel(store: Store, names: Iterable[str]) -> list[Write]:
    """Those that are there."""
    return [Delete(Key(JOB, NAMESPACE, name)) for name in names if store.find(JOB, NAMESPACE, name) is not None]


def let_fail(nodes: Iterable[str]) -> list[Write]:
    return [_marked(node, "true") for node in nodes]


def repair(store: Store) -> list[Write]:
    """Every node that was let fail."""
    return [_marked(name, None) for name in sorted(failed(store))]


def _marked(node: str, value: str | None) -> Patch:
    return Patch(Key(NODE, "", node), {"metadata": {"annotations": {FAILED: value}}})
