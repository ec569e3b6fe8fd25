"""Following a kind through everything that can go wrong with a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from closeknit.cluster.embedded.store import Store
from closeknit.cluster.errors import Forbidden
from closeknit.cluster.kinds import CONFIG_MAP, POD
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config, read_config
from closeknit.cluster.kube.informer import Informer, InformerEvent, Listed
from closeknit.cluster.kube.pauses import Pauses
from closeknit.cluster.kube.unreachable import Unreachable
from closeknit.cluster.port import Key
from cluster.embedded.rest.running import Running
from cluster.kube.scripted import Answer, listed, pod, scripted, status, streamed


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path) as server:
        yield server


def told(event: InformerEvent | Listed) -> str:
    return "listed" if isinstance(event, Listed) else f"{event.type} {event.object['metadata']['name']}"


class Slept:
    """Pauses that take no time and are written down; chance is always in the middle."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.pauses = Pauses(lambda: 0.5, self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await asyncio.sleep(0)


def followed(answer: Answer, count: int, slept: Slept | None = None) -> list[str]:
    """The first events of a follower of that server."""

    async def run() -> list[str]:
        async with scripted(answer) as client:
            follower = Informer(client, POD, pauses=(slept or Slept()).pauses)
            seen: list[str] = []
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                async for event in events:
                    seen.append(told(event))
                    if len(seen) == count:
                        break
            return seen

    return asyncio.run(run())


def test_the_list_comes_first_then_the_changes(running: Running) -> None:
    def make(name: str) -> None:
        running.do(lambda store: store.create(CONFIG_MAP, {"metadata": {"name": name}}))

    def drop(name: str) -> None:
        running.do(lambda store: store.delete(Key(CONFIG_MAP, "default", name)))

    make("before")

    async def run() -> list[str]:
        seen: list[str] = []
        async with Client(read_config([running.kubeconfig])) as client:
            follower = Informer(client, CONFIG_MAP, "default")
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                async for event in events:
                    seen.append(told(event))
                    match len(seen):
                        case 2:
                            await asyncio.to_thread(make, "after")
                        case 3:
                            await asyncio.to_thread(drop, "before")
                        case 4:
                            break
        assert list(follower.known) == [("default", "after")]
        return seen

    assert asyncio.run(run()) == ["ADDED before", "listed", "ADDED after", "DELETED before"]


def test_an_expired_watch_lists_again_and_delivers_deletions(running: Running) -> None:
    """The history is forgotten between two watches, and something was deleted meanwhile."""

    def make(store: Store) -> None:
        for name in ("kept", "gone"):
            store.create(CONFIG_MAP, {"metadata": {"name": name}})

    def lose(store: Store) -> None:
        store.delete(Key(CONFIG_MAP, "default", "gone"))
        store.create(CONFIG_MAP, {"metadata": {"name": "new"}})
        running.server.settle()
        store.compact()

    running.do(make)

    async def run() -> list[str]:
        async with Client(read_config([running.kubeconfig])) as client:
            follower = Informer(client, CONFIG_MAP, "default", pauses=Slept().pauses)
            async with aclosing(follower.events()) as events:
                first = [told(await anext(events)) for _ in range(3)]
            assert first == ["ADDED gone", "ADDED kept", "listed"]
            await asyncio.to_thread(running.do, lose)
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                return [told(await anext(events)) for _ in range(3)]

    assert asyncio.run(run()) == ["ADDED new", "DELETED gone", "listed"]


def test_rows_come_with_the_cells_that_are_printed(running: Running) -> None:
    running.do(lambda store: store.create(CONFIG_MAP, {"metadata": {"name": "one"}, "data": {"a": "1"}}))

    async def run() -> tuple[InformerEvent | Listed, InformerEvent | Listed, InformerEvent | Listed]:
        async with Client(read_config([running.kubeconfig])) as client:
            follower = Informer(client, CONFIG_MAP, "default", rows=True)
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                first, done = await anext(events), await anext(events)
                await asyncio.to_thread(
                    running.do, lambda store: store.create(CONFIG_MAP, {"metadata": {"name": "two"}})
                )
                return first, done, await anext(events)

    first, done, second = asyncio.run(run())
    assert isinstance(first, InformerEvent)
    assert isinstance(done, Listed)
    assert isinstance(second, InformerEvent)
    assert (first.cells or [])[:2] == ["one", 1]
    assert done.columns[0]["name"] == "Name"
    assert (second.cells or [])[0] == "two"
    assert first.object["data"] == {"a": "1"}


