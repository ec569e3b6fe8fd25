"""A desk leaves a key alone while something for it is under way, and tells of a write only once it went well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.errors import Conflict
from closeknit.cluster.port import Change, Create, Key, Patch, Write
from closeknit.controller.desk import Again, Desk, Step
from closeknit.model.event import Event
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.known import Known
from closeknit.write.events import Recorder, Tell

ABOUT = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}


def a_write(name: str = "n") -> Write:
    return Patch(Key(kinds.NODE, "", name), {"spec": {"unschedulable": True}})


def tell(reason: str) -> Tell:
    return Tell(ABOUT, Event("n", "Normal", reason, "it happened"), 0.0)


class Scripted(Desk[str]):
    """Does what it is given, look by look."""

    def __init__(self, *looks: list[Step]) -> None:
        self.looks = list(looks)
        super().__init__(Known(Gates.profile(), Settings(), lambda: 0.0), Recorder())

    def concerns(self, change: Change) -> Iterable[str]:
        return ()

    def reconcile(self, key: str, now: float) -> Iterator[Step]:
        yield from self.looks.pop(0)

    def told(self) -> list[str]:
        return [one.body["reason"] for one in self.recorder.step(0.0) if isinstance(one, Create)]


def test_a_key_is_not_looked_at_again_before_its_writes_are_answered() -> None:
    first, second = a_write("a"), a_write("b")
    desk = Scripted([first, second], [])
    desk.todo.mark("k")
    assert desk.step(0.0) == [first, second]
    desk.todo.mark("k")
    assert list(desk.step(0.0)) == []
    assert desk.due() is None
    desk.done(first, {}, 0.0)
    assert desk.due() is None
    desk.done(second, {}, 0.0)
    assert desk.due() == 0.0
    desk.step(0.0)
    assert desk.looks == []


def test_a_key_for_which_nothing_came_meanwhile_is_not_looked_at_again() -> None:
    desk = Scripted([a_write()])
    desk.todo.mark("k")
    (write,) = desk.step(0.0)
    desk.done(write, {}, 0.0)
    assert desk.due() is None


def test_a_key_that_was_refused_is_looked_at_again_after_a_while() -> None:
    desk = Scripted([a_write()], [])
    desk.todo.mark("k")
    (write,) = desk.step(0.0)
    desk.done(write, Conflict("somebody was faster"), 0.0)
    assert 0.0 < (desk.due() or 0.0) < 1.0


def test_what_follows_a_write_is_told_once_that_went_well() -> None:
    desk = Scripted([a_write(), tell("Started")])
    desk.todo.mark("k")
    (write,) = desk.step(0.0)
    assert desk.told() == []
    desk.done(write, {}, 0.0)
    assert desk.told() == ["Started"]


def test_what_follows_a_write_that_was_refused_is_never_told() -> None:
    good, bad = a_write("good"), a_write("bad")
    desk = Scripted([good, tell("Good"), bad, tell("Bad")])
    desk.todo.mark("k")
    desk.step(0.0)
    desk.done(bad, Conflict("somebody was faster"), 0.0)
    desk.done(good, {}, 0.0)
    assert desk.told() == ["Good"]


def test_what_needs_no_write_is_told_at_once() -> None:
    desk = Scripted([tell("Refused"), Again(5.0)])
    desk.todo.mark("k")
    assert desk.step(0.0) == []
    assert desk.told() == ["Refused"]
    assert desk.due() == 5.0


def test_an_answer_to_a_write_of_somebody_else_is_nothing() -> None:
    desk = Scripted()
    result: dict[str, Any] = {}
    desk.done(a_write(), result, 0.0)
    assert desk.due() is None
