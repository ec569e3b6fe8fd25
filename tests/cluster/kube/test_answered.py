"""Reading one's own writes: responses and watch events, in every order in which they can arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, cast

import msgspec

from closeknit.cluster.errors import Expired
from closeknit.cluster.kinds import POD
from closeknit.cluster.kube.client import Client, Listing
from closeknit.cluster.kube.informer import Informer, InformerEvent, Listed
from closeknit.cluster.kube.pauses import Pauses
from closeknit.cluster.port import Raw
from cluster.kube.scripted import pod


class Told:
    """In place of a client: its lists and watch events arrive when the test says so."""

    def __init__(self) -> None:
        self.listings: asyncio.Queue[Listing] = asyncio.Queue()
        self.sent: asyncio.Queue[bytes | Exception] = asyncio.Queue()

    def lists(self, version: int, *objects: Raw) -> None:
        self.listings.put_nowait(Listing(str(version), [msgspec.Raw(msgspec.json.encode(one)) for one in objects], []))

    def tells(self, type_: str, raw: Raw) -> None:
        self.sent.put_nowait(msgspec.json.encode({"type": type_, "object": raw}))

    def forgets(self) -> None:
        self.sent.put_nowait(Expired("too old"))

    async def pages(self, *_: Any, **__: Any) -> AsyncGenerator[Listing, None]:
        yield await self.listings.get()

    async def lines(self, *_: Any) -> AsyncGenerator[bytes, None]:
        while True:
            line = await self.sent.get()
            if isinstance(line, Exception):
                raise line
            yield line

    def read(self, decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
        return decoder.decode(data)


class Scene:
    """An informer of pods, and a short form of the events it has delivered so far."""

    def __init__(self, **options: Any) -> None:
        self.told, self.seen = Told(), list[str]()
        pauses = Pauses(sleep=lambda _: asyncio.sleep(0))
        self.follower = Informer(cast(Client, self.told), POD, pauses=pauses, **options)

    async def follow(self) -> None:
        async with aclosing(self.follower.events()) as events:
            async for event in events:
                self.seen.append("listed" if isinstance(event, Listed) else brief(event))

    def answered(self, raw: Raw) -> str | None:
        event = self.follower.answered(raw)
        return None if event is None else brief(event)

    async def settled(self) -> list[str]:
        """The events delivered since the last call."""
        for _ in range(50):
            await asyncio.sleep(0)
        seen, self.seen = self.seen, []
        return seen


def brief(event: InformerEvent) -> str:
    meta = event.object["metadata"]
    before = "" if event.old is None else f" after {event.old['metadata']['resourceVersion']}"
    return f"{event.type} {meta['name']} {meta['resourceVersion']}{before}"


def played(scene: Scene, play: Coroutine[Any, Any, None]) -> None:
    async def run() -> None:
        task = asyncio.create_task(scene.follow())
        try:
            await play
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def test_a_response_before_its_event_is_delivered_at_once_and_the_event_is_dropped() -> None:
    async def play() -> None:
        scene.told.lists(10)
        assert await scene.settled() == ["listed"]
        assert scene.answered(pod("a", 11)) == "ADDED a 11"
        scene.told.tells("ADDED", pod("a", 11))
        scene.told.tells("MODIFIED", pod("a", 12))
        assert await scene.settled() == ["MODIFIED a 12 after 11"]

    scene = Scene()
    played(scene, play())


def test_older_events_of_other_writers_are_dropped_when_they_arrive_after_our_response() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("a", 5))
        assert await scene.settled() == ["ADDED a 5", "listed"]
        assert scene.answered(pod("a", 14)) == "MODIFIED a 14 after 5"
        for version in (11, 13, 14):
            scene.told.tells("MODIFIED", pod("a", version))
        scene.told.tells("MODIFIED", pod("a", 15))
        assert await scene.settled() == ["MODIFIED a 15 after 14"]

    scene = Scene()
    played(scene, play())


def test_a_response_after_its_event_is_dropped() -> None:
    async def play() -> None:
        scene.told.lists(10)
        scene.told.tells("ADDED", pod("a", 11))
        assert await scene.settled() == ["listed", "ADDED a 11"]
        assert scene.answered(pod("a", 11)) is None

    scene = Scene()
    played(scene, play())


def test_a_response_older_than_a_bookmark_is_dropped() -> None:
    async def play() -> None:
        scene.told.lists(10)
        scene.told.tells("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "20"}})
        await scene.settled()
        assert scene.answered(pod("a", 11)) is None
        assert scene.answered(pod("a", 21)) == "ADDED a 21"

    scene = Scene()
    played(scene, play())


def test_a_response_after_the_deletion_does_not_bring_the_object_back() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("a", 5))
        scene.told.tells("DELETED", pod("a", 12))
        assert await scene.settled() == ["ADDED a 5", "listed", "DELETED a 12 after 5"]
        assert scene.answered(pod("a", 11)) is None
        assert scene.follower.known == {}

    scene = Scene()
    played(scene, play())


def test_a_deletion_after_a_response_is_delivered() -> None:
    async def play() -> None:
        scene.told.lists(10)
        await scene.settled()
        scene.answered(pod("a", 11))
        scene.told.tells("ADDED", pod("a", 11))
        scene.told.tells("DELETED", pod("a", 12))
        assert await scene.settled() == ["DELETED a 12 after 11"]

    scene = Scene()
    played(scene, play())


def test_a_deletion_with_the_same_version_as_its_response_is_still_delivered() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("a", 5))
        await scene.settled()
        assert scene.answered(pod("a", 11)) == "MODIFIED a 11 after 5"
        scene.told.tells("DELETED", pod("a", 11))
        assert await scene.settled() == ["DELETED a 11 after 11"]

    scene = Scene()
    played(scene, play())


def test_a_successor_of_the_same_name_waits_for_the_watch_while_its_predecessor_is_known() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("a", 5, "first"))
        await scene.settled()
        assert scene.answered(pod("a", 12, "second")) is None
        scene.told.tells("DELETED", pod("a", 11, "first"))
        scene.told.tells("ADDED", pod("a", 12, "second"))
        assert await scene.settled() == ["DELETED a 11 after 5", "ADDED a 12"]

    scene = Scene()
    played(scene, play())


def test_a_successor_of_the_same_name_is_delivered_at_once_after_the_deletion() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("a", 5, "first"))
        scene.told.tells("DELETED", pod("a", 11, "first"))
        await scene.settled()
        assert scene.answered(pod("a", 12, "second")) == "ADDED a 12"
        scene.told.tells("ADDED", pod("a", 12, "second"))
        assert await scene.settled() == []

    scene = Scene()
    played(scene, play())


def test_late_events_of_a_predecessor_of_the_same_name_are_dropped() -> None:
    async def play() -> None:
        scene.told.lists(10)
        await scene.settled()
        assert scene.answered(pod("a", 13, "second")) == "ADDED a 13"
        scene.told.tells("ADDED", pod("a", 11, "first"))
        scene.told.tells("DELETED", pod("a", 12, "first"))
        scene.told.tells("ADDED", pod("a", 13, "second"))
        scene.told.tells("MODIFIED", pod("a", 14, "second"))
        assert await scene.settled() == ["MODIFIED a 14 after 13"]

    scene = Scene()
    played(scene, play())


def test_an_object_from_a_response_newer_than_a_new_list_is_not_delivered_as_deleted() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("b", 4))
        await scene.settled()
        scene.told.forgets()
        await scene.settled()
        assert scene.answered(pod("a", 31)) == "ADDED a 31"
        assert scene.answered(pod("b", 32)) == "MODIFIED b 32 after 4"
        scene.told.lists(30, pod("b", 20))
        assert await scene.settled() == ["listed"]
        scene.told.tells("ADDED", pod("a", 31))
        scene.told.tells("MODIFIED", pod("b", 32))
        scene.told.tells("DELETED", pod("a", 33))
        assert await scene.settled() == ["DELETED a 33 after 31"]

    scene = Scene()
    played(scene, play())


def test_an_object_from_a_response_older_than_a_new_list_is_kept_until_the_list_arrives() -> None:
    async def play() -> None:
        scene.told.lists(10)
        await scene.settled()
        scene.told.forgets()
        await scene.settled()
        assert scene.answered(pod("a", 21)) == "ADDED a 21"
        assert scene.answered(pod("b", 22)) == "ADDED b 22"
        scene.told.lists(30, pod("b", 25))
        assert await scene.settled() == ["MODIFIED b 25 after 22", "DELETED a 21 after 21", "listed"]
        assert scene.answered(pod("a", 21)) is None

    scene = Scene()
    played(scene, play())


def test_a_response_during_a_list_counts_only_if_it_is_newer() -> None:
    async def play() -> None:
        events = scene.follower.events()
        scene.told.lists(10, pod("a", 5), pod("b", 6))
        first = await anext(events)
        assert isinstance(first, InformerEvent)
        assert scene.answered(pod("b", 9)) is None
        assert scene.answered(pod("b", 11)) == "ADDED b 11"
        assert isinstance(await anext(events), Listed)
        assert scene.follower.known["default", "b"].version == "11"
        await events.aclose()

    scene = Scene()
    asyncio.run(play())


def test_the_same_response_twice_is_one_change() -> None:
    async def play() -> None:
        scene.told.lists(10)
        await scene.settled()
        assert scene.answered(pod("a", 12)) == "ADDED a 12"
        assert scene.answered(pod("a", 12)) is None
        assert scene.answered(pod("a", 11)) is None

    scene = Scene()
    played(scene, play())


def test_a_response_without_an_object_or_a_numeric_version_or_with_selectors_waits_for_the_watch() -> None:
    async def play() -> None:
        for one in (scene, selective):
            one.told.lists(10)
        await scene.settled()
        assert scene.answered({"kind": "Status", "metadata": {}}) is None
        odd = pod("a", 12)
        odd["metadata"]["resourceVersion"] = "12-b"
        assert scene.answered(odd) is None
        assert selective.answered(pod("a", 12)) is None

    scene, selective = Scene(), Scene(selectors={"labelSelector": "a=b"})
    played(scene, play())


def test_a_response_about_another_namespace_is_dropped() -> None:
    async def play() -> None:
        scene.told.lists(10)
        await scene.settled()
        assert scene.answered(pod("a", 12)) is None

    scene = Scene(namespace="elsewhere")
    played(scene, play())


# Projections


def small(data: bytes | Raw) -> Raw | None:
    """Leave out pods with the label; of the others store a name and a uid."""
    tree: Raw = data if isinstance(data, dict) else msgspec.json.decode(data)
    meta = tree["metadata"]
    if "left-out" in meta.get("labels", ()):
        return None
    kept = ("name", "namespace", "uid", "resourceVersion")
    return {"metadata": {field: meta[field] for field in kept}}


def labelled(name: str, version: int) -> Raw:
    raw = pod(name, version)
    raw["metadata"]["labels"] = {"left-out": "true"}
    return raw


def test_only_the_projection_of_an_object_is_delivered_and_stored() -> None:
    async def play() -> None:
        events = scene.follower.events()
        scene.told.lists(10, pod("a", 5))
        first = await anext(events)
        assert isinstance(first, InformerEvent)
        meta = {"name": "a", "namespace": "default", "uid": "uid-a", "resourceVersion": "5"}
        assert first.object == {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        assert scene.follower.known["default", "a"].object == first.object
        await events.aclose()

    scene = Scene(project=small)
    asyncio.run(play())


def test_an_object_that_projects_to_none_is_treated_as_absent() -> None:
    async def play() -> None:
        scene.told.lists(10, pod("a", 5), labelled("b", 6))
        assert await scene.settled() == ["ADDED a 5", "listed"]
        scene.told.tells("MODIFIED", labelled("a", 11))
        scene.told.tells("MODIFIED", pod("b", 12))
        scene.told.tells("MODIFIED", labelled("a", 13))
        scene.told.tells("DELETED", labelled("a", 14))
        assert await scene.settled() == ["DELETED a 5 after 5", "ADDED b 12"]
        assert scene.answered(labelled("b", 20)) == "DELETED b 12 after 12"

    scene = Scene(project=small)
    played(scene, play())


def test_with_only_identities_stored_a_deletion_is_delivered_with_its_metadata_alone() -> None:
    gone: list[Raw] = []

    async def play() -> None:
        events = scene.follower.events()
        scene.told.lists(10, pod("a", 5))
        await anext(events), await anext(events)
        assert scene.follower.known["default", "a"] == ("uid-a", "5", None)
        scene.told.forgets()
        scene.told.lists(20)
        event = await anext(events)
        assert isinstance(event, InformerEvent)
        gone.append(event.object)
        await events.aclose()

    scene = Scene(keeps_objects=False)
    asyncio.run(play())
    meta = {"name": "a", "namespace": "default", "uid": "uid-a", "resourceVersion": "5"}
    assert gone == [{"apiVersion": "v1", "kind": "Pod", "metadata": meta}]
