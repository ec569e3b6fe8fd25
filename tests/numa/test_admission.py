"""What a kubelet admits, pod after pod."""

from __future__ import annotations

import pytest

from closeknit.model.container import Container, Needs
from closeknit.numa.cpus import CpuOptions
from closeknit.numa.demand import PodDemand
from closeknit.numa.masks import zones_of

from .machines import GI, container, kubelet, machine, pod

TWO = machine(16, 16)


def zones(verdict_hints: object) -> list[list[int] | None]:
    return [None if hint.mask is None else zones_of(hint.mask) for hint in verdict_hints]  # type: ignore[attr-defined]


def test_a_pod_gets_the_lowest_zone_that_holds_it() -> None:
    node = kubelet(TWO)
    assert zones(node.admit("a", pod(container(10))).hints) == [[0]]
    assert zones(node.admit("b", pod(container(10))).hints) == [[1]]


def test_a_pod_that_no_single_zone_holds_is_refused_in_the_words_of_the_kubelet() -> None:
    node = kubelet(TWO)
    node.admit("a", pod(container(10)))
    node.admit("b", pod(container(10)))
    verdict = node.admit("c", pod(container(10)))
    assert not verdict.admitted
    assert verdict.reason == "TopologyAffinityError"
    assert verdict.message == "Resources cannot be allocated with Topology locality"


def test_what_a_pod_had_is_free_once_it_is_removed() -> None:
    node = kubelet(TWO)
    for uid in "ab":
        node.admit(uid, pod(container(10)))
    node.remove("a")
    assert zones(node.admit("c", pod(container(10))).hints) == [[0]]


def test_an_init_container_binds_its_pod_to_its_zone() -> None:
    """Free are 13 and 16 CPUs: the init container takes one of the first zone, and the app has to stay with it."""
    node = kubelet(TWO)
    node.admit("other", pod(container(3)))
    assert node.admit("a", pod(container(1, kind="init"), container(14))).reason == "TopologyAffinityError"
    assert node.admit("b", pod(container(14))).admitted


def test_a_sidecar_keeps_its_cpus_beside_the_app() -> None:
    node = kubelet(TWO)
    node.admit("other", pod(container(12)))
    node.admit("more", pod(container(4)))
    assert not node.admit("a", pod(container(10, kind="sidecar"), container(10))).admitted


@pytest.mark.parametrize(("init", "admitted"), [("init", True), ("sidecar", False)])
def test_in_scope_pod_the_most_that_is_held_at_a_time_counts(init: str, admitted: bool) -> None:
    node = kubelet(TWO, scope="pod")
    assert node.admit("a", pod(container(10, kind=init), container(10))).admitted is admitted  # type: ignore[arg-type]


def test_a_guaranteed_fraction_of_a_cpu_is_not_pinned() -> None:
    node = kubelet(machine(2, 2))
    node.admit("a", pod(container(2)))
    assert node.admit("b", pod(container(3.5))).admitted


def test_a_burstable_pod_is_bound_by_its_devices_only() -> None:
    node = kubelet(machine(2, 2, gpus=(1, 1)))
    limits = {"nvidia.com/gpu": 2}
    burstable = Container.of({"cpu": 64_000, **limits}, limits)
    assert node.admit("a", pod(burstable)).reason == "TopologyAffinityError"
    assert kubelet(machine(2, 2, gpus=(2, 0))).admit("a", pod(burstable)).admitted


def test_devices_and_cpus_come_from_the_same_zone() -> None:
    node = kubelet(machine(16, 16, gpus=(4, 4)))
    node.admit("a", pod(container(14)))
    assert zones(node.admit("b", pod(container(4, gpu=1))).hints) == [[1]]
    node.admit("c", pod(container(10)))
    assert node.admit("d", pod(container(4, gpu=1))).reason == "TopologyAffinityError"


def test_restricted_lets_a_pod_span_zones_only_if_no_machine_like_this_could_do_with_fewer() -> None:
    node = kubelet(TWO, "restricted")
    assert zones(node.admit("large", pod(container(20, memory=70))).hints) == [[0, 1]]
    assert node.admit("small", pod(container(14))).reason == "TopologyAffinityError"


def test_best_effort_spreads_what_is_left() -> None:
    node = kubelet(TWO, "best-effort", pins_memory=False)
    for uid in "ab":
        node.admit(uid, pod(container(10)))
    assert zones(node.admit("c", pod(container(10))).hints) == [[0, 1]]
    assert node.admit("d", pod(container(3))).reason == "UnexpectedAdmissionError"


def test_memory_of_a_group_of_zones_serves_no_container_of_a_single_zone() -> None:
    node = kubelet(machine(16, 16, memory=8), "restricted")
    assert node.admit("wide", pod(container(2, memory=10))).reason == "TopologyAffinityError"
    assert node.admit("whole", pod(container(20, memory=10))).admitted
    assert node.admit("narrow", pod(container(2, memory=1))).reason == "TopologyAffinityError"


def test_memory_that_no_zone_has_is_refused_only_when_it_is_assigned() -> None:
    node = kubelet(machine(16, 16, memory=8), "restricted")
    for uid in "ab":
        assert node.admit(uid, pod(container(2, memory=8))).admitted
    refused = node.admit("c", pod(container(2, memory=1)))
    assert refused.reason == "UnexpectedAdmissionError"
    assert "failed to find NUMA nodes to extend the current topology hint" in refused.message


def test_memory_of_an_init_container_is_taken_over_and_given_back_once() -> None:
    node = kubelet(machine(16, memory=8), "none")
    assert node.admit("a", pod(container(1, 6, "init"), container(1, 5))).admitted
    assert node.memory.zones[0].free["memory"] == 2 * GI
    node.memory.init_ended("a")
    assert node.memory.zones[0].free["memory"] == 3 * GI
    node.remove("a")
    assert node.memory.zones[0].free["memory"] == 8 * GI


def test_full_cores_only_refuses_half_a_core() -> None:
    node = kubelet(machine(8, 8, threads=2), cpu_options=CpuOptions(full_pcpus_only=True))
    refused = node.admit("a", pod(container(3)))
    assert refused.reason == "SMTAlignmentError"
    assert refused.message == "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2"


def test_pod_level_resources_are_not_pinned_unless_the_managers_handle_them() -> None:
    level = Needs((("cpu", 20_000), ("memory", GI)), (("cpu", 20_000), ("memory", GI)))
    one = (container(10),)
    assert kubelet(TWO, scope="pod").admit("a", PodDemand.of(one, level)).admitted
    assert not kubelet(TWO, scope="pod").admit("a", PodDemand.of(one, level, managed=True)).admitted
