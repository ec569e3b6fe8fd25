"""The verbs of the extender, with the kubelets' rules and with those of NodeResourceTopologyMatch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from closeknit.extender.compat import CompatZones
from closeknit.extender.extender import Extender
from closeknit.extender.strict import StrictZones
from closeknit.extender.zones import Zones
from closeknit.model.numa_settings import NodeNuma, NumaSettings
from closeknit.numa import admissions
from closeknit.numa.fingerprint import fingerprint
from closeknit.numa.placement_vector import ContainerName, encoded

from .makers import GIB, NAMES, applicant, asks, known, report

MODES = pytest.mark.parametrize("make", [StrictZones, CompatZones])
Make = Callable[[], Zones]
HALF = {"cpu": 4_000}
NONE = {"cpu": 0}


def started(make: Make, *reports: object) -> Extender:
    return Extender(known(make(), *reports))  # type: ignore[arg-type]


@MODES
def test_nodes_whose_zones_are_too_small_are_refused(make: Make) -> None:
    extender = started(make, report("roomy", {}, {}), report("split", HALF, HALF))
    found = extender.filter(applicant("p", asks(6)), ["split", "roomy"], 0)
    assert found.passing == [1]
    assert list(found.refused) == ["split"]


def test_the_refusal_has_the_kubelets_words_with_container_and_resource() -> None:
    extender = started(StrictZones, report("split", HALF, HALF))
    refused = extender.filter(applicant("p", asks(1), asks(6)), ["split"], 0).refused
    assert refused == {"split": "Resources cannot be allocated with Topology locality: container c1: cpu"}
    devices = extender.filter(applicant("p", asks(1, gpus=5)), ["split"], 0).refused
    assert devices == {"split": "Resources cannot be allocated with Topology locality: container c0: nvidia.com/gpu"}
    assert extender.refusals == {"Resources cannot be allocated with Topology locality": 2}


def test_the_refusal_of_compat_has_the_words_of_the_plug_in() -> None:
    extender = started(CompatZones, report("split", HALF, HALF), report("pods", HALF, HALF, scope="pod"))
    assert extender.filter(applicant("p", asks(6)), ["split", "pods"], 0).refused == {
        "split": "cannot align container",
        "pods": "cannot align pod",
    }
    first = applicant("q", asks(6), asks(1), kinds=("init",))
    assert extender.filter(first, ["split"], 0).refused == {"split": "cannot align init container"}


def test_only_strict_filters_restricted_nodes() -> None:
    node = report("n", HALF, HALF, policy="restricted")
    assert started(StrictZones, node).filter(applicant("p", asks(6)), ["n"], 0).passing == []
    assert started(CompatZones, node).filter(applicant("p", asks(6)), ["n"], 0).passing == [0]


@MODES
def test_nodes_without_a_report_take_every_pod_and_unknown_nodes_none(make: Make) -> None:
    extender = started(make)
    extender.put_node("plain", NAMES, {})
    found = extender.filter(applicant("p", asks(100)), ["plain", "unknown"], 0)
    assert found.passing == [0]
    assert found.refused == {"unknown": "node not found"}
    assert extender.filter(applicant("q", asks(1)), ["unknown"], 0) == ([], {"unknown": "node not found"})
    assert extender.zones.unreported == 1


@MODES
def test_reports_and_nodes_come_change_and_go(make: Make) -> None:
    extender = started(make)
    extender.put_report(report("n", HALF, HALF), 0)
    extender.put_node("n", NAMES, {})
    pod = applicant("p", asks(6))
    assert extender.filter(pod, ["n"], 0).passing == []
    extender.put_report(report("n", {}, HALF), 1)
    assert extender.filter(pod, ["n"], 0).passing == [0]
    extender.put_report(report("n", NONE, NONE), 2)
    assert extender.filter(pod, ["n"], 0).passing == []
    extender.drop_report("n")
    assert extender.filter(pod, ["n"], 0).passing == [0]
    extender.drop_node("n")
    assert extender.filter(pod, ["n"], 0).refused == {"n": "node not found"}


@MODES
def test_the_next_pod_is_offered_nodes_with_room_for_both(make: Make) -> None:
    extender = started(make, report("one", {}, NONE), report("two", {}, {}, whole={"cpu": 32_000, "memory": GIB * 64}))
    assert extender.filter(applicant("p", asks(6)), ["one", "two"], 0).passing == [0, 1]
    assert extender.filter(applicant("q", asks(6)), ["one", "two"], 0).passing == [1]
    assert extender.pending == 2


@MODES
def test_where_no_node_has_room_for_both_the_binding_decides(make: Make) -> None:
    extender = started(make, report("one", {}, NONE))
    first, second = applicant("p", asks(6)), applicant("q", asks(6))
    assert extender.filter(first, ["one"], 0).passing == [0]
    assert extender.filter(second, ["one"], 0).passing == [0]
    assert extender.bind(second, "one", 0) == ""
    assert extender.bind(first, "one", 0) != ""
    assert extender.filter(first, ["one"], 0).passing == []


@MODES
def test_a_pod_that_is_not_bound_in_time_does_not_count_any_more(make: Make) -> None:
    extender = started(make, report("one", {}, NONE), report("two", {}, NONE))
    extender.filter(applicant("p", asks(6)), ["one"], 0)
    assert extender.filter(applicant("q", asks(6)), ["one", "two"], 29).passing == [1]
    assert extender.filter(applicant("r", asks(6)), ["one"], 29 + 1.5).passing == [0]
    assert extender.pending == 2


@MODES
@pytest.mark.parametrize("end", ["bound", "deleted", "refused"])
def test_a_pod_is_not_pending_any_more_when_it_is_bound_deleted_or_refused(make: Make, end: str) -> None:
    extender = started(make, report("one", {}, NONE), report("two", {}, NONE))
    pod = applicant("p", asks(6))
    extender.filter(pod, ["one"], 0)
    if end == "bound":
        extender.put_pod(pod.on("two"))
    elif end == "deleted":
        extender.drop_pod("p")
    else:
        extender.put_report(report("one", HALF, NONE), 0)
        assert extender.filter(pod, ["one"], 0).passing == []
        extender.put_report(report("one", {}, NONE), 0)
    assert extender.pending == 0
    assert extender.filter(applicant("q", asks(6)), ["one"], 0).passing == [0]


@MODES
def test_prioritize_narrows_what_is_pending(make: Make) -> None:
    extender = started(make, report("one", {}, NONE), report("two", {}, NONE))
    pod = applicant("p", asks(6))
    extender.filter(pod, ["one", "two"], 0)
    assert len(extender.prioritize(pod, ["two"])) == 1
    assert extender.filter(applicant("q", asks(6)), ["one", "two"], 0).passing == [0]


@MODES
def test_a_reservation_lasts_until_a_report_accounts_for_the_pod(make: Make) -> None:
    extender = started(make)
    extender.put_node("n", NAMES, {})
    extender.put_report(report("n", {}, NONE, fingerprint=fingerprint([])), 0)
    pod, other = applicant("p", asks(6)), applicant("q", asks(6))
    extender.filter(pod, ["n"], 0)
    assert extender.bind(pod, "n", 0) == ""
    extender.bound("p")
    assert extender.filter(other, ["n"], 100).passing == []
    extender.put_report(report("n", {}, NONE, fingerprint=fingerprint([])), 120)
    assert extender.filter(other, ["n"], 120).passing == [], "the agent had not seen the pod"
    assert extender.charged == 1
    extender.put_report(report("n", {}, {}, fingerprint=fingerprint([("default", "p")])), 130)
    assert extender.filter(other, ["n"], 130).passing == [0]
    assert extender.charged == 0


@MODES
def test_without_a_fingerprint_a_report_accounts_for_pods_of_a_minute_before(make: Make) -> None:
    extender = started(make)
    extender.put_node("n", NAMES, {})
    extender.put_pod(applicant("p", asks(6), node="n", bound_at=1000))
    extender.put_report(report("n", {}, NONE), 1059)
    assert extender.filter(applicant("q", asks(6)), ["n"], 1060).passing == []
    extender.put_report(report("n", {}, NONE), 1060)
    assert extender.filter(applicant("q", asks(6)), ["n"], 1060).passing == [0]


@MODES
def test_a_deleted_pod_frees_what_was_charged(make: Make) -> None:
    extender = started(make, report("n", {}, NONE))
    for name in ("p", "q", "p"):
        pod = applicant(name, asks(6))
        assert extender.bind(pod, "n", 0) == ""
        extender.bound(name)
        assert extender.bind(applicant("other", asks(6)), "n", 0) != ""
        extender.drop_pod(name)


@MODES
def test_a_refused_binding_frees_the_node_and_a_lost_one_after_a_while(make: Make) -> None:
    extender = started(make, report("n", {}, NONE))
    pod, other = applicant("p", asks(6)), applicant("q", asks(6))
    assert extender.bind(pod, "n", 0) == ""
    extender.unbound("p")
    assert extender.bind(pod, "n", 0) == ""
    assert extender.filter(other, ["n"], 29).passing == []
    assert extender.filter(other, ["n"], 30).passing == [0]


@MODES
def test_a_binding_that_was_seen_is_not_undone_by_a_late_refusal(make: Make) -> None:
    extender = started(make, report("n", {}, NONE))
    pod = applicant("p", asks(6))
    extender.bind(pod, "n", 0)
    extender.put_pod(pod.on("n"))
    assert extender.applicant("p") is not None
    assert extender.bind(pod, "n", 1) == ""
    extender.unbound("p")
    assert extender.filter(applicant("q", asks(6)), ["n"], 100).passing == []
    assert "on its way to node n" in extender.bind(pod, "m", 2)


@MODES
def test_a_pod_that_waits_can_be_bound_without_being_filtered(make: Make) -> None:
    extender = started(make, report("n", {}, {}))
    assert extender.applicant("p") is None
    extender.put_pod(applicant("p", asks(6)))
    found = extender.applicant("p")
    assert found is not None
    assert extender.bind(found, "n", 0) == ""
    assert extender.bind(found, "m", 0) != ""
    assert extender.bind(applicant("q", asks(1)), "unknown", 0) == "node not found"


@MODES
def test_only_candidates_whose_zones_would_be_enough_are_left(make: Make) -> None:
    """A pod that was bound since the report frees its zones; of one before it, they are not known."""
    extender = started(make)
    for name in ("since", "before", "placed", "roomy"):
        extender.put_node(name, NAMES, {})
    extender.put_report(report("since", {}, NONE), 0)
    extender.put_pod(applicant("a", asks(6), node="since"))
    extender.put_pod(applicant("b", asks(6), node="before"))
    extender.put_report(report("before", {"cpu": 2_000}, NONE), 100)
    extender.put_pod(applicant("c", asks(6), node="placed"))
    placement = encoded({ContainerName("default", "c", "c0"): 0}, 2)
    left = {"cpu": 2_000, "memory": 63 * GIB}
    placed = report("placed", left, NONE, fingerprint=fingerprint([("default", "c")]))
    extender.put_report(replace(placed, placement=placement), 100)
    extender.put_report(report("roomy", {}, {}), 0)
    victims = {"since": {"a"}, "before": {"b"}, "placed": {"c"}, "roomy": {"d"}}
    assert extender.preempt(applicant("p", asks(6)), victims) == ["since", "placed", "roomy"]
    assert extender.preempt(applicant("p", asks(9)), victims) == []


def test_what_is_configured_for_a_node_decides_where_its_report_says_nothing() -> None:
    node = report("n", HALF, HALF)
    pod = applicant("p", asks(6))
    for choice, passing in ((NodeNuma(), []), (NodeNuma(pins_cpus=False), [0])):
        extender = started(lambda choice=choice: StrictZones(NumaSettings(nodes=(choice,))), node)  # type: ignore[misc]
        assert extender.filter(pod, ["n"], 0).passing == passing
    ignoring = NodeNuma(ignored=frozenset({"nvidia.com/gpu"}))
    extender = started(lambda: StrictZones(NumaSettings(nodes=(ignoring,))), node)
    assert extender.filter(applicant("p", asks(1, gpus=5)), ["n"], 0).passing == [0]


def test_strict_prefers_fewer_zones_then_whole_zones_kept_free() -> None:
    nodes = (
        report("empty", {}, {}, policy="best-effort"),
        report("used", {"cpu": 6_000}, {}, policy="best-effort"),
        report("split", HALF, HALF, policy="best-effort"),
    )
    extender = started(StrictZones, *nodes)
    extender.put_node("unreported", NAMES, {})
    names = ["empty", "used", "split", "unreported", "unknown"]
    assert extender.prioritize(applicant("p", asks(6)), names) == [9, 10, 7, 0, 0]


def test_compat_has_the_scores_of_the_plug_in_in_tens() -> None:
    """LeastAllocated: the mean of (8 − 2)/8 and (64 − 32)/64 in percent is 62."""
    extender = started(CompatZones, report("n", {}, {}))
    extender.put_node("unreported", NAMES, {})
    assert extender.prioritize(applicant("p", asks(2, memory=32)), ["n", "unreported"]) == [6, 0]


def test_states_that_no_node_is_in_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    zones = StrictZones()
    extender = Extender(known(zones, report("n", {}, {})))
    monkeypatch.setattr(admissions, "MOST_STATES", 4)
    for number in range(50):
        assert extender.bind(applicant(f"p{number}", asks(6)), "n", 0) == ""
        extender.bound(f"p{number}")
        extender.drop_pod(f"p{number}")
    assert len(zones.admissions) < 10
