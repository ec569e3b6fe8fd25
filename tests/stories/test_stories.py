"""A few thousand steps of random stories; `python -m stories` runs more of them."""

from __future__ import annotations

import os

import pytest

from stories.steps import Step
from stories.tale import read, shortened, story_of, tell, written

PARTS = 25
STEPS = int(os.environ.get("CLOSEKNIT_STEPS", "3000"))


@pytest.mark.parametrize("part", range(PARTS))
def test_invariants_hold_through_random_lives(part: int) -> None:
    seed, done = 1 + part * 1000, 0
    while done < STEPS / PARTS:
        story = story_of(seed)
        outcome = tell(story, seed)
        if outcome.at is not None:
            short = shortened(story[: outcome.at + 1], outcome.why, seed)
            steps = "\n".join(f"  {step}" for step in short)
            pytest.fail(f"seed {seed}: {outcome.why}\n{steps}\nreplay: python -m stories --seed {seed}")
        done, seed = done + len(story), seed + 1


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
