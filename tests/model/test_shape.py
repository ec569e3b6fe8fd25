from __future__ import annotations

from typing import Any

import pytest

from closeknit.model.container import Container, Needs
from closeknit.model.shape import Requirement, Shape, Taint, Toleration, whole_number

GPU = Taint("gpu", "yes", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        (Toleration("gpu", "Equal", "yes"), True),
        (Toleration("gpu", "Equal", "no"), False),
        (Toleration("gpu", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("", "Equal", "yes"), False),
        (Toleration("gpu", "Exists", effect="NoExecute"), False),
        (Toleration("gpu", "Exists", effect="NoSchedule"), True),
        (Toleration("gpu", "Nonsense", "yes"), False),
    ],
)
def test_a_toleration_covers_what_kubernetes_says(toleration: Toleration, tolerates: bool) -> None:
    assert toleration.tolerates(GPU) is tolerates


@pytest.mark.parametrize(
    ("operator", "bound", "value", "tolerates"),
    [("Gt", "3", "5", True), ("Gt", "5", "5", False), ("Lt", "5", "3", True), ("Lt", "5", "many", False)],
)
def test_numeric_tolerations_compare_the_taint_with_the_bound(
    operator: str, bound: str, value: str, tolerates: bool
) -> None:
    assert Toleration("sla", operator, bound).tolerates(Taint("sla", value, "NoSchedule")) is tolerates


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+7", 7),
        ("-7", -7),
        ("007", 7),
        ("0" * 30 + "7", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("1_0", None),
        (" 9", None),
        ("9\n", None),
        ("٣", None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("0x1", None),
        ("9" * 5000, None),
    ],
)
def test_whole_numbers_are_those_that_go_reads(text: str, number: int | None) -> None:
    assert whole_number(text) == number
    assert Requirement("k", "Gt", (str(-(2**63)),)).admits(text) is (number is not None and number > -(2**63))


@pytest.mark.parametrize(
    ("requirement", "value", "admits"),
    [
        (Requirement("k", "In", ("a", "b")), "a", True),
        (Requirement("k", "In", ("a",)), None, False),
        (Requirement("k", "NotIn", ("a",)), None, True),
        (Requirement("k", "NotIn", ("a",)), "a", False),
        (Requirement("k", "Exists"), "", True),
        (Requirement("k", "DoesNotExist"), None, True),
        (Requirement("k", "Gt", ("3",)), "4", True),
        (Requirement("k", "Lt", ("3",)), "4", False),
        (Requirement("k", "Gt", ("3",)), None, False),
        (Requirement("k", "Gt", ("3", "4")), "9", False),
    ],
)
def test_a_requirement_admits_what_kubernetes_says(requirement: Requirement, value: str | None, admits: bool) -> None:
    assert requirement.admits(value) is admits


def test_shapes_are_equal_whatever_the_order_of_their_parts() -> None:
    one = Shape.of({"cpu": 1, "memory": 2}, {"a": "1", "b": "2"})
    other = Shape.of({"memory": 2, "cpu": 1}, {"b": "2", "a": "1"})
    assert (one, hash(one)) == (other, hash(other))


def test_a_pod_always_takes_a_place_among_the_pods() -> None:
    assert Shape.of({"cpu": 1}).charge == (("cpu", 1), ("pods", 1))


def test_a_taint_reads_as_kubectl_writes_it() -> None:
    assert (str(GPU), str(Taint("k", "", "NoExecute"))) == ("gpu=yes:NoSchedule", "k:NoExecute")


class TestContainers:
    WHOLE = Container.of({"cpu": 3000})
    SPLIT = (Container.of({"cpu": 1000}), Container.of({"cpu": 2000}))

    def test_a_pod_of_which_only_the_sum_is_known_is_one_app_container_without_limits(self) -> None:
        shape = Shape.of({"cpu": 3000})
        assert shape.containers == (self.WHOLE,)
        assert shape.qos == "Burstable"
        assert Shape.of({}).containers == ()
        assert Shape.of({}).qos == "BestEffort"

    def test_pods_of_the_same_sum_in_other_containers_are_other_shapes(self) -> None:
        whole, split = Shape.of({"cpu": 3000}), Shape.of({"cpu": 3000}, containers=self.SPLIT)
        assert whole != split
        assert len({whole, split, Shape.of({"cpu": 3000}, containers=self.SPLIT[::-1])}) == 3

    def test_limits_and_kinds_tell_shapes_apart(self) -> None:
        limited = Container.of({"cpu": 3000}, {"cpu": 3000})
        sidecar = Container.of({"cpu": 3000}, kind="sidecar")
        shapes = {Shape.of({"cpu": 3000}, containers=(one,)) for one in (self.WHOLE, limited, sidecar)}
        assert len(shapes) == 3

    @pytest.mark.parametrize(
        "more",
        [{"containers": SPLIT}, {"containers": ()}, {"overhead": {"cpu": 1}}, {"pod_level": Needs((("cpu", 3000),))}],
        ids=str,
    )
    def test_a_plain_shape_knows_only_the_sum(self, more: dict[str, Any]) -> None:
        shape = Shape.of({"cpu": 3000}, {"pool": "a"}, (Toleration("x", "Exists"),), **more)
        assert shape.plain == Shape.of({"cpu": 3000}, {"pool": "a"}, (Toleration("x", "Exists"),))
        assert shape.plain != shape
        assert shape.plain.plain is shape.plain
