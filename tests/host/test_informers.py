"""Kinds that are added or removed, forbidden, or fail to list: each is reported, and the others continue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from closeknit.cluster.kinds import JOB, JOB_SET, POD, RUNTIME_CLASS, WORKLOAD
from closeknit.cluster.kube.discovery import Served
from closeknit.cluster.kube.pauses import Pauses
from closeknit.cluster.kube.retries import Retries
from closeknit.cluster.port import Change
from closeknit.host import informers
from closeknit.host.informers import InformerSet
from closeknit.host.outbox import PATIENCE
from cluster.kube.scripted import scripted
from host.served_kinds import Kinds

FAILED = "list failed, retrying: conversion webhook failed"
NO_WATCH = "watch is forbidden: grant it in the ClusterRole"


class Follows:
    """The informers of a server, and the changes that they have delivered so far."""

    def __init__(self, server: Kinds, informers: InformerSet, delivered: list[Change]) -> None:
        self.server, self.informers, self._changes = server, informers, delivered

    @property
    def off(self) -> dict[str, str]:
        return {kind.plural: why for kind, why in self.informers.off.items()}

    @property
    def delivered(self) -> list[str]:
        return [f"{one.type} {one.key.name}" for one in self._changes]

    async def until(self, what: Callable[[], object]) -> None:
        async with asyncio.timeout(10):
            while not what():
                await asyncio.sleep(0.005)


Story = Callable[[Follows], Coroutine[Any, Any, None]]


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informers, "Pauses", lambda: Pauses(first=0.01))
    monkeypatch.setattr(informers, "LISTS", Retries(attempts=2, first=0.01))
    monkeypatch.setattr(informers, "SOON", 0.01)
    monkeypatch.setattr(informers, "LATER", (0.05, 0.05))


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, informers.__name__)
    return lambda: [one.getMessage() for one in caplog.records if one.name == informers.__name__]


async def _nothing(_: Follows) -> None:
    """Do nothing meanwhile."""


def play(
    server: Kinds,
    story: Story,
    *,
    meanwhile: Story = _nothing,
    see: Callable[[Change], None] = lambda _: None,
) -> None:
    """Run `story` once everything is listed, and `meanwhile` concurrently. The client never gives up by itself.

    `see` is called with every change first.
    """

    async def run() -> None:
        async with scripted(server.answer) as client:
            client.retries = PATIENCE
            delivered: list[Change] = []

            def tell(change: Change) -> None:
                see(change)
                delivered.append(change)

            wanted = (JOB, JOB_SET, RUNTIME_CLASS, WORKLOAD, POD)
            found = Follows(server, InformerSet(client, wanted, tell, lambda _: None), delivered)
            async with asyncio.timeout(20), asyncio.TaskGroup() as group:
                group.create_task(meanwhile(found))
                async with found.informers.running():
                    await story(found)

    asyncio.run(run())


def everything() -> Kinds:
    return Kinds(JOB, JOB_SET, RUNTIME_CLASS, WORKLOAD, POD)


def test_an_object_whose_change_raises_does_not_stop_the_others_of_its_kind(said: Callable[[], list[str]]) -> None:
    server = everything()

    def see(change: Change) -> None:
        if change.key.name == "bad":
            raise RuntimeError("broken on purpose")

    async def story(one: Follows) -> None:
        for name in ("bad", "good"):
            await server.show(JOB, name)
        await one.until(lambda: one.delivered == ["ADDED good"])
        assert one.off == {}
        assert [text for text in said() if "bad" in text]

    play(server, story, see=see)


def test_a_kind_that_becomes_served_is_watched_and_one_that_disappears_is_dropped(
    said: Callable[[], list[str]],
) -> None:
    server = everything()
    server.served.discard(JOB_SET)

    async def story(one: Follows) -> None:
        assert one.off == {"jobsets": "not served"}
        server.served.add(JOB_SET)
        await server.define()
        await one.until(lambda: one.off == {})
        await server.show(JOB_SET, "train")
        await one.until(lambda: one.delivered == ["ADDED train"])
        server.served.discard(JOB_SET)
        await server.define()
        await one.until(lambda: one.off == {"jobsets": "not served"})
        assert one.delivered == ["ADDED train", "DELETED train"]
        await server.show(JOB, "other")
        await one.until(lambda: one.delivered[2:] == ["ADDED other"])

    play(server, story)
    gone = "jobsets.jobset.x-k8s.io is not served: features that need it are disabled"
    assert said() == [gone, "jobsets.jobset.x-k8s.io is watched: features that need it are enabled", gone]


def test_discovery_that_learns_of_a_definition_late_is_read_again() -> None:
    server = everything()
    server.served.discard(JOB_SET)

    async def story(one: Follows) -> None:
        await one.until(lambda: server.discovered == 4)  # all looks that the definitions at the start led to
        await server.define()
        await one.until(lambda: server.discovered == 5)
        server.served.add(JOB_SET)
        await one.until(lambda: one.off == {})

    play(server, story)


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (429, "TooManyRequests")])
def test_a_kind_that_fails_to_list_is_reported_and_retried_while_others_continue(
    code: int, reason: str, said: Callable[[], list[str]]
) -> None:
    server = everything()
    server.fail(JOB_SET, code, reason)

    async def story(one: Follows) -> None:
        assert one.off == {"jobsets": FAILED}
        await server.show(POD, "a")
        await one.until(lambda: one.delivered == ["ADDED a"])
        server.refuses.clear()
        await one.until(lambda: one.off == {})
        await server.show(JOB_SET, "train")
        await one.until(lambda: one.delivered == ["ADDED a", "ADDED train"])

    play(server, story)
    assert said()[0] == f"jobsets.jobset.x-k8s.io: {FAILED}; features that need it are disabled"


def test_startup_waits_for_the_needed_kinds_and_reports_which() -> None:
    server = everything()
    server.fail(WORKLOAD)

    async def meanwhile(one: Follows) -> None:
        await one.until(lambda: one.off == {"workloads": FAILED})
        before = server.asked["list", WORKLOAD]
        await one.until(lambda: server.asked["list", WORKLOAD] > before + 4)
        assert not server.asked["list", POD]
        server.refuses.clear()

    async def story(one: Follows) -> None:
        assert server.asked["list", POD] == 1
        await one.until(lambda: one.off == {})

    play(server, story, meanwhile=meanwhile)


def test_a_kind_that_cannot_be_listed_any_more_is_named_too() -> None:
    server = everything()

    async def story(one: Follows) -> None:
        await one.until(lambda: server.asked["watch", JOB_SET])
        server.fail(JOB_SET)
        await server.forget(JOB_SET)
        await one.until(lambda: one.off == {"jobsets": FAILED})
        server.refuses.clear()
        await one.until(lambda: one.off == {})

    play(server, story)


def test_a_kind_that_may_be_listed_and_not_watched_is_named_once_and_stays_off(said: Callable[[], list[str]]) -> None:
    server = everything()
    server.forbid("watch", RUNTIME_CLASS)

    async def story(one: Follows) -> None:
        await one.until(lambda: one.off == {"runtimeclasses": NO_WATCH})
        while server.asked["watch", RUNTIME_CLASS] < 4:
            await asyncio.sleep(0)
            assert one.off == {"runtimeclasses": NO_WATCH}
        assert said() == [f"runtimeclasses.node.k8s.io: {NO_WATCH}; features that need it are disabled"]
        server.refuses.clear()
        await one.until(lambda: one.off == {})
        assert server.asked["list", RUNTIME_CLASS] > 4

    play(server, story)


def test_a_forbidden_kind_stays_off_whatever_definitions_change(said: Callable[[], list[str]]) -> None:
    server = everything()
    server.forbid("list", RUNTIME_CLASS)
    why = "list is forbidden: grant it in the ClusterRole"

    async def story(one: Follows) -> None:
        for _ in range(3):
            before = server.discovered, server.asked["list", RUNTIME_CLASS]
            await server.define()
            while server.discovered == before[0] or server.asked["list", RUNTIME_CLASS] == before[1]:
                await asyncio.sleep(0)
                assert one.off == {"runtimeclasses": why}

    play(server, story)
    assert said() == [f"runtimeclasses.node.k8s.io: {why}; features that need it are disabled"]


def test_a_refresh_during_discovery_leaves_one_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    server = everything()

    async def story(one: Follows) -> None:
        found = one.informers.served
        assert found is not None

        async def at_once(*_: object) -> Served:
            return found

        monkeypatch.setattr(informers, "served", at_once)
        watches = server.asked["watch", WORKLOAD]
        await asyncio.gather(one.informers.refresh(WORKLOAD), one.informers._discover())
        await one.until(lambda: server.asked["watch", WORKLOAD] > watches)
        await server.show(WORKLOAD, "a")
        await server.show(WORKLOAD, "b")
        await one.until(lambda: "ADDED b" in one.delivered)
        await server.show(JOB, "last")
        await one.until(lambda: "ADDED last" in one.delivered)
        assert one.delivered == ["ADDED a", "ADDED b", "ADDED last"]
        assert server.asked["list", WORKLOAD] == 2

    play(server, story)
