"""Random YAML lists from kubectl, also with lines out of order, are read as the full parser reads them."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from closeknit.cluster.kubectl_yaml import KubectlYaml
from cluster.test_kubectl_yaml import ODD, both

texts = st.text(alphabet="ab 015-:#'\"\n.yesnoxE+_/&*{}[],|>!%@`ä\t", max_size=9)
words = st.sampled_from(["a", "b-1", "10.0.0.7", "5", "yes", "a: b", "|", "x\nname: y\n"])
scalars = st.none() | st.booleans() | st.integers(-9, 99) | st.floats(-2, 2) | texts | words
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | words, inner, max_size=3),
    max_leaves=10,
)
items = st.lists(st.dictionaries(st.sampled_from(["kind", "metadata", "spec", "a"]), values, min_size=1), min_size=1)
strange = [text for name, text in ODD.items() if "tag" not in name]


def dumped(drawn: list[Any]) -> str:
    """The items twice, so that cached skeletons are used."""
    items = [*drawn, *deepcopy(drawn)]
    return yaml.safe_dump({"apiVersion": "v1", "items": items, "kind": "List"}, allow_unicode=True)


@given(items)
def test_values_are_those_of_the_plain_loader(drawn: list[dict[str, Any]]) -> None:
    text = dumped(drawn)
    fast, slow = both(text)
    assert fast == slow
    read = [json.loads(piece) for piece in KubectlYaml(io.BytesIO(text.encode()))]
    assert read == yaml.safe_load(text)["items"]


@given(items, st.data())
def test_mistakes_are_those_of_the_plain_reader(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    lines = dumped(drawn).splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(3, len(lines)))
        broken = "".join(lines[at - 1 : at])[data.draw(st.integers(0, 6)) :]
        lines[at:at] = data.draw(st.sampled_from(["", broken, *lines[3:], *strange]))
        del lines[at : at + data.draw(st.integers(0, 1))]
    fast, slow = both("".join(lines))
    assert fast == slow
