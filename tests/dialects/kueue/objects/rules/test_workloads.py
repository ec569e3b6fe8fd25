from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.objects.rules import check_update, check_workload

EXISTS = {"operator": "Exists"}
WPC = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
POD_CLASS = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}
ELASTIC = {"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}
SETS = [{"name": "main", "count": 4, "template": {"spec": {"containers": [{"name": "c"}]}}}]
GATED = "kueue.x-k8s.io/admission-gated-by"


def true(*kinds: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": "True"} for kind in kinds]


def given(spec: Any = None, status: Any = None, meta: Any = None, version: str = "v1beta2") -> Field:
    return Field.root(
        {
            "apiVersion": f"kueue.x-k8s.io/{version}",
            "kind": "Workload",
            "metadata": {"name": "x", **(meta or {})},
            "spec": {"podSets": SETS, **(spec or {})},
            "status": status or {},
        }
    )


def mistakes(spec: Any = None, status: Any = None, meta: Any = None) -> list[str]:
    field = given(spec, status, meta)
    check_workload(field)
    return [str(one) for one in field.report.mistakes]


def admission(*assignments: dict[str, Any]) -> dict[str, Any]:
    default = {"name": "main", "count": 4, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}
    return {"clusterQueue": "q", "podSetAssignments": list(assignments) or [default]}


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({}, {}),
        ({"queueName": "q", "priority": -1, "priorityClassRef": WPC, "active": False}, {}),
        ({"priority": 1, "priorityClassRef": POD_CLASS, "maximumExecutionTimeSeconds": 1}, {}),
        (
            {
                "priority": 1,
                "priorityClassName": "a",
                "priorityClassSource": "scheduling.k8s.io/priorityclass",
                "preemptionGates": [{"name": f"g{i}"} for i in range(8)],
            },
            {},
        ),
        (
            {},
            {
                "conditions": true("QuotaReserved", "Admitted"),
                "admission": admission(),
                "reclaimablePods": [{"name": "main", "count": 4}],
                "admissionChecks": [{"name": "a", "state": "Retry", "podSetUpdates": [{"name": "main"}]}],
            },
        ),
        ({}, {"admission": admission({"name": "main", "count": 0, "resourceUsage": {"cpu": "0"}})}),
    ],
)
def test_a_valid_object_has_no_mistakes(spec: Any, status: Any) -> None:
    assert mistakes(spec, status) == []


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"queueName": "Q"}, 'spec.queueName: is "Q", not the name of an object'),
        ({"priority": 2**31}, "spec.priority: is 2147483648; use a whole number from -2147483648"),
        ({"maximumExecutionTimeSeconds": 0}, "spec.maximumExecutionTimeSeconds: is 0; use a whole number from 1"),
        ({"active": "no"}, 'spec.active: is "no"; use true or false'),
        ({"priorityClassRef": WPC}, "spec.priorityClassRef: requires a priority; set that of the class"),
        (
            {"priority": 1, "priorityClassRef": {**WPC, "kind": "PriorityClass"}},
            "spec.priorityClassRef: is of kueue.x-k8s.io PriorityClass; refer to kueue.x-k8s.io WorkloadPriority",
        ),
        ({"priority": 1, "priorityClassRef": {**WPC, "name": ""}}, 'spec.priorityClassRef.name: is "", not the name'),
        (
            {"priority": 1, "priorityClassName": "a"},
            "spec.priorityClassSource: is missing; use one of: kueue.x-k8s.io/workloadpriorityclass, scheduling",
        ),
        (
            {"priority": 1, "priorityClassName": "a", "priorityClassSource": "b"},
            'spec.priorityClassSource: is "b"; use one of',
        ),
        (
            {"preemptionGates": [{"name": f"g{i}"} for i in range(9)]},
            "spec.preemptionGates: has 9 entries; use at most 8",
        ),
        ({"preemptionGates": [{}]}, "spec.preemptionGates[0].name: is missing; set the name of the gate"),
        (
            {"podSets": [{"template": {"metadata": {"labels": {"a": "x!"}}}}]},
            'spec.podSets[0].template.metadata.labels.a: is "x!", not a label value',
        ),
        (
            {"podSets": [{"template": {"metadata": {"annotations": {"a/b/c": "x"}}}}]},
            'spec.podSets[0].template.metadata.annotations[a/b/c]: "a/b/c" is not the name of an annotation',
        ),
        (
            {"podSets": [{"template": {"metadata": {"annotations": {"a": 1}}}}]},
            "spec.podSets[0].template.metadata.annotations.a: is 1, not a string",
        ),
    ],
)
def test_mistakes_in_the_spec_are_reported_with_their_paths(spec: Any, text: str) -> None:
    found = mistakes(spec)
    assert len(found) == 1
    assert found[0].startswith(text)


