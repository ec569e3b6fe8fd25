"""The scheduler's filters about other pods, one by one, with the scheduler's messages."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins.bound_pods import (
    AFFINITY,
    ANTI_AFFINITY,
    KEPT_AWAY,
    NO_LABEL,
    PORTS,
    SPREAD,
    BoundPods,
)
from closeknit.cluster.kinds import POD
from closeknit.cluster.port import Key
from closeknit.dialects.pod_rules import read_rules
from closeknit.model.node import Node
from closeknit.model.shape import Shape

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}


def term(kind: str, key: str, app: str) -> dict[str, Any]:
    one = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {REQUIRED: [one]}}}


def spread(key: str, **more: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": {"app": "new"}}}
    return {"topologySpreadConstraints": [{"topologyKey": key, "maxSkew": 1, **selector, **more}]}


def refusals(spec: dict[str, Any], running: dict[str, Any], app: str = "old") -> list[str]:
    """Why a pod `new` cannot go to a1, a2 and b1, while a pod runs on a1."""
    nodes = {name: Node(name, {"rack": name[0], "host": name}, {}) for name in ("a1", "a2")}
    nodes["b1"] = Node("b1", {"rack": "b", "host": "b1", "extra": "1"}, {})
    bound = BoundPods(nodes)
    bound.put(Key(POD, "default", "old"), read_rules("default", {"app": app}, running).kind, "a1")
    rules = read_rules("default", {"app": "new"}, spec)
    return [bound.refusal(name, Shape.of({}), rules) for name in nodes]


@pytest.mark.parametrize(
    ("spec", "running", "expected"),
    [
        ({}, {}, ["", "", ""]),
        (PORT, PORT, [PORTS, "", ""]),
        (term("podAntiAffinity", "rack", "old"), {}, [ANTI_AFFINITY, ANTI_AFFINITY, ""]),
        (term("podAntiAffinity", "host", "old"), {}, [ANTI_AFFINITY, "", ""]),
        (term("podAntiAffinity", "rack", "other"), {}, ["", "", ""]),
        ({}, term("podAntiAffinity", "rack", "new"), [KEPT_AWAY, KEPT_AWAY, ""]),
        (term("podAffinity", "rack", "old"), {}, ["", "", AFFINITY]),
        (term("podAffinity", "rack", "new"), {}, ["", "", ""]),
        (term("podAffinity", "extra", "new"), {}, [AFFINITY, AFFINITY, ""]),
        (spread("extra"), {}, [NO_LABEL, NO_LABEL, ""]),
    ],
)
def test_a_node_is_refused_with_the_schedulers_message(
    spec: dict[str, Any], running: dict[str, Any], expected: list[str]
) -> None:
    assert refusals(spec, running) == expected


def test_a_domain_that_would_exceed_the_emptiest_by_more_than_the_skew_is_refused() -> None:
    assert refusals(spread("rack"), {}, "new") == [SPREAD, SPREAD, ""]
    assert refusals(spread("rack", maxSkew=2), {}, "new") == ["", "", ""]
    assert refusals(spread("rack", minDomains=3), {}, "new") == [SPREAD, SPREAD, ""]


def test_a_spread_with_an_empty_selector_refuses_nothing() -> None:
    assert refusals(spread("rack", labelSelector={}), {}, "new") == ["", "", ""]


def test_a_pod_that_is_gone_refuses_nothing() -> None:
    bound, key = BoundPods({"a1": Node("a1", {"host": "a1"}, {})}), Key(POD, "default", "old")
    rules = read_rules("default", {"app": "new"}, PORT)
    assert bound.put(key, rules.kind, "a1")
    assert bound.refusal("a1", Shape.of({}), rules) == PORTS
    bound.drop(key)
    assert not bound.refusal("a1", Shape.of({}), rules)
