"""Validation of pod affinity and topology spread: what Kubernetes would refuse, with the field and a remedy."""

from __future__ import annotations

from typing import Any

import pytest

from dialects.test_node_choice import PREFERRED, REQUIRED, mistakes

SELECTOR = {"matchLabels": {"app": "x"}}
TERM = {"topologyKey": "rack", "labelSelector": SELECTOR}
SPREAD = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}


def of_term(**more: Any) -> list[str]:
    """The mistakes of a term, after the name of the field that has them."""
    found = mistakes(affinity={"podAffinity": {REQUIRED: [{**TERM, **more}]}})
    prefix = f"spec.affinity.podAffinity.{REQUIRED}[0]."
    assert all(one.startswith(prefix) for one in found)
    again = mistakes(affinity={"podAntiAffinity": {PREFERRED: [{"weight": 5, "podAffinityTerm": {**TERM, **more}}]}})
    assert len(again) == len(found)
    return [one.removeprefix(prefix) for one in found]


def of_spread(**more: Any) -> list[str]:
    prefix = "spec.topologySpreadConstraints[0]."
    found = mistakes(topologySpreadConstraints=[{**SPREAD, **more}])
    assert all(one.startswith(prefix) for one in found)
    return [one.removeprefix(prefix) for one in found]


@pytest.mark.parametrize("more", [{}, {"matchLabelKeys": ["pod-template-hash"]}, {"namespaceSelector": {}}])
def test_terms_that_kubernetes_accepts_are_accepted(more: dict[str, Any]) -> None:
    assert of_term(**more) == []


@pytest.mark.parametrize(
    ("more", "field", "text"),
    [
        ({"topologyKey": None}, "topologyKey", "is missing"),
        ({"topologyKey": "a b"}, "topologyKey", 'is "a b", not a label name'),
        (
            {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "Is", "values": ["x"]}]}},
            "labelSelector.matchExpressions[0].operator",
            'is "Is"',
        ),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In"}]}},
            "namespaceSelector.matchExpressions[0].values",
            "is empty, but In requires values",
        ),
        ({"matchLabelKeys": ["app"]}, "matchLabelKeys[0]", 'is "app", which labelSelector has too'),
        ({"matchLabelKeys": ["a"], "labelSelector": None}, "matchLabelKeys", "is not allowed without labelSelector"),
        (
            {"matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]},
            "mismatchLabelKeys[0]",
            'is "a", which matchLabelKeys has too',
        ),
    ],
)
def test_a_term_that_kubernetes_refuses_is_refused(more: dict[str, Any], field: str, text: str) -> None:
    (found,) = of_term(**more)
    assert found.startswith(f"{field}: {text}")


@pytest.mark.parametrize("more", [{}, {"minDomains": 2, "nodeTaintsPolicy": "Honor"}, {"labelSelector": None}])
def test_spread_that_kubernetes_accepts_is_accepted(more: dict[str, Any]) -> None:
    assert of_spread(**more) == []


@pytest.mark.parametrize(
    ("more", "field", "text"),
    [
        ({"maxSkew": 0}, "maxSkew", "is 0"),
        ({"maxSkew": None}, "maxSkew", "is missing"),
        ({"topologyKey": ""}, "topologyKey", "is missing"),
        ({"whenUnsatisfiable": "Never"}, "whenUnsatisfiable", 'is "Never"'),
        ({"whenUnsatisfiable": None}, "whenUnsatisfiable", "is missing"),
        ({"minDomains": 0}, "minDomains", "is 0"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "minDomains", "is not allowed with ScheduleAnyway"),
        ({"nodeAffinityPolicy": "Maybe"}, "nodeAffinityPolicy", 'is "Maybe"'),
    ],
)
def test_spread_that_kubernetes_refuses_is_refused(more: dict[str, Any], field: str, text: str) -> None:
    (found,) = of_spread(**more)
    assert found.startswith(f"{field}: {text}")


def test_one_key_is_spread_over_once_for_each_consequence() -> None:
    assert mistakes(topologySpreadConstraints=[SPREAD, {**SPREAD, "whenUnsatisfiable": "ScheduleAnyway"}]) == []
    (found,) = mistakes(topologySpreadConstraints=[SPREAD, SPREAD])
    assert found.startswith('spec.topologySpreadConstraints[1].topologyKey: is "rack" a second time with DoNotSchedule')


@pytest.mark.parametrize("weight", [0, 101, None, True])
def test_a_weight_is_a_number_up_to_a_hundred(weight: Any) -> None:
    preferred = [{"weight": weight, "podAffinityTerm": TERM}]
    (found,) = mistakes(affinity={"podAffinity": {PREFERRED: preferred}})
    assert found.startswith(f"spec.affinity.podAffinity.{PREFERRED}[0].weight: ")
