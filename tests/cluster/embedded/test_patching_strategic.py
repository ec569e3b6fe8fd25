from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.patching import patched
from closeknit.cluster.errors import BadRequest, Invalid
from closeknit.cluster.kinds import BUDGET, DEPLOYMENT, NODE, POD, Kind

Raw = dict[str, Any]

META = {"name": "p", "namespace": "default", "uid": "u1"}


def after(spec: Raw, patch: Raw, kind: Kind = POD) -> Raw:
    """The spec after a patch of the spec."""
    old = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": META, "spec": spec}
    return patched(kind, "strategic", old, {"spec": patch}).get("spec", {})  # type: ignore[no-any-return]


def finalizers(old: list[str], **patch: Any) -> list[str] | None:
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": {**META, "finalizers": old}}
    new: list[str] | None = patched(POD, "strategic", raw, {"metadata": patch})["metadata"].get("finalizers")
    return new


def names(items: list[Raw]) -> str:
    return " ".join(item["name"] for item in items)


def containers(text: str) -> list[Raw]:
    return [{"name": name} for name in text.split()]


def test_items_of_a_list_are_merged_by_their_key() -> None:
    old = {"containers": [{"name": "c", "image": "i", "args": ["x", "y"]}, {"name": "d", "image": "j"}]}
    patch = {"containers": [{"name": "c", "image": "k", "args": ["z"]}]}
    assert after(old, patch) == {
        "containers": [{"name": "c", "image": "k", "args": ["z"]}, {"name": "d", "image": "j"}]
    }