def test_an_elastic_job_starts_with_all_of_its_pods() -> None:
    fewer = {"podSets": [{**SETS[0], "minCount": 2}]}
    assert mistakes(fewer) == []
    assert mistakes(fewer, meta=ELASTIC) == [
        "spec.podSets[0].minCount: is not allowed in an elastic job; "
        "remove it, or the annotation kueue.x-k8s.io/elastic-job"
    ]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"conditions": true("QuotaReserved")}, "status.admission: is required while quota is reserved; set it"),
        (
            {"conditions": true("QuotaReserved"), "admission": {"clusterQueue": "q"}},
            "status.admission.podSetAssignments: has 0 entries; use one for each pod set",
        ),
        (
            {"admission": admission({"name": "other", "count": 1})},
            'status.admission.podSetAssignments[0].name: is "other", which is not a pod set of the spec; '
            "use one of: main",
        ),
        (
            {"admission": admission({"name": "main", "count": 4, "resourceUsage": {"cpu": "1", "gpu": "3"}})},
            "status.admission.podSetAssignments[0].resourceUsage.gpu: is 3, "
            "which cannot be divided evenly among 4 pods",
        ),
        (
            {"admission": admission({"name": "main", "count": 4, "resourceUsage": {"cpu": "-4"}})},
            "status.admission.podSetAssignments[0].resourceUsage.cpu: is -4; use a quantity that is not negative",
        ),
        ({"conditions": true(*(f"C{i}" for i in range(17)))}, "status.conditions: has 17 entries; use at most 16"),
        (
            {"reclaimablePods": [{"name": "main", "count": 5}]},
            "status.reclaimablePods[0].count: is 5; the pod set has 4",
        ),
        (
            {"reclaimablePods": [{"name": "x", "count": 1}]},
            'status.reclaimablePods[0].name: is "x", which is not a pod set of the spec',
        ),
        (
            {"admissionChecks": [{"name": f"c{i}", "state": "Ready"} for i in range(9)]},
            "status.admissionChecks: has 9 entries; use at most 8",
        ),
        (
            {"admissionChecks": [{"name": "a", "state": "Done"}]},
            'status.admissionChecks[0].state: is "Done"; use one of: Pending, Ready, Retry, Rejected',
        ),
        (
            {"admissionChecks": [{"name": "a", "state": "Ready", "podSetUpdates": [{"name": "x"}]}]},
            'status.admissionChecks[0].podSetUpdates[0].name: is "x", which is not a pod set of the spec',
        ),
        (
            {
                "admissionChecks": [
                    {"name": "a", "state": "Ready", "podSetUpdates": [{"name": "main", "tolerations": [EXISTS] * 9}]}
                ]
            },
            "status.admissionChecks[0].podSetUpdates[0].tolerations: has 9 entries; use at most 8",
        ),
    ],
)
def test_mistakes_in_the_status_are_reported_with_their_paths(status: Any, text: str) -> None:
    found = mistakes(None, status)
    assert len(found) == 1
    assert found[0].startswith(text)


def updated(old: Field, new: Field) -> list[str]:
    check_update(old, new)
    return [str(one) for one in new.report.mistakes]


RESERVED = {"conditions": true("QuotaReserved"), "admission": admission()}
ADMITTED = {"conditions": true("QuotaReserved", "Admitted"), "admission": admission()}


def sets(count: int, **more: Any) -> dict[str, Any]:
    return {"podSets": [{**SETS[0], "count": count, **more}]}


def test_pod_sets_may_change_until_quota_is_reserved() -> None:
    assert updated(given(sets(4)), given(sets(5))) == []
    assert updated(given(sets(4), RESERVED), given(sets(4), RESERVED)) == []
    assert updated(given(sets(4), RESERVED), given(sets(4, minCount=None), RESERVED)) == []
    assert updated(given(sets(4), RESERVED), given(sets(3), RESERVED)) == [
        "spec.podSets: cannot be changed while quota is reserved; stop the job first, which releases its quota"
    ]


def test_an_elastic_job_may_only_lower_its_counts() -> None:
    old = given(sets(4), RESERVED, ELASTIC)
    assert updated(old, given(sets(3), RESERVED, ELASTIC)) == []
    assert len(updated(old, given(sets(5), RESERVED, ELASTIC))) == 1
    assert len(updated(old, given(sets(3, template={}), RESERVED, ELASTIC))) == 1
    assert "spec.podSets: cannot be changed" in updated(old, given({"podSets": []}, {}, ELASTIC))[-1]


def test_a_queue_may_change_unless_quota_is_reserved_before_and_after() -> None:
    assert updated(given({"queueName": "a"}), given({"queueName": "b"})) == []
    assert updated(given({"queueName": "a"}, RESERVED), given({"queueName": "b"})) == []
    assert updated(given({"queueName": "a"}, RESERVED), given({"queueName": "b"}, RESERVED))[0].startswith(
        'spec.queueName: cannot be changed from "a" while quota is reserved'
    )


