from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from closeknit.cli.output import emit, yaml_lines

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["true", "1e3", "0x1", "- a", "a: b"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_yaml_reads_back_as_what_was_written(value: Any) -> None:
    assert yaml.safe_load("\n".join(yaml_lines(value, ""))) == value


def test_yaml_looks_as_kubectl_writes_it() -> None:
    value = {"name": "main", "domains": [{"path": ["b01", "b01-r01"], "pods": 2}], "left": None, "ranks": []}
    assert list(yaml_lines(value, "")) == [
        "name: main",
        "domains:",
        "- path:",
        "  - b01",
        "  - b01-r01",
        "  pods: 2",
        "left: null",
        "ranks: []",
    ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_json_and_yaml_have_the_same_content(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    emit({"fits": True, "reason": None}, form)
    assert yaml.safe_load(capsys.readouterr().out) == {"fits": True, "reason": None}
