from __future__ import annotations

import json
from collections import Counter

from peers.script import Create, Delete, Finish, Lose, Recover, make_script, picked
from peers.work import PREFIX
from peers.worlds import LEVELS, make_world

SEEDS = range(1, 7)


def bodies() -> list[str]:
    """All jobs of the worlds that are played by default, as text."""
    steps = (step for seed in SEEDS for step in make_script(make_world(seed, False), 40))
    return [json.dumps(step.body) for step in steps if isinstance(step, Create)]


def test_a_seed_gives_the_same_world_and_the_same_script_twice() -> None:
    first, again = make_world(3, True), make_world(3, True)
    assert first == again
    assert list(make_script(first, 40)) == list(make_script(again, 40))
    assert make_world(4, True).nodes != first.nodes


def test_every_way_of_asking_for_places_occurs_often() -> None:
    words = ("required-topology", "preferred-topology", "unconstrained-topology", "slice-size", "group-name")
    found = Counter(word for body in bodies() for word in words if f"{PREFIX}podset-{word}" in body)
    assert all(found[word] >= 10 for word in words), found
    assert sum("job-min-parallelism" in body for body in bodies()) >= 3


def test_six_worlds_have_more_than_two_hundred_jobs_and_every_kind_of_step() -> None:
    steps = [step for seed in SEEDS for step in make_script(make_world(seed, False), 40)]
    found = Counter(type(step) for step in steps)
    assert found[Create] == 240
    assert all(found[kind] >= 6 for kind in (Finish, Delete, Lose, Recover))
    assert {step.how for step in steps if isinstance(step, Lose)} == {"deleted", "tainted", "silent"}
    assert {make_world(seed, False).levels for seed in SEEDS} == set(LEVELS)


def test_what_is_picked_follows_the_order_of_names_and_not_that_of_arrival() -> None:
    assert picked(["b", "a", "c"], 0.4) == "b"
    assert picked(["c", "b", "a"], 0.99) == "c"
    assert picked([], 0.5) is None
