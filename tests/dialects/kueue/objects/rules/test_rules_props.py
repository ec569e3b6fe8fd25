"""For any input, validation reports mistakes with remedies and never crashes."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects.field import Field
from closeknit.dialects.kueue import objects
from closeknit.dialects.kueue.objects.rules import CREATE_CHECKS, check_update

QUOTA = {"name": "cpu", "nominalQuota": "9", "borrowingLimit": 1, "lendingLimit": "1"}
GROUPS = [{"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [QUOTA]}]}]
CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
UPDATE = {"name": "main", "labels": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists"}]}
ASSIGNMENT = {
    "name": "main",
    "count": 2,
    "flavors": {"cpu": "spot"},
    "resourceUsage": {"cpu": "2"},
    "topologyAssignment": {"levels": ["a"], "domains": [{"values": ["x"], "count": 2}]},
}
OBJECTS: list[dict[str, Any]] = [
    {
        "kind": "ClusterQueue",
        "spec": {
            "resourceGroups": GROUPS,
            "cohortName": "team",
            "cohort": "team",
            "admissionChecks": ["a"],
            "namespaceSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
            "flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "preference": None},
            "preemption": {"borrowWithinCohort": {"policy": "Never", "maxPriorityThreshold": 3}},
            "admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["spot"]}]},
            "fairSharing": {"weight": "1"},
            "admissionScope": {"admissionMode": "NoAdmissionFairSharing"},
        },
        "status": {"pendingWorkloadsStatus": {}},
    },
    {"kind": "LocalQueue", "spec": {"clusterQueue": "q", "stopPolicy": "Hold"}, "status": {"flavorUsage": []}},
    {"kind": "Cohort", "spec": {"parentName": "all", "resourceGroups": GROUPS, "fairSharing": {"weight": 2}}},
    {
        "kind": "Workload",
        "spec": {
            "podSets": [
                {
                    "name": "main",
                    "count": 2,
                    "template": {
                        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
                        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
                    },
                    "topologyRequest": {"required": "a"},
                }
            ],
            "priority": 3,
            "priorityClassRef": CLASS,
            "priorityClassName": "high",
            "preemptionGates": [{"name": "g"}],
        },
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": "True"}],
            "admission": {"clusterQueue": "q", "podSetAssignments": [ASSIGNMENT]},
            "reclaimablePods": [{"name": "main", "count": 1}],
            "admissionChecks": [{"name": "a", "state": "Ready", "podSetUpdates": [UPDATE]}],
            "nominatedClusterNames": ["a"],
            "clusterName": "a",
        },
    },
    {"kind": "WorkloadPriorityClass", "value": 3, "description": "d"},
    {"kind": "AdmissionCheck", "spec": {"controllerName": "c", "parameters": CLASS}, "status": {"conditions": []}},
    {
        "kind": "ProvisioningRequestConfig",
        "spec": {
            "provisioningClassName": "a",
            "parameters": {"p": "v"},
            "managedResources": ["cpu"],
            "retryStrategy": {"backoffLimitCount": 1},
            "podSetUpdates": {"nodeSelector": [{"key": "a", "valueFromProvisioningClassDetail": "b"}]},
        },
    },
    {"kind": "ResourceFlavor", "spec": {"nodeLabels": {"a": "b"}, "topologyName": "t", "nodeTaints": [{"key": "a"}]}},
    {"kind": "Topology", "spec": {"levels": [{"nodeLabel": "a"}]}},
]
READERS = {
    "AdmissionCheck": objects.admission_check,
    "ClusterQueue": objects.cluster_queue,
    "Cohort": objects.cohort,
    "LocalQueue": objects.local_queue,
    "ProvisioningRequestConfig": objects.provisioning_config,
    "ResourceFlavor": objects.flavor,
    "Topology": objects.topology,
    "Workload": objects.workload,
    "WorkloadPriorityClass": objects.priority_class,
}
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=4),
    st.sampled_from(["-1", "1e99", "1n", "x" * 400]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a tree with each of its keys."""
    if isinstance(value, dict):
        return [(value, key) for key in value] + [pair for inner in value.values() for pair in places(inner)]
    if isinstance(value, list):
        return [(value, index) for index in range(len(value))] + [pair for inner in value for pair in places(inner)]
    return []


@st.composite
def mangled(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """An object, and a copy with some values replaced at random."""
    raw = draw(st.sampled_from(OBJECTS))
    version = {"apiVersion": f"kueue.x-k8s.io/{draw(st.sampled_from(['v1beta1', 'v1beta2']))}"}
    meta = {"metadata": {"name": "x", "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}}
    whole = {**version, **meta, **raw}
    spoilt = copy.deepcopy(whole)
    for _ in range(draw(st.integers(0, 3))):
        container, key = draw(st.sampled_from(places(spoilt)))
        if key in ("kind", "apiVersion"):
            continue
        if isinstance(container, dict) and draw(st.booleans()):
            del container[key]
        else:
            container[key] = draw(JUNK)
    return whole, spoilt


@settings(max_examples=400)
@given(mangled())
def test_validation_never_crashes(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    whole, spoilt = pair
    field = Field.root(spoilt)
    CREATE_CHECKS[spoilt["kind"]](field)
    assert all(mistake.text for mistake in field.report.mistakes)
    check_update(Field.root(whole), Field.root(spoilt))
    check_update(Field.root(spoilt), Field.root(whole))


@settings(max_examples=400)
@given(mangled())
def test_reading_ends_in_a_value_or_in_one_kind_of_error(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    raw = pair[1]
    before = copy.deepcopy(raw)
    objects.with_defaults(raw)
    for step in (READERS[raw["kind"]], objects.to_v1beta2):
        with suppress(objects.Unreadable):
            step(raw)
    assert str(raw) == str(before)
