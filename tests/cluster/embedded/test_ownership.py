"""Who owns what after creates and updates. Expected sets were seen on kube-apiserver 1.36.3."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from closeknit.cluster.embedded.ownership import alike, created, updated
from closeknit.cluster.errors import BadRequest
from closeknit.cluster.kinds import CONFIG_MAP, DEPLOYMENT, EVENT, JOB, NODE, POD, SERVICE, WORKLOAD, Kind

Raw = dict[str, Any]

NOW, LATER = 1_767_225_600.0, 1_767_225_605.0
TIME, LATER_TIME = "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"

CONTAINER = {"name": "c", "image": "nginx", "imagePullPolicy": "Always", "resources": {}}
CONTAINER_FIELDS: Raw = {".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {}}


def raw(kind: Kind, meta: Raw | None = None, **parts: Any) -> Raw:
    common = {"name": "it", "namespace": "default", "uid": "u", "creationTimestamp": TIME}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {**common, **(meta or {})}, **parts}


def config(meta: Raw | None = None, **data: str) -> Raw:
    return raw(CONFIG_MAP, meta, data=data)


def made(kind: Kind, new: Raw, body: Raw | None = None, manager: str = "maker") -> Raw:
    return updated(kind, None, new, manager, NOW, "", body)


def owned(new: Raw) -> dict[str, Any]:
    """Manager, operation and subresource to fields."""
    found = {}
    for entry in new["metadata"].get("managedFields", ()):
        part = f"/{entry['subresource']}" if "subresource" in entry else ""
        found[f"{entry['manager']} {entry['operation']}{part}"] = entry["fieldsV1"]
    return found


def changed(old: Raw, manager: str = "other", now: float = LATER, subresource: str = "", **parts: Any) -> Raw:
    kind = {"ConfigMap": CONFIG_MAP, "Deployment": DEPLOYMENT, "Pod": POD, "Workload": WORKLOAD}[old["kind"]]
    return updated(kind, old, {**old, **parts}, manager, now, subresource)


# Creating


def test_the_maker_owns_all_of_a_new_object_but_what_every_object_has() -> None:
    new = made(CONFIG_MAP, config({"labels": {"a": "1"}, "generateName": "it-", "finalizers": ["x/y"]}, k="v"))
    assert new["metadata"]["managedFields"] == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": "v1",
            "time": TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {".": {}, "f:k": {}},
                "f:metadata": {
                    "f:finalizers": {".": {}, 'v:"x/y"': {}},
                    "f:generateName": {},
                    "f:labels": {".": {}, "f:a": {}},
                },
            },
        }
    ]


def test_a_deployment_owns_no_struct_that_is_always_there() -> None:
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER], "securityContext": {}}},
    }
    assert owned(made(DEPLOYMENT, raw(DEPLOYMENT, spec=spec, status={"replicas": 3})))["maker Update"] == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:containers": {'k:{"name":"c"}': CONTAINER_FIELDS}, "f:securityContext": {}},
            },
        }
    }


def test_owner_references_go_by_uid_and_have_one_owner_each() -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]
    fields = owned(made(CONFIG_MAP, config({"ownerReferences": owners})))["maker Update"]
    assert fields["f:metadata"] == {"f:ownerReferences": {".": {}, 'k:{"uid":"u1"}': {}}}


def test_keys_of_ports_are_written_with_their_default() -> None:
    ports = [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 81}]
    new = made(POD, raw(POD, spec={"containers": [{"name": "c", "ports": ports}]}))
    container = owned(new)["maker Update"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert container["f:ports"] == {
        ".": {},
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
        'k:{"containerPort":81,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
    }


def test_a_custom_kind_is_owned_with_the_objects_in_it() -> None:
    fields = owned(made(WORKLOAD, raw(WORKLOAD, spec={"active": True, "podSets": [{"name": "main", "count": 2}]})))
    assert fields["maker Update"] == {
        "f:spec": {
            ".": {},
            "f:active": {},
            "f:podSets": {".": {}, 'k:{"name":"main"}': {".": {}, "f:count": {}, "f:name": {}}},
        }
    }


def test_fields_that_the_server_fills_in_have_no_owner() -> None:
    tolerations = [{"key": "node.kubernetes.io/not-ready"}]
    body = raw(POD, spec={"containers": [CONTAINER]})
    new = raw(POD, spec={"containers": [CONTAINER], "tolerations": tolerations, "priority": 0})
    assert owned(made(POD, new, body))["maker Update"]["f:spec"].keys() == {"f:containers"}
    given = raw(POD, spec={"containers": [CONTAINER], "tolerations": [{"key": "a"}]})
    assert "f:tolerations" in owned(made(POD, new, given))["maker Update"]["f:spec"]


def test_the_generated_labels_and_selector_of_a_job_have_no_owner() -> None:
    body = raw(JOB, spec={"template": {"metadata": {"labels": {"mine": "1"}}, "spec": {"containers": [CONTAINER]}}})
    labels = {"mine": "1", "job-name": "it"}
    spec = {"selector": {"matchLabels": {"job-name": "it"}}, "suspend": False}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}}
    new = raw(JOB, {"labels": {"job-name": "it"}}, spec={**spec, "template": template})
    assert owned(made(JOB, new, body))["maker Update"] == {
        "f:spec": {
            "f:suspend": {},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:mine": {}}},
                "f:spec": {"f:containers": {'k:{"name":"c"}': CONTAINER_FIELDS}},
            },
        }
    }


def test_an_object_in_which_nothing_is_owned_has_no_owners() -> None:
    new = raw(NODE, spec={"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]})
    assert "managedFields" not in made(NODE, new, raw(NODE))["metadata"]


def test_empty_values_that_are_always_written_have_no_owner() -> None:
    new = raw(EVENT, reason="R", reportingComponent="", firstTimestamp=None, involvedObject={"kind": "Pod"})
    assert owned(made(EVENT, new))["maker Update"] == {"f:involvedObject": {}, "f:reason": {}}


def test_an_object_of_an_unknown_kind_is_left_alone() -> None:
    other = Kind("example.org", "v1", "Thing", "things")
    new = raw(other, spec={})
    assert updated(other, None, new, "m", NOW, "") is new


# Updating


def test_an_updater_takes_over_the_fields_that_it_changes() -> None:
    old = made(CONFIG_MAP, config(a="1", b="1"))
    new = changed(old, data={"a": "2", "b": "1", "c": "3"})
    assert owned(new) == {
        "maker Update": {"f:data": {".": {}, "f:b": {}}},
        "other Update": {"f:data": {"f:a": {}, "f:c": {}}},
    }
    assert [entry["time"] for entry in new["metadata"]["managedFields"]] == [TIME, LATER_TIME]


def test_a_removed_field_has_no_owner() -> None:
    old = made(CONFIG_MAP, config(a="1", b="1"))
    assert owned(changed(old, data={"a": "1"})) == {"maker Update": {"f:data": {".": {}, "f:a": {}}}}


def test_a_manager_that_owns_nothing_is_no_longer_listed() -> None:
    old = made(CONFIG_MAP, config(a="1"))
    old = changed(old, "second", data={"a": "2"})
    old = changed(old, "third", data={"a": "3"})
    assert owned(old) == {"maker Update": {"f:data": {}}, "third Update": {"f:data": {"f:a": {}}}}
    without = {key: value for key, value in old.items() if key != "data"}
    assert "managedFields" not in updated(CONFIG_MAP, old, without, "fourth", LATER, "")["metadata"]


def test_the_same_updater_keeps_one_entry() -> None:
    old = made(CONFIG_MAP, config(a="1"))
    new = changed(old, "maker", data={"a": "1", "b": "2"})
    assert owned(new) == {"maker Update": {"f:data": {".": {}, "f:a": {}, "f:b": {}}}}
    assert new["metadata"]["managedFields"][0]["time"] == LATER_TIME


def test_an_update_without_a_change_leaves_everything_as_it_was() -> None:
    old = made(CONFIG_MAP, config(a="1"))
    assert changed(old, data={"a": "1"})["metadata"] == old["metadata"]


def test_a_new_item_of_a_list_is_owned_with_all_that_is_in_it() -> None:
    old = made(POD, raw(POD, spec={"containers": [CONTAINER]}))
    added = {"name": "d", "securityContext": {"privileged": True}, "env": [{"name": "A"}], "args": ["x"]}
    new = changed(old, spec={"containers": [CONTAINER, added]})
    assert owned(new)["other Update"] == {
        "f:spec": {
            "f:containers": {
                'k:{"name":"d"}': {
                    ".": {},
                    "f:args": {},
                    "f:env": {".": {}, 'k:{"name":"A"}': {".": {}, "f:name": {}}},
                    "f:name": {},
                    "f:securityContext": {".": {}, "f:privileged": {}},
                }
            }
        }
    }


def test_the_order_of_items_with_keys_has_no_owner() -> None:
    other = {**CONTAINER, "name": "d"}
    old = made(POD, raw(POD, spec={"containers": [CONTAINER, other]}))
    assert owned(changed(old, spec={"containers": [other, CONTAINER]})) == owned(old)


def test_items_with_the_same_key_are_one_field() -> None:
    old = made(CONFIG_MAP, config({"finalizers": ["x/a", "x/b", "x/a"]}))
    meta = {**old["metadata"], "finalizers": ["x/a", "x/b"]}
    assert owned(changed(old, metadata=meta))["other Update"]["f:metadata"] == {"f:finalizers": {'v:"x/a"': {}}}


def test_the_status_is_tracked_only_through_its_subresource() -> None:
    old = made(DEPLOYMENT, raw(DEPLOYMENT, spec={"replicas": 1}))
    assert owned(changed(old, status={"replicas": 1})) == owned(old)
    new = changed(old, subresource="status", status={"replicas": 1}, spec={"replicas": 5})
    assert owned(new) == {
        "maker Update": {"f:spec": {"f:replicas": {}}},
        "other Update/status": {"f:status": {"f:replicas": {}}},
    }


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (POD, {"f:annotations", "f:labels"}),
        (DEPLOYMENT, {"f:annotations", "f:ownerReferences"}),
        (WORKLOAD, set()),
    ],
)
def test_which_metadata_a_write_of_the_status_reaches(kind: Kind, expected: set[str]) -> None:
    old = made(kind, raw(kind, spec={"x": 1}))
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]
    meta = {**old["metadata"], "labels": {"a": "1"}, "annotations": {"a": "1"}, "ownerReferences": owners}
    new = changed(old, subresource="status", metadata=meta, status={"phase": "x"})
    assert owned(new)["other Update/status"].get("f:metadata", {}).keys() == expected


def test_an_object_without_managed_fields_stays_without() -> None:
    old = config(a="1")
    assert "managedFields" not in changed(old, data={"a": "2"})["metadata"]


def test_at_most_ten_updaters_are_listed() -> None:
    new = made(CONFIG_MAP, config(x="1"))
    for number in range(12):
        data = {**new["data"], f"k{number}": "1"}
        new = changed(new, f"u{number:02}", NOW + number, data=data)
    entries = new["metadata"]["managedFields"]
    assert [entry["manager"] for entry in entries] == ["ancient-changes", *(f"u{number:02}" for number in range(3, 12))]
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, "f:x": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}}
    assert entries[0]["time"] == "2026-01-01T00:00:02Z"


# What a writer says about owners


def entry(manager: str, fields: Raw, **more: Any) -> Raw:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


@pytest.mark.parametrize("given", [[], [{}]])
def test_a_writer_can_end_the_tracking(given: list[Raw]) -> None:
    old = made(CONFIG_MAP, config(a="1"))
    meta = {**old["metadata"], "managedFields": given}
    assert "managedFields" not in changed(old, metadata=meta, data={"a": "2"})["metadata"]


def test_a_writer_can_set_managed_fields() -> None:
    old = made(CONFIG_MAP, config(a="1", b="1"))
    meta = {**old["metadata"], "managedFields": [entry("renamed", {"f:data": {"f:a": {}, "f:b": {}}})]}
    assert owned(changed(old, metadata=meta, data={"a": "2", "b": "1"})) == {
        "renamed Update": {"f:data": {"f:b": {}}},
        "other Update": {"f:data": {"f:a": {}}},
    }


@pytest.mark.parametrize(
    "given",
    [
        [{"manager": "x"}],
        [entry("x", {}, operation="Foo")],
        [entry("x", {"zz": 1})],
        [entry("x", {"f:data": 5})],
        [entry("x", {}, fieldsV1=None)],
        [{**entry("x", {}), "manager": 5}],
        [5],
        "zz",
    ],
)
def test_nonsense_about_owners_is_passed_over(given: Any) -> None:
    old = made(CONFIG_MAP, config(a="1"))
    assert owned(changed(old, metadata={**old["metadata"], "managedFields": given})) == owned(old)


def test_entries_of_another_version_go() -> None:
    old = made(CONFIG_MAP, config(a="1"))
    meta = {
        **old["metadata"],
        "managedFields": [entry("x", {"f:data": {}}, apiVersion="v9"), entry("y", {"f:data": {}})],
    }
    assert owned(changed(old, metadata=meta)) == {"y Update": {"f:data": {}}}


def test_a_write_of_the_status_cannot_set_managed_fields() -> None:
    old = made(DEPLOYMENT, raw(DEPLOYMENT, spec={"replicas": 1}))
    meta = {**old["metadata"], "managedFields": [{}]}
    new = changed(old, subresource="status", metadata=meta, status={"replicas": 1})
    assert owned(new).keys() == {"maker Update", "other Update/status"}


def test_an_object_with_malformed_lists_can_still_be_updated() -> None:
    old = made(WORKLOAD, raw(WORKLOAD, spec={"active": True}))
    new = changed(old, status={}, spec={"active": True, "podSets": [{"count": 1}, 5]})
    assert owned(new) == owned(old)


# Created by an apply


def test_an_apply_that_makes_an_object_owns_what_it_says_and_no_defaults() -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "it", "labels": {"a": "1"}},
        "spec": {"ports": [{"port": 80}], "selector": {}},
        "status": {"loadBalancer": {}},
    }
    new = raw(SERVICE, {"labels": {"a": "1"}}, spec={"ports": [{"port": 80, "protocol": "TCP"}], "type": "ClusterIP"})
    made_so = created(SERVICE, body, new, "me", NOW)
    assert made_so["metadata"]["managedFields"] == [
        {
            "manager": "me",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}, "f:selector": {}},
            },
        }
    ]


def test_an_apply_that_says_nothing_owns_nothing() -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "it"}}
    assert "managedFields" not in created(CONFIG_MAP, body, config(), "me", NOW)["metadata"]


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"nosuch": 1}, ".nosuch: field not declared in schema"),
        ({"containers": [{"name": "c"}, {"name": "c"}]}, 'duplicate entries for key [name="c"]'),
        ({"containers": ["c"]}, "has to be an object"),
    ],
)
def test_an_apply_of_what_has_no_place_is_a_bad_request(spec: Raw, text: str) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}, "spec": spec}
    with pytest.raises(BadRequest) as refused:
        created(POD, body, raw(POD, spec=spec), "me", NOW)
    assert "failed to create typed patch object (it; v1, Kind=Pod)" in refused.value.message
    assert text in refused.value.message


def test_an_apply_must_not_bring_owners() -> None:
    body = {"metadata": {"name": "it", "managedFields": [entry("x", {})]}}
    with pytest.raises(BadRequest) as refused:
        created(CONFIG_MAP, body, config(), "me", NOW)
    assert refused.value.message == "metadata.managedFields must be nil"


# Lists of owners


def test_owners_are_alike_if_only_times_differ() -> None:
    one = [entry("x", {"f:data": {}}, time=TIME)]
    assert alike(one, [entry("x", {"f:data": {}}, time=LATER_TIME)])
    assert alike(one, [entry("x", {"f:data": {}})])
    assert not alike(one, [entry("y", {"f:data": {}}, time=TIME)])
    assert not alike(one, [])


def test_nothing_that_was_given_is_changed() -> None:
    old = made(DEPLOYMENT, raw(DEPLOYMENT, {"labels": {"a": "1"}}, spec={"replicas": 1, "paused": True}))
    new = {**old, "spec": {"replicas": 2}}
    before, after = deepcopy(old), deepcopy(new)
    updated(DEPLOYMENT, old, new, "other", LATER, "")
    assert (old, new) == (before, after)
