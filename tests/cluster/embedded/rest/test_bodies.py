"""Bodies: which can be decoded, and which are rejected without being parsed."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.rest.bodies import (
    JSON,
    MOST_YAML,
    PROTOBUF,
    YAML,
    media_type,
    object_of,
    repeated,
    tree,
    unknown_protobuf,
)
from closeknit.cluster.errors import BadRequest, TooLarge, UnsupportedMediaType
from closeknit.cluster.kinds import JOB, NODE, POD


def test_json_and_yaml_give_the_same_tree() -> None:
    assert tree(b'{"a": [1, 2.5, null, true, "x"]}', JSON) == {"a": [1, 2.5, None, True, "x"]}
    assert tree(b"a:\n- 1\n- 2.5\n- null\n- true\n- x\n", YAML) == {"a": [1, 2.5, None, True, "x"]}


def test_json_is_yaml_too() -> None:
    assert tree(b'{"a": "no"}', YAML) == {"a": "no"}


def test_a_date_in_yaml_stays_text() -> None:
    assert tree(b"a: 2026-01-31\n", YAML) == {"a": "2026-01-31"}


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": Infinity}', b"\xff", b'{"a": "\\ud800"}', b"{'a': 1}"),
        *(b"1 2", b"[" * 100_000, b'{"a":' * 500 + b"1" + b"}" * 500, b"9" * 5000),
    ],
)
def test_a_body_that_is_not_json_is_rejected(data: bytes) -> None:
    with pytest.raises(BadRequest):
        tree(data, JSON)


@pytest.mark.parametrize(
    "data",
    [
        *(b"a: [", b"a: b: c", b"\xff\xfe", b"a: 1\n---\nb: 2\n", b"", b"a: &x 1\nb: *x\n", b"? [a]\n: b\n"),
        *(b"a: .nan\na: 1", b"a: !!python/object:os.system x", b"- " * 3000 + b"x", b"[" * 5000, b"a: !!int x"),
        b"a: \x00",
    ],
)
def test_a_body_that_is_not_one_plain_yaml_document_is_rejected(data: bytes) -> None:
    with pytest.raises(BadRequest):
        tree(data, YAML)


def test_a_few_lines_of_yaml_cannot_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(BadRequest, match="alias"):
        tree("\n".join(lines).encode(), YAML)


def test_much_yaml_is_too_much_where_much_json_is_not() -> None:
    text = "x" * MOST_YAML
    assert tree(f'{{"a": "{text}"}}'.encode(), YAML) == {"a": text}
    with pytest.raises(TooLarge):
        tree(f"a: {text}".encode(), YAML)


def test_nesting_within_reason_is_read() -> None:
    assert tree(b'{"a":' * 100 + b"[" * 20 + b"]" * 20 + b"}" * 100, JSON)


def test_protobuf_of_a_kind_outside_the_table_is_refused_with_a_remedy_where_there_is_one() -> None:
    with pytest.raises(UnsupportedMediaType, match=r"--dry-run=client -o yaml \| kubectl create -f -"):
        tree(b"k8s\x00", PROTOBUF)
    assert "the token of this host permits everything" in str(unknown_protobuf(is_served=False))


def test_other_media_types_are_refused() -> None:
    with pytest.raises(UnsupportedMediaType, match="text/plain"):
        tree(b"{}", "text/plain")


def test_the_media_type_is_read_without_its_parameters() -> None:
    assert media_type("application/JSON; charset=utf-8") == JSON
    assert media_type("") == JSON
    assert media_type("text/plain") == "text/plain"


def test_repeated_fields_are_named_by_their_paths() -> None:
    data = b'{"a": 1, "b": [{"c": 1}, {"c": 1, "d": {"e": 1, "e": 2}, "c": 2}], "a": 2}'
    assert repeated(data) == ["b[1].d.e", "b[1].c", "a"]
    assert repeated(b'{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}') == []
    assert repeated(b"{") == []


def test_kind_and_version_may_be_left_out_and_the_namespace_is_filled_in() -> None:
    assert object_of(POD, {"metadata": {"name": "p"}}, "n") == {"metadata": {"name": "p", "namespace": "n"}}
    assert object_of(NODE, {"metadata": None}, "") == {"metadata": {}}


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "text",
        {"kind": "ConfigMap", "metadata": {}},
        {"kind": "Job", "apiVersion": "batch/v2"},
        {"kind": ["Job"]},
        {"metadata": "x"},
        {"metadata": []},
        {"metadata": {"name": 1}},
        {"metadata": {"name": {"a": 1}}},
        {"metadata": {"generateName": 1}},
        {"metadata": {"uid": 1}},
        {"metadata": {"resourceVersion": 1}},
        {"metadata": {"namespace": "other"}},
    ],
)
def test_a_body_that_is_not_an_object_of_the_kind_is_rejected(value: Any) -> None:
    with pytest.raises(BadRequest):
        object_of(JOB, value, "n")


@pytest.mark.parametrize("name", [None, "", "q"])
def test_an_object_has_to_have_the_name_that_it_is_sent_to(name: str | None) -> None:
    with pytest.raises(BadRequest):
        object_of(POD, {"metadata": {"name": name}}, "n", "p")