def test_lists_inside_items_are_merged_too() -> None:
    old = {"containers": [{"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]}
    patch = {"containers": [{"name": "c", "env": [{"name": "B", "value": "3"}, {"name": "A", "value": None}]}]}
    assert after(old, patch) == {"containers": [{"name": "c", "env": [{"name": "B", "value": "3"}, {"name": "A"}]}]}


def test_ports_are_merged_by_their_number_alone() -> None:
    old = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}
    patch = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "UDP"}]}]}
    assert after(old, patch)["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "UDP"}]


def test_lists_and_maps_without_a_strategy_are_replaced_and_merged() -> None:
    old = {"tolerations": [{"key": "a"}], "nodeSelector": {"a": "1"}, "securityContext": {"runAsUser": 1}}
    patch = {"tolerations": [{"key": "b"}], "nodeSelector": {"b": "2"}, "securityContext": {"fsGroup": 2}}
    assert after(old, patch) == {
        "tolerations": [{"key": "b"}],
        "nodeSelector": {"a": "1", "b": "2"},
        "securityContext": {"runAsUser": 1, "fsGroup": 2},
    }


def test_a_field_that_says_replace_is_replaced() -> None:
    old = {"selector": {"matchLabels": {"a": "1"}}}
    assert after(old, {"selector": {"matchLabels": {"b": "2"}}}, BUDGET) == {"selector": {"matchLabels": {"b": "2"}}}


def test_null_removes_a_field_and_a_missing_one_stays_missing() -> None:
    assert after({"priority": 1}, {"priority": None, "hostname": None, "dnsConfig": {"options": None}}) == {
        "dnsConfig": {}
    }


@pytest.mark.parametrize(
    ("old", "patch", "expected"),
    [
        ("a b c", "b", "a b c"),
        ("a b c", "c a", "b c a"),
        ("a b", "x", "x a b"),
        ("a b c", "c x", "a b c x"),
        ("a b c d", "c x b", "a c x b d"),
        ("", "x y", "x y"),
    ],
)
def test_items_come_in_the_order_of_the_patch_among_the_others(old: str, patch: str, expected: str) -> None:
    assert names(after({"containers": containers(old)}, {"containers": containers(patch)})["containers"]) == expected


@pytest.mark.parametrize(
    ("old", "patch", "order", "expected"),
    [
        ("a b c", "", "c b a", "c b a"),
        ("a b c", "x", "a x b c", "a x b c"),
        ("a b c", "x", "x c", "x a b c"),
        ("a s b", "b", "b a", "s b a"),
        ("a b", "y x", "y b x a", "y b x a"),
    ],
)
def test_set_element_order_arranges_the_items(old: str, patch: str, order: str, expected: str) -> None:
    body: Raw = {"$setElementOrder/containers": containers(order)}
    if patch:
        body["containers"] = containers(patch)
    assert names(after({"containers": containers(old)}, body)["containers"]) == expected


def test_set_element_order_of_a_list_that_is_not_there_takes_the_patch() -> None:
    body = {"$setElementOrder/containers": containers("b a"), "containers": containers("b a")}
    assert after({}, body) == {"containers": containers("b a")}
    assert after({}, {"$setElementOrder/containers": containers("b a")}) == {}


@pytest.mark.parametrize(
    "body",
    [
        {"$setElementOrder/containers": containers("a"), "containers": containers("a x")},
        {"$setElementOrder/containers": containers("x a"), "containers": containers("a x")},
        {"$setElementOrder/containers": "a"},
        {"$setElementOrder/containers": [{"image": "i"}]},
        {"containers": [{"image": "i"}]},
        {"containers": [5]},
        {"containers": [{"name": {}}]},
        {"containers": [{"$patch": "delete"}]},
        {"containers": [{"$patch": "merge", "name": "a"}]},
        {"$patch": "merge"},
        {"$patch": "frobnicate"},
    ],
)
def test_a_patch_that_makes_no_sense_is_invalid(body: Raw) -> None:
    with pytest.raises(Invalid):
        after({"containers": containers("a b")}, body)


def test_an_item_can_be_deleted() -> None:
    patch = {"containers": [{"name": "b", "$patch": "delete"}, {"name": "nosuch", "$patch": "delete"}]}
    assert names(after({"containers": containers("a b c")}, patch)["containers"]) == "a c"


def test_an_item_that_is_deleted_and_given_again_is_a_new_one() -> None:
    patch = {"containers": [{"name": "b", "$patch": "delete"}, {"name": "b", "image": "j"}]}
    old = {"containers": [{"name": "a"}, {"name": "b", "image": "i", "args": ["x"]}]}
    assert after(old, patch) == {"containers": [{"name": "b", "image": "j"}, {"name": "a"}]}


def test_a_list_can_be_replaced() -> None:
    patch = {"containers": [{"$patch": "replace", "name": "any"}, {"name": "x", "image": None}]}
    assert after({"containers": [{"name": "a"}, {"name": "x", "image": "i"}]}, patch) == {"containers": [{"name": "x"}]}


def test_an_object_can_be_replaced_or_emptied() -> None:
    old = {"securityContext": {"runAsUser": 1, "fsGroup": 2}}
    assert after(old, {"securityContext": {"$patch": "replace", "fsGroup": 3}}) == {"securityContext": {"fsGroup": 3}}
    assert after(old, {"securityContext": {"$patch": "delete"}}) == {"securityContext": {}}


def test_a_missing_item_cannot_be_replaced_or_deleted() -> None:
    body = {"securityContext": {"$patch": "replace", "fsGroup": 3}, "volumes": [{"name": "v", "$patch": "delete"}]}
    assert after({}, body) == {"volumes": []}


def test_retain_keys_removes_the_others() -> None:
    old = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert after(old, patch, DEPLOYMENT) == {"strategy": {"type": "Recreate"}}


def test_retain_keys_turns_one_sort_of_volume_into_another() -> None:
    old = {"volumes": [{"name": "v", "emptyDir": {}}]}
    patch = {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}]}
    assert after(old, patch) == {"volumes": [{"name": "v", "hostPath": {"path": "/x"}}]}


@pytest.mark.parametrize("keys", ["type", ["rollingUpdate"]])
def test_retain_keys_has_to_be_a_list_with_all_that_is_patched(keys: Any) -> None:
    with pytest.raises(BadRequest) as refused:
        after({"strategy": {}}, {"strategy": {"$retainKeys": keys, "type": "Recreate"}}, DEPLOYMENT)
    assert refused.value.message == "invalid patch format of retainKeys"


def test_values_are_added_to_a_list_of_values_and_deleted_from_it() -> None:
    assert finalizers(["x/a", "x/b"], finalizers=["x/c", "x/b"]) == ["x/c", "x/a", "x/b"]
    assert finalizers(["x/a", "x/b"], **{"$deleteFromPrimitiveList/finalizers": ["x/a"]}) == ["x/b"]
    order = {"$setElementOrder/finalizers": ["x/c", "x/a"]}
    assert finalizers(["x/a", "x/b"], finalizers=["x/c"], **order) == ["x/c", "x/a", "x/b"]


def test_the_taints_of_a_node_are_replaced_as_kubectl_taint_expects() -> None:
    old = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    patch = {"taints": [{"key": "b", "effect": "NoExecute"}]}
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": old}
    assert patched(NODE, "strategic", raw, {"spec": patch})["spec"] == patch
