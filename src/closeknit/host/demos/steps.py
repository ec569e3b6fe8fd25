"""The few actions of demo steps: what a person would do with kubectl, or by pulling a plug."""

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
    """Submit a job and say `text`, unless a job of that name exists."""
    name = one["metadata"]["name"]
    if store.find(JOB, NAMESPACE, name) is not None:
        return Act(f"Job {name} exists already, so none is submitted.")
    return Act(text, [Create(JOB, one)])


def ended(_store: Store, _round: int) -> Act:
    """The last step of a demo that plays once."""
    return Act("The demo ends here: submit a job of your own.")


def cancel(store: Store, names: Iterable[str]) -> list[Write]:
    """Delete the jobs of these names that exist."""
    return [Delete(Key(JOB, NAMESPACE, name)) for name in names if store.find(JOB, NAMESPACE, name) is not None]


def fail(nodes: Iterable[str]) -> list[Write]:
    return [_marked(node, "true") for node in nodes]


def repair(store: Store) -> list[Write]:
    """Repair every failed node."""
    return [_marked(name, None) for name in sorted(failed(store))]


def _marked(node: str, value: str | None) -> Patch:
    return Patch(Key(NODE, "", node), {"metadata": {"annotations": {FAILED: value}}})
