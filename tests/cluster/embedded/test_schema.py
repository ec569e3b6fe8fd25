from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.fields import Schema, blank_of
from closeknit.cluster.embedded.schema import check_types, prune, schema_of, wrong_form
from closeknit.cluster.errors import BadRequest, Cause, Invalid
from closeknit.cluster.kinds import (
    CLUSTER_QUEUE,
    CONFIG_MAP,
    DEPLOYMENT,
    EVENT,
    JOB,
    JOB_SET,
    KINDS,
    LEASE,
    POD,
    RAY_CLUSTER,
    RESOURCE_FLAVOR,
    SECRET,
    SERVICE,
    STATEFUL_SET,
    WORKLOAD,
    Kind,
)

Raw = dict[str, Any]


def at(kind: Kind, *path: str) -> Schema:
    """The schema of a field; * is an entry of a list or map."""
    found = schema_of(kind)
    assert found is not None
    for name in path:
        inner = found.item() if name == "*" else found.field(name)
        assert inner is not None, name
        found = inner
    return found


def pod(**spec: Any) -> Raw:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def queue(**spec: Any) -> Raw:
    return {"metadata": {"name": "q"}, "spec": spec}


# The tables


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_kind_has_a_schema(kind: Kind) -> None:
    schema = schema_of(kind)
    assert schema is not None
    assert {"apiVersion", "kind", "metadata"} <= schema.fields.keys()
    assert ("status" in schema.fields) >= kind.status


def test_a_kind_without_a_table_has_no_schema() -> None:
    other = Kind("example.org", "v1", "Thing", "things")
    assert schema_of(other) is None
    assert prune(other, {"spec": {"a": None}}) == ({"spec": {"a": None}}, [])
    assert check_types(other, {"spec": 5}) == []


@pytest.mark.parametrize(
    ("kind", "path", "keys"),
    [
        (POD, ("spec", "containers"), ("name",)),
        (POD, ("spec", "containers", "*", "ports"), ("containerPort", "protocol")),
        (POD, ("spec", "containers", "*", "volumeMounts"), ("mountPath",)),
        (POD, ("metadata", "ownerReferences"), ("uid",)),
        (SERVICE, ("spec", "ports"), ("port", "protocol")),
        (WORKLOAD, ("spec", "podSets"), ("name",)),
        (WORKLOAD, ("spec", "podSets", "*", "template", "spec", "containers"), ("name",)),
        (WORKLOAD, ("status", "conditions"), ("type",)),
        (JOB_SET, ("spec", "replicatedJobs"), ("name",)),
        (RAY_CLUSTER, ("spec", "workerGroupSpecs", "*", "template", "spec", "volumes"), ("name",)),
    ],
)
def test_which_lists_have_keys(kind: Kind, path: tuple[str, ...], keys: tuple[str, ...]) -> None:
    found = at(kind, *path)
    assert (found.type, found.keys, found.atomic) == ("list", keys, False)


@pytest.mark.parametrize(
    ("kind", "path", "is_atomic"),
    [
        (POD, ("spec", "tolerations"), True),
        (POD, ("spec", "nodeSelector"), True),
        (POD, ("metadata", "finalizers"), False),
        (POD, ("metadata", "labels"), False),
        (POD, ("metadata", "ownerReferences", "*"), True),
        (DEPLOYMENT, ("spec", "selector"), True),
        (JOB, ("status", "conditions"), True),
        (RESOURCE_FLAVOR, ("spec", "nodeLabels"), True),
        (WORKLOAD, ("status", "admission", "podSetAssignments", "*", "flavors"), False),
        (WORKLOAD, ("status", "admission", "podSetAssignments", "*", "topologyAssignment", "slices"), True),
    ],
)
def test_which_fields_are_atomic(kind: Kind, path: tuple[str, ...], is_atomic: bool) -> None:
    assert at(kind, *path).atomic is is_atomic


