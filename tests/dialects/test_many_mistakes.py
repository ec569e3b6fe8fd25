"""Thousands of mistakes are found in the time that a person waits: no message compares a name with all others."""

from __future__ import annotations

from time import process_time

import pytest

from dialects.objects import Raw, named, pod, read

MANY = 3000
LONGEST = 5.0
"""Seconds of processor time; comparing each name with all took 20 to 50."""
KAI, UPSTREAM = "scheduling.run.ai/v2alpha2", "scheduling.k8s.io/v1beta1"
PARENT = "parentCompositePodGroupName"
BASIC: Raw = {"schedulingPolicy": {"basic": {}}}


def entries(parent: str) -> list[Raw]:
    return [{"name": f"s{n}", "minMember": 1, **({"parent": f"{parent}{n}"} if parent else {})} for n in range(MANY)]


def strangers() -> list[Raw]:
    """Pods of sub-groups that do not exist."""
    labels = [{"kai.scheduler/subgroup-name": f"other-{number}"} for number in range(MANY)]
    return [pod(f"p{n}", annotations={"pod-group-name": "g"}, labels=one) for n, one in enumerate(labels)]


MISTAKES = {
    "parents of sub-groups": [named(KAI, "PodGroup", "g", {"subGroups": entries("missing")})],
    "sub-groups of pods": [named(KAI, "PodGroup", "g", {"subGroups": entries("")}), *strangers()],
    "parents of groups": [
        named("scheduling.k8s.io/v1alpha3", "CompositePodGroup", f"c{n}", {**BASIC, PARENT: f"x{n}"})
        for n in range(MANY)
    ],
    "groups of pods": [
        *(named(UPSTREAM, "PodGroup", f"g{n}", BASIC) for n in range(MANY)),
        *(pod(f"p{n}", spec={"schedulingGroup": {"podGroupName": f"x{n}"}}) for n in range(MANY)),
    ],
    "pod groups of a gang": [
        named("scheduler.grove.io/v1alpha1", "PodGang", "g", {
            "podgroups": [{"name": f"p{n}"} for n in range(MANY)],
            "topologyConstraintGroupConfigs": [{"name": "c", "podGroupNames": [f"x{n}" for n in range(MANY)]}],
        }),
    ],
}  # fmt: skip


@pytest.mark.parametrize("objects", MISTAKES.values(), ids=MISTAKES)
def test_thousands_of_unknown_names_are_found_quickly(objects: list[Raw]) -> None:
    start = process_time()
    found = read(*objects, nodes=None)
    assert len(found.mistakes) == MANY
    assert all(len(str(mistake)) < 300 for mistake in found.mistakes)
    assert process_time() - start < LONGEST
