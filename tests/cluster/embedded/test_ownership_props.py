"""Sets of fields behave as sets, and an apply as specified, for random objects."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.cluster.embedded.fieldsets import is_set, minus, overlap, union
from closeknit.cluster.embedded.ownership import applied, updated
from closeknit.cluster.kinds import POD

Raw = dict[str, Any]
Path = tuple[str, ...]

STEPS = st.sampled_from(["f:a", "f:b", 'k:{"name":"c"}', 'v:"x"'])
PATHS = st.frozensets(st.lists(STEPS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=8)


def tree(paths: frozenset[Path]) -> Raw:
    """The set of these paths."""
    found: Raw = {}
    for path in sorted(paths):
        node = found
        for step in path:
            node = node.setdefault(step, {})
        node["."] = {}
    return tidy(found)


def tidy(node: Raw) -> Raw:
    if node.keys() == {"."}:
        return {}
    return {key: tidy(below) for key, below in node.items()}


def members(fields: Raw | None, prefix: Path = ()) -> set[Path]:
    """The paths of a set."""
    if fields is None:
        return set()
    found = {prefix} if prefix and (not fields or "." in fields) else set()
    for key, below in fields.items():
        if key != ".":
            found |= members(below, (*prefix, key))
    return found


@given(PATHS, PATHS)
def test_sets_of_fields_are_sets(one: frozenset[Path], two: frozenset[Path]) -> None:
    left, right = tree(one), tree(two)
    before = deepcopy((left, right))
    assert members(left) == one
    assert members(union(left, right)) == one | two
    assert members(minus(left, right)) == one - two
    assert members(overlap(left, right)) == one & two
    assert is_set(union(left, right))
    assert (left, right) == before


@given(PATHS, PATHS)
def test_a_set_from_which_nothing_is_taken_is_not_copied(one: frozenset[Path], two: frozenset[Path]) -> None:
    left = tree(one)
    if not one & two:
        assert minus(left, tree(two)) is left


NAMES = st.sampled_from("abc")
VALUES = st.sampled_from("12")
ENV = st.dictionaries(NAMES, VALUES, min_size=1, max_size=3).map(
    lambda pairs: [{"name": name, "value": value} for name, value in pairs.items()]
)
CONTAINERS = st.dictionaries(
    NAMES,
    st.fixed_dictionaries({}, optional={"image": VALUES, "env": ENV, "args": st.lists(VALUES, min_size=1, max_size=2)}),
    min_size=1,
    max_size=3,
).map(lambda found: [{"name": name, **rest} for name, rest in found.items()])
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(NAMES, VALUES, min_size=1, max_size=3),
                "finalizers": st.lists(st.sampled_from(["x/a", "x/b", "x/c"]), min_size=1, max_size=3, unique=True),
            },
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": CONTAINERS,
                "nodeSelector": st.dictionaries(NAMES, VALUES, min_size=1, max_size=2),
                "securityContext": st.dictionaries(st.sampled_from(["fsGroup", "runAsUser"]), st.integers(1, 2)),
                "priority": st.integers(0, 2),
            },
        ),
    },
)
WRITES = st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), st.booleans(), BODIES), min_size=1, max_size=6)


def full(body: Raw) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **body,
        "metadata": {"name": "p", "uid": "u", **body.get("metadata", {})},
    }


def played(writes: list[tuple[str, bool, Raw]]) -> Raw:
    """An object after updates and forced applies."""
    raw = updated(POD, None, full({"spec": {"containers": [{"name": "a"}]}}), "zero", 0.0, "")
    for number, (manager, is_apply, body) in enumerate(writes):
        if is_apply:
            raw = applied(POD, raw, full(body), manager, True, float(number), "")
        else:
            kept = {"managedFields": raw["metadata"].get("managedFields", [])}
            new = full(body)
            raw = updated(POD, raw, {**new, "metadata": {**new["metadata"], **kept}}, manager, float(number), "")
    return raw


def holds(raw: Any, body: Any) -> bool:
    """Whether all that a body says is there."""
    if isinstance(body, dict):
        return isinstance(raw, dict) and all(holds(raw.get(key), value) for key, value in body.items())
    if isinstance(body, list) and body and isinstance(body[0], dict):
        there = {item["name"]: item for item in raw}
        return all(holds(there.get(item["name"]), item) for item in body)
    return bool(raw == body) or (isinstance(body, list) and set(body) <= set(raw))


@settings(max_examples=200)
@given(WRITES, BODIES)
def test_the_fields_of_a_forced_apply_are_there_and_stay(writes: list[tuple[str, bool, Raw]], body: Raw) -> None:
    old = played(writes)
    before = deepcopy(old)
    new = applied(POD, old, full(body), "me", True, 10.0, "")
    assert old == before
    assert holds(new, body)
    assert applied(POD, new, full(body), "me", False, 20.0, "") == new


@settings(max_examples=200)
@given(WRITES, BODIES)
def test_an_apply_that_is_taken_back_takes_nothing_of_other_applies(
    writes: list[tuple[str, bool, Raw]], body: Raw
) -> None:
    said = applied(POD, played(writes), full(body), "me", True, 10.0, "")
    back = applied(POD, said, full({}), "me", True, 20.0, "")
    assert applies(back, "me") == {}
    assert {**applies(said, ""), "me": set()} == {**applies(back, ""), "me": set()}


def applies(raw: Raw, manager: str) -> dict[str, set[Path]]:
    """What each manager, or only the one, owns by apply."""
    entries = [entry for entry in raw["metadata"]["managedFields"] if entry["operation"] == "Apply"]
    return {entry["manager"]: members(entry["fieldsV1"]) for entry in entries if manager in ("", entry["manager"])}


@settings(max_examples=200)
@given(WRITES)
def test_owners_are_listed_once_each_in_order_and_own_something(writes: list[tuple[str, bool, Raw]]) -> None:
    entries = played(writes)["metadata"].get("managedFields", [])
    names = [(entry["operation"], entry.get("time", ""), entry["manager"]) for entry in entries]
    assert names == sorted(names)
    assert len({(entry["manager"], entry["operation"]) for entry in entries}) == len(entries)
    assert all(is_set(entry["fieldsV1"]) and entry["fieldsV1"] for entry in entries)
