"""PodGroups of KAI: every rule of the tree, its minimums and its constraints."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kai.pod_group import DEEPEST, KaiPodGroup, read_pod_group
from closeknit.model.request import MOST_GROUPS, Apart, Constraint
from closeknit.model.topology import Topology

Raw = dict[str, Any]
TOPOLOGY = Topology("network", ("zone", "rack", "kubernetes.io/hostname"))


def a_group(annotations: Raw | None = None, **spec: Any) -> Raw:
    metadata = {"name": "g", "annotations": annotations or {}}
    return {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def entry(name: str, parent: str = "", **fields: Any) -> Raw:
    return {"name": name, **({"parent": parent} if parent else {}), **fields}


def bounds(required: str = "", preferred: str = "", topology: str = "network") -> Raw:
    given = {"topology": topology, "requiredTopologyLevel": required, "preferredTopologyLevel": preferred}
    return {"topologyConstraint": {key: value for key, value in given.items() if value}}


def read(raw: Raw, *topologies: Topology) -> KaiPodGroup:
    field = Field.root(raw)
    group = read_pod_group(field, {one.name: one for one in topologies} or None)
    assert field.report.mistakes == ()
    assert group is not None
    return group


def refused(raw: Raw, *topologies: Topology) -> list[str]:
    field = Field.root(raw)
    assert read_pod_group(field, {one.name: one for one in topologies} or None) is None
    return [str(mistake) for mistake in field.report.mistakes]


def test_a_group_without_sub_groups_has_a_minimum_of_pods() -> None:
    group = read(a_group(minMember=3, queue="q", priorityClassName="build", preemptibility="non-preemptible"))
    assert (group.root.min_member, group.root.children, group.root.least) == (3, (), 3)
    assert (group.namespace, group.name, group.queue) == ("default", "g", "q")
    assert (group.priority_class, group.preemptibility) == ("build", "non-preemptible")


def test_sub_groups_form_a_tree_by_their_parents_in_any_order() -> None:
    leaves = [entry("a", "ab", minMember=1), entry("ab", minSubGroup=1), entry("b", "ab", minMember=2)]
    root = read(a_group(minSubGroup=2, subGroups=[*leaves, entry("c", minMember=0)])).root
    assert [child.name for child in root.children] == ["ab", "c"]
    assert [child.name for child in root.children[0].children] == ["a", "b"]
    assert (root.min_sub_group, root.children[0].min_sub_group, root.least) == (2, 1, 1)


def test_an_entry_with_children_may_have_their_sum_as_older_versions_wrote_it() -> None:
    parts = [entry("w-0", "w", minMember=2), entry("w-1", "w", minMember=1)]
    root = read(a_group(minMember=3, subGroups=[entry("w", minMember=3), *parts])).root
    assert (root.children[0].min_member, root.children[0].min_sub_group, root.least) == (None, None, 3)


def test_a_minimum_on_an_entry_with_children_that_is_not_their_sum_is_refused() -> None:
    assert refused(a_group(minMember=2, subGroups=[entry("w", minMember=1), entry("w-0", "w", minMember=2)])) == [
        "spec.subGroups[0].minMember: is 1 on a sub-group with children, which need 2 pods; "
        "remove it, or use minSubGroup: 1"
    ]


def test_the_minimum_of_the_whole_group_stays_beside_its_sub_groups() -> None:
    group = read(a_group(minMember=5, subGroups=[entry("a", minMember=2)]))
    assert (group.min_member, group.root.least) == (5, 2)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "spec.minMember: is missing; say how many pods"),
        ({"minMember": 0}, "spec.minMember: is 0; use a whole number from 1 to 2147483647"),
        ({"minMember": "2"}, 'spec.minMember: is "2", not a whole number; use a whole number'),
        (
            {"minMember": 1, "subgroups": []},
            "spec.subgroups: is not a known field; did you mean subGroups?",
        ),
        (
            {"minMember": 1, "preemptibility": "no"},
            'spec.preemptibility: is "no"; use one of: preemptible, non-preemptible',
        ),
        (
            {"minMember": 1, "preemptionDelay": "soon"},
            'spec.preemptionDelay: is "soon"; use a duration such as 90s, 5m or 1h30m',
        ),
        (
            {"minSubGroup": 1},
            "spec.minSubGroup: needs sub-groups below it, and there are none; use minMember, which counts pods",
        ),
        (
            {"subGroups": [entry("a", minMember=1), entry("a", minMember=1)]},
            'spec.subGroups[1].name: is "a" a second time; name each sub-group once',
        ),
        (
            {"subGroups": [{"minMember": 1}]},
            "spec.subGroups[0].name: is missing; use a name that fits into the label kai.scheduler/subgroup-name",
        ),
        (
            {"subGroups": [entry("a b", minMember=1)]},
            'spec.subGroups[0].name: is "a b", not a label value; use a name that fits into the label '
            "kai.scheduler/subgroup-name",
        ),
        (
            {"subGroups": [entry("workers", minMember=1), entry("a", "worker", minMember=1)]},
            'spec.subGroups[1].parent: is "worker", which is not a sub-group; did you mean workers?',
        ),
        (
            {"subGroups": [entry("a", "b"), entry("b", "a")]},
            "spec.subGroups[1].parent: closes a cycle: a > b > a; remove the parent of one of them",
        ),
        (
            {"subGroups": [entry("a", "a")]},
            "spec.subGroups[0].parent: closes a cycle: a > a; remove the parent of one of them",
        ),
        (
            {"subGroups": [entry("a")]},
            "spec.subGroups[0].minMember: is missing; say how many of its pods have to run, or 0",
        ),
        (
            {"minSubGroup": 2, "subGroups": [entry("a", minMember=1)]},
            "spec.minSubGroup: is 2, but the number of sub-groups is 1; use at most 1",
        ),
        (
            {"minMember": 1, "minSubGroup": 1, "subGroups": [entry("a", minMember=1)]},
            "spec.minSubGroup: excludes minMember; keep minSubGroup alone",
        ),
        (
            {"subGroups": [entry("a", minSubGroup=0), entry("b", "a", minMember=1)]},
            "spec.subGroups[0].minSubGroup: is 0; use a whole number from 1 to 2147483647",
        ),
        (
            {"minMember": 1, **bounds("rack", topology="")},
            "spec.topologyConstraint: names a level without a topology; "
            "add topology: NAME, a Topology of kai.scheduler",
        ),
        (
            {"minMember": 1, "topologyConstraint": {"topology": "network", "required": "rack"}},
            "spec.topologyConstraint.required: is not a known field; "
            "use one of: topology, requiredTopologyLevel, preferredTopologyLevel",
        ),
    ],
)
def test_what_cannot_be_honoured_is_refused_with_field_and_remedy(spec: Raw, message: str) -> None:
    assert refused(a_group(**spec)) == [message]


def test_a_leaf_with_both_minimums_is_told_which_one_to_keep() -> None:
    assert refused(a_group(subGroups=[entry("a", minMember=1, minSubGroup=1)]))[0] == (
        "spec.subGroups[0].minSubGroup: excludes minMember; keep minMember alone"
    )


def test_an_unknown_version_is_refused() -> None:
    assert refused({**a_group(minMember=1), "apiVersion": "scheduling.run.ai/v1"}) == [
        'apiVersion: is "scheduling.run.ai/v1", which is not read; use scheduling.run.ai/v2alpha2'
    ]


def test_a_tree_may_have_as_many_levels_as_are_supported_and_no_more() -> None:
    def chain(length: int) -> list[Raw]:
        above = [entry(f"g{at}", f"g{at - 1}" if at else "") for at in range(length - 1)]
        return [*above, entry(f"g{length - 1}", f"g{length - 2}", minMember=1)]

    assert read(a_group(subGroups=chain(DEEPEST))).root.least == 1
    assert refused(a_group(subGroups=chain(DEEPEST + 1))) == [
        "spec.subGroups[200].parent: puts it 201 levels below the group; use at most 200 levels"
    ]


def test_a_tree_may_have_as_many_groups_as_are_supported_and_no_more() -> None:
    entries = [entry(f"g{number}", minMember=1) for number in range(MOST_GROUPS + 1)]
    assert read(a_group(subGroups=entries[:-1])).root.least == MOST_GROUPS
    assert refused(a_group(subGroups=entries)) == ["spec.subGroups: has 10001 entries; a group allows at most 10000"]


def test_required_and_preferred_levels_are_read_at_every_depth() -> None:
    leaf = entry("a", minMember=1, **bounds("rack", "kubernetes.io/hostname"))
    root = read(a_group(subGroups=[leaf], **bounds("zone")), TOPOLOGY).root
    assert root.constraint == Constraint("zone", topology="network")
    assert root.children[0].constraint == Constraint("rack", "kubernetes.io/hostname", topology="network")


def test_a_topology_without_a_level_is_that_of_the_entries_below() -> None:
    inner = entry("b", "a", minMember=1, **bounds("rack", topology=""))
    root = read(a_group(subGroups=[entry("a"), inner], **bounds()), TOPOLOGY).root
    assert root.constraint is None
    assert root.children[0].children[0].constraint == Constraint("rack", topology="network")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            bounds("rack", topology="netwrok"),
            'topology: is "netwrok", which is not a Topology among the objects; did you mean network?',
        ),
        (
            bounds(topology="other"),
            'topology: is "other", which is not a Topology among the objects; the Topologies are network',
        ),
        (
            bounds("rak"),
            'requiredTopologyLevel: is "rak", which is not a level of Topology "network"; did you mean rack?',
        ),
        (
            bounds("", "row"),
            'preferredTopologyLevel: is "row", which is not a level of Topology "network"; '
            "the levels are zone, rack, kubernetes.io/hostname",
        ),
        (
            bounds("rack", "zone"),
            "requiredTopologyLevel: is rack, which is below the preferred level zone; "
            "swap the two, or remove the preferred level",
        ),
    ],
)
def test_unknown_and_contradictory_levels_are_refused_where_topologies_are_known(given: Raw, message: str) -> None:
    assert refused(a_group(minMember=1, **given), TOPOLOGY) == [f"spec.topologyConstraint.{message}"]


def test_levels_are_not_checked_where_no_topologies_are_known() -> None:
    assert read(a_group(minMember=1, **bounds("anything"))).root.constraint == Constraint(
        "anything", topology="network"
    )


def test_groups_are_apart_by_an_annotation_of_ours() -> None:
    entries = [entry("a", minMember=1), entry("b", minMember=1), entry("c"), entry("d", "c", minMember=1)]
    entries.append(entry("e", "c", minMember=1))
    raw = a_group({"closeknit.dev/apart": "zone, c=rack"}, subGroups=entries, **bounds())
    root = read(raw, TOPOLOGY).root
    assert root.apart == Apart("zone", topology="network")
    assert [child.apart for child in root.children] == [None, None, Apart("rack", topology="network")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("x=rack", 'names "x", which is not a sub-group; the sub-groups are a, b'),
        (
            "a=rack",
            "keeps the groups in a apart, which has fewer than two; "
            "write LEVEL for the groups of the PodGroup, NAME=LEVEL for those of the sub-group NAME",
        ),
        ("rak", 'is "rak", which is not a level of Topology "network"; did you mean rack?'),
    ],
)
def test_an_annotation_that_keeps_nothing_apart_is_refused(value: str, message: str) -> None:
    entries = [entry("a", minMember=1), entry("b", minMember=1)]
    raw = a_group({"closeknit.dev/apart": value}, subGroups=entries, **bounds())
    assert refused(raw, TOPOLOGY) == [f"metadata.annotations[closeknit.dev/apart]: {message}"]


def test_groups_cannot_be_apart_without_a_topology() -> None:
    entries = [entry("a", minMember=1), entry("b", minMember=1)]
    assert refused(a_group({"closeknit.dev/apart": "rack"}, subGroups=entries)) == [
        "metadata.annotations[closeknit.dev/apart]: names a level, but the group names no topology; "
        "set topologyConstraint.topology"
    ]
