"""Events go when they are old or too many, oldest first."""

from __future__ import annotations

from closeknit.cluster.embedded.event_expiry import EventExpiry
from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.loop import Loop, Worker
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import EVENT, NAMESPACE
from closeknit.cluster.port import Change, Key

START = 1_800_000_000.0


class Cluster:
    def __init__(self, most: int = 10_000) -> None:
        self.time = START
        self.store = Store(lambda: self.time, RandomIds(1))
        self.store.create(NAMESPACE, {"metadata": {"name": "default"}})
        self.loop = Loop(self.store, [Worker(self.store, EventExpiry(most=most))])

    def event(self, name: str, **fields: str) -> None:
        self.store.create(EVENT, {"metadata": {"name": name}, **fields})

    def at(self, seconds: float) -> list[str]:
        """The events that are left after this many seconds."""
        self.time = START + seconds
        self.loop.run(self.time)
        return [one["metadata"]["name"] for one in self.store.all(EVENT)]


def test_an_event_is_gone_after_an_hour_and_not_before() -> None:
    cluster = Cluster()
    cluster.event("a")
    assert cluster.at(1800) == ["a"]
    cluster.event("b")
    assert cluster.at(3599) == ["a", "b"]
    assert cluster.at(3600) == ["b"]
    assert cluster.at(5400) == []


def test_the_loop_knows_when_the_next_one_goes() -> None:
    cluster = Cluster()
    cluster.event("a")
    assert cluster.loop.run(START) == START + 3600


def test_an_event_that_happens_again_stays_for_another_hour() -> None:
    cluster = Cluster()
    cluster.event("a")
    cluster.event("b")
    cluster.at(3000)
    cluster.store.patch(Key(EVENT, "default", "a"), {"count": 2, "lastTimestamp": "2027-01-15T08:50:00Z"})
    assert cluster.at(3600) == ["a"]
    assert cluster.at(6600) == []


def test_too_many_events_go_oldest_first() -> None:
    cluster = Cluster(most=3)
    for second, name in enumerate("abcde"):
        cluster.time = START + second
        cluster.event(name)
    assert cluster.at(10) == ["c", "d", "e"]


def test_thousands_too_many_go_in_steps() -> None:
    cluster = Cluster(most=10)
    for number in range(1510):
        cluster.event(f"e{number}")
    assert cluster.at(1) == [f"e{number}" for number in range(1500, 1510)]


def test_an_event_from_the_future_or_with_a_broken_time_stays_an_hour_too() -> None:
    cluster = Cluster()
    cluster.event("future", lastTimestamp="2999-01-01T00:00:00Z")
    cluster.event("broken", lastTimestamp="yesterday")
    cluster.event("past", lastTimestamp="1999-01-01T00:00:00Z")
    assert cluster.at(0) == cluster.at(3599) == ["future", "broken", "past"]
    assert cluster.at(3600) == []


def test_events_from_before_a_restart_go_by_their_own_time() -> None:
    cluster = Cluster()
    cluster.event("a", lastTimestamp="2027-01-15T08:00:00Z")
    cluster.time = START + 3000
    standin = EventExpiry()
    for number, raw in enumerate(cluster.store.all(EVENT)):
        standin.concerns(cluster.store, Change(number, "ADDED", EVENT, raw))
    assert [type(step).__name__ for step in standin.reconcile(cluster.store, "", START + 3600)] == ["Delete"]


def test_an_event_written_over_and_over_takes_no_more_memory() -> None:
    cluster = Cluster()
    standin = EventExpiry()
    cluster.event("a")
    raw = cluster.store.get(EVENT, "default", "a")
    for number in range(5000):
        standin.concerns(cluster.store, Change(number, "MODIFIED", EVENT, raw))
    assert len(standin._oldest) <= 502
