from __future__ import annotations

import pytest

from closeknit.model.quantity import INT64_MAX
from closeknit.model.resources import amounts, pod_requests, show, times, total


def test_cpu_is_counted_in_milli_and_the_rest_in_units() -> None:
    assert amounts({"cpu": "1.5", "memory": "1Ki", "nvidia.com/gpu": 2}) == {
        "cpu": 1500,
        "memory": 1024,
        "nvidia.com/gpu": 2,
    }


def test_sums_and_products_saturate() -> None:
    assert total([{"cpu": INT64_MAX}, {"cpu": 1}]) == {"cpu": INT64_MAX}
    assert times({"cpu": INT64_MAX}, 3) == {"cpu": INT64_MAX}


def test_containers_add_up() -> None:
    assert pod_requests([{"cpu": 100}, {"cpu": 200, "memory": 5}]) == {"cpu": 300, "memory": 5}


def test_the_largest_init_container_counts_if_it_is_larger_than_all_containers() -> None:
    assert pod_requests([{"cpu": 100}], init=[({"cpu": 300}, False), ({"cpu": 200}, False)]) == {"cpu": 300}


def test_a_sidecar_runs_beside_the_containers() -> None:
    assert pod_requests([{"cpu": 100}], init=[({"cpu": 50}, True)]) == {"cpu": 150}


def test_a_sidecar_runs_beside_init_containers_that_start_after_it() -> None:
    before = pod_requests([{"cpu": 1}], init=[({"cpu": 50}, True), ({"cpu": 300}, False)])
    after = pod_requests([{"cpu": 1}], init=[({"cpu": 300}, False), ({"cpu": 50}, True)])
    assert (before, after) == ({"cpu": 350}, {"cpu": 300})


def test_overhead_comes_on_top() -> None:
    assert pod_requests([{"cpu": 100}], overhead={"cpu": 10, "memory": 1}) == {"cpu": 110, "memory": 1}


def test_a_pod_level_request_replaces_the_sum_for_cpu_memory_and_huge_pages_only() -> None:
    level = {"cpu": 500, "hugepages-2Mi": 7, "nvidia.com/gpu": 9}
    containers = [{"cpu": 100, "nvidia.com/gpu": 1, "memory": 3}]
    assert pod_requests(containers, pod_level=level) == {
        "cpu": 500,
        "memory": 3,
        "nvidia.com/gpu": 1,
        "hugepages-2Mi": 7,
    }


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2**31, "2Gi"),
        ("memory", 5, "5"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_are_shown_as_people_write_them(resource: str, value: int, text: str) -> None:
    assert show(resource, value) == text
