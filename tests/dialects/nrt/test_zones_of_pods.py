"""Zones of pods in annotations: one form for what KAI's agent saw and for what we placed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.field import Field
from closeknit.dialects.nrt.zones_of_pods import (
    LONGEST,
    expected_zones,
    observed_zones,
    read_zones_of_pod,
    written_zones,
)

GIB = 2**30
resources = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu"]), st.integers(0, 2**53), max_size=4
)


def read(value: Any) -> tuple[dict[int, dict[str, int]] | None, list[str]]:
    field = Field.root(value)
    return read_zones_of_pod(field), [one.text for one in field.report.mistakes]


def test_the_form_is_that_of_kai_with_quantities_as_people_write_them() -> None:
    zones = {1: {"memory": 8 * GIB, "cpu": 4000}, 0: {"nvidia.com/gpu": 2, "cpu": 1500}}
    assert written_zones(zones) == (
        '[{"zone":"node-0","amount":{"cpu":"1500m","nvidia.com/gpu":"2"}},'
        '{"zone":"node-1","amount":{"cpu":"4","memory":"8Gi"}}]'
    )
    assert read('[{"zone":"node-0","amount":{"cpu":"4"}}]') == ({0: {"cpu": 4000}}, [])


def test_each_annotation_is_read_from_its_key() -> None:
    annotations = Field.root(
        {
            "kai.scheduler/numa-placement-observed": '[{"zone":"node-1","amount":{"cpu":2}}]',
            "closeknit.dev/numa-zones": '[{"zone":"node-0","amount":{"cpu":"2"}}]',
        }
    )
    assert observed_zones(annotations) == {1: {"cpu": 2000}}
    assert expected_zones(annotations) == {0: {"cpu": 2000}}
    assert expected_zones(Field.root({})) is None


@given(st.dictionaries(st.integers(0, 63), resources, max_size=4))
def test_what_is_written_is_read_again(zones: dict[int, dict[str, int]]) -> None:
    assert read(written_zones(zones)) == (zones, [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("node-0", 'is "node-0", not JSON'),
        ("[" * 60_000, f"is {json.dumps('[' * 57 + '...')}, not JSON"),
        ("x" * (LONGEST + 1), f"has {LONGEST + 1} characters"),
        ('{"zone":"node-0"}', "is a mapping, not a list"),
        ("[7]", "is 7, not a mapping"),
        ('[{"zone":"node-64"}]', 'is "node-64", not the name of a NUMA zone'),
        ('[{"amount":{}}]', "is null, not the name of a NUMA zone"),
        ('[{"zone":"node-0"},{"zone":"node-0"}]', "node-0 is listed twice"),
        ('[{"zone":"node-0","amount":[]}]', "is a list, not a mapping"),
        ('[{"zone":"node-0","amount":{"cpu":"many"}}]', '"many"'),
        ('[{"zone":"node-0","amount":{"cpu":true}}]', "is true, not a quantity"),
        ('[{"zone":"node-0","amount":{"cpu":"-4"}}]', 'is "-4", which no zone has'),
        ('[{"zone":"node-0","amount":{"cpu":"9E"}}]', 'is "9E", which no zone has'),
        ('[{"zone":"node-0","amount":{"cpu":' + "9" * 5000 + "}}]", "not JSON"),
        ('[{"zone":"node-0","amount":{"cpu":NaN}}]', '"nan"'),
    ],
)
def test_a_value_that_cannot_be_read_is_reported_and_counts_as_absent(value: str, text: str) -> None:
    zones, said = read(value)
    assert zones is None
    assert any(text in one for one in said), said


@given(st.text() | st.integers() | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_nothing_raises(value: Any) -> None:
    read(value)
