from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import pytest

from closeknit.dialects.field import Field, Report, shown, step
from closeknit.model.mistake import Mistake


def said(field: Field) -> list[str]:
    return [str(mistake) for mistake in field.report.mistakes]


def test_steps_lead_to_nested_fields_and_missing_ones_are_empty() -> None:
    root = Field.root({"spec": {"size": 3}})
    assert root.at("spec", "size").value == 3
    assert root.at("spec", "size").path == "spec.size"
    assert not root.at("status", "phase").given
    assert root.at("status", "phase").path == "status.phase"
    assert said(root) == []


def test_a_step_into_a_scalar_is_reported_once() -> None:
    root = Field.root({"spec": "none"}, "job.yaml", "Job train")
    assert not root.at("spec", "template").given
    assert not root.at("spec", "parallelism").given
    assert said(root) == ['job.yaml: Job train: spec: is "none", not a mapping; use a mapping']


def test_null_reads_as_absent() -> None:
    root = Field.root({"spec": None, "items": None, "labels": None})
    assert root.at("spec", "size").count(7) == 7
    assert root.at("items").items() == []
    assert root.at("labels").strings() == {}
    assert said(root) == []


def test_keys_that_are_no_identifiers_go_into_brackets() -> None:
    assert step("", "spec") == "spec"
    assert step("requests", "nvidia.com/gpu") == "requests[nvidia.com/gpu]"
    assert [field.path for field in Field({"a": 1, "b.c/d": 2}, "x", Report()).fields().values()] == [
        "x.a",
        "x[b.c/d]",
    ]


def test_list_elements_carry_their_number() -> None:
    root = Field.root({"items": [{"n": 1}, {"n": 2}]})
    assert [item.at("n").path for item in root.at("items").items()] == ["items[0].n", "items[1].n"]
    assert Field.root({"items": {}}).at("items").items() == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("four", 'size: is "four", not a whole number; use a whole number'),
        (True, "size: is true, not a whole number; use a whole number"),
        (1.5, "size: is 1.5, not a whole number; use a whole number"),
        ([], "size: is a list, not a whole number; use a whole number"),
        (-1, "size: is -1; use a whole number from 0 to 2147483647"),
        (2**31, "size: is 2147483648; use a whole number from 0 to 2147483647"),
    ],
)
def test_a_count_is_a_whole_number_that_32_bits_hold(value: Any, text: str) -> None:
    field = Field.root({"size": value}).at("size")
    assert field.count(1) == 1
    assert said(field) == [text]


def test_a_count_is_read() -> None:
    assert Field.root({"size": 0}).at("size").count(1) == 0
    assert Field.root({"size": 2**31 - 1}).at("size").count(1) == 2**31 - 1


def test_text_that_yaml_read_as_something_else_is_to_be_quoted() -> None:
    root = Field.root({"labels": {"a": "x", "b": 4, "c": True}})
    assert root.at("labels").strings() == {"a": "x", "b": "", "c": ""}
    assert said(root) == [
        'labels.b: is 4, not a string; put it in quotes: "4"',
        'labels.c: is true, not a string; put it in quotes: "true"',
    ]


class Inner(msgspec.Struct):
    name: str | None = None


class Outer(msgspec.Struct):
    parts: list[Inner] | None = None
    labels: dict[str, str] | None = None


def test_a_struct_is_decoded_from_where_the_field_is() -> None:
    root = Field.root({"spec": {"parts": [{"name": "a"}]}})
    assert root.at("spec").decode(Outer) == Outer([Inner("a")])
    assert root.at("other").decode(Outer) == Outer()


def test_a_decoding_error_is_reported_with_its_path() -> None:
    root = Field.root({"spec": {"parts": [{"name": 3}]}, "other": {"labels": {"x": []}}, "third": []})
    assert root.at("spec").decode(Outer) is None
    assert root.at("other").decode(Outer) is None
    assert root.at("third").decode(Outer) is None
    assert said(root) == [
        "spec.parts[0].name: expected str, got int; put the value in quotes",
        "other.labels[...]: expected str, got array",
        "third: expected object, got array",
    ]


def test_a_whole_object_that_does_not_decode_has_paths_from_its_root() -> None:
    root = Field.root({"parts": [{"name": 3}]})
    assert root.decode(Outer) is None
    assert root.report.mistakes[0].field == "parts[0].name"


def test_a_report_gives_every_mistake_its_place() -> None:
    report = Report("a.yaml", "Job a")
    report.add([Mistake("is wrong", field="x"), Mistake("is wrong", field="x")])
    assert report.mistakes == (Mistake("is wrong", "", "a.yaml", "Job a", "x"),)


def test_values_are_shown_short() -> None:
    assert shown({}) == "a mapping"
    assert shown("x" * 100) == '"' + "x" * 57 + '..."'
    assert shown(datetime(2024, 1, 2)) == '"2024-01-02 00:00:00"'


def test_keys_close_to_a_known_one_are_warned_about_once_and_nothing_is_wrong() -> None:
    field = Field.root({"replcas": 3, "template": {}, "other": 1}, "a.yaml", "Job a")
    for _ in range(2):
        field.expect(("replicas", "template"))
    assert [str(warning) for warning in field.report.warnings] == [
        "a.yaml: Job a: replcas: is not a known field; did you mean replicas?"
    ]
    assert field.report.mistakes == ()
