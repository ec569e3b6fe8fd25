"""The embedded cluster in virtual time: hours pass at once, and the same seed gives the same run."""

from __future__ import annotations

from itertools import count

import pytest

from closeknit.cluster.port import Change
from closeknit.controller.decision_log import Record
from closeknit.host.embedded import EmbeddedCluster, EmbeddedOptions
from closeknit.host.virtual import NeverIdleError, VirtualClock, VirtualHost
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import START, Lab

HOUR = 3600.0


def objects(lab: Lab) -> list[dict[str, object]]:
    return [raw for kind in lab.store.objects for raw in lab.store.all(kind)]


def test_time_passes_only_when_the_clock_is_advanced() -> None:
    host = VirtualHost(VirtualClock(START))
    host.settle()
    assert host.clock.now() == START
    host.advance(HOUR)
    assert host.clock.now() == START + HOUR


def test_it_jumps_to_every_moment_at_which_something_is_due() -> None:
    lab = centre()
    lab.apply(JOB.manifest)
    seen: list[float] = []
    run = lab.cluster.run

    def noted(most: int | None = None) -> float | None:
        seen.append(lab.clock.time)
        return run(most)

    lab.cluster.run = noted  # type: ignore[method-assign]
    lab.advance(HOUR)
    assert seen == sorted(seen)
    assert START + 20 < seen[-2] < seen[-1] == START + HOUR
    assert len(seen) < 1000


def test_the_same_seed_gives_the_same_life() -> None:
    lives = []
    for _ in range(2):
        lab = centre()
        lab.apply(JOB.manifest)
        lab.advance(10)
        lives.append((objects(lab), lab.decisions.read()))
    assert lives[0] == lives[1]
    assert lives[0][1], "nothing was decided"


def test_what_decisions_cost_is_measured_by_the_clock_that_is_given() -> None:
    class Ticking(Lab):
        def __init__(self) -> None:
            ticks = count()
            VirtualHost.__init__(self, VirtualClock(START), cost=lambda: next(ticks) * 0.25)

    kept: list[Record] = []
    lab = centre(Ticking())
    lab.decisions.listeners.append(kept.append)
    lab.apply(JOB.manifest)
    lab.advance(5)
    assert [one.cost for one in kept] == [250_000]


def test_a_restart_keeps_the_objects_and_prepares_the_new_cluster() -> None:
    prepared: list[EmbeddedCluster] = []
    host = VirtualHost(VirtualClock(START), EmbeddedOptions(seed=5), prepare=prepared.append)
    host.advance(1)
    before, version = host.cluster, host.store.version
    host.restart()
    assert prepared == [before, host.cluster]
    assert host.cluster is not before
    assert host.store.version == version
    assert host.options.seed == 6


def test_a_loop_that_never_rests_is_found_out() -> None:
    class Busy:
        watches = ()

        def see(self, change: Change) -> None:
            """Ignores changes."""

        def due(self) -> float | None:
            return 0.0

        def step(self, now: float) -> tuple[()]:
            return ()

        def done(self, *_: object) -> None:
            """It writes nothing."""

    host = VirtualHost(VirtualClock(START))
    host.cluster.add(Busy())
    with pytest.raises(NeverIdleError, match="more than 4000 turns without the clock advancing"):
        host.settle()
