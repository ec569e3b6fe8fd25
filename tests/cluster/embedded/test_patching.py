from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from closeknit.cluster.embedded.patching import by_steps, merged, patched
from closeknit.cluster.errors import BadRequest, Invalid, Refused, TooLarge, UnsupportedMediaType
from closeknit.cluster.kinds import CONFIG_MAP, POD, WORKLOAD
from closeknit.cluster.port import PatchForm

Raw = dict[str, Any]

META = {"name": "c", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
OLD: Raw = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"a": "1", "b": "2"}}
STEPS_AT = {"list": ["x", "y"], "map": {"k": 1, "a/b": 2, "m~n": 3}}


def test_a_merge_patch_removes_what_is_null_and_replaces_lists() -> None:
    old = {"a": {"b": 1, "c": [1, 2]}, "d": 4}
    assert merged(old, {"a": {"b": None, "c": [3], "e": {"f": None, "g": 1}}}) == {
        "a": {"c": [3], "e": {"g": 1}},
        "d": 4,
    }
    assert old == {"a": {"b": 1, "c": [1, 2]}, "d": 4}


def test_a_merge_patch_replaces_a_scalar_by_an_object() -> None:
    assert merged({"a": [1]}, {"a": {"b": 1}}) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            {"op": "add", "path": "/map/z", "value": 9},
            {"list": ["x", "y"], "map": {"k": 1, "a/b": 2, "m~n": 3, "z": 9}},
        ),
        ({"op": "add", "path": "/list/-", "value": "z"}, {**STEPS_AT, "list": ["x", "y", "z"]}),
        ({"op": "add", "path": "/list/0", "value": "z"}, {**STEPS_AT, "list": ["z", "x", "y"]}),
        ({"op": "add", "path": "/list/2", "value": "z"}, {**STEPS_AT, "list": ["x", "y", "z"]}),
        ({"op": "add", "path": "", "value": {"q": 1}}, {"q": 1}),
        ({"op": "add", "path": "/map/k"}, {"list": ["x", "y"], "map": {"k": None, "a/b": 2, "m~n": 3}}),
        ({"op": "remove", "path": "/list/0"}, {**STEPS_AT, "list": ["y"]}),
        ({"op": "remove", "path": "/list/-1"}, {**STEPS_AT, "list": ["x"]}),
        ({"op": "remove", "path": "/map/a~1b"}, {"list": ["x", "y"], "map": {"k": 1, "m~n": 3}}),
        ({"op": "remove", "path": "/map/m~0n"}, {"list": ["x", "y"], "map": {"k": 1, "a/b": 2}}),
        ({"op": "replace", "path": "/list/1", "value": "z"}, {**STEPS_AT, "list": ["x", "z"]}),
        ({"op": "replace", "path": "/map/new", "value": 1}, {**STEPS_AT, "map": {**STEPS_AT["map"], "new": 1}}),  # type: ignore[dict-item]
        ({"op": "copy", "from": "/map/k", "path": "/list/0"}, {**STEPS_AT, "list": [1, "x", "y"]}),
        ({"op": "move", "from": "/list/0", "path": "/list/1"}, {**STEPS_AT, "list": ["y", "x"]}),
        ({"op": "test", "path": "/map", "value": {"a/b": 2, "k": 1, "m~n": 3}}, STEPS_AT),
    ],
)
def test_a_step_of_a_json_patch(step: Raw, expected: Any) -> None:
    before = deepcopy(STEPS_AT)
    assert by_steps(STEPS_AT, [step]) == expected
    assert before == STEPS_AT


@pytest.mark.parametrize(
    "step",
    [
        {"op": "test", "path": "/map/k", "value": 2},
        {"op": "test", "path": "/map/k", "value": True},
        {"op": "test", "path": "/map/nosuch", "value": None},
        {"op": "remove", "path": "/map/nosuch"},
        {"op": "remove", "path": "/list/2"},
        {"op": "remove", "path": "/list/-3"},
        {"op": "remove", "path": "/list/x"},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/nosuch/k", "value": 1},
        {"op": "add", "path": "/map/k/deeper", "value": 1},
        {"op": "add", "path": "map/k", "value": 1},
        {"op": "replace", "path": "/list/2", "value": 1},
        {"op": "copy", "from": "/nosuch", "path": "/map/z"},
        {"op": "move", "from": "/nosuch", "path": "/map/z"},
        {"op": "frobnicate", "path": "/map/k"},
        {"path": "/map/k"},
    ],
)
def test_a_step_that_cannot_be_taken_makes_the_patch_invalid(step: Raw) -> None:
    with pytest.raises(Invalid) as refused:
        by_steps(STEPS_AT, [{"op": "add", "path": "/map/first", "value": 1}, step])
    assert refused.value.message == "the server rejected our request due to an error in our request"
    assert refused.value.causes == ()


