from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.objects.rules import check_cluster_queue, check_cohort

AT = "spec.resourceGroups[0]"


def quota(name: str = "cpu", nominal: Any = "9", **limits: Any) -> dict[str, Any]:
    return {"name": name, "nominalQuota": nominal, **limits}


def flavor(name: str = "spot", *quotas: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "resources": list(quotas) or [quota()]}


def group(*flavors: dict[str, Any], covers: tuple[str, ...] = ("cpu",)) -> dict[str, Any]:
    return {"coveredResources": list(covers), "flavors": list(flavors) or [flavor()]}


def mistakes(*groups: Any, **spec: Any) -> list[str]:
    field = Field.root({"apiVersion": "kueue.x-k8s.io/v1beta2", "spec": {"resourceGroups": list(groups), **spec}})
    check_cluster_queue(field)
    return [str(one) for one in field.report.mistakes]


def cohort_mistakes(*groups: Any, **spec: Any) -> list[str]:
    field = Field.root({"spec": {"resourceGroups": list(groups), **spec}})
    check_cohort(field)
    return [str(one) for one in field.report.mistakes]


def test_valid_groups_have_no_mistakes() -> None:
    both = ("cpu", "memory")
    full = flavor("spot", quota(borrowingLimit=0, lendingLimit="9"), quota("memory", "1e30"))
    first = group(full, flavor("on-demand", quota(), quota("memory")), covers=both)
    assert (
        mistakes(first, group(flavor("gpu", quota("nvidia.com/gpu", 0)), covers=("nvidia.com/gpu",)), cohortName="c")
        == []
    )


@pytest.mark.parametrize(
    ("groups", "text"),
    [
        ([{"flavors": [flavor()]}], f"{AT}.coveredResources: is missing; add at least one entry"),
        ([{"coveredResources": ["cpu"], "flavors": []}], f"{AT}.flavors: is empty; add at least one entry"),
        (
            [group(flavor("spot", quota("a/b/c")), covers=("a/b/c",))],
            f'{AT}.coveredResources[0]: is "a/b/c", not the name of a resource',
        ),
        (
            [group(flavor("spot", quota(), quota("gpu")))],
            f'{AT}.flavors[0].resources[1].name: is "gpu", which the group does not cover; add it to coveredResources',
        ),
        (
            [group(covers=("cpu", "memory"))],
            f"{AT}.flavors[0].resources: has no quota for memory; add a quota for every resource of coveredResources",
        ),
        ([group({"name": "spot"})], f"{AT}.flavors[0].resources: is missing; add a quota for each of: cpu"),
        (
            [group(flavor("spot", quota("memory"), quota()), covers=("cpu", "memory"))],
            f"{AT}.flavors[0].resources: lists memory, cpu; use the order of coveredResources: cpu, memory",
        ),
        (
            [group(flavor("spot", quota(), quota()))],
            f'{AT}.flavors[0].resources[1].name: is "cpu" a second time; name each resource once',
        ),
        ([group(flavor("Spot"))], f'{AT}.flavors[0].name: is "Spot", not the name of an object; use lower-case'),
        ([group(flavor(""))], f'{AT}.flavors[0].name: is "", not the name of an object'),
        (
            [group(), group(flavor("other"))],
            'spec.resourceGroups[1].coveredResources[0]: is "cpu" a second time; name each resource once',
        ),
        (
            [group(), group(flavor("spot", quota("gpu")), covers=("gpu",))],
            'spec.resourceGroups[1].flavors[0].name: is "spot" a second time; name each flavor once',
        ),
        (
            [group(flavor("spot", quota(nominal=None)))],
            f"{AT}.flavors[0].resources[0].nominalQuota: is missing; use a quantity such as",
        ),
        (
            [group(flavor("spot", quota(nominal="-1")))],
            f"{AT}.flavors[0].resources[0].nominalQuota: is -1; use a quantity that is not negative",
        ),
        (
            [group(flavor("spot", quota(nominal=True)))],
            f"{AT}.flavors[0].resources[0].nominalQuota: is true, not a quantity",
        ),
        (
            [group(flavor("spot", quota(borrowingLimit="1")))],
            f"{AT}.flavors[0].resources[0].borrowingLimit: requires a cohort; remove it, or set a cohort",
        ),
        (
            [group(flavor("spot", quota(lendingLimit="1")))],
            f"{AT}.flavors[0].resources[0].lendingLimit: requires a cohort; remove it, or set a cohort",
        ),
    ],
)
def test_mistakes_in_a_group_are_reported_with_their_paths(groups: list[Any], text: str) -> None:
    found = mistakes(*groups)
    assert len(found) == 1
    assert found[0].startswith(text)


def test_a_queue_lends_no_more_than_it_has_but_a_cohort_may() -> None:
    over = group(flavor("spot", quota(nominal="1500m", lendingLimit=2)))
    assert mistakes(over, cohortName="c") == [
        f"{AT}.flavors[0].resources[0].lendingLimit: is 2, more than the nominal quota of 1500m; "
        "use at most the nominal quota"
    ]
    assert cohort_mistakes(over, parentName="c") == []


def test_a_cohort_has_limits_only_with_a_parent() -> None:
    limited = group(flavor("spot", quota(borrowingLimit=1)))
    assert cohort_mistakes(limited) == [
        f"{AT}.flavors[0].resources[0].borrowingLimit: requires a parent; remove it, or set a parent"
    ]
    assert cohort_mistakes(limited, parentName="c") == []


def test_negative_limits_are_refused() -> None:
    found = mistakes(group(flavor("spot", quota(borrowingLimit="-1", lendingLimit="-1m"))), cohortName="c")
    assert [one.partition(": ")[0].rpartition(".")[2] for one in found] == ["borrowingLimit", "lendingLimit"]


def test_numbers_of_entries_are_limited() -> None:
    def many(flavors: int, resources: int, start: int = 0) -> dict[str, Any]:
        names = tuple(f"r{start + i}" for i in range(resources))
        return group(*(flavor(f"f{start + i}", *map(quota, names)) for i in range(flavors)), covers=names)

    assert mistakes(many(64, 8)) == []
    assert mistakes(many(8, 64)) == []
    assert mistakes(many(64, 9)) == [f"{AT}: has 576 quotas; use at most 512 in a group"]
    assert mistakes(many(65, 1)) == [f"{AT}.flavors: has 65 entries; use at most 64"]
    assert mistakes(many(1, 65)) == [
        f"{AT}.{part}: has 65 entries; use at most 64" for part in ("coveredResources", "flavors[0].resources")
    ]
    assert mistakes(*(many(1, 1, i) for i in range(16))) == []
    assert mistakes(*(many(1, 1, i) for i in range(17))) == ["spec.resourceGroups: has 17 entries; use at most 16"]
    assert mistakes(*(many(52, 1, 100 * i) for i in range(5))) == [
        "spec.resourceGroups: has 260 flavors in all; use at most 256"
    ]
    assert mistakes(*(many(1, 52, 100 * i) for i in range(5))) == [
        "spec.resourceGroups: has 260 resources in all; use at most 256"
    ]
