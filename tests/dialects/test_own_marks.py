from __future__ import annotations

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.own_marks import OF_NODES, OF_PODS, check_marks, exit_code, slowness


def warned(key: str, value: object) -> list[str]:
    """The warnings about an annotation of a pod."""
    field = Field.root({f"closeknit.dev/{key}": value})
    check_marks(field, OF_PODS, OF_NODES, "put it on a Node")
    return [f"{one.text}; {one.remedy}" if one.remedy else one.text for one in field.report.warnings]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run-time", "2m±10%"),
        ("run-time", "forever"),
        ("start-time", "0s"),
        ("fail-after", "1h30m"),
        ("exit-code", "255"),
        ("node-group", "a"),
    ],
)
def test_valid_values_cause_no_warning(key: str, value: str) -> None:
    assert warned(key, value) == []


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("exit-code", "256", '"256" is not an exit code: write a number from 0 to 255'),
        ("exit-code", "٣", '"٣" is not an exit code: write a number from 0 to 255'),
        ("run-tme", "2m", "is not a known key; did you mean closeknit.dev/run-time?"),
        ("failed", "true", "is ignored there; put it on a Node"),
    ],
)
def test_invalid_values_are_reported(key: str, value: str, said: str) -> None:
    assert warned(key, value) == [said]


def test_a_key_without_a_close_match_lists_all_keys() -> None:
    (said,) = warned("zzz", "1")
    assert said.startswith("is not a known key; the keys are closeknit.dev/hostfile, closeknit.dev/placement-order, ")


def test_annotations_of_others_cause_no_warning() -> None:
    field = Field.root({"example.com/run-time": "soon", "closeknit.dev/run-time": 5})
    check_marks(field, OF_PODS, OF_NODES, "put it on a Node")
    assert field.report.warnings == ()


def test_values_are_read() -> None:
    assert (exit_code("3"), slowness("2.0")) == (3, 2.0)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "fast", "1e7"])
def test_a_slowness_factor_is_a_positive_number(text: str) -> None:
    with pytest.raises(ValueError, match="is not a factor"):
        slowness(text)
