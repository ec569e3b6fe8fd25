"""Validation of node selection: it refuses what Kubernetes would refuse, with the field and a remedy."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.pod_template import read_shape
from closeknit.model.shape import Requirement, Toleration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
ONE = f"{TERM}.matchExpressions[0]"


def mistakes(**spec: Any) -> list[str]:
    field = Field.root({"spec": {"containers": [{"name": "main"}], **spec}}, "job.yaml", "Job train")
    shape = read_shape(field.at("spec"))
    assert (shape is None) == bool(field.report)
    assert all((one.where, one.what) == ("job.yaml", "Job train") and one.remedy for one in field.report.mistakes)
    return [str(one).removeprefix("job.yaml: Job train: ") for one in field.report.mistakes]


def required(**term: Any) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def expression(key: Any, operator: Any, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


@pytest.mark.parametrize(
    "one",
    [
        expression("example.com/rack", "In", "a", "b"),
        expression("rack", "NotIn", "a"),
        expression("rack", "Exists"),
        {"key": "rack", "operator": "DoesNotExist", "values": None},
        expression("cores", "Gt", "8"),
        expression("cores", "Lt", "-8"),
    ],
)
def test_requirements_that_kubernetes_accepts_are_accepted(one: dict[str, Any]) -> None:
    assert mistakes(affinity=required(matchExpressions=[one])) == []
    preferred = [{"weight": 1, "preference": {"matchExpressions": [one]}}]
    assert mistakes(affinity={"nodeAffinity": {PREFERRED: preferred}}) == []


OPERATORS = "use one of: In, NotIn, Exists, DoesNotExist, Gt, Lt"
NUMBER = 'use one whole number in quotes, such as "4"'
LABEL = 'use a label name such as "example.com/rack"'


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (expression("rack", "Equals", "a"), f'operator: is "Equals"; {OPERATORS}'),
        (expression("rack", "in", "a"), f'operator: is "in"; {OPERATORS}'),
        (expression("rack", None, "a"), f"operator: is missing; {OPERATORS}"),
        (expression("rack", "In"), "values: is empty, but In requires values; add at least one, or use Exists"),
        (
            {"key": "rack", "operator": "NotIn"},
            "values: is empty, but NotIn requires values; add at least one, or use Exists",
        ),
        (expression("rack", "Exists", "a"), "values: is not allowed with Exists; remove it, or use In or NotIn"),
        (
            expression("rack", "DoesNotExist", "a"),
            "values: is not allowed with DoesNotExist; remove it, or use In or NotIn",
        ),
        (expression("rack", "Gt"), f"values: is empty, but Gt compares with one; {NUMBER}"),
        (expression("rack", "Lt", "1", "2"), f"values: has 2 entries, but Lt compares with one; {NUMBER}"),
        (expression("rack", "Gt", "many"), f'values: is "many", but Gt compares numbers; {NUMBER}'),
        (expression("rack", "Gt", "1_0"), f'values: is "1_0", but Gt compares numbers; {NUMBER}'),
        (expression("a/b/c", "Exists"), f'key: is "a/b/c", not a label name; {LABEL}'),
        (expression(None, "Exists"), f'key: is "", not a label name; {LABEL}'),
        ({"key": "rack", "operator": "In", "values": [7]}, 'values[0]: is 7, not a string; put it in quotes: "7"'),
    ],
)
def test_a_requirement_that_kubernetes_refuses_is_refused(one: dict[str, Any], said: str) -> None:
    assert mistakes(affinity=required(matchExpressions=[one])) == [f"{ONE}.{said}"]


def test_the_same_rules_apply_to_preferred_terms() -> None:
    preferred = [{"preference": None}, {"weight": 5, "preference": {"matchExpressions": [expression("rack", "Is")]}}]
    assert mistakes(affinity={"nodeAffinity": {PREFERRED: preferred}}) == [
        f'spec.affinity.nodeAffinity.{PREFERRED}[1].preference.matchExpressions[0].operator: is "Is"; {OPERATORS}'
    ]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (expression("metadata.name", "In", "a"), None),
        (expression("metadata.name", "NotIn", "a"), None),
        (expression("metadata.name", "In", "a", "b"), "values: has 2 entries; use the name of one node"),
        (expression("metadata.uid", "In", "a"), 'key: is "metadata.uid"; use one of: metadata.name'),
        (expression("metadata.name", "Gt", "1"), 'operator: is "Gt"; use one of: In, NotIn'),
    ],
)
def test_of_a_nodes_fields_only_its_name_can_be_required(one: dict[str, Any], said: str | None) -> None:
    assert mistakes(affinity=required(matchFields=[one])) == ([f"{TERM}.matchFields[0].{said}"] if said else [])


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ({"example.com/rack": "r1", "empty": ""}, []),
        ({"a/b/c": "x"}, [f'spec.nodeSelector[a/b/c]: "a/b/c" is not a label name; {LABEL}']),
        (
            {"rack": "r 1"},
            ['spec.nodeSelector.rack: is "r 1", not a label value; use at most 63 letters, digits, dashes, dots'],
        ),
    ],
)
def test_a_node_selector_is_made_of_labels(selector: dict[str, str], said: list[str]) -> None:
    assert mistakes(nodeSelector=selector) == said


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "gpu", "value": "yes"},
        {"key": "gpu", "operator": "", "effect": ""},
        {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},
        {"operator": "Exists"},
        {"key": None, "operator": "Exists", "value": None, "effect": None},
        {"key": "gpu", "operator": "Exists", "effect": "PreferNoSchedule"},
        {"key": "sla", "operator": "Gt", "value": "950"},
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    ],
)
def test_tolerations_that_kubernetes_accepts_are_accepted(toleration: dict[str, Any]) -> None:
    assert mistakes(tolerations=[toleration]) == []


@pytest.mark.parametrize(
    ("toleration", "said"),
    [
        (
            {"key": "gpu", "operator": "Equals", "value": "yes"},
            'operator: is "Equals"; use one of: Equal, Exists, Gt, Lt',
        ),
        ({"value": "yes"}, "operator: is Equal without a key; use Exists, or set a key"),
        ({"key": "", "operator": "Lt", "value": "1"}, "operator: is Lt without a key; use Exists, or set a key"),
        (
            {"key": "gpu", "operator": "Exists", "effect": "NoRun"},
            'effect: is "NoRun"; use one of: NoSchedule, PreferNoSchedule, NoExecute',
        ),
        ({"key": "gpu!", "operator": "Exists"}, f'key: is "gpu!", not a label name; {LABEL}'),
        ({"key": "gpu", "operator": "Exists", "value": "yes"}, "value: is not allowed with Exists; remove it"),
        ({"key": "sla", "operator": "Gt", "value": "high"}, f'value: is "high", but Gt compares numbers; {NUMBER}'),
    ],
)
def test_a_toleration_that_kubernetes_refuses_is_refused(toleration: dict[str, Any], said: str) -> None:
    assert mistakes(tolerations=[{"operator": "Exists"}, toleration]) == [f"spec.tolerations[1].{said}"]


def test_all_mistakes_are_reported_at_once() -> None:
    found = mistakes(
        containers=[],
        nodeSelector={"!": "x"},
        affinity=required(matchExpressions=[expression("rack", "In")]),
        tolerations=[{}],
    )
    assert [one.split(": ")[0] for one in found] == [
        "spec.containers",
        "spec.nodeSelector[!]",
        f"{ONE}.values",
        "spec.tolerations[0].operator",
    ]


def test_accepted_fields_become_the_shape() -> None:
    affinity = required(matchExpressions=[expression("cores", "Gt", "8")], matchFields=None)
    field = Field.root({"containers": [{}], "affinity": affinity, "tolerations": [{"key": "a", "effect": None}]})
    shape = read_shape(field)
    assert shape is not None
    assert shape.required is not None
    assert shape.required[0].labels == (Requirement("cores", "Gt", ("8",)),)
    assert shape.tolerations == (Toleration("a", "Equal", "", ""),)
