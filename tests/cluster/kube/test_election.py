"""Leader election: on a clock that jumps, over the embedded store; and over the wire."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.errors import InternalError
from closeknit.cluster.kinds import LEASE, NAMESPACE, Kind
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.kube.election import Elector, LeadershipLost, Timing, own_identity
from closeknit.cluster.kube.unreachable import Unreachable
from closeknit.cluster.port import Key, Raw, Update, Write
from cluster.embedded.rest.running import Running
from cluster.kube.virtual_time import clock, run

WALL = 1_700_000_000.0


class Leases:
    """The embedded store as a client. While `is_away`, requests fail; while it `hangs`, they never return."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or empty_store()
        self.is_away = self.hangs = False
        self.writes = 0

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        await self._way()
        return self.store.get(kind, namespace, name)

    async def carry_out(self, write: Write) -> Raw:
        await self._way()
        self.writes += 1
        return self.store.carry_out(write)

    async def _way(self) -> None:
        await asyncio.sleep(0.01)
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_away:
            raise Unreachable("s", "gone")

    @property
    def spec(self) -> Raw:
        found: Raw = self.store.get(LEASE, "default", "lead")["spec"]
        return found


def empty_store() -> Store:
    store = Store(lambda: WALL + clock(), RandomIds())
    store.create(NAMESPACE, {"metadata": {"name": "default"}})
    return store


class Candidate:
    """Works until it is stopped, and records when it began and ended."""

    def __init__(self, leases: Leases, name: str, chance: float = 0.0, drift: float = 0.0) -> None:
        self.elector = Elector(
            leases,
            "lead",
            "default",
            name,
            on_change=lambda leader: self.leaders.append(leader),
            complain=self._complain,
            now=clock,
            wall=lambda: WALL + drift + clock(),
            chance=lambda: chance,
        )
        self.name, self.leaders, self.complaints = name, list[str](), list[str]()
        self.began: float | None = None
        self.ended: float | None = None
        self.stop = asyncio.Event()
        self.task = asyncio.create_task(self.elector.run(self._work))

    def _complain(self, error: Exception) -> None:
        self.complaints.append(str(error))

    async def _work(self) -> str:
        self.began = clock()
        try:
            await self.stop.wait()
            return f"{self.name} is done"
        finally:
            self.ended = clock()

    async def leave(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def test_the_first_leads_and_its_lease_says_so() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(5)
        assert a.elector.is_leader
        spec = leases.spec
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 10, 0)
        assert spec["acquireTime"] == "2023-11-14T22:13:20.010000Z"
        assert spec["renewTime"] == "2023-11-14T22:13:24.030000Z"
        await a.leave()

    run(work)


def test_the_second_stands_by_for_as_long_as_the_first_renews() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(1)
        b = Candidate(leases, "b")
        await asyncio.sleep(3600)
        assert (b.began, b.elector.is_leader, b.elector.leader, b.leaders) == (None, False, "a", ["a"])
        assert a.ended is None
        await a.leave()
        await b.leave()

    run(work)


def test_a_released_lease_is_taken_at_the_next_attempt() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(1)
        b = Candidate(leases, "b")
        await asyncio.sleep(100)
        a.stop.set()
        assert await a.task == "a is done"
        assert (leases.spec["holderIdentity"], leases.spec["leaseDurationSeconds"]) == ("", 1)
        gone = clock()
        await asyncio.sleep(2.1)
        assert b.began is not None
        assert b.began - gone < 2.1
        assert (leases.spec["holderIdentity"], leases.spec["leaseTransitions"]) == ("b", 1)
        assert a.leaders == ["a", ""]
        assert b.leaders[-1] == "b"
        await b.leave()

    run(work)


def test_a_cancelled_leader_releases_its_lease_when_its_work_has_ended() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(1)
        await a.leave()
        assert a.ended == clock() - 0.01
        assert leases.spec["holderIdentity"] == ""

    run(work)


def test_work_that_fails_raises_and_releases_the_lease() -> None:
    async def fails() -> None:
        raise ValueError("oh")

    async def work() -> None:
        leases = Leases()
        with pytest.raises(ValueError, match="oh"):
            await Elector(leases, "lead", "default", "a", now=clock, wall=clock).run(fails)
        assert leases.spec["holderIdentity"] == ""

    run(work)


