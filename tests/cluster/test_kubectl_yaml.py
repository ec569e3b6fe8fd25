"""YAML lists from kubectl: whatever they contain, they are read as the full parser reads them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import yaml
from yaml.reader import ReaderError

from closeknit.cluster import kubectl_yaml
from closeknit.cluster.kubectl_yaml import KubectlYaml, is_list
from closeknit.cluster.yaml_pieces import YamlPieces

HEAD = "apiVersion: v1\nitems:\n"
TAIL = 'kind: List\nmetadata:\n  resourceVersion: ""\n'
ITEM = "- kind: Pod\n  metadata:\n    name: {0}\n  spec:\n    nodeName: {0}\n"

SCALARS = """
5 05 0x1F 0b1 1.5 1e3 1.0e+3 1.5e-3 1:30 1:30.5 1_000 .5 -1 +1 .inf yes No TRUE off null Null ~ y 1.2.3 10.0.0.7
2026-01-01 2026-01-01T00:00:00Z 12e4-a 0o7 0xg a:b a::b a: :a a#b a,b = << & *x !t @a %a `a - -a ? /a a- a/ {} []
'' "" '5' "5" 'yes' "a\\n" 'it''s' "ä" ä '#' 'a "a ' | >
"""


def trace(reader: KubectlYaml | YamlPieces) -> list[Any]:
    """Every piece with where it began, and what ended the reading."""
    seen: list[Any] = []
    try:
        seen.extend((piece, reader.line, reader.column, reader.kind, reader.documents) for piece in reader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        seen.append((error.problem, error.context, mark and (mark.line, mark.column)))
    except ReaderError as error:  # sooner or later, as much as is read ahead
        return [error.reason]
    return [*seen, reader.kind, reader.documents]


def both(text: str | bytes) -> tuple[list[Any], list[Any]]:
    data = text if isinstance(text, bytes) else text.encode()
    assert is_list(data)
    return trace(KubectlYaml(io.BytesIO(data))), trace(YamlPieces(io.BytesIO(data)))


def parsed(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """How many times a parser was started."""
    started = []
    parser = YamlPieces.__iter__

    def counted(self: YamlPieces) -> Any:
        started.append(self)
        return parser(self)

    monkeypatch.setattr(YamlPieces, "__iter__", counted)
    list(KubectlYaml(io.BytesIO(text.encode())))
    return len(started)


def test_items_that_differ_in_texts_alone_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + "".join(ITEM.format(f"a-{number}") for number in range(50)) + TAIL
    assert parsed(monkeypatch, text) == 2  # the first item, and the last with the tail of the list


def test_the_cache_of_skeletons_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubectl_yaml, "KEPT", 2)
    reader = KubectlYaml(io.BytesIO((HEAD + "".join(f"- a{n}: x\n" for n in range(9)) + TAIL).encode()))
    assert [json.loads(piece) for piece in reader] == [{f"a{n}": "x"} for n in range(9)]
    assert len(reader._templates) <= 2


def test_a_list_of_which_no_two_items_are_alike_is_soon_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubectl_yaml, "PATIENCE", 5)
    text = HEAD + "".join(f"- a: {number}\n" for number in range(50)) + TAIL
    fast, slow = both(text)
    assert fast == slow
    assert parsed(monkeypatch, text) == 6


@pytest.mark.parametrize("chunk", [64, 65, 66, 67, 1 << 20])
def test_chunks_may_end_anywhere(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(kubectl_yaml, "CHUNK", chunk)
    for text in (HEAD + "".join(ITEM.format(f"a-{number}") for number in range(9)) + TAIL, HEAD + "- a: b"):
        for data in (text, text.replace("\n", "\r\n")):
            fast, slow = both(data)
            assert fast == slow


@pytest.mark.parametrize("value", SCALARS.split())
def test_every_scalar_is_what_the_parser_says_it_is(value: str) -> None:
    for more in ("", " b", " #b", " # b", " ", ": b", "  b", "\n    b", "\n  b: c", "\nb", "\n- b"):
        fast, slow = both(f"{HEAD}- a: x\n- a: {value}{more}\n- a: y\n- a: {value}{more}\n{TAIL}")
        assert fast == slow


ODD = {
    "a script that looks like a pod": "- a: |\n    nodeName: x\n    b: y\n  c: z\n",
    "folded text": "- a: >-\n    nodeName: x\n\n    b: y\n  c: z\n",
    "text over several lines": "- a: b\n    c\n  d: 'e: f\n    g: h'\n  i: \"j\n    k: l\"\n",
    "text that goes on in column 0": '- a: "b\n- c: d\n"\n',
    "a key twice": "- a: b\n  a: c\n",
    "a key twice, deep down": "- a:\n    b: c\n    b: d\n",
    "a list in a list": "- - a: b\n  - c: d\n",
    "an empty item": "- \n",
    "a dash alone": "- a: b\n-\n  a: b\n",
    "an item that begins late": "- \n  a: b\n",
    "an item after a comment": "- # here\n  a: b\n",
    "wide indentation": "-   a: b\n    c: d\n",
    "wrong indentation": "- a: b\n   c: d\n",
    "a tab": "- a:\tb\n\tc: d\n",
    "an anchor": "- a: &x b\n  c: *x\n- d: *x\n",
    "an anchor of a mapping": "- &x\n  a: b\n- <<: *x\n  c: d\n",
    "an alias of nothing": "- a: *x\n",
    "tags": "- a: !!str 5\n  b: !!int 5\n  c: !foo d\n",
    "a tag that cannot be": "- a: !!int b\n",
    "flow style": "- {a: b, c: [d, e],\n  f: g\n  }\n",
    "flow style that is never closed": "- {a: b,\n  f: g\n",
    "a merge": "- a: b\n  <<: {c: d,\n    e: f\n    }\n  g: h\n",
    "a key that is no text": "- ? [a]\n  : b\n",
    "a key marked as such": "- ? a\n  : b\n",
    "a comment": "- a: b # c: d\n  # e: f\n# g: h\n  i: j\n",
    "a document that ends": "- a: b\n...\n- c: d\n",
    "another document": "- a: b\n---\nc: d\n---\n- e: f\n",
    "a key after the items": "- a: b\nkind: PodList\n- c: d\n",
    "items twice": "- a: b\nitems:\n- c: d\n",
    "blank lines": "- a: b\n\n\n- c: d\n   \n",
    "a lone carriage return": "- a: b\r  c: d\r- e: f\n",
    "line breaks of YAML's own": "- a: b\x85  c: d\u2028- e: f\n",
    "a null byte": "- a: b\0\n",
    "a control character": "- a: \x07\n",
    "a list within": "- kind: PodList\n  items:\n  - a: b\n  - c: d\n",
    "scalars for items": "- a\n- 5\n- 'a: b'\n- |\n  a: b\n",
}


@pytest.mark.parametrize("middle", ODD.values(), ids=ODD.keys())
def test_unusual_yaml_is_read_as_the_full_parser_reads_it(middle: str) -> None:
    around = "".join(ITEM.format(f"a-{number}") for number in range(3))
    for text in (HEAD + middle, HEAD + middle + TAIL, HEAD + around + middle + around + TAIL, HEAD + middle * 2):
        fast, slow = both(text)
        assert fast == slow
        fast, slow = both(text.replace("\n", "\r\n"))
        assert fast == slow


def test_bytes_that_are_not_text_are_rejected_as_by_the_full_parser() -> None:
    fast, slow = both(HEAD.encode() + b"- a: b\n- a: \xff\n- a: c\n")
    assert fast == slow
    assert len(fast) == 1


@pytest.mark.parametrize(
    ("head", "kind"), [("apiVersion: v1\nkind: PodList\nitems:\n", "Pod"), ("apiVersion: v1\nkind: List\nitems:\n", "")]
)
def test_the_kind_of_a_list_is_known_if_it_comes_first(head: str, kind: str) -> None:
    fast, slow = both(head + "- a: b\n- a: c\n")
    assert fast == slow
    assert [entry[3] for entry in fast[:2]] == [kind, kind]


@pytest.mark.parametrize(
    "text", ["items:\n- a: b\n", "apiVersion: v1\nitems:\n  - a: b\n", "apiVersion: v1\nitems: []\n", "- a: b\n", ""]
)
def test_other_text_is_not_taken_for_a_list(text: str) -> None:
    assert not is_list(text.encode())