def classed(reference: Any) -> dict[str, Any]:
    return {"priority": 1, "priorityClassRef": reference}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (WPC, {**WPC, "name": "low"}, None),
        (POD_CLASS, POD_CLASS, None),
        (
            POD_CLASS,
            {**POD_CLASS, "name": "low"},
            'spec.priorityClassRef.name: cannot be changed from "high" while quota is reserved',
        ),
        (
            WPC,
            POD_CLASS,
            'spec.priorityClassRef.group: cannot be changed from "kueue.x-k8s.io" while quota is reserved',
        ),
        (None, WPC, "spec.priorityClassRef: cannot be added while quota is reserved"),
        (WPC, None, "spec.priorityClassRef: cannot be removed while quota is reserved"),
    ],
)
def test_a_reserved_workload_keeps_its_kind_of_priority(old: Any, new: Any, text: str | None) -> None:
    found = updated(given(classed(old), RESERVED), given(classed(new), RESERVED))
    assert found[:1] == [] if text is None else found[0].startswith(text)
    assert updated(given(classed(old)), given(classed(new))) == []


def test_a_class_is_the_same_in_both_versions() -> None:
    source = "kueue.x-k8s.io/workloadpriorityclass"
    old = given({"priority": 1, "priorityClassName": "high", "priorityClassSource": source}, RESERVED, None, "v1beta1")
    assert updated(old, given(classed(WPC), RESERVED)) == []


def test_the_longest_run_may_change_until_the_workload_runs() -> None:
    old, new = {"maximumExecutionTimeSeconds": 5}, {"maximumExecutionTimeSeconds": 6}
    assert updated(given(old, RESERVED), given(new, RESERVED)) == []
    assert updated(given(old, ADMITTED), given(new, ADMITTED))[0].startswith(
        "spec.maximumExecutionTimeSeconds: cannot be changed from 5 while the workload is admitted"
    )


def test_an_admission_can_be_set_and_removed_but_only_its_topology_changed() -> None:
    def at(**more: Any) -> Field:
        assignment = {"name": "main", "count": 4, "resourceUsage": {"cpu": "4"}, **more}
        return given(None, {"admission": admission(assignment)})

    assert updated(given(), at()) == []
    assert updated(at(), given()) == []
    place = {"levels": ["a"], "slices": []}
    assert updated(at(), at(topologyAssignment=place, delayedTopologyRequest="Ready", flavors=None)) == []
    assert updated(at(), at(flavors={"cpu": "f"})) == [
        "status.admission: cannot be changed, except topologyAssignment; remove it and set a new one"
    ]
    other = given(None, {"admission": {**admission(), "clusterQueue": "other"}})
    assert len(updated(given(None, {"admission": admission()}), other)) == 1


def test_reclaimable_counts_cannot_decrease() -> None:
    def done(count: int | None) -> Field:
        pods = [] if count is None else [{"name": "main", "count": count}]
        return given(None, {**RESERVED, "reclaimablePods": pods})

    assert updated(done(2), done(3)) == []
    assert updated(done(2), done(1)) == ["status.reclaimablePods: has 1 for main, which had 2; use at least 2"]
    assert updated(done(2), done(None)) == [
        "status.reclaimablePods: has no entry for main, which had 2; use at least 2"
    ]
    assert updated(done(2), given()) == []


def test_the_updates_of_a_ready_check_are_immutable() -> None:
    def checked(state: str, value: str) -> Field:
        check = {"name": "a", "state": state, "podSetUpdates": [{"name": "main", "labels": {"l": value}}]}
        return given(None, {"admissionChecks": [check]})

    assert updated(checked("Ready", "1"), checked("Ready", "1")) == []
    assert updated(checked("Pending", "1"), checked("Ready", "2")) == []
    assert updated(checked("Ready", "1"), checked("Retry", "2")) == []
    assert updated(checked("Ready", "1"), checked("Ready", "2"))[0].startswith(
        "status.admissionChecks[0].podSetUpdates: cannot be changed while the check is Ready"
    )


def test_a_cluster_name_is_a_nominated_one_and_immutable() -> None:
    def cluster(name: str | None, *nominated: str) -> Field:
        return given(None, {"clusterName": name, "nominatedClusterNames": list(nominated)})

    assert updated(cluster(None, "a", "b"), cluster("a")) == []
    assert updated(cluster("a"), cluster("a")) == []
    assert updated(cluster("a"), cluster(None)) == []
    assert updated(cluster(None, "a"), cluster("c")) == [
        'status.clusterName: is "c", which was not nominated; use one of: a'
    ]
    assert updated(cluster("a", "b"), cluster("b"))[0].startswith("status.clusterName: cannot be changed from a")


def test_gates_are_set_at_creation_and_then_only_removed() -> None:
    def gated(text: str | None) -> Field:
        return given(meta={"annotations": {} if text is None else {GATED: text}})

    assert updated(gated("a,b"), gated("b")) == []
    assert updated(gated("a"), gated(None)) == []
    assert updated(gated("a, b"), gated("b,a")) == []
    assert updated(gated(None), gated("a")) == [
        f"metadata.annotations[{GATED}]: cannot gain a; set all gates when the Workload is created"
    ]
    assert len(updated(gated("a"), gated("a,b"))) == 1


def test_domains_that_cannot_be_read_are_a_mistake_and_no_crash() -> None:
    broken = {"levels": ["a"], "domains": [{"values": ["x"]}]}
    new = given(None, {"admission": admission({"name": "main", "topologyAssignment": broken})}, None, "v1beta1")
    assert updated(given(), new)[0].startswith("status.admission: topologyAssignment is incomplete")