@pytest.mark.parametrize("way", ["is_away", "hangs"])
def test_a_leader_that_cannot_renew_stops_at_its_deadline_before_another_begins(way: str) -> None:
    async def work() -> None:
        store = empty_store()
        mine, others = Leases(store), Leases(store)
        a = Candidate(mine, "a")
        await asyncio.sleep(1)
        b = Candidate(others, "b")
        await asyncio.sleep(99)
        renewed = max(a.elector._renewed_at, 0)
        setattr(mine, way, True)
        await asyncio.sleep(60)
        with pytest.raises(LeadershipLost, match="lost the lease default/lead"):
            await a.task
        assert a.ended == pytest.approx(renewed + 7)
        assert b.began is not None
        assert b.began > renewed + 9
        assert b.began < renewed + 10 + 2 + 0.1
        assert (others.spec["holderIdentity"], others.spec["leaseTransitions"]) == ("b", 1)
        assert {"is_away": "gone", "hangs": "the server did not answer within"}[way] in a.complaints[-1]
        await b.leave()

    run(work)


def test_a_short_outage_is_survived() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(100)
        for _ in range(5):
            leases.is_away = True
            await asyncio.sleep(3.9)
            leases.is_away = False
            await asyncio.sleep(20)
        assert a.ended is None
        assert a.elector.is_leader
        await a.leave()

    run(work)


def test_one_connection_that_swallows_a_renewal_is_survived() -> None:
    class OneHangs(Leases):
        swallows = False

        async def carry_out(self, write: Write) -> Raw:
            if self.swallows:
                self.swallows = False
                await asyncio.Event().wait()
            return await super().carry_out(write)

    async def work() -> None:
        leases = OneHangs()
        a = Candidate(leases, "a")
        for _ in range(5):
            await asyncio.sleep(20)
            leases.swallows = True
        await asyncio.sleep(20)
        assert a.ended is None
        assert a.elector.is_leader
        assert ["did not answer" in one for one in a.complaints] == [True] * 5
        await a.leave()

    run(work)


def test_timestamps_in_a_lease_are_ignored() -> None:
    """A replica with a clock hours ahead neither loses its lease to others nor takes it from them."""

    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a", drift=-7200.0)
        await asyncio.sleep(1)
        b = Candidate(leases, "b", drift=7200.0)
        await asyncio.sleep(600)
        assert (a.ended, b.began) == (None, None)
        await a.leave()
        await asyncio.sleep(5)
        assert b.elector.is_leader
        await b.leave()

    run(work)


def test_a_dead_holder_is_waited_for_by_our_own_clock() -> None:
    async def work() -> None:
        leases = Leases()
        spec = {"holderIdentity": "dead", "leaseDurationSeconds": 15, "renewTime": "2001-01-01T00:00:00.000000Z"}
        leases.store.create(LEASE, {"metadata": {"name": "lead"}, "spec": {**spec, "leaseTransitions": 4}})
        b = Candidate(leases, "b")
        await asyncio.sleep(30)
        assert b.began is not None
        assert 15 <= b.began < 17.1
        assert leases.spec["leaseTransitions"] == 5
        await b.leave()

    run(work)


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("moment", [100.1, 100.5, 101.0, 101.9])
def test_a_dead_leader_is_followed_in_less_than_fourteen_seconds_however_the_looks_fall(
    chance: float, moment: float
) -> None:
    """At the default times: the lease lasts ten seconds from the look that saw it renewed last."""

    async def work() -> None:
        dying = Leases()
        a = Candidate(dying, "a")
        await asyncio.sleep(0.3)
        b = Candidate(Leases(dying.store), "b", chance=chance)
        await asyncio.sleep(moment)
        dying.hangs, killed = True, clock()
        await asyncio.sleep(20)
        assert b.began is not None
        assert 8 <= b.began - killed < 14
        await asyncio.gather(a.leave(), b.leave())

    run(work)


def test_failures_while_standing_by_do_not_restart_the_wait() -> None:
    async def work() -> None:
        leases = Leases()
        spec = {"holderIdentity": "dead", "leaseDurationSeconds": 15}
        leases.store.create(LEASE, {"metadata": {"name": "lead"}, "spec": spec})
        b = Candidate(leases, "b")
        await asyncio.sleep(5)
        leases.is_away = True
        await asyncio.sleep(5)
        leases.is_away = False
        await asyncio.sleep(10)
        assert b.began is not None
        assert b.began < 17.1
        await b.leave()

    run(work)


def test_a_lease_that_another_takes_by_force_is_lost_at_once() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(1)
        raw = leases.store.get(LEASE, "default", "lead")
        leases.store.carry_out(Update(LEASE, {**raw, "spec": {**raw["spec"], "holderIdentity": "thief"}}))
        await asyncio.sleep(5)
        with pytest.raises(LeadershipLost):
            await a.task
        assert a.ended is not None
        assert a.ended < 5
        assert leases.spec["holderIdentity"] == "thief"
        assert a.leaders == ["a", "thief"]

    run(work)


