"""Random expressions match the same texts here and in Python."""

from __future__ import annotations

import re

from hypothesis import given, reject
from hypothesis import strategies as st

from closeknit.dialects.go_pattern import GoPattern
from closeknit.dialects.go_pattern_syntax import PatternError

ATOMS = st.sampled_from(["a", "b", "1", "-", ".", "[ab]", "[^a]", r"\d", "^", r"\Z"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}"])).map(
            lambda two: f"(?:{two[0]}){two[1]}"
        ),
    ),
    max_leaves=6,
)
TEXTS = st.lists(st.text(alphabet="ab1-", max_size=5), min_size=1, max_size=8)


@given(EXPRESSIONS, TEXTS)
def test_an_expression_matches_what_python_matches(text: str, names: list[str]) -> None:
    ours, python = GoPattern(text.replace(r"\Z", r"\z")), re.compile(text)
    assert [ours.search(name) for name in names] == [bool(python.search(name)) for name in names]


@given(st.text(alphabet="ab|()*+?.^$[]{}1,-\\", max_size=12), st.text(alphabet="ab1-", max_size=6))
def test_an_expression_that_is_read_is_read_alike_inside_a_group(text: str, name: str) -> None:
    try:
        pattern = GoPattern(text)
    except PatternError:
        reject()
    assert pattern.search(name) == GoPattern(f"(?:{text})").search(name)
