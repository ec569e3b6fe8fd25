"""The table of rules by kind, which `closeknit check` uses."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue.admin import CHECKS
from closeknit.dialects.kueue.jobs import read
from closeknit.model.gates import Gates


def said(kind: str, name: str = "x", **parts: Any) -> list[str]:
    raw = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, **parts}
    (reading,) = read([("file.yaml", raw)], Gates.profile(), CHECKS)
    assert not reading.skipped
    return [str(mistake) for mistake in reading.mistakes]


@pytest.mark.parametrize(
    ("kind", "parts", "text"),
    [
        ("AdmissionCheck", {"spec": {}}, "spec.controllerName: is missing"),
        ("ClusterQueue", {"spec": {"stopPolicy": "Stop"}}, 'spec.stopPolicy: is "Stop"'),
        ("Cohort", {"spec": {"parentName": "A"}}, 'spec.parentName: is "A"'),
        ("LocalQueue", {"spec": {}}, "spec.clusterQueue: is missing"),
        ("ProvisioningRequestConfig", {"spec": {}}, "spec.provisioningClassName: is missing"),
        ("ResourceFlavor", {"spec": {"topologyName": "t"}}, "spec.nodeLabels: is required"),
        ("Topology", {"spec": {}}, "spec.levels: is missing"),
        ("WorkloadPriorityClass", {}, "value: is missing"),
    ],
)
def test_every_kind_of_the_group_is_checked(kind: str, parts: dict[str, Any], text: str) -> None:
    found = said(kind, **parts)
    assert len(found) == 1
    assert found[0].startswith(f"file.yaml: {kind} x: {text}")


def test_names_of_objects_are_checked_too() -> None:
    assert said("Cohort", name="A_b")[0].startswith('file.yaml: Cohort A_b: metadata.name: is "A_b", not a valid name')
    assert said("Cohort", name="")[0].endswith("metadata.name: is missing; set a name")
