"""Rate limits: requests per second, the urgent ones first."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.cluster.kinds import EVENT, LEASE, POD
from closeknit.cluster.kube.limits import Bucket, Limits
from closeknit.cluster.kube.request import ApiCall, RequestPriority, priority_of
from cluster.kube.virtual_time import clock, run


async def times(bucket: Bucket, count: int) -> list[float]:
    """When each of several simultaneous requests gets its token."""

    async def one() -> float:
        await bucket.take()
        return clock()

    return sorted(await asyncio.gather(*(one() for _ in range(count))))


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    found = run(lambda: times(Bucket(qps=10, burst=3), 6))
    assert found == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_unused_tokens_add_up_to_the_burst() -> None:
    async def work() -> list[float]:
        bucket = Bucket(qps=10, burst=3)
        await times(bucket, 3)
        await asyncio.sleep(100)
        return [at - 100 for at in await times(bucket, 4)]

    assert run(work) == pytest.approx([0, 0, 0, 0.1])


def test_without_a_rate_no_request_waits() -> None:
    assert run(lambda: times(Bucket(), 1000)) == [0.0] * 1000


def test_the_urgent_go_first_however_late_they_come() -> None:
    async def work() -> list[str]:
        bucket, order = Bucket(qps=1, burst=1), list[str]()

        async def one(name: str, priority: RequestPriority) -> None:
            await bucket.take(priority)
            order.append(name)

        await bucket.take()
        tasks = [asyncio.create_task(one(f"event-{at}", RequestPriority.EVENT)) for at in range(2)]
        tasks += [asyncio.create_task(one(f"pod-{at}", RequestPriority.ORDINARY)) for at in range(2)]
        await asyncio.sleep(1.5)
        tasks.append(asyncio.create_task(one("lease", RequestPriority.LEASE)))
        await asyncio.gather(*tasks)
        return order

    assert run(work) == ["pod-0", "lease", "pod-1", "event-0", "event-1"]


def test_a_cancelled_request_takes_no_token() -> None:
    async def work() -> float:
        bucket = Bucket(qps=1, burst=1)
        await bucket.take()
        waiting = [asyncio.create_task(bucket.take()) for _ in range(5)]
        await asyncio.sleep(0.5)
        for one in waiting:
            one.cancel()
        await bucket.take()
        return clock()

    assert run(work) == pytest.approx(1.0)


def test_a_request_cancelled_as_it_gets_its_token_returns_it() -> None:
    async def work() -> float:
        bucket = Bucket(qps=1, burst=1)
        await bucket.take()
        waiting = asyncio.create_task(bucket.take())
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_later(1.0, waiting.cancel)
        await asyncio.gather(waiting, return_exceptions=True)
        await bucket.take()
        return clock()

    assert run(work) == pytest.approx(1.0)


def test_writes_have_a_limit_of_their_own_below_that_of_all() -> None:
    async def work() -> tuple[float, float]:
        limits = Limits(qps=10, burst=10, writes=Bucket(qps=1, burst=1))
        for _ in range(5):
            await limits.take(ApiCall("GET", "/api/v1/pods"))
        reads = clock()
        for _ in range(3):
            await limits.take(ApiCall("POST", "/api/v1/pods"))
        return reads, clock()

    reads, writes = run(work)
    assert reads == 0.0
    assert writes == pytest.approx(2.0)


def test_every_kind_has_a_limit_of_its_own() -> None:
    async def work() -> list[float]:
        limits, found = Limits(qps=1, burst=1), []
        for plural in ("events", "workloads", "events", "workloads"):
            await limits.take(ApiCall("POST", f"/apis/a/v1/namespaces/b/{plural}/c"))
            found.append(clock())
        return found

    assert run(work) == pytest.approx([0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("where", "resource"),
    [
        ("/api/v1/nodes", "v1/nodes"),
        ("/api/v1/nodes/a/status", "v1/nodes"),
        ("/api/v1/namespaces", "v1/namespaces"),
        ("/api/v1/namespaces/a", "v1/namespaces"),
        ("/api/v1/namespaces/a/pods", "v1/pods"),
        ("/api/v1/namespaces/a/pods/b/binding", "v1/pods"),
        ("/apis/batch/v1/jobs?limit=5", "batch/v1/jobs"),
        ("/apis/batch/v1/namespaces/a/jobs/b", "batch/v1/jobs"),
        ("/apis", "//"),
        ("/version", "/"),
    ],
)
def test_the_resource_of_a_request_follows_from_its_path(where: str, resource: str) -> None:
    assert ApiCall("GET", where).resource == resource


def test_leases_come_before_all_and_events_after() -> None:
    assert priority_of(LEASE) < priority_of(POD) < priority_of(EVENT)