@pytest.mark.parametrize("body", [{}, "x", 5, None, [1], [{"op": "add", "path": 5}], [{"op": 1, "path": "/a"}]])
def test_a_malformed_json_patch_is_a_bad_request(body: Any) -> None:
    with pytest.raises(BadRequest):
        patched(CONFIG_MAP, "json", OLD, body)


def test_a_json_patch_has_a_bounded_number_of_steps() -> None:
    with pytest.raises(TooLarge):
        by_steps({}, [{"op": "test", "path": "", "value": {}}] * 10_001)


@pytest.mark.parametrize("form", ["merge", "strategic"])
@pytest.mark.parametrize("body", [[], "x", 5, None])
def test_a_patch_that_is_no_object_is_a_bad_request(form: PatchForm, body: Any) -> None:
    with pytest.raises(BadRequest):
        patched(CONFIG_MAP, form, OLD, body)


def test_custom_kinds_take_no_strategic_patch() -> None:
    with pytest.raises(UnsupportedMediaType) as refused:
        patched(WORKLOAD, "strategic", {"metadata": META}, {})
    assert "application/merge-patch+json" in refused.value.message
    assert "strategic" not in refused.value.message


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        ({"metadata": {"name": "d"}}, BadRequest, "the name of the object (d) does not match the name on the URL (c)"),
        ({"metadata": None}, BadRequest, "was undeterminable: name must be provided"),
        ({"metadata": {"name": None}}, BadRequest, "was undeterminable: name must be provided"),
        ({"metadata": {"namespace": "x"}}, BadRequest, "does not match the namespace sent on the request"),
        ({"metadata": {"uid": "u2"}}, Invalid, 'metadata.uid: Invalid value: "u2": field is immutable'),
        ({"kind": "Pod"}, Invalid, "kind cannot be changed"),
        ({"apiVersion": "v2"}, Invalid, "apiVersion cannot be changed"),
    ],
)
def test_a_patch_does_not_make_an_object_another_one(body: Raw, error: type[Refused], text: str) -> None:
    with pytest.raises(error) as refused:
        patched(CONFIG_MAP, "merge", OLD, body)
    assert text in refused.value.message


@pytest.mark.parametrize("value", [5, None, [], {}, {"metadata": 5}])
def test_a_json_patch_that_leaves_no_object_is_a_bad_request(value: Any) -> None:
    with pytest.raises(BadRequest):
        patched(CONFIG_MAP, "json", OLD, [{"op": "replace", "path": "", "value": value}])


def test_a_patch_may_name_what_the_object_is_anyway() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "u1"}, "data": {"a": None}}
    assert patched(CONFIG_MAP, "merge", OLD, body)["data"] == {"b": "2"}


def test_the_version_in_a_patch_is_left_for_the_store_to_compare() -> None:
    new = patched(CONFIG_MAP, "merge", OLD, {"metadata": {"resourceVersion": "1"}})
    assert new["metadata"]["resourceVersion"] == "1"


def test_each_form_leaves_the_old_object_alone() -> None:
    old: Raw = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": META,
        "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "1"}]}]},
    }
    before = deepcopy(old)
    env = {"spec": {"containers": [{"name": "c", "env": [{"name": "A", "value": "2"}]}]}}
    for form, body in (
        ("merge", env),
        ("strategic", env),
        ("json", [{"op": "replace", "path": "/spec/containers/0/env/0/value", "value": "2"}]),
    ):
        new = patched(POD, form, old, body)  # type: ignore[arg-type]
        assert new["spec"]["containers"][0]["env"] == [{"name": "A", "value": "2"}]
        assert old == before


def test_copies_are_bounded_together() -> None:
    old = {"metadata": {"name": "a"}, "data": {"a": "x" * 1_000_000}}
    steps = [{"op": "copy", "from": "/data/a", "path": f"/data/b{number}"} for number in range(3)]
    assert len(by_steps(old, steps)["data"]) == 4
    with pytest.raises(Invalid, match="may copy at most 3145728 bytes together"):
        by_steps(old, [*steps, {"op": "copy", "from": "/data/a", "path": "/data/c"}])


def test_a_patch_cannot_nest_deeper_than_a_body() -> None:
    steps = [{"op": "add", "path": "/a" * number, "value": {}} for number in range(1, 200)]
    with pytest.raises(Invalid):
        by_steps({}, steps)
    with pytest.raises(Invalid, match="nested more than 128 levels deep"):
        by_steps({"a": {"a": {}}}, [*({"op": "copy", "from": "", "path": "/a/b"} for _ in range(130))])
