from __future__ import annotations

import re
from typing import Any

import pytest

from closeknit.cluster.embedded.descriptions import FIELDS, about
from closeknit.cluster.embedded.schema import openapi_v3
from closeknit.cluster.kinds import KINDS, Kind

VERSIONS = sorted({(kind.group, kind.version) for kind in KINDS})


def references(tree: Any) -> set[str]:
    return set(re.findall(r"'\$ref': '#/components/schemas/([^']+)'", repr(tree)))


@pytest.mark.parametrize(("group", "version"), VERSIONS)
def test_every_reference_in_a_document_leads_somewhere(group: str, version: str) -> None:
    document = openapi_v3(group, version)
    parts = document["components"]["schemas"]
    assert references(document) <= parts.keys()
    assert all("type" in part for part in parts.values())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_kind_has_a_patch_operation_that_checks_fields(kind: Kind) -> None:
    names = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    paths = openapi_v3(kind.group, kind.version)["paths"].values()
    found = [path["patch"] for path in paths if path["patch"]["x-kubernetes-group-version-kind"] == names]
    assert len(found) == 1
    assert "fieldValidation" in [one["name"] for one in found[0]["parameters"]]


def test_a_kind_is_described_with_its_fields_and_what_they_need() -> None:
    parts = openapi_v3("batch", "v1")["components"]["schemas"]
    assert parts["Job"]["description"] == "Runs pods until enough of them have succeeded."
    assert parts["Job"]["properties"]["spec"] == {
        "allOf": [{"$ref": "#/components/schemas/JobSpec"}],
        "description": "The desired state.",
    }
    assert parts["JobSpec"]["required"] == ["template"]
    assert parts["JobSpec"]["properties"]["suspend"] == {"type": "boolean"}
    assert parts["PodSpec"]["properties"]["containers"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Container"},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }


def test_a_field_that_refers_to_a_part_can_say_more_about_it() -> None:
    strategy = openapi_v3("apps", "v1")["components"]["schemas"]["DeploymentSpec"]["properties"]["strategy"]
    assert strategy == {
        "allOf": [{"$ref": "#/components/schemas/DeploymentStrategy"}],
        "x-kubernetes-patch-strategy": "retainKeys",
    }


def test_every_kind_says_what_it_is_for() -> None:
    assert [kind for kind in KINDS if not about(kind.kind).endswith(".")] == []


def test_every_description_is_of_a_field_that_there_is() -> None:
    groups = ("kueue.x-k8s.io", "v1beta2"), ("closeknit.dev", "v1alpha1"), ("topology.node.k8s.io", "v1alpha2")
    parts = {name: one for group in groups for name, one in openapi_v3(*group)["components"]["schemas"].items()}
    assert [path for path in FIELDS if field_at(parts, path) is None] == []


def field_at(parts: dict[str, Any], path: str) -> Any:
    """The field of a document by its path, through lists and references."""
    start, *steps = path.split(".")
    found = parts[start]
    for step in steps:
        while "properties" not in found:
            target = found.get("$ref") or next((one["$ref"] for one in found.get("allOf", ())), "")
            found = parts[target.rpartition("/")[2]] if target else found["items"]
        if step not in found["properties"]:
            return None
        found = found["properties"][step]
    return found


def test_a_list_is_described_and_its_items_do_not_repeat_it() -> None:
    parts = openapi_v3("kueue.x-k8s.io", "v1beta2")["components"]["schemas"]
    sets = field_at(parts, "Workload.spec.podSets")
    assert sets["description"] == "Its pods, in sets of equal ones."
    assert "description" not in sets["items"]
    assert field_at(parts, "Cohort.spec.resourceGroups.flavors.name")["description"] == "The name of a ResourceFlavor."


def test_the_pod_template_of_a_workload_is_open() -> None:
    parts = openapi_v3("kueue.x-k8s.io", "v1beta2")["components"]["schemas"]
    pod_set = parts["Workload"]["properties"]["spec"]["properties"]["podSets"]["items"]
    assert pod_set["properties"]["template"]["x-kubernetes-preserve-unknown-fields"] is True


def test_a_group_that_is_not_served_has_no_document() -> None:
    document = openapi_v3("example.org", "v1")
    assert (document["paths"], document["components"]["schemas"]) == ({}, {})
