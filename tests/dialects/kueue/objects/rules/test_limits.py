"""Objects are checked against the table of limits."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.objects.rules.limits import check_limits


def broken(kind: str, raw: Any, at: str = "") -> list[str]:
    field = Field.root(raw)
    check_limits(Field(raw, at, field.report), kind)
    return [f"{one.field}: {one.text}" for one in field.report.mistakes]


def test_a_limit_is_reported_with_the_path_through_lists_and_maps() -> None:
    labels = {"nodeLabels": {"example.com/a": "b c"}, "nodeTaints": [{"key": "a"}, {"key": ""}]}
    assert broken("ResourceFlavor", {"spec": labels}) == [
        'spec.nodeLabels[example.com/a]: is "b c", not a label value',
        'spec.nodeTaints[1].key: is "", not a label name',
    ]


def test_the_way_begins_where_the_object_is() -> None:
    assert broken("Topology", {"spec": {"levels": []}}, "items[3]") == ["items[3].spec.levels: is empty"]


@pytest.mark.parametrize("nothing", [None, {}, {"spec": None}, {"spec": {"levels": None}}, {"other": [1]}])
def test_absent_fields_violate_no_limit(nothing: Any) -> None:
    assert broken("Topology", nothing) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"maximumExecutionTimeSeconds": 1}, []),
        ({"maximumExecutionTimeSeconds": 0}, ["spec.maximumExecutionTimeSeconds: is 0"]),
        ({"maximumExecutionTimeSeconds": 2**31}, ["spec.maximumExecutionTimeSeconds: is 2147483648"]),
        ({"maximumExecutionTimeSeconds": "5"}, ['spec.maximumExecutionTimeSeconds: is "5", not a whole number']),
        ({"maximumExecutionTimeSeconds": True}, ["spec.maximumExecutionTimeSeconds: is true, not a whole number"]),
        ({"queueName": 3}, ["spec.queueName: is 3, not a string"]),
        ({"queueName": "a" * 254}, ["spec.queueName: has 254 characters"]),
        ({"preemptionGates": [{"name": ""}]}, ["spec.preemptionGates[0].name: is empty"]),
        ({"preemptionGates": "many"}, []),
    ],
)
def test_values_are_checked_against_their_bounds_and_types(spec: Any, expected: list[str]) -> None:
    assert broken("Workload", {"spec": spec}) == expected


def test_a_generation_has_64_bits() -> None:
    seen = {"status": {"conditions": [{"observedGeneration": 2**40}, {"observedGeneration": -1}]}}
    assert broken("AdmissionCheck", seen) == ["status.conditions[1].observedGeneration: is -1"]


def test_an_enum_value_is_one_of_a_closed_set() -> None:
    conditions = {"conditions": [{"status": "Yes"}, {"status": "Unknown"}]}
    assert broken("LocalQueue", {"status": conditions}) == ['status.conditions[0].status: is "Yes"']