def test_a_config_map_volume_has_one_owner_in_custom_kinds_only() -> None:
    in_template = ("template", "spec", "volumes", "*", "configMap")
    assert at(WORKLOAD, "spec", "podSets", "*", *in_template).atomic
    assert not at(DEPLOYMENT, "spec", *in_template).atomic


def test_how_strategic_patches_merge_a_list() -> None:
    volumes = at(POD, "spec", "volumes")
    assert (volumes.strategy, volumes.merge_key) == (("merge", "retainKeys"), "name")
    assert at(POD, "spec", "containers", "*", "ports").merge_key == "containerPort"
    assert at(DEPLOYMENT, "spec", "strategy").strategy == ("retainKeys",)
    assert at(POD, "spec", "tolerations").strategy == ()


def test_scalars_have_the_type_that_a_decoder_needs() -> None:
    assert at(POD, "spec", "containers", "*", "resources", "limits", "*").type == "quantity"
    assert at(SERVICE, "spec", "ports", "*", "targetPort").type == "int-or-string"
    assert at(POD, "spec", "terminationGracePeriodSeconds").type == "int64"
    assert at(LEASE, "spec", "renewTime").type == "micro-time"
    assert at(SECRET, "data", "*").type == "bytes"
    assert at(CLUSTER_QUEUE, "spec", "stopPolicy").enum == ("None", "Hold", "HoldAndDrain")


def test_a_map_has_any_key_and_a_scalar_has_none() -> None:
    labels = at(POD, "metadata", "labels")
    assert labels.field("whatever") is labels.item()
    assert at(POD, "metadata", "name").field("x") is None
    assert at(POD, "spec").field("nosuch") is None


def test_the_pod_template_of_a_workload_knows_more_than_we_do() -> None:
    assert at(WORKLOAD, "spec", "podSets", "*", "template", "spec", "somethingNew").type == "any"
    assert at(WORKLOAD, "spec", "podSets", "*").field("somethingNew") is None


def test_the_fields_of_an_empty_object() -> None:
    assert blank_of(POD) == {"metadata": {}, "spec": {"containers": None}, "status": {}}
    assert blank_of(WORKLOAD) == {"metadata": {}}
    assert blank_of(STATEFUL_SET)["spec"]["serviceName"] == ""
    assert blank_of(EVENT)["reportingComponent"] == ""


# Pruning


def test_unknown_fields_go_and_are_named_in_order() -> None:
    raw = {
        "metadata": {"name": "p", "foo": 1},
        "spec": {"zoo": 1, "containers": [{"name": "c", "bar": 2}, {"name": "d", "env": [{"name": "E", "baz": {}}]}]},
        "extra": {},
    }
    kept, unknown = prune(POD, raw)
    assert kept == {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c"}, {"name": "d", "env": [{"name": "E"}]}]},
    }
    assert unknown == ["extra", "metadata.foo", "spec.containers[0].bar", "spec.containers[1].env[0].baz", "spec.zoo"]
    assert raw["metadata"] == {"name": "p", "foo": 1}


def test_an_object_without_unknown_fields_is_not_copied() -> None:
    raw = pod(nodeSelector={"a": "b"}, volumes=[{"name": "v", "emptyDir": {}}])
    assert prune(POD, raw)[0] is raw


def test_null_and_what_is_empty_is_not_kept_in_kinds_of_kubernetes() -> None:
    kept, unknown = prune(POD, pod(nodeSelector={}, tolerations=[], priority=None, securityContext={}))
    assert kept["spec"] == {"containers": [{"name": "c", "image": "i"}], "securityContext": {}}
    assert unknown == []


def test_a_required_list_stays_though_it_is_empty() -> None:
    assert prune(POD, {"spec": {"containers": []}})[0] == {"spec": {"containers": []}}


def test_null_in_a_map_or_list_of_kubernetes_is_the_empty_value() -> None:
    assert prune(CONFIG_MAP, {"data": {"a": None}})[0] == {"data": {"a": ""}}
    assert prune(POD, {"spec": {"containers": [None]}})[0] == {"spec": {"containers": [{}]}}