def test_every_watch_answered_with_gone_lists_again_with_longer_and_longer_pauses() -> None:
    lists = iter([[pod("a", 1), pod("b", 2)], [pod("a", 1)], [pod("a", 1)], [pod("c", 9)]])
    version = iter(range(10, 20))

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await streamed(request, ("ERROR", status(410, "Expired")))
        return listed(next(version), *next(lists))

    slept = Slept()
    seen = followed(answer, 8, slept)
    assert seen == ["ADDED a", "ADDED b", "listed", "DELETED b", "listed", "listed", "ADDED c", "DELETED a"]
    assert slept.seconds == pytest.approx([0.15, 0.3, 0.6])


def test_backoff_stops_growing_and_resets_when_an_event_arrives() -> None:
    slept = Slept()

    async def run() -> None:
        for _ in range(12):
            await slept.pauses.wait()
        slept.pauses.reset()
        await slept.pauses.wait()

    asyncio.run(run())
    assert max(slept.seconds) == 22.5
    assert slept.seconds[-1] == pytest.approx(0.15)


def test_a_watch_that_ends_goes_on_from_the_last_version_bookmarks_included() -> None:
    versions: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return listed(10)
        versions.append(request.query["resourceVersion"])
        match len(versions):
            case 1:
                return await streamed(request, ("ADDED", pod("a", 12)))
            case 2:
                return await streamed(request, ("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "40"}}))
            case 3:
                return await streamed(request, ("MODIFIED", pod("a", 41)))
        return await streamed(request)

    assert followed(answer, 3) == ["listed", "ADDED a", "MODIFIED a"]
    assert versions == ["10", "12", "40"]


def test_a_server_that_goes_away_is_complained_of_and_tried_again() -> None:
    said: list[str] = []
    lists = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal lists
        if "watch" in request.query:
            lists += 1
            if lists == 1:
                return web.json_response(status(503, "ServiceUnavailable", "starting"), status=503)
            return await streamed(request, ("ADDED", pod("a", 12)))
        return listed(10)

    async def run() -> list[str]:
        async with scripted(answer) as client:
            follower = Informer(client, POD, pauses=Slept().pauses, complain=lambda error: said.append(str(error)))
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                return [told(await anext(events)) for _ in range(2)]

    assert asyncio.run(run()) == ["listed", "ADDED a"]
    assert said == ["starting"]


def test_an_error_inside_the_stream_is_tried_again_from_where_it_was() -> None:
    versions: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return listed(10)
        versions.append(request.query["resourceVersion"])
        if len(versions) == 1:
            return await streamed(request, ("ADDED", pod("a", 12)), ("ERROR", status(500, "InternalError")))
        return await streamed(request, ("DELETED", pod("a", 13)))

    assert followed(answer, 3) == ["listed", "ADDED a", "DELETED a"]
    assert versions == ["10", "12"]


def test_a_connection_that_breaks_inside_a_line_loses_nothing() -> None:
    watches = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal watches
        if "watch" not in request.query:
            return listed(10)
        watches += 1
        if watches == 1:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(b'{"type":"ADDED","object":{"metada')
            assert request.transport is not None
            request.transport.abort()
            return response
        return await streamed(request, ("ADDED", pod("a", 12)))

    assert followed(answer, 2) == ["listed", "ADDED a"]


def test_an_object_of_megabytes_is_one_line() -> None:
    large = pod("large", 11)
    large["spec"]["text"] = "x" * 3_000_000

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return listed(10)
        return await streamed(request, ("ADDED", large), ("ADDED", pod("next", 12)))

    assert followed(answer, 3) == ["listed", "ADDED large", "ADDED next"]


def test_an_object_that_was_made_again_under_its_name_was_deleted_between() -> None:
    lists = iter([[pod("a", 1, "first")], [pod("a", 5, "second")]])

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await streamed(request, ("ERROR", status(410, "Expired")))
        return listed(10, *next(lists))

    assert followed(answer, 4) == ["ADDED a", "listed", "DELETED a", "ADDED a"]


def test_a_refusal_at_the_very_beginning_is_raised() -> None:
    async def forbidden(request: web.Request) -> web.StreamResponse:
        return web.json_response(status(403, "Forbidden", "no"), status=403)

    with pytest.raises(Forbidden, match="no"):
        followed(forbidden, 1)


def test_a_forbidden_watch_raises_and_the_next_one_begins_with_a_list() -> None:
    may_watch, begun = False, list[str]()

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return listed(20, pod("b", 11)) if may_watch else listed(10, pod("a", 1))
        if not may_watch:
            return web.json_response(status(403, "Forbidden", "no watch"), status=403)
        return await streamed(request, ("ADDED", pod("c", 21)))

    async def run() -> list[str]:
        nonlocal may_watch
        async with scripted(answer) as client:
            follower = Informer(client, POD, pauses=Slept().pauses, begun=lambda: begun.append("begun"))
            events = follower.events()
            assert [told(await anext(events)) for _ in range(2)] == ["ADDED a", "listed"]
            with pytest.raises(Forbidden, match="no watch"):
                await anext(events)
            assert begun == []
            may_watch = True
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                return [told(await anext(events)) for _ in range(4)]

    assert asyncio.run(run()) == ["ADDED b", "DELETED a", "listed", "ADDED c"]
    assert begun == ["begun"]


def test_a_server_that_never_was_there_is_raised() -> None:
    async def run() -> None:
        async with Client(Config("http://127.0.0.1:1")) as client:
            await anext(Informer(client, POD).events())

    with pytest.raises(Unreachable):
        asyncio.run(run())


def test_an_event_is_a_change_with_what_was_before() -> None:
    event = InformerEvent("MODIFIED", pod("a", 12), pod("a", 11))
    change = event.change(POD)
    assert (change.version, change.type, change.key) == (12, "MODIFIED", Key(POD, "default", "a"))
    assert change.old == pod("a", 11)


def test_a_server_that_asks_for_patience_is_given_it() -> None:
    watches = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal watches
        if "watch" not in request.query:
            return listed(10)
        watches += 1
        if watches == 1:
            return web.json_response(status(429, "TooManyRequests"), status=429, headers={"Retry-After": "7"})
        return await streamed(request, ("ADDED", pod("a", 12)))

    slept = Slept()
    assert followed(answer, 2, slept) == ["listed", "ADDED a"]
    assert slept.seconds == pytest.approx([7.15])


def test_a_quiet_kind_does_not_wait_longer_and_longer() -> None:
    watches = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal watches
        if "watch" not in request.query:
            return listed(10)
        watches += 1
        if watches < 6:
            mark = {"kind": "Pod", "metadata": {"resourceVersion": str(20 + watches)}}
            return await streamed(request, ("BOOKMARK", mark))
        return await streamed(request, ("ADDED", pod("a", 40)))

    slept = Slept()
    assert followed(answer, 2, slept) == ["listed", "ADDED a"]
    assert slept.seconds == pytest.approx([0.15] * 5)


def test_a_list_is_delivered_page_by_page_and_deletions_after_the_last_page() -> None:
    """The second of two lists expires between its pages, and is started over."""
    told_at: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            return await streamed(request, ("ERROR", status(410, "Expired")))
        told_at.append(request.query.get("continue", ""))
        match len(told_at):
            case 1:
                return listed(10, pod("a", 1), pod("b", 2))
            case 2:
                body = {"metadata": {"resourceVersion": "20", "continue": "next"}, "items": [pod("b", 12)]}
                return web.json_response(body)
            case 3:
                return web.json_response(status(410, "Expired"), status=410)
        return listed(30, pod("b", 12))

    seen = followed(answer, 6)
    assert seen == ["ADDED a", "ADDED b", "listed", "MODIFIED b", "DELETED a", "listed"]
    assert told_at == ["", "", "next", ""]


@pytest.mark.parametrize("is_restored", [True, False])
def test_silence_is_looked_into_for_a_server_that_was_restored_from_a_backup_waits_for_the_future(
    is_restored: bool,
) -> None:
    """Its versions restart below ours; a watch from ours is accepted and shows nothing, not even a bookmark."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        query = request.query
        asked.append(f"watch {query['resourceVersion']}" if "watch" in query else f"list {query['limit']}")
        if asked == ["list 500"]:
            return listed(100, pod("a", 90), pod("b", 91))
        if "watch" not in query:
            return listed(50, pod("a", 40)) if is_restored else listed(120)
        response = web.StreamResponse()
        await response.prepare(request)
        if len(asked) > 3:
            await response.write(msgspec.json.encode({"type": "ADDED", "object": pod("c", 130)}) + b"\n")
        await asyncio.sleep(5)
        return response

    async def run() -> list[str]:
        async with scripted(answer) as client:
            follower = Informer(client, POD, pauses=Slept().pauses, idle=0.1)
            seen: list[str] = []
            async with asyncio.timeout(20), aclosing(follower.events()) as events:
                async for event in events:
                    seen.append(told(event))
                    if seen[-1] == "ADDED c":
                        return seen
            raise AssertionError

    seen = asyncio.run(run())
    if is_restored:
        assert seen == ["ADDED a", "ADDED b", "listed", "MODIFIED a", "DELETED b", "listed", "ADDED c"]
        assert asked == ["list 500", "watch 100", "list 1", "list 500", "watch 50"]
    else:
        assert seen == ["ADDED a", "ADDED b", "listed", "ADDED c"]
        assert asked == ["list 500", "watch 100", "list 1", "watch 100"]
