"""Writes to one object are sent in order, others concurrently, and results are shown before they are reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.errors import Conflict, Forbidden, InternalError, Refused
from closeknit.cluster.kinds import Kind
from closeknit.cluster.kube.client import Lane
from closeknit.cluster.kube.unreachable import Unreachable
from closeknit.cluster.port import Create, Delete, Key, Patch, Update, Write, target_of
from closeknit.host.lanes import WATCHFUL
from closeknit.host.outbox import AT_ONCE, Outbox

Raw = dict[str, Any]


def on_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        asyncio.run(test())

    return run


def patch(name: str, number: int = 0) -> Patch:
    return Patch(Key(kinds.NODE, "", name), {"number": number})


class Server:
    """Responds when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Write] = []
        self.answers: dict[int, asyncio.Future[Raw]] = {}
        self.calls: list[tuple[str, Any]] = []
        self.may = True
        self.outbox = Outbox(self, self.show, self.done, lambda: self.may)

    async def carry_out(self, write: Write, lane: Lane) -> Raw:
        while True:
            async with lane:
                self.asked.append(write)
                self.answers[id(write)] = asyncio.get_running_loop().create_future()
                with suppress(InternalError):
                    return await self.answers[id(write)]
            await asyncio.Event().wait()  # it is tried again much later

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        if name == "forbidden":
            raise Forbidden("not for you")
        return {"read": name}

    def show(self, kind: Kind, raw: Raw) -> None:
        self.calls.append(("shown", raw))

    def done(self, write: Write, result: Raw | Refused) -> None:
        self.calls.append(("done", write))
        self.result = result

    async def answer(self, write: Write, result: Raw | Exception) -> None:
        if isinstance(result, Exception):
            self.answers[id(write)].set_exception(result)
        else:
            self.answers[id(write)].set_result(result)
        await asyncio.sleep(0.001)


@on_a_loop
async def test_writes_to_one_object_are_sent_in_order_and_others_concurrently() -> None:
    server = Server()
    first, second, other = patch("a", 1), patch("a", 2), patch("b")
    server.outbox.send([first, second, other])
    await asyncio.sleep(0.001)
    assert server.asked == [first, other]
    await server.answer(first, {"metadata": {"name": "a"}})
    assert server.asked == [first, other, second]
    assert server.outbox.size == 2
    await server.answer(second, {})
    await server.answer(other, {})
    assert server.outbox.size == 0
    assert await server.outbox.drain(1.0)


@on_a_loop
async def test_events_go_out_one_at_a_time_and_nothing_waits_for_news() -> None:
    server = Server()
    first, second = [Create(kinds.EVENT, {"metadata": {"name": name, "namespace": "default"}}) for name in "ab"]
    queue, work = Patch(Key(kinds.CLUSTER_QUEUE, "", "cq"), {}), [patch("a"), patch("b")]
    server.outbox.send([first, second, queue, *work])
    await asyncio.sleep(0.001)
    assert server.asked == [queue, *work, first]
    await server.answer(first, {"metadata": {"name": "a"}})
    assert server.asked == [queue, *work, first, second]
    await server.outbox.close()


@on_a_loop
async def test_a_write_that_waits_for_its_retry_does_not_delay_others() -> None:
    server, stuck = Server(), [patch(f"webhook-{number}") for number in range(AT_ONCE)]
    server.outbox.send(stuck)
    await asyncio.sleep(0.001)
    server.outbox.send([other := patch("other")])
    await asyncio.sleep(0.001)
    assert server.asked == stuck
    for write in stuck:
        await server.answer(write, InternalError("failed calling webhook"))
    assert server.asked == [*stuck, other]
    await server.outbox.close()


@on_a_loop
async def test_a_lane_is_full_with_as_many_queued_as_in_flight() -> None:
    server, writes = Server(), [patch(f"n-{number}") for number in range(2 * AT_ONCE)]
    server.outbox.send(writes[:-1])
    assert server.outbox.is_full, "none of them is in flight yet"
    await asyncio.sleep(0.001)
    assert not server.outbox.is_full
    server.outbox.send(writes[-1:])
    assert server.outbox.is_full
    await server.answer(writes[0], {})
    assert not server.outbox.is_full
    await server.outbox.close()


@on_a_loop
async def test_what_is_tried_again_and_again_fills_nothing() -> None:
    server, writes = Server(), [patch(f"n-{number}") for number in range(3 * AT_ONCE)]
    server.outbox.send(writes)
    await asyncio.sleep(0.001)
    assert server.outbox.is_full
    while len(server.answers) < len(writes):
        for write in [one for one in writes if id(one) in server.answers and not server.answers[id(one)].done()]:
            await server.answer(write, InternalError("failed calling webhook"))
    assert (server.outbox.size, server.outbox.is_full) == (len(writes), False)
    await server.outbox.close()


@on_a_loop
async def test_nothing_is_sent_after_leadership_is_lost() -> None:
    server, write = Server(), patch("a")
    server.may = False
    server.outbox.send([write])
    await asyncio.sleep(3 * WATCHFUL)
    assert server.asked == []
    server.may = True
    await asyncio.sleep(3 * WATCHFUL)
    assert server.asked == [write]
    await server.outbox.close()


@on_a_loop
async def test_an_answer_is_shown_before_it_is_reported() -> None:
    server, write = Server(), patch("a")
    server.outbox.send([write])
    await asyncio.sleep(0.001)
    await server.answer(write, {"metadata": {"name": "a"}})
    assert server.calls == [("shown", {"metadata": {"name": "a"}}), ("done", write)]


@on_a_loop
async def test_a_refusal_and_a_deletion_show_nothing() -> None:
    server, write, gone = Server(), patch("a"), Delete(Key(kinds.NODE, "", "b"), "uid")
    server.outbox.send([write, gone])
    await asyncio.sleep(0.001)
    await server.answer(write, Conflict("the object was modified"))
    assert isinstance(server.result, Conflict)
    await server.answer(gone, {"kind": "Status"})
    assert server.calls == [("done", write), ("done", gone)]


def update(name: str) -> Update:
    return Update(kinds.NODE, {"metadata": {"name": name, "resourceVersion": "1"}})


@on_a_loop
async def test_after_a_conflict_the_current_object_is_shown_before_the_conflict_is_reported() -> None:
    """The watch may hang, and without the current object the same write would be refused again."""
    server, write = Server(), update("a")
    server.outbox.send([write])
    await asyncio.sleep(0.001)
    await server.answer(write, Conflict("the object was modified"))
    assert server.calls == [("shown", {"read": "a"}), ("done", write)]
    assert isinstance(server.result, Conflict)


@on_a_loop
async def test_a_conflict_is_reported_even_if_the_current_object_cannot_be_read() -> None:
    server, write = Server(), update("forbidden")
    server.outbox.send([write])
    await asyncio.sleep(0.001)
    await server.answer(write, Conflict("the object was modified"))
    assert server.calls == [("done", write)]


@on_a_loop
async def test_a_write_that_cannot_be_repeated_and_has_no_answer_is_reported_as_refused() -> None:
    server, write = Server(), patch("a")
    server.outbox.send([write])
    await asyncio.sleep(0.001)
    await server.answer(write, Unreachable("https://127.0.0.1", "cut", sent=True))
    assert isinstance(server.result, InternalError)


@on_a_loop
async def test_a_stop_does_not_wait_for_ever() -> None:
    server = Server()
    server.outbox.send([patch("a")])
    assert not await server.outbox.drain(0.01)
    await server.outbox.close()
    assert server.calls == []
    assert target_of(patch("a")) == Key(kinds.NODE, "", "a")