def test_of_custom_kinds_only_what_is_null_is_not_kept() -> None:
    kept, _ = prune(CLUSTER_QUEUE, queue(cohortName=None, resourceGroups=[], namespaceSelector={}, fairSharing=None))
    assert kept["spec"] == {"resourceGroups": [], "namespaceSelector": {}}


def test_a_whole_number_written_as_a_fraction_is_read_in_custom_kinds() -> None:
    raw = {"spec": {"priority": 3.0}}
    kept, _ = prune(WORKLOAD, raw)
    assert repr(kept["spec"]["priority"]) == "3"


def test_unknown_fields_of_the_pod_template_of_a_workload_stay() -> None:
    template = {"spec": {"containers": [{"name": "c", "new": 1}], "newer": {"a": None}}, "newest": True}
    raw = {"spec": {"podSets": [{"name": "main", "template": template, "other": 1}]}}
    kept, unknown = prune(WORKLOAD, raw)
    assert kept == {"spec": {"podSets": [{"name": "main", "template": template}]}}
    assert unknown == ["spec.podSets[0].other"]


def test_values_of_the_wrong_type_pass_through_pruning() -> None:
    wrong: Raw
    for wrong in ({"spec": 5}, {"spec": {"containers": "no"}}, {"spec": {"containers": [5]}}, {"metadata": []}):
        assert prune(POD, wrong) == (wrong, [])


# Types


@pytest.mark.parametrize(
    ("kind", "raw", "field"),
    [
        (POD, pod(terminationGracePeriodSeconds="3"), "spec.terminationGracePeriodSeconds"),
        (POD, pod(terminationGracePeriodSeconds=1.5), "spec.terminationGracePeriodSeconds"),
        (POD, pod(priority=99_999_999_999), "spec.priority"),
        (POD, pod(priority=True), "spec.priority"),
        (POD, pod(hostNetwork="true"), "spec.hostNetwork"),
        (POD, pod(containers="no"), "spec.containers"),
        (POD, pod(containers=[5]), "spec.containers[0]"),
        (POD, pod(containers=[{"name": "c", "image": 1}]), "spec.containers[0].image"),
        (POD, {"metadata": {"labels": {"a": 1}}}, "metadata.labels.a"),
        (POD, {"metadata": {"labels": []}}, "metadata.labels"),
        (POD, {"metadata": "x"}, "metadata"),
        (POD, {"metadata": {"deletionTimestamp": "nope"}}, "metadata.deletionTimestamp"),
        (POD, {"metadata": {"creationTimestamp": "2026-02-30T00:00:00Z"}}, "metadata.creationTimestamp"),
        (POD, pod(overhead={"cpu": "abc"}), "spec.overhead.cpu"),
        (POD, pod(overhead={"cpu": True}), "spec.overhead.cpu"),
        (SERVICE, {"spec": {"ports": [{"port": 80, "targetPort": 1.5}]}}, "spec.ports[0].targetPort"),
        (SERVICE, {"spec": {"ports": [{"port": 80, "targetPort": 99_999_999_999}]}}, "spec.ports[0].targetPort"),
        (SECRET, {"data": {"a": "!!"}}, "data.a"),
        (LEASE, {"spec": {"renewTime": "2026-01-01T00:00:00Z"}}, "spec.renewTime"),
    ],
)
def test_a_value_that_cannot_be_read_is_a_bad_request(kind: Kind, raw: Raw, field: str) -> None:
    causes = check_types(kind, raw)
    assert [cause.field for cause in causes] == [field]
    refused = wrong_form(kind, "p", causes)
    assert isinstance(refused, BadRequest)
    assert refused.message.startswith(f'{kind.kind} in version "v1" cannot be handled as a {kind.kind}: {field}: ')


@pytest.mark.parametrize(
    "raw",
    [
        pod(),
        pod(overhead={"cpu": 1.5, "memory": "1Gi"}, priority=None, activeDeadlineSeconds=0),
        pod(containers=[{"name": "c", "livenessProbe": {"httpGet": {"port": "http"}}, "args": []}]),
        {"metadata": {"creationTimestamp": "2026-01-01T00:00:00.5+02:00", "annotations": None}},
    ],
)
def test_decodable_objects_are_accepted(raw: Raw) -> None:
    assert check_types(POD, raw) == []


