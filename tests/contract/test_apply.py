"""Server-side apply: owners of fields, conflicts between managers, and removal of fields without an owner."""

from __future__ import annotations

from typing import Any

import pytest

from contract.client import Api
from contract.expect import accepted, invalid, make, managers, refused
from contract.objects import (
    LABELS,
    Object,
    config_map,
    config_maps,
    container,
    deployment,
    deployments,
    job,
    jobs,
    path,
    pod,
    pods,
    template,
)


def intent(name: str, **spec: Any) -> Object:
    """A piece of a Deployment to apply."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def containers(held: Object) -> dict[str, Object]:
    return {each["name"]: each for each in held["spec"]["template"]["spec"]["containers"]}


def asking(name: str, cpu: str | int) -> Object:
    """A Pod that asks for this much."""
    return pod(name, containers=[container("c", resources={"requests": {"cpu": cpu}})])


def inside(*of: Object) -> Object:
    return {"spec": {"containers": list(of)}}


def test_applying_what_does_not_exist_makes_it(api: Api, space: str, name: str) -> None:
    held = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    assert (held["kind"], held["data"], held["metadata"]["namespace"]) == ("ConfigMap", {"a": "1"}, space)


def test_applying_what_exists_changes_it(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    assert accepted(api.apply(config_maps(space, name), config_map(name, {"a": "2"}), "one"))["data"] == {"a": "2"}


def test_applying_the_same_again_changes_nothing(api: Api, space: str, name: str) -> None:
    first = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    second = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"))
    assert second == first


def test_an_entry_has_manager_operation_time_and_fields(api: Api, space: str, name: str) -> None:
    held = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}, labels={"x": "y"}), "one"), 201)
    (entry,) = held["metadata"]["managedFields"]
    assert entry.pop("time").endswith("Z")
    assert entry == {
        "manager": "one",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}},
    }


def test_a_create_is_an_update_by_the_field_manager_and_owns_maps_whole(api: Api, space: str, name: str) -> None:
    held = accepted(api.post(config_maps(space), config_map(name, {"a": "1"}), fieldManager="maker"), 201)
    (entry,) = held["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("maker", "Update")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


def test_without_a_field_manager_the_user_agent_names_one(api: Api, space: str, name: str) -> None:
    answer = api.request(
        "POST", config_maps(space), config_map(name, {"a": "1"}), headers={"User-Agent": "tool/1.2 (x)"}
    )
    (entry,) = accepted(answer, 201)["metadata"]["managedFields"]
    assert entry["manager"] == "tool"


def test_list_items_are_owned_under_their_keys(api: Api, space: str, name: str) -> None:
    main = container(ports=[{"containerPort": 80}], env=[{"name": "A", "value": "1"}])
    whole = intent(name, replicas=0, selector={"matchLabels": LABELS}, template=template(containers=[main]))
    held = accepted(api.apply(deployments(space, name), whole, "one"), 201)
    fields = managers(held)["one"][1]["f:spec"]
    assert fields["f:selector"] == {}
    assert fields["f:template"]["f:spec"]["f:containers"] == {
        'k:{"name":"main"}': {
            ".": {},
            "f:name": {},
            "f:image": {},
            "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
        }
    }


def test_two_managers_with_different_values_conflict(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1", "b": "1"}), "one"), 201)
    answer = api.apply(config_maps(space, name), config_map(name, {"a": "2", "b": "1"}), "two")
    details = refused(answer, 409, "Conflict", ".data.a")
    assert details["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "one"', "field": ".data.a"}
    ]
    assert accepted(api.get(config_maps(space, name)))["data"] == {"a": "1", "b": "1"}


def test_a_conflict_names_items_of_lists_by_their_keys(api: Api, space: str, name: str) -> None:
    whole = intent(name, replicas=0, selector={"matchLabels": LABELS}, template=template())
    accepted(api.apply(deployments(space, name), whole, "one"), 201)
    other = intent(name, replicas=3, template=inside({"name": "main", "image": "other:1"}))
    answer = api.apply(deployments(space, name), other, "two")
    refused(answer, 409, "Conflict", ".spec.replicas", '.spec.template.spec.containers[name="main"].image')


def test_a_conflict_with_an_update_names_its_version(api: Api, space: str, name: str) -> None:
    accepted(api.post(config_maps(space), config_map(name, {"a": "1"}), fieldManager="maker"), 201)
    details = refused(api.apply(config_maps(space, name), config_map(name, {"a": "2"}), "two"), 409, "Conflict")
    (cause,) = details["causes"]
    assert cause["field"] == ".data.a"
    assert cause["message"].startswith('conflict with "maker"')
    assert "v1" in cause["message"]


@pytest.mark.parametrize("same", ["1000m", 1, "1.0"])
def test_a_quantity_that_another_wrote_otherwise_is_in_conflict(
    api: Api, space: str, name: str, same: str | int
) -> None:
    held = accepted(api.apply(pods(space, name), asking(name, "1000m"), "one"), 201)
    assert held["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    field = '.spec.containers[name="c"].resources.requests.cpu'
    refused(api.apply(pods(space, name), asking(name, same), "two"), 409, "Conflict", field)


def test_a_quantity_as_the_server_writes_it_is_shared(api: Api, space: str, name: str) -> None:
    accepted(api.apply(pods(space, name), asking(name, "1000m"), "one"), 201)
    held = accepted(api.apply(pods(space, name), asking(name, "1"), "two"))
    assert {entry["manager"] for entry in held["metadata"]["managedFields"]} == {"one", "two"}


def test_a_quantity_that_its_owner_writes_otherwise_changes_nothing(api: Api, space: str, name: str) -> None:
    first = accepted(api.apply(pods(space, name), asking(name, "1000m"), "one"), 201)
    for same in ("1000m", "1.0", 1, "1"):
        held = accepted(api.apply(pods(space, name), asking(name, same), "one"))
        assert held["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"], same


def test_force_takes_the_field_over(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1", "b": "1"}), "one"), 201)
    held = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "2"}), "two", force=True))
    assert held["data"] == {"a": "2", "b": "1"}
    assert managers(held) == {
        "one": ("Apply", {"f:data": {"f:b": {}}}),
        "two": ("Apply", {"f:data": {"f:a": {}}}),
    }


def test_two_managers_with_the_same_value_share_the_field(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    held = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "two"))
    assert managers(held)["one"] == managers(held)["two"] == ("Apply", {"f:data": {"f:a": {}}})


def test_a_shared_field_stays_when_one_of_its_owners_leaves_it_out(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "two"))
    held = accepted(api.apply(config_maps(space, name), config_map(name), "one"))
    assert held["data"] == {"a": "1"}
    assert set(managers(held)) == {"two"}


def test_a_field_that_its_only_owner_leaves_out_goes(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1", "b": "2"}), "one"), 201)
    assert accepted(api.apply(config_maps(space, name), config_map(name, {"b": "2"}), "one"))["data"] == {"b": "2"}


def test_a_field_with_a_default_goes_back_to_it(api: Api, space: str, name: str) -> None:
    whole: dict[str, Any] = {"selector": {"matchLabels": LABELS}, "template": template(), "paused": True}
    accepted(api.apply(deployments(space, name), intent(name, revisionHistoryLimit=3, **whole), "one"), 201)
    held = accepted(api.apply(deployments(space, name), intent(name, **whole), "one"))
    assert held["spec"]["revisionHistoryLimit"] == 10


def test_an_item_that_its_only_owner_leaves_out_goes(api: Api, space: str, name: str) -> None:
    base: dict[str, Any] = {"replicas": 0, "selector": {"matchLabels": LABELS}}
    both = template(containers=[container("main"), container("side")])
    accepted(api.apply(deployments(space, name), intent(name, template=both, **base), "one"), 201)
    held = accepted(api.apply(deployments(space, name), intent(name, template=template(), **base), "one"))
    assert set(containers(held)) == {"main"}


def test_an_item_in_which_another_owns_a_field_stays(api: Api, space: str, name: str) -> None:
    base: dict[str, Any] = {"replicas": 0, "selector": {"matchLabels": LABELS}}
    both = template(containers=[container("main"), container("side")])
    accepted(api.apply(deployments(space, name), intent(name, template=both, **base), "one"), 201)
    side = intent(name, template=inside({"name": "side", "image": "example.com/image:1", "command": ["x"]}))
    accepted(api.apply(deployments(space, name), side, "two"))
    held = accepted(api.apply(deployments(space, name), intent(name, template=template(), **base), "one"))
    assert set(containers(held)) == {"main", "side"}
    assert containers(held)["side"]["command"] == ["x"]


def test_two_managers_add_their_own_items_to_one_list(api: Api, space: str, name: str) -> None:
    whole = intent(name, replicas=0, selector={"matchLabels": LABELS}, template=template())
    accepted(api.apply(deployments(space, name), whole, "one"), 201)
    held = accepted(api.apply(deployments(space, name), intent(name, template=inside(container("side"))), "two"))
    assert [each["name"] for each in held["spec"]["template"]["spec"]["containers"]] == ["main", "side"]


def test_two_managers_set_their_own_variables_of_one_container(api: Api, space: str, name: str) -> None:
    main = container(env=[{"name": "A", "value": "1"}])
    whole = intent(name, replicas=0, selector={"matchLabels": LABELS}, template=template(containers=[main]))
    accepted(api.apply(deployments(space, name), whole, "one"), 201)
    more = inside({"name": "main", "env": [{"name": "B", "value": "2"}]})
    held = accepted(api.apply(deployments(space, name), intent(name, template=more), "two"))
    assert containers(held)["main"]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


def test_ports_are_identified_by_number_and_protocol(api: Api, space: str, name: str) -> None:
    main = container(ports=[{"containerPort": 80}])
    whole = intent(name, replicas=0, selector={"matchLabels": LABELS}, template=template(containers=[main]))
    accepted(api.apply(deployments(space, name), whole, "one"), 201)
    more = inside({"name": "main", "ports": [{"containerPort": 80, "protocol": "UDP"}]})
    held = accepted(api.apply(deployments(space, name), intent(name, template=more), "two"))
    ports = {(each["containerPort"], each["protocol"]) for each in containers(held)["main"]["ports"]}
    assert ports == {(80, "TCP"), (80, "UDP")}


def test_finalizers_are_a_set_to_which_each_adds(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, finalizers=["example.com/a"]), "one"), 201)
    held = accepted(api.apply(config_maps(space, name), config_map(name, finalizers=["example.com/b"]), "two"))
    assert set(held["metadata"]["finalizers"]) == {"example.com/a", "example.com/b"}
    assert managers(held)["two"][1] == {"f:metadata": {"f:finalizers": {'v:"example.com/b"': {}}}}
    held = accepted(api.apply(config_maps(space, name), config_map(name), "one"))
    assert held["metadata"]["finalizers"] == ["example.com/b"]
    accepted(api.apply(config_maps(space, name), config_map(name), "two"))


def test_an_atomic_list_belongs_to_one_manager_as_a_whole(api: Api, space: str, name: str) -> None:
    tolerations = [{"key": "a", "operator": "Exists"}]
    base: dict[str, Any] = {"replicas": 0, "selector": {"matchLabels": LABELS}}
    whole = intent(name, template=template(tolerations=tolerations), **base)
    accepted(api.apply(deployments(space, name), whole, "one"), 201)
    other = intent(name, template={"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}})
    refused(api.apply(deployments(space, name), other, "two"), 409, "Conflict", ".spec.template.spec.tolerations")
    held = accepted(api.apply(deployments(space, name), other, "two", force=True))
    assert held["spec"]["template"]["spec"]["tolerations"] == [{"key": "b", "operator": "Exists"}]


def test_an_atomic_map_belongs_to_one_manager_as_a_whole(api: Api, space: str, name: str) -> None:
    base: dict[str, Any] = {"replicas": 0, "selector": {"matchLabels": LABELS}}
    whole = intent(name, template=template(nodeSelector={"a": "1"}), **base)
    accepted(api.apply(deployments(space, name), whole, "one"), 201)
    other = intent(name, template={"spec": {"nodeSelector": {"b": "2"}}})
    refused(api.apply(deployments(space, name), other, "two"), 409, "Conflict", ".spec.template.spec.nodeSelector")


def test_labels_are_owned_one_by_one(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, labels={"a": "1"}), "one"), 201)
    held = accepted(api.apply(config_maps(space, name), config_map(name, labels={"b": "2"}), "two"))
    assert held["metadata"]["labels"] == {"a": "1", "b": "2"}


def test_an_update_takes_what_it_changes_from_its_owner(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1", "b": "1"}), "one"), 201)
    held = accepted(api.merge(config_maps(space, name), {"data": {"a": "2"}}, fieldManager="patcher"))
    assert managers(held) == {
        "one": ("Apply", {"f:data": {"f:b": {}}}),
        "patcher": ("Update", {"f:data": {"f:a": {}}}),
    }


def test_an_update_that_leaves_a_value_as_it_is_takes_nothing(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    change = {"data": {"a": "1", "b": "2"}}
    held = accepted(api.merge(config_maps(space, name), change, fieldManager="patcher"))
    assert managers(held)["one"] == ("Apply", {"f:data": {"f:a": {}}})
    assert managers(held)["patcher"] == ("Update", {"f:data": {"f:b": {}}})


def test_a_field_that_an_update_removes_has_no_owner_left(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1", "b": "1"}), "one"), 201)
    held = accepted(api.merge(config_maps(space, name), {"data": {"a": None}}, fieldManager="patcher"))
    assert managers(held) == {"one": ("Apply", {"f:data": {"f:b": {}}})}


def test_apply_and_update_of_one_manager_are_two_entries(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    held = accepted(api.merge(config_maps(space, name), {"data": {"b": "2"}}, fieldManager="one"))
    entries = [(entry["manager"], entry["operation"]) for entry in held["metadata"]["managedFields"]]
    assert sorted(entries) == [("one", "Apply"), ("one", "Update")]


def test_the_status_is_owned_in_an_entry_of_its_own(api: Api, space: str, name: str) -> None:
    make(api, jobs(space), job(name))
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "status": {"conditions": [{"type": "example.com/Seen", "status": "True"}], "terminating": 0},
    }
    held = accepted(api.apply(jobs(space, name, "status"), body, "watcher"))
    (entry,) = [each for each in held["metadata"]["managedFields"] if each["manager"] == "watcher"]
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"]["f:status"]["f:terminating"] == {}


def test_conditions_of_a_pod_are_owned_by_type(api: Api, space: str, name: str) -> None:
    make(api, pods(space), pod(name))

    def condition(kind: str, status: str) -> Object:
        conditions = [{"type": kind, "status": status}]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "status": {"conditions": conditions}}

    accepted(api.apply(pods(space, name, "status"), condition("example.com/A", "True"), "one"))
    held = accepted(api.apply(pods(space, name, "status"), condition("example.com/B", "False"), "two"))
    seen = {each["type"]: each["status"] for each in held["status"]["conditions"]}
    assert seen == {"example.com/A": "True", "example.com/B": "False"}
    fields = managers(held)["two"][1]["f:status"]["f:conditions"]
    assert fields == {'k:{"type":"example.com/B"}': {".": {}, "f:status": {}, "f:type": {}}}


def test_a_status_applied_to_the_object_itself_is_ignored(api: Api, space: str, name: str) -> None:
    body = {**job(name), "status": {"terminating": 4}}
    held = accepted(api.apply(jobs(space, name), body, "one"), 201)
    assert held["status"] == {}
    assert "f:status" not in managers(held)["one"][1]


def test_scheduling_gates_are_removed_by_leaving_them_out(api: Api, space: str, name: str) -> None:
    gated = pod(name, schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}])
    accepted(api.apply(pods(space, name), gated, "one"), 201)
    held = accepted(api.apply(pods(space, name), pod(name, schedulingGates=[{"name": "example.com/b"}]), "one"))
    assert held["spec"]["schedulingGates"] == [{"name": "example.com/b"}]


def test_apply_needs_a_field_manager(api: Api, space: str, name: str) -> None:
    answer = api.request("PATCH", config_maps(space, name), config_map(name), "application/apply-patch+yaml")
    details = invalid(answer, "fieldManager")
    assert (details["group"], details["kind"]) == ("meta.k8s.io", "PatchOptions")


def test_force_is_for_apply_only(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    invalid(api.merge(config_maps(space, name), {"data": {"a": "1"}}, force=True), "force")


def test_a_field_manager_may_have_at_most_128_characters(api: Api, space: str, name: str) -> None:
    invalid(api.apply(config_maps(space, name), config_map(name), "m" * 129), "fieldManager")


@pytest.mark.parametrize("missing", ["kind", "apiVersion"])
def test_apply_needs_kind_and_version(api: Api, space: str, name: str, missing: str) -> None:
    body = config_map(name)
    del body[missing]
    refused(api.apply(config_maps(space, name), body, "one"), 400, "BadRequest")


def test_apply_of_another_kind_is_a_bad_request(api: Api, space: str, name: str) -> None:
    refused(api.apply(config_maps(space, name), {**config_map(name), "kind": "Secret"}, "one"), 400, "BadRequest")


def test_managed_fields_may_not_be_applied(api: Api, space: str, name: str) -> None:
    body = config_map(name, managedFields=[{"manager": "x", "operation": "Apply", "apiVersion": "v1"}])
    refused(api.apply(config_maps(space, name), body, "one"), 400, "BadRequest")


def test_apply_with_an_old_resource_version_is_a_conflict(api: Api, space: str, name: str) -> None:
    old = accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    accepted(api.merge(config_maps(space, name), {"data": {"b": "2"}}))
    late = config_map(name, {"a": "3"}, resourceVersion=old["metadata"]["resourceVersion"])
    refused(api.apply(config_maps(space, name), late, "one"), 409, "Conflict")


def test_apply_with_a_uid_does_not_make_what_is_missing(api: Api, space: str, name: str) -> None:
    body = config_map(name, uid="11111111-1111-1111-1111-111111111111")
    refused(api.apply(config_maps(space, name), body, "one"), 409, "Conflict")
    assert api.get(config_maps(space, name)).status == 404


def test_apply_takes_yaml(api: Api, space: str, name: str) -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  a: 'yes'\n"
    answer = api.request(
        "PATCH",
        config_maps(space, name),
        text.encode(),
        "application/apply-patch+yaml",
        query={"fieldManager": "one"},
    )
    assert accepted(answer, 201)["data"] == {"a": "yes"}


def test_apply_refuses_two_items_of_the_same_key(api: Api, space: str, name: str) -> None:
    twice = template(containers=[container("main"), container("main")])
    answer = api.apply(deployments(space, name), intent(name, selector={"matchLabels": LABELS}, template=twice), "one")
    assert answer.status >= 400
    assert api.get(deployments(space, name)).status == 404


def test_apply_refuses_a_field_that_the_kind_does_not_have(api: Api, space: str, name: str) -> None:
    answer = api.apply(deployments(space, name), {**deployment(name), "color": "red"}, "one", fieldValidation="Strict")
    assert answer.status >= 400
    assert api.get(deployments(space, name)).status == 404


def test_an_apply_is_validated(api: Api, space: str, name: str) -> None:
    invalid(api.apply(deployments(space, name), deployment(name, replicas=-1), "one"), "spec.replicas")


def test_managed_fields_can_be_emptied_by_an_update(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    held = accepted(api.merge(config_maps(space, name), {"metadata": {"managedFields": [{}]}}))
    assert "managedFields" not in held["metadata"]


def test_a_put_without_managed_fields_keeps_the_owners(api: Api, space: str, name: str) -> None:
    accepted(api.apply(config_maps(space, name), config_map(name, {"a": "1"}), "one"), 201)
    held = accepted(api.put(config_maps(space, name), config_map(name, {"a": "1", "b": "2"}), fieldManager="putter"))
    assert managers(held) == {
        "one": ("Apply", {"f:data": {"f:a": {}}}),
        "putter": ("Update", {"f:data": {"f:b": {}}}),
    }


def test_the_name_of_the_applied_object_has_to_be_that_of_its_address(api: Api, space: str, name: str) -> None:
    refused(api.apply(config_maps(space, name), config_map("other"), "one"), 400, "BadRequest")


def test_applying_into_a_namespace_that_does_not_exist_is_not_found(api: Api, name: str) -> None:
    refused(api.apply(config_maps(name, "x"), config_map("x"), "one"), 404, "NotFound")


def test_a_node_taint_is_owned_with_the_whole_list(api: Api, name: str) -> None:
    nodes = path("v1/nodes", name=name)
    body: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    taint = {"key": "example.com/a", "effect": "NoSchedule"}
    try:
        held = accepted(api.apply(nodes, {**body, "spec": {"taints": [taint]}}, "one"), 201)
        assert taint in held["spec"]["taints"]
        assert managers(held)["one"][1]["f:spec"]["f:taints"] == {}
    finally:
        api.delete(nodes)
