"""JSON cut into objects: the cuts are those a full parse would make, wherever the chunks happen to end."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.cluster import json_pieces
from closeknit.cluster.json_pieces import JsonPieces

scalars = st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\{}[],é\n', max_size=6)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='xy"\\[', max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from(["kind", "spec", "a", 'q"']), values, max_size=3)


class Trickle(io.BytesIO):
    """A stream that gives little at a time, however much is asked for."""

    def __init__(self, data: bytes, step: int) -> None:
        super().__init__(data)
        self.step = step

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.step)


def pieces(text: str, step: int = 1 << 20) -> list[Any]:
    return [json.loads(piece) for piece in JsonPieces(Trickle(text.encode(), step))]


@given(st.lists(objects, max_size=5), st.integers(1, 40), st.sampled_from([None, 4]))
def test_the_items_of_a_list_come_one_by_one(items: list[dict[str, Any]], step: int, indent: int | None) -> None:
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"x": [1]}}, indent=indent)
    assert pieces(text, step) == items


@given(st.lists(objects, max_size=5), st.integers(1, 40), st.sampled_from(["\n", " ", ""]))
def test_objects_one_after_another_come_one_by_one(items: list[dict[str, Any]], step: int, between: str) -> None:
    assert pieces(between.join(map(json.dumps, items)), step) == items


@given(st.lists(objects, max_size=5), st.integers(1, 40))
def test_the_elements_of_an_array_come_one_by_one(items: list[dict[str, Any]], step: int) -> None:
    assert pieces(json.dumps(items), step) == items


def test_items_deeper_inside_an_object_do_not_make_it_a_list() -> None:
    pod = {"kind": "Pod", "spec": {"volumes": [{"configMap": {"items": [{"key": "a"}]}}]}}
    assert pieces(json.dumps(pod)) == [pod]


def test_a_typed_list_says_the_kind_of_its_items() -> None:
    reader = JsonPieces(io.BytesIO(b'{"kind": "NodeList", "items": [{"a": 1}]} {"b": 1}'))
    assert [(json.loads(piece), reader.kind) for piece in reader] == [({"a": 1}, "Node"), ({"b": 1}, None)]


def test_an_empty_list_is_a_document_without_pieces() -> None:
    reader = JsonPieces(io.BytesIO(b'{"kind": "List", "items": []}'))
    assert list(reader) == []
    assert reader.documents == 1


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_piece_knows_its_line_and_column(step: int) -> None:
    reader = JsonPieces(Trickle(b'{"items": [\n  {"a": 1}, {"b": 1},\n {"c": 1}]}', step))
    assert [(reader.line, reader.column) for _ in reader] == [(2, 3), (2, 13), (3, 2)]


def test_a_bracket_lost_for_good_does_not_read_on_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "MAX_PIECE", 1000)
    stream = Trickle(b'{"items": [{"a": "' + b"x" * 100_000, 100)
    assert len(list(JsonPieces(stream))) == 1
    assert stream.tell() < 3000
