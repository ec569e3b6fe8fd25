from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.objects.rules import check_cluster_queue, check_update

QUOTA = {"name": "cpu", "nominalQuota": "9"}
GROUP = {"coveredResources": ["cpu"], "flavors": [{"name": "spot", "resources": [QUOTA]}]}


def queue(version: str = "v1beta2", **spec: Any) -> Field:
    raw = {"apiVersion": f"kueue.x-k8s.io/{version}", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}
    return Field.root(raw)


def mistakes(version: str = "v1beta2", **spec: Any) -> list[str]:
    field = queue(version, **spec)
    check_cluster_queue(field)
    return [str(one) for one in field.report.mistakes]


def warnings(version: str = "v1beta2", **spec: Any) -> list[str]:
    field = queue(version, **spec)
    check_cluster_queue(field)
    return [str(one) for one in field.report.warnings]


def test_a_queue_may_be_empty_or_full() -> None:
    assert mistakes() == []
    assert (
        mistakes(
            resourceGroups=[GROUP],
            cohortName="team",
            queueingStrategy="StrictFIFO",
            namespaceSelector={"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
            flavorFungibility={
                "whenCanBorrow": "TryNextFlavor",
                "whenCanPreempt": "TryNextFlavor",
                "preference": "BorrowingOverPreemption",
            },
            preemption={
                "withinClusterQueue": "LowerOrNewerEqualPriority",
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": -5},
            },
            admissionChecksStrategy={"admissionChecks": [{"name": "a", "onFlavors": ["spot"]}, {"name": "b"}]},
            stopPolicy="None",
            fairSharing={"weight": "500m"},
            admissionScope={"admissionMode": "NoAdmissionFairSharing"},
            concurrentAdmissionPolicy={"anything": 1},
        )
        == []
    )


def test_a_selector_that_is_absent_is_no_mistake_and_no_warning() -> None:
    assert mistakes(resourceGroups=[GROUP]) == []
    assert warnings(resourceGroups=[GROUP]) == []


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"cohortName": "Team"}, 'spec.cohortName: is "Team", not the name of an object; use lower-case letters'),
        ({"cohortName": 3}, "spec.cohortName: is 3, not a string"),
        ({"queueingStrategy": "LIFO"}, 'spec.queueingStrategy: is "LIFO"; use one of: BestEffortFIFO, StrictFIFO'),
        ({"stopPolicy": "Stop"}, 'spec.stopPolicy: is "Stop"; use one of: None, Hold, HoldAndDrain'),
        (
            {"flavorFungibility": {"whenCanBorrow": "Borrow"}},
            'spec.flavorFungibility.whenCanBorrow: is "Borrow"; use one of: MayStopSearch, TryNextFlavor',
        ),
        (
            {"flavorFungibility": {"preference": "Neither"}},
            'spec.flavorFungibility.preference: is "Neither"; use one of: BorrowingOver',
        ),
        (
            {"flavorFungibility": {"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"}},
            None,
        ),
        (
            {"flavorFungibility": {"preference": "BorrowingOverPreemption"}},
            "spec.flavorFungibility.preference: requires whenCanBorrow and whenCanPreempt to be TryNextFlavor; remove",
        ),
        (
            {"preemption": {"withinClusterQueue": "Any"}},
            'spec.preemption.withinClusterQueue: is "Any"; use one of: Never, LowerPriority, LowerOrNewer',
        ),
        ({"preemption": {"reclaimWithinCohort": "All"}}, 'spec.preemption.reclaimWithinCohort: is "All"; use one of'),
        (
            {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
            "spec.preemption.borrowWithinCohort.policy: is LowerPriority, "
            "which requires a reclaimWithinCohort other than Never; set",
        ),
        ({"preemption": {"borrowWithinCohort": {"policy": "Never"}}}, None),
        (
            {"preemption": {"borrowWithinCohort": {"maxPriorityThreshold": 2**31}}},
            "spec.preemption.borrowWithinCohort.maxPriorityThreshold: is 2147483648; use a whole number from -2147",
        ),
        ({"admissionChecksStrategy": {}}, "spec.admissionChecksStrategy.admissionChecks: is missing; add at least"),
        (
            {"admissionChecksStrategy": {"admissionChecks": [{"name": f"c{i}"} for i in range(65)]}},
            "spec.admissionChecksStrategy.admissionChecks: has 65 entries; use at most 64",
        ),
        (
            {"admissionChecksStrategy": {"admissionChecks": [{"onFlavors": []}]}},
            "spec.admissionChecksStrategy.admissionChecks[0].name: is missing; set the name of an AdmissionCheck",
        ),
        (
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "n" * 317}]}},
            "spec.admissionChecksStrategy.admissionChecks[0].name: has 317 characters; use at most 316",
        ),
        (
            {
                "resourceGroups": [GROUP],
                "admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["x"]}]},
            },
            'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: is "x", '
            "which is not a flavor of this queue; use one of: spot",
        ),
        ({"fairSharing": {"weight": -1}}, "spec.fairSharing.weight: is -1; use a quantity that is not negative"),
        ({"fairSharing": {"weight": "1n"}}, "spec.fairSharing.weight: is 1n, which is too small; use 0, or"),
        ({"fairSharing": {"weight": "2n"}}, None),
        ({"fairSharing": {"weight": 0}}, None),
        ({"fairSharing": {"weight": "much"}}, 'spec.fairSharing.weight: "much" is not a quantity'),
        (
            {"admissionScope": {"admissionMode": "Fast"}},
            'spec.admissionScope.admissionMode: is "Fast"; use one of: UsageBased',
        ),
        ({"namespaceSelector": {"matchLabels": {"a/b/c": "x"}}}, "spec.namespaceSelector.matchLabels[a/b/c]:"),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}},
            'spec.namespaceSelector.matchExpressions[0].operator: is "Gt"; use one of: In, NotIn, Exists, DoesNotExist',
        ),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.namespaceSelector.matchExpressions[0].values: is empty, but In requires values",
        ),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}},
            "spec.namespaceSelector.matchExpressions[0].values: is not allowed with Exists",
        ),
    ],
)
def test_mistakes_in_a_queue_are_reported_with_their_paths(spec: dict[str, Any], text: str | None) -> None:
    found = mistakes(**spec)
    if text is None:
        assert found == []
    else:
        assert len(found) == 1
        assert found[0].startswith(text)


