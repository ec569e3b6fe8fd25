"""A few thousand steps of random stories; `python -m stories` runs more of them."""

from __future__ import annotations

import os

import pytest

from stories.steps import Step
from stories.tale import read, shortened, story_of, tell, written
from stories.zoned_steps import ZONED

PARTS = 25
STEPS = int(os.environ.get("CLOSEKNIT_STEPS", "3000"))
ZONED_STEPS = int(os.environ.get("CLOSEKNIT_ZONED_STEPS", "0"))
ZONED_PARTS = PARTS if ZONED_STEPS else 4
"""On hosts with NUMA zones a step takes twice as long."""


@pytest.mark.parametrize("part", range(PARTS))
def test_invariants_hold_through_random_lives(part: int) -> None:
    _tell_from(1 + part * 1000, STEPS / PARTS, zones=False)


@pytest.mark.parametrize("part", range(ZONED_PARTS))
def test_what_is_promised_in_known_zones_is_admitted(part: int) -> None:
    _tell_from(1 + part * 1000, ZONED_STEPS / ZONED_PARTS, zones=True)


def _tell_from(seed: int, steps: float, zones: bool) -> None:
    """Tell stories until so many steps are done, one at least."""
    done, option = 0, " --zones" if zones else ""
    while not done or done < steps:
        story = story_of(seed, zones=zones)
        outcome = tell(story, seed)
        if outcome.at is not None:
            short = shortened(story[: outcome.at + 1], outcome.why, seed)
            text = "\n".join(f"  {step}" for step in short)
            pytest.fail(f"seed {seed}: {outcome.why}\n{text}\nreplay: python -m stories --seed {seed}{option}")
        done, seed = done + len(story), seed + 1


def test_a_story_is_the_same_with_zones_and_without_but_for_what_zones_add() -> None:
    plain, zoned = story_of(7, 60), story_of(7, 60, zones=True)
    rest = [step for step in zoned if step.what not in ZONED]
    assert [step.what for step in rest] == [step.what for step in plain]
    assert all(step.facts.items() <= more.facts.items() for step, more in zip(plain, rest, strict=True))
    assert {"zone_host", "spoil_report", "bind_pinned"} <= {step.what for step in zoned}


def test_a_promise_that_zones_cannot_keep_breaks_a_story(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod of 6 CPUs on hosts with 4 in a zone, by an engine that disregards zones."""
    monkeypatch.setattr("closeknit.state.numa.zone_states.ZoneStates.admitted", lambda *given: given[-1])
    monkeypatch.setattr("closeknit.decide.zoning.Zoning.admits", lambda *_: True)
    numa = {"zones": 2, "policy": "single-numa-node", "scope": "pod", "exporter": "0s"}
    [submit] = [step for step in story_of(1, zones=True) if step.what == "submit"][:1]
    pinned = {"cpu": 4, "gpu": 0, "memory": 1, "guaranteed": True, "init": 0, "sidecar": 0, "second": 2, "policy": ""}
    story = [
        Step("zoned_queues", {}),
        *(Step("zone_host", {"node": f"n{number:02d}", "numa": numa}) for number in range(16)),
        Step("advance", {"seconds": 3}),
        Step("submit", {**submit.facts, "kind": "Job", "pods": 1, "wish": "preferred", "pinned": pinned}),
    ]
    assert "whose zones lack it" in tell(story, 1).why


@pytest.mark.parametrize("seed", [1005606], ids=["room freed for one workload, claimed by another"])
def test_stories_that_once_failed_end_well(seed: int) -> None:
    assert tell(story_of(seed), seed).why == ""


def test_the_same_story_ends_the_same() -> None:
    story = story_of(7, 40)
    assert tell(story, 7) == tell(story, 7)


def test_a_story_can_be_saved_and_replayed() -> None:
    story = story_of(3, 20)
    assert read(written(story, 3)) == (story, 3)


def test_a_story_that_breaks_a_rule_is_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object, node: str) -> None:
        raise AssertionError("cordoned at a bad time")

    monkeypatch.setattr("stories.life.Life._cordon", broken)
    bad = Step("cordon", {"node": "n00"})
    story = [step for step in story_of(5, 60) if step.what != "cordon"]
    story.insert(30, bad)
    outcome = tell(story, 5)
    assert outcome.at == 30
    assert shortened(story[:31], outcome.why, 5) == [bad]
