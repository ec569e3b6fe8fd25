"""News gives a busy server time, and a quick one none."""

from __future__ import annotations

import asyncio

import pytest

from closeknit.host.lanes import LATE, LONGEST_REST, REST, Unhurried


class Clock:
    """Moves by what a write takes, and by what is slept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time, self.slept = 0.0, list[float]()
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    def __call__(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.slept.append(seconds)


def rests(clock: Clock, *took: float) -> list[float]:
    """How long it rested before each of several writes that took so long, and before one more."""

    async def run() -> None:
        lane = Unhurried(lambda: True, clock)
        for seconds in (*took, 0.0):
            async with lane:
                clock.time += seconds

    asyncio.run(run())
    return clock.slept


def test_a_quick_server_is_told_everything_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests(Clock(monkeypatch), 0.002, 0.002 * LATE, 0.002) == pytest.approx([0, 0, 0, 0])


def test_after_a_late_answer_there_is_a_rest_as_many_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    late = 0.003
    found = rests(Clock(monkeypatch), 0.002, 0.002 * LATE + late, 0.002)
    assert found == pytest.approx([0, 0, REST * late, 0])


def test_no_rest_is_longer_than_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rests(Clock(monkeypatch), 0.002, 60.0) == pytest.approx([0, 0, LONGEST_REST])


def test_who_gives_up_while_it_rests_keeps_nobody_waiting() -> None:
    time = 0.0

    async def run() -> None:
        nonlocal time
        lane = Unhurried(lambda: True, lambda: time)
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
