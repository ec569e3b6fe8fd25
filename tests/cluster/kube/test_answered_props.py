"""In whatever order responses, events and new lists arrive, the changes add up to what the server has."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.cluster.kube.informer import InformerEvent
from closeknit.cluster.port import Raw
from cluster.kube.scripted import pod
from cluster.kube.test_answered import Scene

Move = tuple[Literal["write", "delete", "answer", "stream", "relist"], int]

MOVES = st.lists(
    st.tuples(st.sampled_from(["write", "write", "delete", "answer", "stream", "stream", "relist"]), st.integers(0, 5)),
    max_size=30,
)


class Server:
    """Two names, their history, how much of it the watch has sent, and responses that are still in flight."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.version, self.lives = scene, 10, 0
        self.there: dict[str, Raw] = {}
        self.unsent: list[tuple[str, Raw]] = []
        self.answers: list[Raw] = []

    def write(self, name: str) -> None:
        self.version += 1
        old = self.there.get(name)
        if old is None:
            self.lives += 1
        uid = f"uid-{self.lives}" if old is None else old["metadata"]["uid"]
        self._happened("ADDED" if old is None else "MODIFIED", pod(name, self.version, uid))
        self.there[name] = self.answers[-1]

    def delete(self, name: str) -> None:
        old = self.there.pop(name, None)
        if old is not None:
            self.version += 1
            self._happened("DELETED", pod(name, self.version, old["metadata"]["uid"]))

    def _happened(self, type_: str, raw: Raw) -> None:
        self.unsent.append((type_, raw))
        self.answers.append(raw)

    def stream(self, count: int) -> None:
        for type_, raw in self.unsent[:count]:
            self.scene.told.tells(type_, raw)
        del self.unsent[:count]

    def relist(self) -> None:
        self.scene.told.forgets()
        self.scene.told.lists(self.version, *self.there.values())
        self.unsent.clear()


class Reader:
    """Adds up changes, and asserts that each is consistent with those before."""

    def __init__(self) -> None:
        self.there: dict[str, Raw] = {}

    def take(self, event: InformerEvent) -> None:
        meta = event.object["metadata"]
        known = self.there.get(meta["name"])
        assert (event.type == "ADDED") == (known is None)
        if event.type == "DELETED":
            del self.there[meta["name"]]
            return
        if known is not None:
            assert known["metadata"]["uid"] == meta["uid"]
            assert int(known["metadata"]["resourceVersion"]) < int(meta["resourceVersion"])
        self.there[meta["name"]] = event.object


@settings(max_examples=300, deadline=None)
@given(MOVES)
def test_changes_add_up(moves: list[Move]) -> None:
    async def run() -> None:
        scene, reader = Scene(), Reader()
        server = Server(scene)

        async def follow() -> None:
            async with aclosing(scene.follower.events()) as events:
                async for event in events:
                    if isinstance(event, InformerEvent):
                        reader.take(event)

        task = asyncio.create_task(follow())
        scene.told.lists(server.version)
        await scene.settled()
        for move, number in [*moves, *[("answer", 0)] * len(moves), ("stream", len(moves))]:
            if move == "write":
                server.write("ab"[number % 2])
            elif move == "delete":
                server.delete("ab"[number % 2])
            elif move == "stream":
                server.stream(number)
            elif move == "relist":
                server.relist()
            elif server.answers:
                event = scene.follower.answered(server.answers.pop(number % len(server.answers)))
                if event is not None:
                    reader.take(event)
            await scene.settled()
            assert not task.done(), task.exception()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        versions = {name: raw["metadata"]["resourceVersion"] for name, raw in reader.there.items()}
        assert versions == {name: raw["metadata"]["resourceVersion"] for name, raw in server.there.items()}

    asyncio.run(run())
