"""When parked workloads are woken by events."""

from __future__ import annotations

from closeknit.cluster.kinds import NODE
from closeknit.cluster.port import Change
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.cluster_cache import ClusterCache


class Watch:
    """A control plane that sees nodes being added, on a clock of the test."""

    def __init__(self, profile: str) -> None:
        self.now = 10.0
        self.known = ClusterCache(Gates.profile(profile), Settings(), lambda: self.now)

    def see_node(self, name: str, now: float) -> None:
        self.now = now
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "labels": {}}}
        self.known.see(Change(0, "ADDED", NODE, body))


def test_pending_workloads_are_woken_at_once() -> None:
    watch = Watch("closeknit")
    assert watch.known.wakes.next is None
    watch.see_node("a", 10.0)
    assert watch.known.wakes.next == 10.0
    assert watch.known.wakes.pass_on(10.0)
    assert watch.known.wakes.next is None


def test_many_events_in_a_moment_cost_one_more_wake() -> None:
    watch = Watch("closeknit")
    for number in range(20):
        watch.see_node(f"n{number}", 10.0 + number / 100)
        watch.known.wakes.pass_on(watch.now)
    assert watch.known.wakes.next == 11.0
    assert watch.known.wakes.pass_on(11.0)
    watch.see_node("last", 12.5)
    assert watch.known.wakes.next == 12.5


def test_in_kueues_profile_the_events_of_a_second_are_delivered_at_its_end() -> None:
    watch = Watch("kueue")
    watch.see_node("a", 10.0)
    watch.see_node("b", 10.7)
    assert watch.known.wakes.next == 11.0
    assert not watch.known.wakes.pass_on(10.9)
    assert watch.known.wakes.pass_on(11.0)
    assert watch.known.wakes.next is None
    watch.see_node("c", 11.2)
    assert watch.known.wakes.next == 12.2