def test_a_v1beta1_queue_may_use_its_enum_values() -> None:
    quota = {**QUOTA, "borrowingLimit": "1"}
    group = {**GROUP, "flavors": [{"name": "spot", "resources": [quota]}]}
    old = {
        "cohort": "team",
        "admissionChecks": ["a"],
        "resourceGroups": [group],
        "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
    }
    assert mistakes("v1beta1", **old) == []
    assert warnings("v1beta1", **old) == []
    assert mistakes("v1beta1", cohort="Team")[0].startswith('spec.cohort: is "Team"')


def test_v1beta1_fields_in_a_v1beta2_queue_are_warned_of() -> None:
    assert warnings(cohort="team", admissionChecks=["a"]) == [
        "spec.cohort: is a field of v1beta1, which v1beta2 drops; use cohortName",
        "spec.admissionChecks: is a field of v1beta1, which v1beta2 drops; use admissionChecksStrategy",
    ]
    assert mistakes(cohort="team") == []


def test_a_misspelt_field_is_warned_of() -> None:
    assert warnings(stopPolice="Hold") == ["spec.stopPolice: is not a known field; did you mean stopPolicy?"]


def test_a_check_on_a_flavor_of_a_queue_without_any_is_a_warning() -> None:
    spec: dict[str, Any] = {"admissionChecksStrategy": {"admissionChecks": [{"name": "a", "onFlavors": ["x"]}]}}
    assert mistakes(**spec) == []
    assert warnings(**spec)[0].endswith("use a flavor of its resourceGroups")


def updated(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    field = queue(**new)
    check_update(queue(**old), field)
    return [str(one) for one in field.report.mistakes]


def test_a_check_on_a_foreign_flavor_is_tolerated_if_it_was_there_before() -> None:
    def spec(*flavors: str) -> dict[str, Any]:
        checks = [{"name": "a", "onFlavors": list(flavors)}]
        return {"resourceGroups": [GROUP], "admissionChecksStrategy": {"admissionChecks": checks}}

    assert updated(spec("gone"), {**spec("gone"), "stopPolicy": "Hold"}) == []
    assert len(updated(spec("gone"), spec("gone", "other"))) == 1
    assert len(updated(spec("spot"), spec("gone"))) == 1


def test_the_policy_of_concurrent_admission_is_immutable() -> None:
    assert updated({}, {"stopPolicy": "Hold"}) == []
    assert updated({"concurrentAdmissionPolicy": {"a": 1}}, {"concurrentAdmissionPolicy": {"a": 1}}) == []
    assert updated({"concurrentAdmissionPolicy": {"a": 1}}, {}) == [
        "spec.concurrentAdmissionPolicy: cannot be changed; create a new ClusterQueue"
    ]


def test_an_update_is_checked_like_a_creation_too() -> None:
    assert updated({}, {"stopPolicy": "Stop"}) != []
