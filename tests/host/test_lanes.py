"""Events are throttled for a busy server, and not for a fast one."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.host.lanes import LATE, LONGEST_REST, REST, AdaptiveLane


class Clock:
    """A clock that advances by the duration of writes and sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time, self.slept = 0.0, list[float]()
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.slept.append(seconds)


def rests(clock: Clock, *took: float) -> list[float]:
    """The rests before each of several writes with the given durations, and before one more."""

    async def run() -> None:
        lane = AdaptiveLane(lambda: True, clock)
        for seconds in (*took, 0.0):
            async with lane:
                clock.time += seconds

    asyncio.run(run())
    return clock.slept


def test_a_fast_server_gets_all_events_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests(Clock(monkeypatch), 0.002, 0.002 * LATE, 0.002) == pytest.approx([0, 0, 0, 0])


def test_after_a_late_answer_there_is_a_rest_as_many_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    late = 0.003
    found = rests(Clock(monkeypatch), 0.002, 0.002 * LATE + late, 0.002)
    assert found == pytest.approx([0, 0, REST * late, 0])


def test_no_rest_is_longer_than_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests(Clock(monkeypatch), 0.002, 60.0) == pytest.approx([0, 0, LONGEST_REST])


def test_a_cancelled_rest_does_not_block_the_lane() -> None:
    time = 0.0

    async def run() -> None:
        nonlocal time
        lane = AdaptiveLane(lambda: True, lambda: time)
        for seconds in (0.001, 100.0):
            async with lane:
                time += seconds
        resting = asyncio.create_task(lane.acquire())
        await asyncio.sleep(0.01)
        assert not resting.done()
        resting.cancel()
        await asyncio.gather(resting, return_exceptions=True)
        assert not lane.locked()

    asyncio.run(run())
