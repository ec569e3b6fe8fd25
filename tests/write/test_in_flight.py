"""Writes in flight find their way back by identity, and an object is busy until its last write is answered."""

from __future__ import annotations

from closeknit.cluster import kinds
from closeknit.cluster.port import Key, Patch
from closeknit.model.event import Event
from closeknit.write.events import RecordEvent
from closeknit.write.in_flight import Flight, InFlight, flights

NODE = Key(kinds.NODE, "", "n")


def a_write() -> Patch:
    return Patch(NODE, {"spec": {"unschedulable": True}})


def tell(reason: str) -> RecordEvent:
    return RecordEvent({}, Event("n", "Normal", reason, "it happened"), 0.0)


def test_equal_writes_are_distinguished() -> None:
    table: InFlight[str] = InFlight()
    first, second = Flight(a_write(), "first"), Flight(a_write(), "second")
    assert first.write == second.write
    table.depart("one", first)
    table.depart("two", second)
    assert table.land(second.write) == ("two", second)
    assert table.land(first.write) == ("one", first)


def test_an_object_is_busy_until_all_writes_to_it_are_answered() -> None:
    table: InFlight[str] = InFlight()
    first, second = Flight(a_write(), 1), Flight(a_write(), 2)
    assert not table.is_open(NODE)
    table.depart("p", first)
    table.depart("p", second)
    assert table.is_open(NODE)
    assert len(table) == 2
    table.land(first.write)
    assert table.is_open(NODE)
    table.land(second.write)
    assert not table.is_open(NODE)
    assert len(table) == 0


def test_a_write_is_answered_once() -> None:
    table: InFlight[str] = InFlight()
    flight = Flight(a_write(), 1)
    table.depart("p", flight)
    assert table.land(flight.write) is not None
    assert table.land(flight.write) is None


def test_an_event_goes_with_the_write_before_it() -> None:
    told: list[RecordEvent] = []
    before, after, last = tell("Before"), tell("After"), tell("Last")
    first, second = flights("k", [before, a_write(), after, last, a_write()], told.append)
    assert told == [before]
    assert first.events == [after, last]
    assert second.events == []
    assert (first.key, second.key) == ("k", "k")
