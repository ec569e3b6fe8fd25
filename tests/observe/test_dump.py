"""The cache of a control plane as one document."""

from __future__ import annotations

import json
from typing import Any

from closeknit.cluster import kinds
from closeknit.observe.dump import dump
from host.lab import Lab
from stories import objects

FACTS = {"kind": "Pod", "pods": 1, "cpu": 6, "wish": "required", "level": "kubernetes.io/hostname"}
LIFE = {"priority": "", "seconds": 300, "fails": False}


def believed(*names: str, queue: str = "red") -> dict[str, Any]:
    """The dump after pods that request six of eight cores were added to a cluster with one node."""
    lab = Lab()
    for raw in objects.data_centre():
        if raw["kind"] != "Node":
            lab.create(raw)
    lab.create(objects.node("n00", "r0"))
    for name in names:
        for raw in objects.submitted({**FACTS, **LIFE, "name": name, "queue": queue}):
            lab.create(raw)
        lab.advance(5)
    workloads = {raw["metadata"]["ownerReferences"][0]["name"]: raw["metadata"]["name"] for raw in lab.workloads()}
    text = json.dumps(dump(lab.cluster.control_plane.cache))
    for name, workload in workloads.items():
        text = text.replace(f"default/{workload}", name)
    found: dict[str, Any] = json.loads(text)
    return found


def test_it_shows_holdings_pending_workloads_usage_and_free_capacity() -> None:
    used = {"gpu": {"cpu": 6000}}
    assert believed("first", "second") == {
        "holdings": {"first": {"queue": "red", "usage": used}},
        "waiting": {"red": ["second"]},
        "quota": {"blue": {}, "red": used, "strict": {}},
        "free": {"gpu": {"n00": {"cpu": 2000, "memory": 64 << 30, "pods": 19}}},
    }


def test_a_workload_without_a_queue_is_pending_under_an_empty_name() -> None:
    assert believed("lost", queue="nowhere")["waiting"] == {"": ["lost"]}


def test_a_machine_that_is_gone_is_not_free() -> None:
    lab = Lab()
    for raw in objects.data_centre():
        lab.create(raw)
    lab.settle()
    assert len(dump(lab.cluster.control_plane.cache)["free"]["gpu"]) == 16
    lab.delete(kinds.NODE, "", "n07")
    lab.settle()
    assert "n07" not in dump(lab.cluster.control_plane.cache)["free"]["gpu"]
