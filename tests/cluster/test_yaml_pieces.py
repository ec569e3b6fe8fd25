"""YAML put together from events: the same values as PyYAML's own loader, but object by object."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from closeknit.cluster.yaml_pieces import YamlPieces

texts = st.text(alphabet="ab 01-:#'\"\n.yesn~", max_size=8)
scalars = st.none() | st.booleans() | st.integers() | texts | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def pieces(text: str) -> list[Any]:
    return [json.loads(piece) for piece in YamlPieces(io.BytesIO(text.encode()))]


@given(st.lists(st.dictionaries(st.sampled_from(["kind", "spec", "a"]), values), max_size=4), st.booleans())
def test_values_are_those_of_the_plain_loader(items: list[dict[str, Any]], flow: bool) -> None:
    listed = yaml.safe_dump({"apiVersion": "v1", "items": items, "kind": "List"}, default_flow_style=flow)
    assert pieces(listed) == yaml.safe_load(listed)["items"]
    several = yaml.safe_dump_all(items, default_flow_style=flow)
    assert pieces(several) == list(yaml.safe_load_all(several))


def test_anchors_aliases_and_merges_are_followed() -> None:
    text = """
base: &base {cpu: 1, memory: 2}
more: [*base, {<<: *base, cpu: 3}, {<<: [{x: 1}, *base]}]
"""
    assert pieces(text) == [yaml.safe_load(text)]


def test_dates_stay_text() -> None:
    assert pieces("created: 2026-01-01T00:00:00Z") == [{"created": "2026-01-01T00:00:00Z"}]


def test_empty_documents_are_no_documents() -> None:
    reader = YamlPieces(io.BytesIO(b"# nothing\n---\n---\na: 1\n---\n"))
    assert list(reader) == [b'{"a":1}']
    assert reader.documents == 1


def test_a_piece_knows_its_line() -> None:
    reader = YamlPieces(io.BytesIO(b"kind: PodList\nitems:\n- a: 1\n- b: 1\n---\nc: 1\n"))
    assert [(reader.line, reader.kind) for _ in reader] == [(3, "Pod"), (4, "Pod"), (6, None)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2", 'the key "a" appears twice'),
        ("a: *b", 'no anchor "b"'),
        ("a: &b {c: *b}", 'no anchor "b"'),
        ("{[1]: 2}", "a key must be a plain string"),
        ("a: !!int x", "cannot be read as"),
        ("a: !Ref x", "cannot be read as"),
    ],
)
def test_yaml_that_kubectl_rejects_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(yaml.MarkedYAMLError, match=problem):
        pieces(text)


@pytest.mark.parametrize("text", ["1:30", "190:20:30", "1:30.5", "-1:59", "0x_", "1" * 500, "0x" + "f" * 500])
def test_what_is_no_number_of_json_stays_text(text: str) -> None:
    assert pieces(f"a: {text}") == [{"a": text}]


def test_aliases_may_repeat_but_not_multiply() -> None:
    assert pieces("a: &a {b: c}\nd: [*a, *a]") == [{"a": {"b": "c"}, "d": [{"b": "c"}] * 2}]
    lines = ["a0: &a0 [x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 4)}]" for n in range(1, 30))]
    with pytest.raises(yaml.YAMLError, match="the aliases expand to more than 16 MiB"):
        pieces("\n".join(lines))


def test_the_aliases_of_each_document_count_for_themselves() -> None:
    document = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 10)}]\n"
    assert len(pieces("---\n".join([document] * 3))) == 3
