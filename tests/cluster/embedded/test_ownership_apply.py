"""Server-side apply: what is merged, removed and refused. Expected results were seen on kube-apiserver 1.36.3."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from closeknit.cluster.embedded.ownership import applied, created, updated
from closeknit.cluster.errors import BadRequest, Cause, Conflict
from closeknit.cluster.kinds import CONFIG_MAP, DEPLOYMENT, POD, WORKLOAD, Kind

Raw = dict[str, Any]

NOW, LATER = 1_767_225_600.0, 1_767_225_605.0
LATER_TIME = "2026-01-01T00:00:05Z"
REMEMBERED = "kubectl.kubernetes.io/last-applied-configuration"


def said(kind: Kind, meta: Raw | None = None, **parts: Any) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "it", **(meta or {})}, **parts}


def by_apply(kind: Kind, manager: str, meta: Raw | None = None, **parts: Any) -> Raw:
    """An object that an apply made."""
    body = said(kind, meta, **parts)
    new = {**body, "metadata": {**body["metadata"], "namespace": "default", "uid": "u"}}
    return created(kind, body, new, manager, NOW)


def apply(
    old: Raw, manager: str, meta: Raw | None = None, *, force: bool = False, subresource: str = "", **parts: Any
) -> Raw:
    kinds = {kind.kind: kind for kind in (CONFIG_MAP, DEPLOYMENT, POD, WORKLOAD)}
    kind = kinds[old["kind"]]
    return applied(kind, old, said(kind, meta, **parts), manager, force, LATER, subresource)


def owned(new: Raw) -> dict[str, Any]:
    found = {}
    for entry in new["metadata"].get("managedFields", ()):
        part = f"/{entry['subresource']}" if "subresource" in entry else ""
        found[f"{entry['manager']} {entry['operation']}{part}"] = entry["fieldsV1"]
    return found


# Merging


def test_an_apply_adds_to_the_fields_of_others() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1"})
    new = apply(old, "two", {"labels": {"l": "1"}}, data={"b": "2"})
    assert new["data"] == {"a": "1", "b": "2"}
    assert new["metadata"]["labels"] == {"l": "1"}
    assert owned(new) == {
        "one Apply": {"f:data": {"f:a": {}}},
        "two Apply": {"f:data": {"f:b": {}}, "f:metadata": {"f:labels": {"f:l": {}}}},
    }


def test_items_are_merged_by_key_and_those_of_others_keep_their_place() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "a"}, {"name": "b", "image": "i"}, {"name": "c"}]})
    new = apply(old, "two", spec={"containers": [{"name": "c"}, {"name": "x"}, {"name": "b", "image": "i"}]})
    assert new["spec"]["containers"] == [{"name": "a"}, {"name": "c"}, {"name": "x"}, {"name": "b", "image": "i"}]


def test_items_of_a_set_are_added() -> None:
    old = by_apply(CONFIG_MAP, "one", {"finalizers": ["x/a", "x/b"]})
    new = apply(old, "two", {"finalizers": ["x/c", "x/b"]})
    assert new["metadata"]["finalizers"] == ["x/a", "x/c", "x/b"]
    assert owned(new)["two Apply"] == {"f:metadata": {"f:finalizers": {'v:"x/b"': {}, 'v:"x/c"': {}}}}


def test_an_atomic_field_is_replaced() -> None:
    spec = {"nodeSelector": {"a": "1"}, "tolerations": [{"key": "a"}]}
    new = apply(
        by_apply(POD, "one", spec=spec), "one", spec={"nodeSelector": {"b": "2"}, "tolerations": [{"key": "b"}]}
    )
    assert new["spec"] == {"nodeSelector": {"b": "2"}, "tolerations": [{"key": "b"}]}
    assert owned(new)["one Apply"] == {"f:spec": {"f:nodeSelector": {}, "f:tolerations": {}}}


def test_an_apply_that_says_what_is_there_shares_it_without_a_time() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1"})
    new = apply(old, "two", data={"a": "1"})
    assert owned(new) == {"one Apply": {"f:data": {"f:a": {}}}, "two Apply": {"f:data": {"f:a": {}}}}
    assert [entry.get("time") for entry in new["metadata"]["managedFields"]] == [None, "2026-01-01T00:00:00Z"]


def test_an_apply_again_leaves_everything_as_it_was() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1"})
    assert apply(old, "one", data={"a": "1"}) == old


def test_an_apply_through_another_part_has_an_entry_of_its_own() -> None:
    old = by_apply(WORKLOAD, "one", spec={"active": True})
    condition = {"type": "Admitted", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "t"}
    new = apply(old, "one", subresource="status", status={"conditions": [condition]}, spec={"active": False})
    assert new["status"] == {"conditions": [condition]}
    assert new["spec"] == {"active": True}
    assert owned(new)["one Apply/status"] == {
        "f:status": {
            "f:conditions": {
                'k:{"type":"Admitted"}': {
                    ".": {},
                    **{f"f:{name}": {} for name in ("lastTransitionTime", "message", "reason", "status", "type")},
                }
            }
        }
    }
    entry = next(one for one in new["metadata"]["managedFields"] if "subresource" in one)
    assert (entry["time"], entry["subresource"]) == (LATER_TIME, "status")


def test_a_status_applied_through_the_object_itself_is_ignored() -> None:
    old = by_apply(DEPLOYMENT, "one", spec={"replicas": 1})
    assert apply(old, "one", spec={"replicas": 1}, status={"replicas": 9}) == old


def test_null_in_an_apply_removes_a_value_and_claims_it() -> None:
    old = by_apply(DEPLOYMENT, "one", spec={"replicas": 3, "paused": True})
    new = apply(old, "one", spec={"replicas": None, "paused": True})
    assert new["spec"] == {"paused": True}
    assert owned(new)["one Apply"] == {"f:spec": {"f:paused": {}, "f:replicas": {}}}


def test_a_field_applied_as_empty_is_owned_but_not_stored() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "c"}], "nodeSelector": {"a": "1"}})
    new = apply(old, "one", spec={"containers": [{"name": "c", "args": []}], "nodeSelector": {}})
    assert new["spec"] == {"containers": [{"name": "c"}]}
    assert owned(new)["one Apply"]["f:spec"]["f:nodeSelector"] == {}
    assert "f:args" in owned(new)["one Apply"]["f:spec"]["f:containers"]['k:{"name":"c"}']


# Leaving out


def test_a_field_that_a_manager_no_longer_applies_is_removed() -> None:
    old = by_apply(CONFIG_MAP, "one", {"labels": {"l": "1"}}, data={"a": "1", "b": "1"})
    new = apply(old, "one", data={"b": "1"})
    assert new["data"] == {"b": "1"}
    assert "labels" not in new["metadata"]
    assert owned(new) == {"one Apply": {"f:data": {"f:b": {}}}}


def test_a_field_that_another_manager_owns_too_stays() -> None:
    old = apply(by_apply(CONFIG_MAP, "one", data={"a": "1", "b": "1"}), "two", data={"a": "1"})
    new = apply(old, "one", data={"b": "1"})
    assert new["data"] == {"a": "1", "b": "1"}
    assert owned(new) == {"one Apply": {"f:data": {"f:b": {}}}, "two Apply": {"f:data": {"f:a": {}}}}


def test_an_item_that_is_left_out_is_removed_with_its_unowned_fields() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "a"}, {"name": "b"}]})
    defaulted = [{"name": "a", "imagePullPolicy": "Always"}, {"name": "b", "imagePullPolicy": "Always"}]
    old = {**old, "spec": {"containers": defaulted}}
    assert apply(old, "one", spec={"containers": [{"name": "b"}]})["spec"] == {"containers": [defaulted[1]]}


def test_an_item_goes_even_if_another_changed_something_in_it() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "a", "image": "i"}, {"name": "b"}]})
    changed = [{"name": "a", "image": "j"}, {"name": "b"}]
    old = updated(POD, old, {**old, "spec": {"containers": changed}}, "other", NOW, "")
    new = apply(old, "one", spec={"containers": [{"name": "b"}]})
    assert new["spec"] == {"containers": [{"name": "b"}]}
    assert owned(new).keys() == {"one Apply"}


def test_an_object_goes_with_its_last_claimed_field_but_not_with_what_others_own() -> None:
    old = by_apply(POD, "one", spec={"securityContext": {"runAsUser": 1}, "priority": 1})
    assert apply(old, "one", spec={"priority": 1})["spec"] == {"priority": 1}
    shared = apply(old, "two", spec={"securityContext": {"fsGroup": 2}})
    assert apply(shared, "one", spec={"priority": 1})["spec"] == {"priority": 1, "securityContext": {"fsGroup": 2}}


def test_the_last_item_of_a_list_leaves_no_list_behind() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "a", "env": [{"name": "E", "value": "1"}]}]})
    assert apply(old, "one", spec={"containers": [{"name": "a"}]})["spec"] == {"containers": [{"name": "a"}]}


def test_the_creator_of_a_map_still_owns_it_when_its_entries_are_gone() -> None:
    made = {**said(CONFIG_MAP, {"labels": {"x": "1"}}), "data": {"k": "v"}}
    old = updated(CONFIG_MAP, None, made, "maker", NOW, "")
    old = apply(old, "one", {"labels": {"x": "2"}}, force=True)
    new = apply(old, "one", data={"k": "v"})
    assert "labels" not in new["metadata"]
    assert owned(new)["maker Update"] == {"f:data": {".": {}, "f:k": {}}, "f:metadata": {"f:labels": {}}}


def test_a_manager_that_applies_nothing_is_no_longer_listed() -> None:
    old = apply(by_apply(CONFIG_MAP, "one", data={"a": "1"}), "two", data={"b": "1"})
    new = apply(old, "two")
    assert new["data"] == {"a": "1"}
    assert owned(new).keys() == {"one Apply"}


def test_without_any_owner_managed_fields_is_an_empty_list() -> None:
    new = apply(by_apply(CONFIG_MAP, "one", data={"a": "1"}), "one")
    assert new["metadata"]["managedFields"] == []
    assert "data" not in new
    assert new["metadata"]["name"] == "it"


def test_names_and_identities_are_never_removed() -> None:
    new = apply(by_apply(CONFIG_MAP, "one", {"labels": {"l": "1"}}), "one")
    assert new["metadata"] == {"name": "it", "namespace": "default", "uid": "u", "managedFields": []}


# Conflicts


def test_a_field_of_another_manager_with_another_value_is_a_conflict() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1"})
    with pytest.raises(Conflict) as refused:
        apply(old, "two", data={"a": "2"})
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert refused.value.causes == (Cause(".data.a", 'conflict with "one"', "FieldManagerConflict"),)


def test_conflicts_are_grouped_by_manager() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "name": "x"}]}]}}
    old = by_apply(DEPLOYMENT, "one", spec={"template": template})
    old = updated(DEPLOYMENT, old, {**old, "spec": {**old["spec"], "replicas": 3}}, "hand", NOW, "")
    old = updated(DEPLOYMENT, old, {**old, "spec": {**old["spec"], "paused": True}}, "scaler", NOW, "scale")
    ports = [{"containerPort": 80, "name": "y"}]
    mine = {"spec": {"containers": [{"name": "c", "image": "j", "ports": ports}]}}
    with pytest.raises(Conflict) as refused:
        apply(old, "two", spec={"template": mine, "replicas": 2, "paused": False})
    container = '.spec.template.spec.containers[name="c"]'
    assert refused.value.message.splitlines() == [
        'Apply failed with 4 conflicts: conflicts with "hand" using apps/v1:',
        "- .spec.replicas",
        'conflicts with "one":',
        f"- {container}.image",
        f'- {container}.ports[containerPort=80,protocol="TCP"].name',
        'conflicts with "scaler" with subresource "scale" using apps/v1:',
        "- .spec.paused",
    ]


def test_a_conflict_changes_nothing() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1"})
    before = deepcopy(old)
    with pytest.raises(Conflict):
        apply(old, "two", data={"a": "2", "b": "1"})
    assert old == before


def test_force_takes_the_field_away() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1", "b": "1"})
    new = apply(old, "two", data={"a": "2"}, force=True)
    assert new["data"] == {"a": "2", "b": "1"}
    assert owned(new) == {"one Apply": {"f:data": {"f:b": {}}}, "two Apply": {"f:data": {"f:a": {}}}}


def test_an_item_that_another_adds_to_is_no_conflict() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "c", "image": "i"}]})
    new = apply(old, "two", spec={"containers": [{"name": "c", "env": [{"name": "E", "value": "1"}]}]})
    assert new["spec"]["containers"] == [{"name": "c", "image": "i", "env": [{"name": "E", "value": "1"}]}]


def test_removing_what_others_own_is_no_conflict() -> None:
    old = by_apply(POD, "one", spec={"containers": [{"name": "c"}], "nodeSelector": {"a": "1"}})
    old = apply(old, "two", spec={"nodeSelector": {"a": "1"}})
    assert apply(old, "one", spec={"containers": [{"name": "c"}]})["spec"]["nodeSelector"] == {"a": "1"}


def test_updates_of_the_same_manager_count_as_another_owner() -> None:
    old = by_apply(CONFIG_MAP, "one", data={"a": "1"})
    old = updated(CONFIG_MAP, old, {**old, "data": {"a": "2"}}, "one", NOW, "")
    with pytest.raises(Conflict) as refused:
        apply(old, "one", data={"a": "1"})
    assert 'conflict with "one" using v1' in refused.value.message


# Before the first apply, and kubectl


def test_fields_without_an_owner_go_to_a_manager_of_their_own() -> None:
    old = said(CONFIG_MAP, data={"a": "1", "b": "1"})
    with pytest.raises(Conflict) as refused:
        apply(old, "one", data={"a": "2"})
    assert 'conflict with "before-first-apply" using v1' in refused.value.message
    assert owned(apply(old, "one", data={"a": "2"}, force=True)) == {
        "one Apply": {"f:data": {"f:a": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:b": {}}},
    }


def test_before_the_first_apply_of_a_status_only_the_status_counts() -> None:
    old = said(DEPLOYMENT, spec={"replicas": 1}, status={"replicas": 1})
    new = apply(old, "one", subresource="status", status={"observedGeneration": 1})
    assert owned(new) == {
        "one Apply/status": {"f:status": {"f:observedGeneration": {}}},
        "before-first-apply Update/status": {"f:status": {"f:replicas": {}}},
    }


def remembered(**data: str) -> Raw:
    text = '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"name":"it"}}\n'
    made = said(CONFIG_MAP, {"annotations": {REMEMBERED: text}}, data=data)
    return updated(CONFIG_MAP, None, made, "kubectl-client-side-apply", NOW, "")


def test_kubectl_may_take_over_what_it_applied_before_from_the_client_side() -> None:
    new = apply(remembered(a="1"), "kubectl", data={"a": "2"})
    assert new["data"] == {"a": "2"}
    assert new["metadata"]["annotations"][REMEMBERED] == (
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"it"}}\n'
    )
    assert owned(new)["kubectl Apply"] == {"f:data": {"f:a": {}}}


def test_kubectl_may_not_take_over_more_and_others_nothing() -> None:
    with pytest.raises(Conflict) as refused:
        apply(remembered(a="1", b="1"), "kubectl", data={"a": "2", "b": "2"})
    assert [cause.field for cause in refused.value.causes] == [".data.b"]
    with pytest.raises(Conflict):
        apply(remembered(a="1"), "other", data={"a": "2"})


@pytest.mark.parametrize("text", ["{", "5", '{"spec": 1}', ""])
def test_an_annotation_that_cannot_be_read_forgives_nothing(text: str) -> None:
    made = said(CONFIG_MAP, {"annotations": {REMEMBERED: text}}, data={"a": "1"})
    old = updated(CONFIG_MAP, None, made, "maker", NOW, "")
    with pytest.raises(Conflict):
        apply(old, "kubectl", data={"a": "2"})


# What is refused


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        (POD, {"nosuch": 1}),
        (POD, {"containers": [{"name": "c"}, {"name": "c"}]}),
        (POD, {"containers": [5]}),
        (WORKLOAD, {"preemptionGates": [{}]}),
    ],
)
def test_an_apply_of_what_has_no_place_is_a_bad_request(kind: Kind, spec: Raw) -> None:
    with pytest.raises(BadRequest):
        apply(by_apply(kind, "one", {"labels": {"a": "1"}}), "two", spec=spec)


def test_an_apply_must_not_bring_owners() -> None:
    with pytest.raises(BadRequest) as refused:
        apply(by_apply(CONFIG_MAP, "one"), "one", {"managedFields": [{"manager": "x"}]})
    assert refused.value.message == "metadata.managedFields must be nil"


def test_unknown_fields_in_the_pod_template_of_a_workload_are_applied() -> None:
    old = by_apply(WORKLOAD, "one", spec={"active": True})
    pod_sets = [{"name": "main", "template": {"spec": {"containers": [{"name": "c", "new": {"a": 1}}]}}}]
    new = apply(old, "one", spec={"active": True, "podSets": pod_sets})
    assert new["spec"]["podSets"] == pod_sets
    template = owned(new)["one Apply"]["f:spec"]["f:podSets"]['k:{"name":"main"}']["f:template"]
    assert template["f:spec"]["f:containers"]['k:{"name":"c"}']["f:new"] == {".": {}, "f:a": {}}
