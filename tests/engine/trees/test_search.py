"""Trees of groups: domains in order, backtracking, minimums and surplus, members that run, members apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest

from closeknit.engine.groups.parts import GroupPart
from closeknit.model.node import Node
from closeknit.model.reason import Why
from closeknit.model.request import Apart, Constraint, Group
from closeknit.model.topology import NODE, ListedTopology, Topology

from .small import GPU, Small, leaf, pods, racks, seed_tree, within


def racks_of(placed: dict[str, list[str]] | str) -> dict[str, set[str]]:
    assert isinstance(placed, dict), placed
    return {name: {node.split("-")[0] for node in nodes} for name, nodes in placed.items()}


class TestDomains:
    def test_distance_is_edges_in_the_tree(self) -> None:
        tree, rows = seed_tree().trees["net"], seed_tree().columns.row_of
        at = {name: int(tree.place[row]) for name, row in rows.items()}
        assert tree.edges(2, at["NC1"], 2, at["NC2"]) == 2
        assert tree.edges(1, tree.values[1].index("B1"), 2, at["NA1"]) == 5
        assert tree.edges(0, 0, 0, 0) == 0

    def test_the_fullest_domain_that_fits_is_first(self) -> None:
        assert seed_tree().place(leaf("w", 3, within("zone", "rack"), gpus=2)) == {"w": ["NC1", "NC2", "NC2"]}

    def test_with_spread_the_emptiest_domain_is_first(self) -> None:
        group = Group((pods("w", 2, gpus=2),), "w", within("zone"), order="spread")
        placed = seed_tree().place(group)
        assert isinstance(placed, dict)
        assert all(node.startswith("NA") for node in placed["w"])

    def test_a_required_level_bounds_and_a_preferred_level_aims(self) -> None:
        centre = seed_tree()
        assert centre.place(leaf("w", 5, within("zone", "rack"), gpus=2)) == {"w": ["NB1", "NB1", "NB2", "NB2", "NB3"]}
        assert "no zone" in str(centre.place(leaf("w", 9, within("zone", "rack"), gpus=2)))

    def test_what_does_not_fit_into_the_preferred_domain_goes_to_its_neighbours(self) -> None:
        placed = racks(3, 2, 2).place(leaf("w", 4, within(None, "rack")))
        assert racks_of(placed) == {"w": {"r0", "r1"}}

    def test_the_last_preferred_domain_is_the_tightest_that_holds_the_rest(self) -> None:
        placed = racks(4, 9, 3, 2).place(leaf("w", 11, within(None, "rack")))
        assert racks_of(placed) == {"w": {"r1", "r3"}}

    def test_equal_values_under_different_parents_are_one_domain_unless_a_parent_asks(self) -> None:
        labels = [{"zone": "z1", "rack": "r"}, {"zone": "z2", "rack": "r"}]
        nodes = [Node(f"n{at}", one, {"cpu": 1000, "pods": 110}) for at, one in enumerate(labels)]
        cluster = Small(nodes, Topology("zone", ("zone",)), Topology("rack", ("rack",)))
        inner = Group((pods("w", 2),), "inner", Constraint("rack", topology="rack"))
        assert isinstance(cluster.place(inner), dict)
        assert isinstance(cluster.place(Group((inner,), "outer", Constraint("zone", topology="zone"))), str)

    def test_a_level_that_a_listed_tree_skips_is_never_satisfied(self) -> None:
        paths = {"n0": ("s2", "s0"), "n1": ("s2", "s0"), "n2": ("s2", None), "n3": ("s2", None)}
        nodes = [Node(name, {}, {"cpu": 1000, "pods": 110}) for name in paths]
        cluster = Small(nodes, ListedTopology("net", ("tier-2", "tier-1", NODE), paths))
        assert cluster.place(leaf("w", 2, within("tier-1"))) == {"w": ["n0", "n1"]}
        assert "no tier-1" in str(cluster.place(leaf("w", 3, within("tier-1"))))
        assert isinstance(cluster.place(leaf("w", 4, within("tier-2"))), dict)

    def test_an_unknown_topology_and_an_unknown_level_are_reasons(self) -> None:
        assert "does not exist" in str(racks(1).place(leaf("w", 1, Constraint("rack", topology="other"))))
        assert 'no level "row"' in str(racks(1).place(leaf("w", 1, within("row"))))


class TestBacktracking:
    def test_groups_of_5_4_4_3_2_2_fit_into_two_racks_of_10(self) -> None:
        groups = [leaf(f"g{at}", size, within("rack")) for at, size in enumerate((5, 4, 4, 3, 2, 2))]
        placed = racks_of(racks(10, 10).place(Group(tuple(groups), "all")))
        assert all(len(found) == 1 for found in placed.values())

    @pytest.mark.parametrize("turned", [False, True])
    def test_the_order_in_the_file_does_not_matter(self, turned: bool) -> None:
        cluster = racks(8, 9)
        groups = (leaf("any", 8), leaf("bound", 9, within("rack")))
        placed = racks_of(cluster.place(Group(groups[::-1] if turned else groups, "all")))
        assert placed == {"any": {"r0"}, "bound": {"r1"}}

    def test_pods_of_mixed_sizes_are_counted_by_packing(self) -> None:
        nodes = [Node(f"n{at}", {"rack": "r"}, {"cpu": 8000, "pods": 110}) for at in range(2)]
        cluster = Small(nodes, Topology("net", ("rack",)))
        mixed = Group((pods("large", 1, cpu=8000), pods("small", 8, cpu=1000)), "mixed", within("rack"))
        assert isinstance(cluster.place(mixed), dict)

    def test_what_cannot_be_packed_is_proved_impossible(self) -> None:
        result = racks(10, 10).result(Group(tuple(leaf(f"g{at}", 6, within("rack")) for at in range(3)), "all"))
        assert result.reason is not None
        assert result.reason.why is Why.GROUP_DOES_NOT_FIT
        assert result.is_proof

    def test_at_its_bound_the_search_says_that_it_found_nothing(self) -> None:
        groups = [leaf(f"g{at}", size, within("rack")) for at, size in enumerate((5, 4, 4, 3, 2, 2))]
        result = racks(10, 10).result(Group(tuple(groups), "all"), steps=8)
        assert not result.is_proof
        assert "no placement was found within 8 steps" in str(result.reason)

    def test_a_constraint_of_a_pod_set_bounds_only_its_pods(self) -> None:
        bound = replace(pods("bound", 3), constraint=within("rack"))
        placed = racks_of(racks(2, 3).place(Group((pods("any", 2), bound), "all")))
        assert placed == {"any": {"r0"}, "bound": {"r1"}}

    def test_a_child_of_another_topology_stays_inside_its_parent(self) -> None:
        nodes = [
            Node(f"r{at // 4}-n{at}", {"rack": f"r{at // 4}", "feed": f"f{at % 2}"}, {"cpu": 1000, "pods": 110})
            for at in range(8)
        ]
        cluster = Small(nodes, Topology("net", ("rack",)), Topology("power", ("feed",)))
        children = tuple(Group((pods(f"w{at}", 2),), f"c{at}", Constraint("feed", topology="power")) for at in range(2))
        placed = cluster.place(Group(children, "all", within("rack")))
        assert isinstance(placed, dict)
        assert len({node.split("-")[0] for nodes in placed.values() for node in nodes}) == 1
        assert all(len({int(node.split("n")[1]) % 2 for node in nodes}) == 1 for nodes in placed.values())


class TestMinimums:
    def test_k_of_n_groups_are_enough(self) -> None:
        groups = tuple(leaf(f"g{at}", 4, within("rack")) for at in range(3))
        placed = racks(4, 4, 1).place(Group(groups, "all", min_groups=2))
        assert isinstance(placed, dict)
        assert sorted(map(len, placed.values())) == [0, 4, 4]

    def test_a_group_that_does_not_fit_is_left_out_where_others_suffice(self) -> None:
        groups = (leaf("huge", 9, within("rack")), leaf("a", 2, within("rack")), leaf("b", 2, within("rack")))
        placed = racks(4).place(Group(groups, "all", min_groups=2))
        assert isinstance(placed, dict)
        assert {name: len(nodes) for name, nodes in placed.items()} == {"huge": 0, "a": 2, "b": 2}

    def test_surplus_pods_are_placed_after_every_minimum(self) -> None:
        groups = (leaf("elastic", 6, minimum=2), leaf("gang", 3))
        placed = racks(6).place(Group(groups, "all"))
        assert isinstance(placed, dict)
        assert {name: len(nodes) for name, nodes in placed.items()} == {"elastic": 3, "gang": 3}

    def test_surplus_stays_in_the_required_domain_of_its_group(self) -> None:
        placed = racks_of(racks(3, 9).place(leaf("w", 5, within("rack"), minimum=2)))
        assert placed == {"w": {"r1"}}

    def test_a_domain_that_holds_the_surplus_too_is_first(self) -> None:
        placed = racks(2, 4).place(leaf("w", 4, within("rack"), minimum=2))
        assert isinstance(placed, dict)
        assert len(placed["w"]) == 4

    def test_a_minimum_of_a_leaf_may_be_met_by_pods_of_either_shape(self) -> None:
        both = Group((pods("large", 2, cpu=5000), pods("small", 2)), "both", min_pods=2)
        placed = racks(2).place(both)
        assert isinstance(placed, dict)
        assert {name: len(nodes) for name, nodes in placed.items()} == {"large": 0, "small": 2}

    def test_a_minimum_of_none_places_what_fits(self) -> None:
        placed = racks(2).place(leaf("w", 5, minimum=0))
        assert isinstance(placed, dict)
        assert len(placed["w"]) == 2


class TestRunning:
    def test_running_members_pin_the_required_domain(self) -> None:
        cluster = racks(4, 3)
        cluster.columns.use("r0-n00", {"cpu": 1000})
        placed = racks_of(cluster.place(leaf("w", 2, within("rack"), running=("r0-n00",))))
        assert placed == {"w": {"r0"}}

    def test_running_members_count_towards_the_minimum(self) -> None:
        cluster = racks(3)
        cluster.columns.use("r0-n00", {"cpu": 1000})
        placed = cluster.place(leaf("w", 4, within("rack"), minimum=3, running=("r0-n00",)))
        assert isinstance(placed, dict)
        assert len(placed["w"]) == 2

    def test_members_that_run_in_two_required_domains_are_a_reason(self) -> None:
        text = str(racks(2, 2).place(leaf("w", 1, within("rack"), running=("r0-n00", "r1-n00"))))
        assert text == "group w requires one rack, but its pods run in r0 and in r1"


class TestApart:
    def test_members_that_are_apart_get_a_domain_each(self) -> None:
        groups = tuple(leaf(f"g{at}", 1, within("rack")) for at in range(3))
        placed = racks_of(racks(4, 4, 4).place(Group(groups, "all", apart=Apart("rack", topology="net"))))
        assert sorted(rack for found in placed.values() for rack in found) == ["r0", "r1", "r2"]

    def test_members_that_must_be_apart_do_not_fit_into_too_few_domains(self) -> None:
        groups = tuple(leaf(f"g{at}", 1, within("rack")) for at in range(3))
        assert isinstance(racks(4, 4).place(Group(groups, "all", apart=Apart("rack", topology="net"))), str)

    def test_members_that_should_be_apart_share_where_they_have_to(self) -> None:
        groups = tuple(leaf(f"g{at}", 1, within("rack")) for at in range(3))
        apart = Apart("rack", required=False, topology="net")
        placed = racks_of(racks(4, 4).place(Group(groups, "all", apart=apart)))
        assert {rack for found in placed.values() for rack in found} == {"r0", "r1"}

    def test_surplus_pods_stay_apart_from_other_groups(self) -> None:
        groups = (leaf("g0", 6, minimum=2), leaf("g1", 6, minimum=1))
        placed = racks_of(racks(2, 2).place(Group(groups, "all", apart=Apart("rack", topology="net"))))
        assert placed["g0"].isdisjoint(placed["g1"])

    def test_surplus_groups_stay_apart_from_groups_beside_their_parent(self) -> None:
        parts = tuple(leaf(f"p{at}", 2, within("rack")) for at in range(2))
        groups = (Group(parts, "g0", min_groups=1), leaf("g1", 1))
        placed = racks_of(racks(2, 3).place(Group(groups, "all", apart=Apart("rack", topology="net"))))
        assert placed["g1"].isdisjoint(placed["p0"] | placed["p1"])

    def test_surplus_that_should_be_apart_shares_where_it_has_to(self) -> None:
        groups = (leaf("g0", 6, minimum=2), leaf("g1", 6, minimum=1))
        apart = Apart("rack", required=False, topology="net")
        placed = racks(2, 2).place(Group(groups, "all", apart=apart))
        assert isinstance(placed, dict)
        assert sum(map(len, placed.values())) == 4

    def test_a_group_that_needs_no_pods_needs_no_domain_of_its_own(self) -> None:
        groups = (*(leaf(f"g{at}", 1, within("rack")) for at in range(2)), leaf("none", 3, within("rack"), minimum=0))
        placed = racks_of(racks(2, 2).place(Group(groups, "all", apart=Apart("rack", topology="net"))))
        assert placed["none"] == set()
        assert placed["g0"] | placed["g1"] == {"r0", "r1"}

    def test_a_reason_never_speaks_of_a_group_that_was_given_no_domain(self) -> None:
        groups = (leaf("none", 2, minimum=0), leaf("big", 3))
        text = racks(2, 2).place(Group((Group(groups, "all", within("rack"), min_groups=1), leaf("more", 9)), "top"))
        assert "no domain" not in str(text)
        either = (leaf("one", 3), leaf("none", 2, minimum=0))
        text = racks(2, 2).place(Group(either, "all", within("rack"), min_groups=2))
        assert str(text).startswith('group all does not fit: no rack of topology "net" holds its 3 pods')

    def test_many_groups_that_are_apart_do_not_look_at_each_other(self) -> None:
        groups = tuple(leaf(f"g{at}", 1, within("rack")) for at in range(300))
        calls = 0

        def walk(part: GroupPart) -> Iterator[GroupPart]:
            nonlocal calls
            calls += 1
            return walked(part)

        walked = GroupPart.walk
        with patch.object(GroupPart, "walk", walk):
            assert isinstance(racks(*[1] * 300).place(Group(groups, "all", apart=Apart("rack", topology="net"))), dict)
        assert calls < 10 * len(groups)


class TestNodesWithoutADomain:
    def test_a_level_that_is_only_preferred_does_not_exclude_them(self) -> None:
        placed = Small(SOME_WITHOUT_RACK, Topology("net", ("rack",))).place(leaf("w", 3, within(None, "rack")))
        assert isinstance(placed, dict)
        assert sorted(placed["w"]) == ["a", "x", "y"]

    def test_nodes_with_a_domain_come_first(self) -> None:
        placed = Small(SOME_WITHOUT_RACK, Topology("net", ("rack",))).place(leaf("w", 1, within(None, "rack")))
        assert placed == {"w": ["a"]}

    def test_surplus_beyond_the_preferred_domains_goes_there(self) -> None:
        placed = Small(SOME_WITHOUT_RACK, Topology("net", ("rack",))).place(leaf("w", 3, within(None, "rack"), 1))
        assert isinstance(placed, dict)
        assert sorted(placed["w"]) == ["a", "x", "y"]

    def test_a_required_level_excludes_them(self) -> None:
        placed = Small(SOME_WITHOUT_RACK, Topology("net", ("rack",))).place(leaf("w", 2, within("rack")))
        assert "a holds the most: 1" in str(placed)


SOME_WITHOUT_RACK = [
    Node("a", {"rack": "a"}, {"cpu": 1000, "pods": 110}),
    Node("x", {}, {"cpu": 1000, "pods": 110}),
    Node("y", {}, {"cpu": 1000, "pods": 110}),
]


def test_gpus_decide_among_several_resources() -> None:
    assert "no rack" in str(seed_tree().place(leaf("w", 3, within("rack"), gpus=4)))
    assert seed_tree().columns.index[GPU] >= 0
