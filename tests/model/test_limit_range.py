from __future__ import annotations

from closeknit.model.container import Container
from closeknit.model.limit_range import NANO, LimitRange, combined, violation
from closeknit.model.request import PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.workload import Workload, WorkloadPodSet

FIRST = "spec.podSets[0].template.spec"


def asks(*containers: Container, **requests: int) -> Shape:
    return Shape.of(requests, containers=containers)


def workload(*shapes: Shape) -> Workload:
    """A pod set for each of these shapes."""
    named = {f"set-{number}": one for number, one in enumerate(shapes)}
    request = Request.of(PodSet(name, 1, one) for name, one in named.items())
    return Workload("ns", "wl", request, tuple(WorkloadPodSet(name, dict(one.requests)) for name, one in named.items()))


main = Container.of


def test_several_ranges_hold_together() -> None:
    ranges = [
        LimitRange("Container", {"cpu": 1}, {"cpu": 9, "memory": 5}, {"cpu": 3}, {"cpu": 4}),
        LimitRange("Pod", {"cpu": 7}),
        LimitRange("Container", {"cpu": 2}, {"cpu": 8}, {"cpu": 5, "gpu": 1}, {"cpu": 6}),
    ]
    assert combined(ranges, "Container") == LimitRange(
        "Container", {"cpu": 2}, {"cpu": 8, "memory": 5}, {"cpu": 3, "gpu": 1}, {"cpu": 4}
    )
    assert combined(ranges, "Pod") == LimitRange("Pod", {"cpu": 7})
    assert combined(ranges[:1], "Pod") is None


def test_nothing_is_wrong_without_ranges_and_limits() -> None:
    assert violation(workload(asks(main({"cpu": 500}), cpu=500)), []) is None


def test_a_container_above_the_maximum_is_named_as_kueue_names_it() -> None:
    assert violation(workload(asks(main({"cpu": 500}), cpu=500)), [LimitRange("Container", max={"cpu": 300})]) == (
        "resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec.containers[0]: "
        'Invalid value: ["cpu"]: requests must not be above the limitRange max'
    )


def test_a_container_below_the_minimum_is_named_too() -> None:
    ranges = [LimitRange("Container", min={"memory": 10, "cpu": 600})]
    assert violation(workload(asks(main({"cpu": 500, "memory": 9}), cpu=500)), ranges) == (
        f"resources didn't satisfy LimitRange constraints: {FIRST}.containers[0]: "
        'Invalid value: ["cpu","memory"]: requests must not be below the limitRange min'
    )


def test_a_limit_above_the_maximum_counts_as_a_request_does() -> None:
    ranges = [LimitRange("Container", max={"cpu": 600})]
    assert violation(workload(asks(main({"cpu": 500}, {"cpu": 600}))), ranges) is None
    assert violation(workload(asks(main({"cpu": 500}, {"cpu": 700}))), ranges) is not None


def test_the_smaller_of_request_and_limit_is_held_against_the_minimum() -> None:
    ranges = [LimitRange("Container", min={"cpu": 600})]
    assert violation(workload(asks(main({"cpu": 600}, {"cpu": 700}))), ranges) is None
    assert violation(workload(asks(main({"cpu": 500}, {"cpu": 700}))), ranges) is not None


def test_a_resource_that_a_container_does_not_name_breaks_no_range() -> None:
    ranges = [LimitRange("Container", min={"gpu": 1}, max={"gpu": 2})]
    assert violation(workload(asks(main({"cpu": 500}))), ranges) is None


def test_pods_are_held_to_ranges_of_pods_by_all_they_ask_for() -> None:
    both = (main({"cpu": 400}), main({"cpu": 400}))
    assert violation(workload(asks(*both, cpu=800)), [LimitRange("Pod", max={"cpu": 800})]) is None
    assert violation(workload(asks(*both, cpu=800)), [LimitRange("Pod", max={"cpu": 700})]) == (
        f"resources didn't satisfy LimitRange constraints: {FIRST}: "
        'Invalid value: ["cpu"]: requests must not be above the limitRange max'
    )
    assert violation(workload(asks(*both, cpu=800)), [LimitRange("Pod", min={"cpu": 900})]) == (
        f"resources didn't satisfy LimitRange constraints: {FIRST}: "
        'Invalid value: ["cpu"]: requests must not be below the limitRange min'
    )


def test_a_request_above_its_limit_is_said_before_any_range() -> None:
    two = workload(asks(main({"cpu": 100})), asks(main({"cpu": 500}, {"cpu": 400})))
    assert violation(two, [LimitRange("Container", max={"cpu": 1})]) == (
        "resources validation failed: spec.podSets[1].template.spec.containers[0]: "
        'Invalid value: ["cpu"]: requests must not exceed its limits'
    )


def test_several_mistakes_stand_in_brackets_init_containers_first() -> None:
    containers = (main({"cpu": 600}, kind="init"), main({"cpu": 700}, kind="sidecar"), main({"cpu": 500}))
    text = violation(workload(asks(*containers)), [LimitRange("Container", max={"cpu": 300})])
    above = 'Invalid value: ["cpu"]: requests must not be above the limitRange max'
    assert text == (
        "resources didn't satisfy LimitRange constraints: "
        f"[{FIRST}.initContainers[0]: {above}, {FIRST}.initContainers[1]: {above}, {FIRST}.containers[0]: {above}]"
    )


RATIO = [LimitRange("Container", ratio={"cpu": 2 * NANO}), LimitRange("Container", ratio={"cpu": 3 * NANO})]
TOO_MUCH = (
    f"resources didn't satisfy LimitRange constraints: {FIRST}.containers[0]: "
    'Invalid value: ["cpu"]: limits must be set and not exceed requests times the limitRange maxLimitRequestRatio'
)


def test_a_limit_may_not_exceed_the_smallest_ratio_to_the_request() -> None:
    assert violation(workload(asks(main({"cpu": 500}, {"cpu": 1000}))), RATIO) is None
    assert violation(workload(asks(main({"cpu": 500}, {"cpu": 1001}))), RATIO) == TOO_MUCH
    assert violation(workload(asks(main({"cpu": 500}, {"cpu": 1001}))), RATIO, ratios=False) is None


def test_a_resource_with_a_ratio_needs_a_limit() -> None:
    assert violation(workload(asks(main({"cpu": 500}))), RATIO) == TOO_MUCH
    assert violation(workload(asks(main({}))), RATIO) == TOO_MUCH


def test_the_ratio_of_a_pod_is_that_of_its_sums() -> None:
    ranges = [LimitRange("Pod", ratio={"cpu": NANO * 3 // 2})]
    two = asks(main({"cpu": 100}, {"cpu": 200}), main({"cpu": 300}, {"cpu": 400}))
    assert violation(workload(two), ranges) is None
    three = asks(main({"cpu": 100}, {"cpu": 200}), main({"cpu": 300}, {"cpu": 401}))
    assert violation(workload(three), ranges) == TOO_MUCH.replace(".containers[0]", "")
