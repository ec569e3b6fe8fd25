"""Over a network that loses, delays and cuts, nothing is missed and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import get_args

import pytest

from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import CONFIG_MAP
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.kube.informer import Informer, InformerEvent
from closeknit.cluster.kube.pauses import Pauses
from closeknit.cluster.kube.retries import Retries
from closeknit.cluster.port import Create, Delete, Key, Raw
from cluster.embedded.rest.running import Running
from cluster.kube.bad_proxy import BadProxy, Fate

FATES: tuple[Fate, ...] = get_args(Fate)
BAD: tuple[Fate, ...] = ("cut", "cut", "cut", "half-open", "delayed", "refused")
IDLE = 0.3
RETRIES = Retries(attempts=30, first=0.01)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path) as server:
        yield server


class Live:
    """Random changes to ConfigMaps, several per turn; occasionally the history is dropped."""

    def __init__(self, chance: Random) -> None:
        self.chance, self.count = chance, 0

    def turn(self, store: Store) -> None:
        for _ in range(10):
            names = [name for _, name in store.objects[CONFIG_MAP]]
            if not names or self.chance.random() < 0.6:
                self.count += 1
                body = {"metadata": {"name": f"c-{self.count:04}"}, "data": {"text": "x" * self.chance.randrange(100)}}
                store.create(CONFIG_MAP, body)
            else:
                key = Key(CONFIG_MAP, "default", self.chance.choice(names))
                if self.chance.random() < 0.5:
                    store.delete(key)
                else:
                    store.patch(key, {"data": {"turn": str(store.version)}})


@pytest.mark.parametrize("seed", range(3))
def test_a_follower_misses_nothing(running: Running, seed: int) -> None:
    live, chance = Live(Random(seed)), Random(seed)
    seen: dict[str, Raw] = {}

    def take(event: InformerEvent) -> None:
        name = event.object["metadata"]["name"]
        if event.type == "DELETED":
            del seen[name]
        else:
            assert (event.type == "ADDED") == (name not in seen)
            seen[name] = event.object

    async def follow(informer: Informer) -> None:
        async with aclosing(informer.events()) as events:
            async for event in events:
                if isinstance(event, InformerEvent):
                    take(event)

    def there() -> dict[str, Raw]:
        return running.do(lambda store: {name: raw for (_, name), raw in store.objects[CONFIG_MAP].items()})

    async def run() -> None:
        async with BadProxy(chance, BAD, most=60_000) as proxy:
            config = replace(read_config([running.kubeconfig]), proxy=proxy.address)
            async with Client(config, timeout=IDLE, retries=RETRIES) as client:
                follower = Informer(client, CONFIG_MAP, "default", idle=IDLE, pauses=Pauses(chance.random, first=0.01))
                task = asyncio.create_task(follow(follower))
                for turn in range(40):
                    await asyncio.to_thread(running.do, live.turn)
                    if turn % 10 == 9:
                        await asyncio.to_thread(running.do, lambda store: store.compact())
                    await asyncio.sleep(0.02)
                async with asyncio.timeout(60):
                    while seen != await asyncio.to_thread(there):
                        assert not task.done(), task.exception()
                        await asyncio.sleep(0.02)
                task.cancel()
            assert sum(proxy.met.values()) > 2

    asyncio.run(run())
    assert len(seen) > 20


def test_writes_are_carried_out_once_and_are_answered(running: Running) -> None:
    """Creations with lost responses return the object that was created; deletions return, or raise NotFound."""
    chance = Random(4)

    async def run() -> BadProxy:
        async with BadProxy(chance, (*FATES, "good", "good"), most=6000) as proxy:
            config = replace(read_config([running.kubeconfig]), proxy=proxy.address)
            async with Client(config, timeout=0.3, retries=RETRIES) as client:

                async def make(number: int) -> Raw:
                    body = {"metadata": {"name": f"w-{number}"}, "data": {"n": str(number)}}
                    return await client.carry_out(Create(CONFIG_MAP, body))

                made = await asyncio.gather(*map(make, range(20)))
                assert [one["data"]["n"] for one in made] == [str(number) for number in range(20)]
                uid = made[0]["metadata"]["uid"]
                await client.carry_out(Delete(Key(CONFIG_MAP, "default", "w-0"), uid=uid))
        return proxy

    proxy = asyncio.run(run())
    assert proxy.met.keys() == set(FATES)
    names = running.do(lambda store: sorted(name for _, name in store.objects[CONFIG_MAP]))
    assert names == sorted(f"w-{number}" for number in range(1, 20))
