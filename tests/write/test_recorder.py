"""Events: one per object and reason, no more often and no faster than needed."""

from __future__ import annotations

from typing import Any

from closeknit.cluster.errors import Cause, Forbidden, NotFound
from closeknit.cluster.port import Create, Patch, Write
from closeknit.model.event import Event
from closeknit.write.events import AT_ONCE, LIFETIME, MOST, QUIET, Recorder, RecordEvent, Subject
from closeknit.write.in_flight import Flight
from closeknit.write.token_bucket import Rate


def about(uid: str = "u") -> dict[str, Any]:
    meta = {"name": f"w-{uid}", "namespace": "default", "uid": uid, "resourceVersion": "7"}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": meta}


def said(recorder: Recorder, now: float, uid: str = "u", message: str = "no room") -> list[Write]:
    return [one.write for one in sent(recorder, now, uid, message)]


def sent(recorder: Recorder, now: float, uid: str = "u", message: str = "no room") -> list[Flight[Subject]]:
    recorder.record(RecordEvent(about(uid), Event(f"default/w-{uid}", "Warning", "Pending", message), now))
    return list(recorder.step(now))


def test_an_event_names_its_object_and_says_why() -> None:
    (write,) = said(Recorder(), 1000.0)
    assert isinstance(write, Create)
    body = write.body
    assert body["involvedObject"]["uid"] == "u"
    assert (body["type"], body["reason"], body["message"], body["count"]) == ("Warning", "Pending", "no room", 1)
    assert body["firstTimestamp"] == "1970-01-01T00:16:40Z"


def test_the_same_again_is_only_counted_and_written_after_a_while() -> None:
    recorder = Recorder()
    said(recorder, 0.0)
    assert said(recorder, 1.0) == []
    (write,) = said(recorder, QUIET)
    assert isinstance(write, Patch)
    assert write.body["count"] == 3


def test_another_message_updates_the_same_event_at_once() -> None:
    recorder = Recorder()
    (first,) = said(recorder, 0.0)
    (write,) = said(recorder, 1.0, message="no quota")
    assert isinstance(first, Create)
    assert isinstance(write, Patch)
    assert write.key.name == first.body["metadata"]["name"]
    assert (write.body["count"], write.body["message"]) == (2, "no quota")
    assert said(recorder, 2.0, message="no quota") == []


def test_another_reason_is_an_event_of_its_own() -> None:
    recorder = Recorder()
    said(recorder, 0.0)
    recorder.record(RecordEvent(about(), Event("ns/w", "Normal", "Stopped", "the queue is stopped"), 0.0))
    (flight,) = recorder.step(0.0)
    assert isinstance(flight.write, Create)


def test_an_event_that_may_have_expired_is_created_again() -> None:
    recorder = Recorder()
    said(recorder, 0.0)
    (write,) = said(recorder, LIFETIME + 1)
    assert isinstance(write, Create)


def test_a_refused_event_may_be_recorded_again() -> None:
    recorder = Recorder()
    (flight,) = sent(recorder, 0.0)
    recorder.done(flight, Forbidden("the namespace is being deleted"), 0.0)
    (again,) = sent(recorder, 1.0)
    assert isinstance(again.write, Create)
    recorder.done(again, {}, 1.0)
    (counted,) = sent(recorder, QUIET + 1)
    recorder.done(counted, NotFound("it has expired"), QUIET)
    (last,) = said(recorder, QUIET + 2)
    assert isinstance(last, Create)


def test_events_come_no_faster_than_allowed_and_none_is_lost() -> None:
    recorder = Recorder(Rate(rate=10.0, burst=5.0))
    for number in range(15):
        recorder.record(RecordEvent(about(str(number)), Event("x", "Normal", "Admitted", "in"), 0.0))
    assert len(recorder.step(0.0)) == 5
    due = recorder.due()
    assert due is not None
    assert abs(due - 0.1) < 1e-9
    assert len(recorder.step(0.1)) == 1
    assert len(recorder.step(0.6)) == 5
    assert len(recorder.step(10.0)) == 4
    assert recorder.due() is None


def test_of_too_many_the_oldest_are_dropped() -> None:
    recorder = Recorder(Rate(rate=1.0, burst=1.0))
    for number in range(MOST + 10):
        recorder.record(RecordEvent(about(str(number)), Event("x", "Normal", "Admitted", "in"), 0.0))
    (flight,) = recorder.step(0.0)
    assert isinstance(flight.write, Create)
    assert flight.write.body["involvedObject"]["uid"] == "10"


def test_without_a_limit_all_of_them_come_at_one_moment() -> None:
    recorder = Recorder()
    for number in range(1000):
        recorder.record(RecordEvent(about(str(number)), Event("x", "Normal", "Admitted", "in"), 0.0))
    written = 0
    while recorder.due() is not None:
        for flight in recorder.step(7.0):
            recorder.done(flight, {}, 7.0)
            written += 1
    assert written == 1000


def test_while_the_server_is_slow_other_events_stay_queued() -> None:
    recorder = Recorder()
    for number in range(2 * AT_ONCE):
        recorder.record(RecordEvent(about(str(number)), Event("x", "Normal", "Admitted", "in"), 0.0))
    first, *others = recorder.step(7.0)
    assert (1 + len(others), recorder.due()) == (AT_ONCE, None)
    recorder.done(first, {}, 8.0)
    assert recorder.due() == 0.0
    assert len(recorder.step(8.0)) == 1


def test_no_events_are_recorded_in_a_terminating_namespace() -> None:
    ending: set[str] = set()
    recorder = Recorder(ending=ending)
    ending.add("default")
    assert said(recorder, 0.0) == []
    ending.clear()
    assert len(said(recorder, 1.0)) == 1


def test_an_event_that_was_refused_since_its_namespace_ends_is_not_made_again() -> None:
    recorder = Recorder()
    (flight,) = sent(recorder, 0.0)
    cause = Cause("metadata.namespace", "namespace default is being terminated", "NamespaceTerminating")
    recorder.done(flight, Forbidden("no", causes=[cause]), 0.0)
    assert said(recorder, 1.0) == []