def test_every_wrong_value_of_a_custom_kind_is_named() -> None:
    raw = queue(
        cohortName=5,
        stopPolicy="Maybe",
        resourceGroups=[{"coveredResources": ["cpu"], "flavors": [{"resources": []}]}],
        flavorFungibility="x",
    )
    causes = check_types(CLUSTER_QUEUE, raw)
    assert causes == [
        Cause(
            "spec.cohortName",
            'Invalid value: "integer": spec.cohortName in body must be of type string: "integer"',
            "FieldValueTypeInvalid",
        ),
        Cause(
            "spec.flavorFungibility",
            'Invalid value: "string": spec.flavorFungibility in body must be of type object: "string"',
            "FieldValueTypeInvalid",
        ),
        Cause("spec.resourceGroups[0].flavors[0].name", "Required value", "FieldValueRequired"),
        Cause(
            "spec.stopPolicy",
            'Unsupported value: "Maybe": supported values: "None", "Hold", "HoldAndDrain"',
            "FieldValueNotSupported",
        ),
    ]
    refused = wrong_form(CLUSTER_QUEUE, "q", causes)
    assert isinstance(refused, Invalid)
    assert refused.message.startswith('ClusterQueue.kueue.x-k8s.io "q" is invalid: [spec.cohortName: Invalid value: ')
    assert (refused.group, refused.kind, refused.name) == ("kueue.x-k8s.io", "ClusterQueue", "q")


def test_items_of_a_custom_kind_with_the_same_key_are_duplicates() -> None:
    flavors = [
        {"name": "a", "resources": []},
        {"name": "b", "resources": []},
        {"name": "a", "resources": [{"name": 1}]},
    ]
    causes = check_types(CLUSTER_QUEUE, queue(resourceGroups=[{"coveredResources": ["cpu"], "flavors": flavors}]))
    assert ("spec.resourceGroups[0].flavors[2]", 'Duplicate value: {"name":"a"}', "FieldValueDuplicate") in causes


def test_null_in_a_list_of_a_custom_kind_is_of_the_wrong_type() -> None:
    causes = check_types(CLUSTER_QUEUE, queue(resourceGroups=[None]))
    assert [cause.field for cause in causes] == ["spec.resourceGroups[0]"]
    assert '"null"' in causes[0].message


def test_metadata_of_a_custom_kind_that_cannot_be_read_is_a_bad_request() -> None:
    causes = check_types(CLUSTER_QUEUE, {"metadata": {"labels": {"a": 1}}, "spec": 5})
    assert [cause.field for cause in causes] == ["metadata.labels.a"]
    assert isinstance(wrong_form(CLUSTER_QUEUE, "q", causes), BadRequest)


def test_the_status_of_a_custom_kind_is_checked_only_where_it_is_written() -> None:
    raw = {"metadata": {"name": "w"}, "spec": 5, "status": {"conditions": [{"type": "Admitted"}]}}
    assert [cause.field for cause in check_types(WORKLOAD, raw)] == ["spec"]
    fields = [cause.field for cause in check_types(WORKLOAD, raw, "status")]
    assert fields == [f"status.conditions[0].{name}" for name in ("lastTransitionTime", "message", "reason", "status")]


def test_nothing_is_missing_in_the_body_of_an_apply() -> None:
    raw = {"metadata": {"name": "w"}, "status": {"conditions": [{"type": "Admitted", "status": 5}]}}
    fields = [cause.field for cause in check_types(WORKLOAD, raw, "status", partial=True)]
    assert fields == ["status.conditions[0].status"]


def test_a_patch_that_leaves_a_value_of_the_wrong_type_is_invalid() -> None:
    refused = wrong_form(POD, "p", check_types(POD, pod(priority="x")), by_patch=True)
    assert isinstance(refused, Invalid)
    assert [cause.field for cause in refused.causes] == ["patch"]
