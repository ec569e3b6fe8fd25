"""When those who wait are told that something has happened."""

from __future__ import annotations

from closeknit.cluster.kinds import NODE
from closeknit.cluster.port import Change
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.known import Known


class Watch:
    """A control plane that sees nodes come, on a clock of ours."""

    def __init__(self, profile: str) -> None:
        self.now = 10.0
        self.known = Known(Gates.profile(profile), Settings(), lambda: self.now)

    def see_node(self, name: str, now: float) -> None:
        self.now = now
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "labels": {}}}
        self.known.see(Change(0, "ADDED", NODE, body))


def test_whoever_waits_is_told_at_once() -> None:
    watch = Watch("closeknit")
    assert watch.known.wakes.next is None
    watch.see_node("a", 10.0)
    assert watch.known.wakes.next == 10.0
    assert watch.known.wakes.pass_on(10.0)
    assert watch.known.wakes.next is None


def test_many_events_in_a_moment_cost_one_look_more() -> None:
    watch = Watch("closeknit")
    for number in range(20):
        watch.see_node(f"n{number}", 10.0 + number / 100)
        watch.known.wakes.pass_on(watch.now)
    assert watch.known.wakes.next == 11.0
    assert watch.known.wakes.pass_on(11.0)
    watch.see_node("last", 12.5)
    assert watch.known.wakes.next == 12.5


def test_in_the_profile_of_kueue_what_happens_within_a_second_is_told_at_its_end() -> None:
    watch = Watch("kueue")
    watch.see_node("a", 10.0)
    watch.see_node("b", 10.7)
    assert watch.known.wakes.next == 11.0
    assert not watch.known.wakes.pass_on(10.9)
    assert watch.known.wakes.pass_on(11.0)
    assert watch.known.wakes.next is None
    watch.see_node("c", 11.2)
    assert watch.known.wakes.next == 12.2
