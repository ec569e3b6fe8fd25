from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.kueue.objects.tree import merged

OURS = st.sampled_from(["a", "b", "c"])
LEAVES = st.one_of(st.integers(0, 2), st.sampled_from(["", "x"]), st.booleans())


def named(items: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.dictionaries(OURS, st.dictionaries(OURS, items, max_size=2), max_size=3).map(
        lambda by_name: [{"name": name, **rest} for name, rest in by_name.items()]
    )


KNOWN = st.dictionaries(OURS, st.recursive(LEAVES, lambda inner: named(inner) | st.dictionaries(OURS, inner)))


def with_news(value: Any) -> Any:
    """The same tree with an unknown field in every mapping."""
    if isinstance(value, dict):
        return {**{key: with_news(item) for key, item in value.items()}, "news": 1}
    return [with_news(item) for item in value] if isinstance(value, list) else value


def without_news(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_news(item) for key, item in value.items() if key != "news"}
    return [without_news(item) for item in value] if isinstance(value, list) else value


@given(KNOWN, KNOWN)
def test_merging_gives_the_wanted_tree(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert merged(before, before, after) == after


@given(KNOWN, KNOWN)
def test_unknown_fields_do_not_affect_a_merge_and_stay(before: dict[str, Any], after: dict[str, Any]) -> None:
    raw = with_news(before)
    kept = copy.deepcopy(raw)
    got = merged(raw, before, after)
    assert without_news(got) == after
    assert got["news"] == 1
    assert raw == kept


@given(KNOWN)
def test_nothing_is_lost_when_nothing_changes(before: dict[str, Any]) -> None:
    raw = with_news(before)
    assert merged(raw, before, copy.deepcopy(before)) == raw
