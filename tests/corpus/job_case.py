"""A job of the corpus: what it is, what is done to it, what is put on it, and what is wrong with it.

A case says all that is put on the object besides what it brought: nothing else may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from closeknit.cluster.kinds import (
    DEPLOYMENT,
    LEADER_WORKER_SET,
    STATEFUL_SET,
    Kind,
)
from corpus.case import Enforcer, Step
from corpus.job_objects import KUEUE, QUEUE, Raw

Space = Literal["plain", "queued", "classed", "system"]
"""Namespaces: without a default queue, with one, with one and a default class, and one that is left alone."""

IN: Raw = {QUEUE: "team"}
HOST, RACK = "kubernetes.io/hostname", "example.com/rack"
GATES = [{"name": KUEUE + "admission"}, {"name": KUEUE + "topology"}]
HELD_POD: Raw = {"labels": {KUEUE + "managed": "true"}, "finalizers": [KUEUE + "managed"], "gates": GATES}
SERVING = (DEPLOYMENT, STATEFUL_SET, LEADER_WORKER_SET)
LWS = "leaderworkerset.x-k8s.io/leaderworkerset"
LAYERS = "podset_slice_required_topology_constraints"
OWNER = {"controller": True, "name": "x", "uid": "0b3b6d80-4c4b-4c8a-8a3a-000000000000"}


@dataclass(frozen=True)
class JobCase:
    """`adds`: what is added, by part (labels, annotations, finalizers, gates, suspend, or the path of a template).

    `field`: the invalid field of the last step; empty if it is valid. `by` is what rejects it on Kubernetes.
    """

    title: str
    kind: Kind
    body: Raw
    adds: Raw = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    field: str = ""
    by: Enforcer = "policy"
    space: Space = "plain"


def label(key: str) -> str:
    return f"metadata.labels[{key}]"


def note(key: str, path: str = "") -> str:
    """As `answers.plain` writes it."""
    return f"{path}.metadata.annotations[{KUEUE}{key}]".lstrip(".")


def patch(**meta: Any) -> Step:
    return Step({"metadata": meta})


def with_leader(body: Raw) -> Raw:
    group = body["spec"]["leaderWorkerTemplate"]
    return {
        **body,
        "spec": {
            **body["spec"],
            "leaderWorkerTemplate": {**group, "leaderTemplate": {"spec": group["workerTemplate"]["spec"]}},
        },
    }


def nested(path: tuple[str, ...], value: Any) -> Raw:
    for key in reversed(path):
        value = {key: value}
    found: Raw = value
    return found
