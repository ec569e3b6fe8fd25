"""Volcano's jobs on HyperNodes: one pass, the number of binds, and where they are."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

from .case import Case, Prepared
from .gangs import GangCluster, Raw

NO_SUCH_TIER = "no HyperNode has the tier name"

Bound = tuple[GangCluster, dict[str, str]]


def hyper_nodes(case: Case) -> Prepared:
    given, expected = case["input"], case["expected"]
    want = {"bindCount": expected["bindCount"], "faults": []}
    if any(NO_SUCH_TIER in mistake.text for mistake in _cluster(given).reading().mistakes):
        want["bindCount"] = 0  # the reference drops such a constraint; here it is refused
    else:
        keys = ("binds", "impliedBinds", "bindsPerLowestHyperNode")
        want |= {key: expected[key] for key in keys if expected.get(key) is not None}
    return Prepared(lambda: _bound(given), lambda answer: _shown(answer, given["hyperNodes"], want), want)


def _cluster(given: Raw) -> GangCluster:
    hyper = [{"apiVersion": "topology.volcano.sh/v1alpha1", "kind": "HyperNode", **one} for one in given["hyperNodes"]]
    groups = [{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", **one} for one in given["podGroups"]]
    return GangCluster(given["nodes"], [*hyper, *groups], deepcopy(given["pods"]))


def _bound(given: Raw) -> Bound:
    cluster = _cluster(given)
    return cluster, cluster.bind()


def _shown(answer: Bound, hyper: list[Raw], want: dict[str, Any]) -> dict[str, Any]:
    """The answer in the form of what is wanted, and no more of it."""
    cluster, bound = answer
    found = {
        "bindCount": len(bound),
        "faults": cluster.faults(),
        "binds": bound,
        "impliedBinds": {key: bound.get(key) for key in want.get("impliedBinds") or ()},
        "bindsPerLowestHyperNode": _per_leaf(hyper, bound),
    }
    return {key: found[key] for key in want}


def _per_leaf(hyper: list[Raw], bound: dict[str, str]) -> list[int]:
    """How many new binds each of the lowest HyperNodes got, in ascending order."""
    homes = {
        member["selector"]["exactMatch"]["name"]: one["metadata"]["name"]
        for one in hyper
        for member in one["spec"]["members"]
        if member["type"] == "Node"
    }
    return sorted(Counter(homes[name] for name in bound.values() if name in homes).values())