def test_a_lease_that_is_deleted_is_made_again() -> None:
    async def work() -> None:
        leases = Leases()
        a = Candidate(leases, "a")
        await asyncio.sleep(1)
        leases.store.delete(Key(LEASE, "default", "lead"))
        await asyncio.sleep(5)
        assert a.elector.is_leader
        assert leases.spec["holderIdentity"] == "a"
        await a.leave()

    run(work)


def test_a_renewal_with_a_lost_response_does_not_lose_the_lease() -> None:
    class Lossy(Leases):
        async def carry_out(self, write: Write) -> Raw:
            answer = await super().carry_out(write)
            if self.writes == 2:
                raise InternalError("lost")
            return answer

    async def work() -> None:
        leases = Lossy()
        a = Candidate(leases, "a")
        await asyncio.sleep(60)
        assert a.ended is None
        assert leases.spec["leaseTransitions"] == 0
        await a.leave()

    run(work)


def test_a_leader_that_stops_while_a_renewal_is_in_flight_still_releases_the_lease() -> None:
    class Slow(Leases):
        async def carry_out(self, write: Write) -> Raw:
            answer = await super().carry_out(write)
            await asyncio.sleep(0.5)
            return answer

    async def work() -> None:
        leases = Slow()
        a = Candidate(leases, "a")
        while leases.writes < 3:
            await asyncio.sleep(0.1)
        await a.leave()
        assert leases.spec["holderIdentity"] == ""

    run(work)


def test_a_lease_lasts_no_shorter_than_its_holder_believes() -> None:
    async def work() -> None:
        leases = Leases()
        elector = Elector(leases, "lead", "default", "a", Timing(1.4, 1.3, 0.1), now=clock, wall=clock)
        await elector.run(lambda: asyncio.sleep(0))
        made, *_ = [one.object for one in leases.store.history if one.kind is LEASE]
        assert made["spec"]["leaseDurationSeconds"] == 2

    run(work)


def test_many_candidates_never_lead_at_the_same_time() -> None:
    async def work() -> None:
        store = empty_store()
        all_leases = [Leases(store) for _ in range(5)]
        candidates = [Candidate(one, f"c{at}", chance=at / 5) for at, one in enumerate(all_leases)]
        for turn in range(40):
            all_leases[turn % 5].is_away = not all_leases[turn % 5].is_away
            for _ in range(30):
                await asyncio.sleep(0.3)
                leading = [one.name for one in candidates if one.began is not None and one.ended is None]
                assert len(leading) <= 1
        terms = [one for one in candidates if one.began is not None]
        assert len(terms) >= 2
        for one in candidates:
            await one.leave()

    run(work)


def test_a_process_that_was_stopped_knows_that_it_no_longer_leads() -> None:
    now = [0.0]

    async def work() -> bool:
        elector = Elector(Leases(), "lead", "default", "a", now=lambda: now[0], wall=clock)
        task = asyncio.create_task(elector.run(asyncio.Event().wait))
        await asyncio.sleep(1)
        assert elector.is_leader
        now[0] = 8.0
        found = elector.is_leader
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    assert run(work) is False


@pytest.mark.parametrize("timing", [Timing(10, 10, 2), Timing(10, 2, 2), Timing(10, 7, 0), Timing(0.9, 0.5, 0.1)])
def test_times_that_do_not_hold_are_refused(timing: Timing) -> None:
    with pytest.raises(ValueError, match="a lease needs duration > deadline > retry > 0 and duration >= 1 s"):
        Elector(Leases(Store(lambda: 0.0, RandomIds())), "lead", "default", timing=timing)


def test_no_two_processes_have_the_same_identity() -> None:
    assert own_identity() != own_identity()


def test_over_the_wire_one_after_the_other_leads(tmp_path: Path) -> None:
    async def named(client: Client, name: str, led: list[str]) -> None:
        async def work() -> None:
            led.append(name)
            await asyncio.sleep(0.3)

        await Elector(client, "lead", "default", name, Timing(1.0, 0.7, 0.1)).run(work)

    async def work(kubeconfig: Path) -> list[str]:
        led: list[str] = []
        async with Client(read_config([kubeconfig])) as client:
            await asyncio.gather(named(client, "a", led), named(client, "b", led))
            assert (await client.get(LEASE, "default", "lead"))["spec"]["holderIdentity"] == ""
        return led

    with Running(tmp_path) as running:
        assert sorted(asyncio.run(work(running.kubeconfig))) == ["a", "b"]
