"""The definitions by themselves; whether a server takes them is asked by `python -m corpus.run real`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from closeknit.cluster.kinds import BY_NAME, WORKLOAD, Kind
from closeknit.deploy.crds import DEFINED, KUEUE_KINDS, definition, definitions
from closeknit.deploy.crds.extras import FILLED, NEEDED
from closeknit.deploy.crds.rules import RULES
from closeknit.dialects.kueue.objects.rules.limits import LIMITS

Raw = dict[str, Any]
GROUP = "kueue.x-k8s.io"
BIGGEST = 256 * 1024
"""An annotation that holds the last applied definition may not be larger."""


def version(kind: Kind) -> Raw:
    (only,) = definition(kind)["spec"]["versions"]
    found: Raw = only
    return found


def schema(kind: Kind) -> Raw:
    found: Raw = version(kind)["schema"]["openAPIV3Schema"]
    return found


def fields(part: Raw, path: str = "") -> Iterator[tuple[str, Raw]]:
    """Every part of a schema with the way to it."""
    yield path, part
    for name, one in part.get("properties", {}).items():
        yield from fields(one, f"{path}.{name}" if path else name)
    if "items" in part:
        yield from fields(part["items"], f"{path}[]")
    if "additionalProperties" in part:
        yield from fields(part["additionalProperties"], f"{path}{{}}")


def at(kind: str, path: str) -> Raw | None:
    found = next(one for one in DEFINED if one.kind == kind)
    return dict(fields(schema(found))).get(path)


def named(kind: str) -> Raw:
    names: Raw = definition(BY_NAME[GROUP, kind])["spec"]["names"]
    return names


def columns(kind: str) -> list[tuple[str, str, int]]:
    found = version(BY_NAME[GROUP, kind]).get("additionalPrinterColumns", [])
    return [(one["name"], one["jsonPath"], one.get("priority", 0)) for one in found]


def test_all_kinds_of_kueue_and_our_own_are_defined_and_serve_what_is_stored_alone() -> None:
    assert {one["metadata"]["name"] for one in definitions()} == {
        f"{plural}.{GROUP}"
        for plural in (
            *("resourceflavors", "clusterqueues", "localqueues", "cohorts", "workloads", "workloadpriorityclasses"),
            *("admissionchecks", "provisioningrequestconfigs", "topologies"),
        )
    } | {"maintenances.closeknit.dev", "noderesourcetopologies.topology.node.k8s.io"}
    for kind in KUEUE_KINDS:
        only = version(kind)
        assert (only["name"], only["served"], only["storage"]) == ("v1beta2", True, True)


def test_names_and_scopes_are_those_that_people_type() -> None:
    assert named("Workload")["shortNames"] == ["kwl", "kueueworkload", "kueueworkloads"]
    assert named("LocalQueue") == {
        "kind": "LocalQueue",
        "listKind": "LocalQueueList",
        "plural": "localqueues",
        "singular": "localqueue",
        "shortNames": ["queue", "queues", "lq"],
    }
    scopes = {one["spec"]["names"]["kind"]: one["spec"]["scope"] for one in definitions()}
    assert [kind for kind, scope in scopes.items() if scope == "Namespaced"] == ["Workload", "LocalQueue"]


@pytest.mark.parametrize("kind", DEFINED, ids=lambda kind: kind.kind)
def test_a_definition_fits_into_an_annotation(kind: Kind) -> None:
    assert len(json.dumps(definition(kind))) < BIGGEST


@pytest.mark.parametrize("kind", DEFINED, ids=lambda kind: kind.kind)
def test_every_field_is_described_in_one_sentence(kind: Kind) -> None:
    for path, part in fields(schema(kind)):
        if not path.endswith(("[]", "{}")) and path != "metadata":
            assert re.fullmatch(r"[^.]+(\.\S[^.]*)*\.", part.get("description", "")), path


@pytest.mark.parametrize("kind", DEFINED, ids=lambda kind: kind.kind)
def test_every_list_says_how_it_is_merged(kind: Kind) -> None:
    lists = [part for _, part in fields(schema(kind)) if part.get("type") == "array"]
    assert all(part["x-kubernetes-list-type"] in ("atomic", "map", "set") for part in lists)
    for part in lists:
        for key in part.get("x-kubernetes-list-map-keys", ()):
            inside = part["items"]
            assert key in inside.get("required", ()) or "default" in inside["properties"][key]


@pytest.mark.parametrize("kind", sorted(LIMITS))
def test_limits_and_rules_are_about_fields_that_there_are(kind: str) -> None:
    told = [*LIMITS[kind], *RULES.get(kind, ()), *FILLED.get(kind, ()), *NEEDED.get(kind, ())]
    assert [path for path in told if at(kind, path) is None] == []


def test_a_rule_names_a_field_below_the_one_that_it_stands_at() -> None:
    for kind, by_path in RULES.items():
        for path, rules in by_path.items():
            for rule in rules:
                assert rule.at in ("", f".{rule.at.lstrip('.')}")
                assert not rule.at or at(kind, f"{path}{rule.at}".lstrip(".")) is not None, (kind, path, rule.at)


def test_a_pod_template_preserves_unknown_fields() -> None:
    template = at("Workload", "spec.podSets[].template")
    assert template is not None
    assert template | {"description": ""} == {
        "description": "",
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_columns_are_those_of_kueue() -> None:
    assert columns("Workload") == [
        ("Queue", ".spec.queueName", 0),
        ("Reserved in", ".status.admission.clusterQueue", 0),
        ("Admitted", ".status.conditions[?(@.type=='Admitted')].status", 0),
        ("Finished", ".status.conditions[?(@.type=='Finished')].status", 0),
        ("Age", ".metadata.creationTimestamp", 0),
    ]
    assert columns("ClusterQueue") == [
        ("Cohort", ".spec.cohortName", 0),
        ("Strategy", ".spec.queueingStrategy", 1),
        ("Pending Workloads", ".status.pendingWorkloads", 0),
        ("Admitted Workloads", ".status.admittedWorkloads", 1),
    ]
    assert columns("LocalQueue") == [
        ("ClusterQueue", ".spec.clusterQueue", 0),
        ("Pending Workloads", ".status.pendingWorkloads", 0),
        ("Admitted Workloads", ".status.admittedWorkloads", 0),
    ]
    assert columns("WorkloadPriorityClass") == [("Value", ".value", 0)]
    assert columns("Topology") == []


def test_workloads_can_be_selected_by_their_queue() -> None:
    assert version(WORKLOAD)["selectableFields"] == [{"jsonPath": ".status.admission.clusterQueue"}]


def test_status_is_a_part_of_its_own_where_controllers_write_it() -> None:
    with_status = {kind.kind for kind in KUEUE_KINDS if "subresources" in version(kind)}
    assert with_status == {"AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "Workload"}


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("ClusterQueue", "spec.resourceGroups", {"maxItems": 16, "x-kubernetes-list-type": "atomic"}),
        ("ClusterQueue", "spec.queueingStrategy", {"default": "BestEffortFIFO"}),
        ("ClusterQueue", "spec.fairSharing.weight", {"default": 1, "x-kubernetes-int-or-string": True}),
        ("ClusterQueue", "spec.preemption.borrowWithinCohort", {"default": {}}),
        ("Workload", "spec.podSets", {"minItems": 1, "maxItems": 18, "x-kubernetes-list-map-keys": ["name"]}),
        ("Workload", "spec.podSets[].count", {"default": 1, "minimum": 0, "maximum": 2**31 - 1}),
        ("Topology", "spec.levels", {"minItems": 1, "maxItems": 16}),
        ("ResourceFlavor", "spec.nodeLabels", {"maxProperties": 8, "x-kubernetes-map-type": "atomic"}),
        ("ProvisioningRequestConfig", "spec.retryStrategy", {"default": {}}),
        ("LocalQueue", "spec", {"required": ["clusterQueue"]}),
    ],
)
def test_facts_of_the_api_are_in_the_schema(kind: str, path: str, expected: Raw) -> None:
    found = at(kind, path)
    assert found is not None
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("0", True),
        ("1.5Gi", True),
        ("+3k", True),
        ("-0", True),
        ("-0.00", True),
        ("-1", False),
        ("-.5", False),
        ("x", False),
    ],
)
def test_an_amount_is_a_quantity_that_is_not_negative(text: str, fits: bool) -> None:
    quota = at("Cohort", "spec.resourceGroups[].flavors[].resources[].nominalQuota")
    assert quota is not None
    assert (re.search(quota["pattern"], text) is not None) == fits


def test_every_rule_is_in_the_reference() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/where-rules-are-enforced.md").read_text()
    rows = {line.split(" | ")[1] for line in page.splitlines() if line.endswith("| CRD rule |")}
    messages = {rule.message for rules in RULES.values() for at_path in rules.values() for rule in at_path}
    assert rows == messages


def test_the_definition_of_reports_names_its_approval_and_is_the_published_form() -> None:
    found = next(one for one in definitions() if one["spec"]["group"] == "topology.node.k8s.io")
    approved = "https://github.com/kubernetes/enhancements/pull/1870"
    assert found["metadata"]["annotations"] == {"api-approved.kubernetes.io": approved}
    assert (found["spec"]["scope"], found["spec"]["names"]["shortNames"]) == ("Cluster", ["node-res-topo"])
    only = found["spec"]["versions"][0]
    assert only["name"] == "v1alpha2"
    assert "subresources" not in only
    assert "additionalPrinterColumns" not in only
    body = only["schema"]["openAPIV3Schema"]
    assert body["required"] == ["zones"]
    zone = body["properties"]["zones"]["items"]
    assert zone["required"] == ["name", "type"]
    assert zone["properties"]["resources"]["items"]["required"] == ["allocatable", "available", "capacity", "name"]
