"""Kinds of resources, the request of a whole pod, and what is exclusive."""

from __future__ import annotations

import pytest

from closeknit.model.container import Container, QoS
from closeknit.model.shape import Shape
from closeknit.numa.pod_needs import PodNeeds
from closeknit.numa.resource_kinds import floats, is_affine, is_host_level, is_native


@pytest.mark.parametrize(
    ("name", "native", "affine", "host"),
    [
        ("cpu", True, True, False),
        ("memory", True, True, False),
        ("hugepages-1Gi", True, True, False),
        ("ephemeral-storage", True, False, True),
        ("storage", True, False, True),
        ("kubernetes.io/batch-cpu", True, False, False),
        ("foo", True, False, False),
        ("nvidia.com/gpu", False, False, True),
    ],
)
def test_names_tell_the_kind_of_a_resource(name: str, native: bool, affine: bool, host: bool) -> None:
    assert (is_native(name), is_affine(name), is_host_level(name)) == (native, affine, host)


def test_cpu_floats_unless_the_pod_is_guaranteed_and_a_device_never() -> None:
    assert [floats("cpu", qos) for qos in ("Guaranteed", "Burstable", "BestEffort")] == [False, True, True]
    assert not floats("nvidia.com/gpu", "Burstable")


def needs(*containers: Container, qos: QoS = "Guaranteed", overhead: dict[str, int] | None = None) -> PodNeeds:
    return PodNeeds(containers, qos, tuple((overhead or {}).items()))


def test_a_sidecar_counts_as_an_init_container_in_the_request_of_a_pod() -> None:
    pod = needs(
        Container.of({"cpu": 3000}, kind="sidecar"),
        Container.of({"cpu": 2000, "x/y": 1}, kind="init"),
        Container.of({"cpu": 1000}),
        Container.of({"cpu": 1500, "memory": 5}),
        overhead={"cpu": 10, "memory": 1},
    )
    assert pod.effective == {"cpu": 3010, "memory": 6, "x/y": 1}


def test_the_reported_class_wins_over_the_one_of_the_containers() -> None:
    shape = Shape.of({"cpu": 1000})
    assert PodNeeds.of(shape).qos == "Burstable"
    assert PodNeeds.of(shape, "Guaranteed").qos == "Guaranteed"


def test_a_device_asked_for_with_quantity_0_is_asked_for() -> None:
    assert needs(Container.of({"x/y": 0}, kind="init")).asks_devices
    assert not needs(Container.of({"cpu": 1, "kubernetes.io/z": 1})).asks_devices


@pytest.mark.parametrize(
    ("requests", "qos", "found"),
    [
        ({"cpu": 2000, "memory": 5}, "Guaranteed", {"cpu": 2000, "memory": 5}),
        ({"cpu": 1500, "memory": 5}, "Guaranteed", {"memory": 5}),
        ({"cpu": 0, "hugepages-2Mi": 4, "ephemeral-storage": 3}, "Guaranteed", {"hugepages-2Mi": 4}),
        ({"cpu": 2000, "x/listed": 1, "x/other": 1}, "Burstable", {"x/listed": 1}),
        ({"kubernetes.io/z": 1, "foo": 1}, "Guaranteed", {}),
    ],
)
def test_whole_cpus_and_memory_of_guaranteed_pods_and_devices_in_zones_are_exclusive(
    requests: dict[str, int], qos: QoS, found: dict[str, int]
) -> None:
    container = Container.of(requests)
    assert needs(container, qos=qos).exclusive(container, {"cpu", "x/listed"}) == found


def test_an_ordinary_init_container_makes_no_pod_exclusive_but_a_sidecar_does() -> None:
    assert not needs(Container.of({"cpu": 1000}, kind="init"), Container.of({"cpu": 1})).is_exclusive(())
    assert needs(Container.of({"cpu": 1000}, kind="sidecar"), Container.of({"cpu": 1})).is_exclusive(())
