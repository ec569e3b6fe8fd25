"""Lists: order, pages, and the state at a version."""

from __future__ import annotations

import pytest

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.rest.listing import Page, check, page
from closeknit.cluster.embedded.rest.queries import QueryString
from closeknit.cluster.embedded.rest.selectors import selection
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.errors import BadRequest, Expired, Invalid
from closeknit.cluster.kinds import CONFIG_MAP, NAMESPACE, POD
from closeknit.cluster.port import Key


@pytest.fixture
def store() -> Store:
    store = Store(lambda: 1_800_000_000.0, RandomIds(1))
    for namespace in ("b", "a"):
        store.create(NAMESPACE, {"metadata": {"name": namespace}})
        for name in ("z", "y", "x"):
            store.create(CONFIG_MAP, {"metadata": {"name": name, "namespace": namespace, "labels": {"n": name}}})
    return store


def listed(store: Store, query: str = "", namespace: str = "", labels: str = "", fields: str = "") -> Page:
    return page(store, selection(CONFIG_MAP, namespace, labels, fields), QueryString(query))


def names(found: Page) -> list[str]:
    return [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in found.objects]


def test_objects_come_in_the_order_of_namespaces_and_names(store: Store) -> None:
    assert names(listed(store)) == ["a/x", "a/y", "a/z", "b/x", "b/y", "b/z"]
    assert names(listed(store, namespace="b")) == ["b/x", "b/y", "b/z"]
    assert listed(store).meta == {"resourceVersion": "9"}


def test_pages_follow_each_other_until_none_is_left(store: Store) -> None:
    first = listed(store, "limit=4")
    assert names(first) == ["a/x", "a/y", "a/z", "b/x"]
    assert first.meta["remainingItemCount"] == 2
    last = listed(store, f"limit=4&continue={first.meta['continue']}")
    assert names(last) == ["b/y", "b/z"]
    assert last.meta == {"resourceVersion": "9"}


def test_all_pages_show_the_moment_of_the_first(store: Store) -> None:
    first = listed(store, "limit=2")
    store.delete(Key(CONFIG_MAP, "a", "z"))
    store.patch(Key(CONFIG_MAP, "b", "x"), {"data": {"k": "new"}})
    store.create(CONFIG_MAP, {"metadata": {"name": "new", "namespace": "b"}})
    store.delete(Key(CONFIG_MAP, "b", "y"))
    store.create(CONFIG_MAP, {"metadata": {"name": "y", "namespace": "b"}, "data": {"k": "again"}})
    rest = listed(store, f"continue={first.meta['continue']}")
    assert names(rest) == ["a/z", "b/x", "b/y", "b/z"]
    assert all("data" not in one for one in rest.objects)
    assert rest.meta["resourceVersion"] == first.meta["resourceVersion"] == "9"


def test_an_exact_version_shows_that_moment_and_any_other_the_present(store: Store) -> None:
    store.delete(Key(CONFIG_MAP, "a", "x"))
    assert names(listed(store, "resourceVersion=4&resourceVersionMatch=Exact")) == ["b/y", "b/z"]
    assert len(listed(store, "resourceVersion=4&resourceVersionMatch=NotOlderThan").objects) == 5
    assert len(listed(store, "resourceVersion=4").objects) == 5
    assert len(listed(store, "resourceVersion=0").objects) == 5


def test_a_version_that_is_forgotten_or_not_there_yet_is_expired(store: Store) -> None:
    token = listed(store, "limit=1").meta["continue"]
    store.create(CONFIG_MAP, {"metadata": {"name": "new", "namespace": "b"}})
    store.compact()
    for query in (f"continue={token}", "resourceVersion=4&resourceVersionMatch=Exact", "resourceVersion=99"):
        with pytest.raises(Expired):
            listed(store, query)


def test_a_page_of_a_selection_has_a_token_but_no_count(store: Store) -> None:
    first = listed(store, "limit=1", labels="n in (x,z)")
    assert names(first) == ["a/x"]
    assert "remainingItemCount" not in first.meta
    second = listed(store, f"limit=3&continue={first.meta['continue']}", labels="n in (x,z)")
    assert names(second) == ["a/z", "b/x", "b/z"]
    assert "continue" not in second.meta


def test_an_object_is_found_by_its_name_alone(store: Store) -> None:
    assert names(listed(store, namespace="a", fields="metadata.name=y")) == ["a/y"]
    assert names(listed(store, fields="metadata.name=y")) == ["a/y", "b/y"]
    assert names(listed(store, namespace="a", fields="metadata.name=nothing")) == []


@pytest.mark.parametrize("token", ["made-up", "e30=", "W10=", "WyJ4IiwxLDJd", "%ff", "ä"])
def test_a_token_that_was_never_given_is_refused(store: Store, token: str) -> None:
    with pytest.raises(BadRequest):
        listed(store, f"limit=1&continue={token}")


@pytest.mark.parametrize(
    ("query", "is_watch", "field"),
    [
        ("resourceVersionMatch=Exact", False, "resourceVersionMatch"),
        ("resourceVersionMatch=Some&resourceVersion=1", False, "resourceVersionMatch"),
        ("sendInitialEvents=true", False, "sendInitialEvents"),
        ("sendInitialEvents=true", True, "resourceVersionMatch"),
        ("resourceVersionMatch=NotOlderThan", True, "resourceVersionMatch"),
    ],
)
def test_parameters_that_do_not_go_together_are_invalid(query: str, is_watch: bool, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        check(QueryString(query), is_watch)
    assert [cause.field for cause in refused.value.causes] == [field]


def test_a_kind_without_objects_is_an_empty_list(store: Store) -> None:
    assert page(store, selection(POD, "", "", ""), QueryString("limit=5")) == Page([], {"resourceVersion": "9"})
