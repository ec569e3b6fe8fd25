"""A key is not reconciled while its writes are in flight, and a write's event is recorded only once it succeeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from closeknit.cluster import kinds
from closeknit.cluster.errors import Conflict
from closeknit.cluster.port import Change, Create, Key, Patch, Write, target_of
from closeknit.controller.control_plane import ControlPlane
from closeknit.controller.reconciler import Reconciler, RequeueAt, Step
from closeknit.model.event import Event
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.write.events import RecordEvent

ABOUT = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}


def a_write(name: str = "n") -> Write:
    return Patch(Key(kinds.NODE, "", name), {"spec": {"unschedulable": True}})


def tell(reason: str) -> RecordEvent:
    return RecordEvent(ABOUT, Event("n", "Normal", reason, "it happened"), 0.0)


class Scripted(Reconciler[str]):
    """Returns the scripted steps, one list per reconcile."""

    def __init__(self, *looks: list[Step], plane: ControlPlane | None = None) -> None:
        self.looks = list(looks)
        plane = plane or a_plane()
        super().__init__(plane.cache, plane.recorder)

    def keys_for(self, change: Change) -> Iterable[str]:
        return ()

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        yield from self.looks.pop(0)

    def recorded(self) -> list[str]:
        return [one.write.body["reason"] for one in self.recorder.step(0.0) if isinstance(one.write, Create)]


def a_plane() -> ControlPlane:
    return ControlPlane(Gates.profile(), Settings(), lambda: 0.0, lambda: 0.0)


def alone(*looks: list[Step]) -> tuple[ControlPlane, Scripted]:
    """A control plane with only this reconciler and one key in its queue."""
    plane = a_plane()
    reconciler = Scripted(*looks, plane=plane)
    plane.parts = (reconciler,)
    reconciler.queue.add("k")
    return plane, reconciler


def test_a_key_is_not_reconciled_while_its_writes_are_in_flight() -> None:
    first, second = a_write("a"), a_write("b")
    reconciler = Scripted([first, second], [])
    reconciler.queue.add("k")
    flights = reconciler.step(0.0)
    assert [one.write for one in flights] == [first, second]
    reconciler.queue.add("k")
    assert list(reconciler.step(0.0)) == []
    assert reconciler.due() is None
    reconciler.done(flights[0], {}, 0.0)
    assert reconciler.due() is None
    reconciler.done(flights[1], {}, 0.0)
    assert reconciler.due() == 0.0
    reconciler.step(0.0)
    assert reconciler.looks == []


def test_a_key_without_changes_meanwhile_is_not_requeued() -> None:
    reconciler = Scripted([a_write()])
    reconciler.queue.add("k")
    (flight,) = reconciler.step(0.0)
    reconciler.done(flight, {}, 0.0)
    assert reconciler.due() is None


def test_a_key_with_a_refused_write_is_requeued_with_backoff() -> None:
    reconciler = Scripted([a_write()], [])
    reconciler.queue.add("k")
    (flight,) = reconciler.step(0.0)
    reconciler.done(flight, Conflict("the object has changed"), 0.0)
    assert 0.0 < (reconciler.due() or 0.0) < 1.0


def test_the_event_of_a_write_is_recorded_once_the_write_succeeds() -> None:
    plane, reconciler = alone([a_write(), tell("Started")])
    (write,) = plane.step(0.0)
    assert reconciler.recorded() == []
    plane.done(write, {}, 0.0)
    assert reconciler.recorded() == ["Started"]


def test_the_event_of_a_refused_write_is_never_recorded() -> None:
    plane, reconciler = alone([a_write("good"), tell("Good"), a_write("bad"), tell("Bad")])
    good, bad = plane.step(0.0)
    plane.done(bad, Conflict("the object has changed"), 0.0)
    plane.done(good, {}, 0.0)
    assert reconciler.recorded() == ["Good"]


def test_an_event_without_a_write_is_recorded_at_once() -> None:
    reconciler = Scripted([tell("Refused"), RequeueAt(5.0)])
    reconciler.queue.add("k")
    assert reconciler.step(0.0) == []
    assert reconciler.recorded() == ["Refused"]
    assert reconciler.due() == 5.0


def test_an_answer_to_a_write_from_elsewhere_is_ignored() -> None:
    plane, reconciler = alone([a_write()])
    (write,) = plane.step(0.0)
    plane.done(a_write(), {}, 0.0)
    reconciler.queue.add("k")
    assert list(plane.step(0.0)) == []
    plane.done(write, {}, 0.0)
    assert reconciler.due() == 0.0


def test_a_write_to_an_object_with_one_in_flight_is_not_sent_and_is_decided_again() -> None:
    plane, first = alone([a_write("a")])
    second = Scripted([a_write("a"), a_write("b")], [], plane=plane)
    plane.parts = (first, second)
    second.queue.add("k")
    (write,) = plane.step(0.0)
    (other,) = plane.step(0.0)
    assert target_of(other).name == "b"
    plane.done(other, {}, 0.0)
    plane.done(write, {}, 0.0)
    assert 0.0 < (second.due() or 0.0) < 1.0
