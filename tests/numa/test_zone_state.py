"""What is free in zones, as values."""

from __future__ import annotations

from closeknit.model.numa import NodeZones, TopologyManager, Zone, ZoneAmounts
from closeknit.numa.layout import KubeletRules
from closeknit.numa.reported import unknown
from closeknit.numa.zone_state import ZonedAmounts, amounts, kubelet_of, state_after, state_of_report, with_taken

from .machines import GI, container, pod


def node(*free: int, name: str = "n", gpus: int = 2) -> NodeZones:
    """Zones of 8 CPUs, 8 Gi and 2 GPUs with so many CPUs free."""
    zones = tuple(
        Zone(
            at,
            {
                "cpu": ZoneAmounts(8000, 8000, cpus * 1000),
                "memory": ZoneAmounts(8 * GI, 8 * GI, 8 * GI),
                "nvidia.com/gpu": ZoneAmounts(2, 2, gpus),
            },
        )
        for at, cpus in enumerate(free)
    )
    return NodeZones(name, zones, TopologyManager("single-numa-node"))


def test_machines_of_one_kind_share_a_layout() -> None:
    one, other = state_of_report(node(8, 3)), state_of_report(node(1, 8, name="m"))
    assert one.layout is other.layout
    assert one != other
    assert one == state_of_report(node(8, 3, name="m"))


def test_a_zone_that_is_charged_more_than_it_has_is_below_zero_and_admits_nothing() -> None:
    state = with_taken(state_of_report(node(2)), {0: {"cpu": 3000, "nvidia.com/gpu": 4}})
    assert amounts(state)[0]["cpu"] == -1000
    assert amounts(state)[0]["nvidia.com/gpu"] == -2
    kubelet = kubelet_of(state)
    assert not kubelet.admit("a", pod(container(1))).admitted
    assert state_after(state, kubelet) == state


def test_no_more_is_given_back_than_pods_may_have() -> None:
    state = state_of_report(node(7))
    assert amounts(with_taken(state, {0: {"cpu": 4000}}, -1))[0]["cpu"] == 8000


def test_a_charge_to_a_zone_or_resource_that_is_not_there_changes_nothing() -> None:
    state = state_of_report(node(7))
    assert with_taken(state, {3: {"cpu": 1000}, 0: {"example.com/other": 1}}) == state


def test_zones_that_give_memory_together_are_a_group_until_it_is_given_back() -> None:
    state = state_of_report(node(8, 8))
    taken = ZonedAmounts.of({0: {"memory": 8 * GI}, 1: {"memory": GI}}, {0b11: 1})
    after = with_taken(state, taken)
    assert [one.group for one in after.memory] == [0b11, 0b11]
    assert with_taken(after, taken, -1) == state


def test_resources_that_the_kubelet_ignores_are_not_in_its_layout() -> None:
    state = state_of_report(node(8), KubeletRules(ignored=frozenset({"nvidia.com/gpu"}), pins_memory=False))
    assert state.layout.devices == ()
    assert not state.layout.settings.pins_memory


def test_negative_and_absurd_amounts_leave_other_zones_as_they_are() -> None:
    wild = (Zone(0, {"cpu": ZoneAmounts(2**53, 2**53, -5000)}), Zone(1, {"cpu": ZoneAmounts(8000, 8000, 8000)}))
    kubelet = kubelet_of(state_of_report(NodeZones("n", wild, TopologyManager("single-numa-node"))))
    assert kubelet.admit("a", pod(container(8))).admitted
    assert not kubelet.admit("b", pod(container(1))).admitted


def test_what_goes_by_more_than_counts_is_named() -> None:
    rules = KubeletRules(options=(("full-pcpus-only", "true"),))
    assert "which CPUs share a core" in unknown(node(8), rules)
    assert "which CPUs share a core" not in unknown(node(8))
