from __future__ import annotations

import pytest

from closeknit.model.nearest import did_you_mean, nearest

LEVELS = ["cloud.provider.com/topology-block", "cloud.provider.com/topology-rack", "kubernetes.io/hostname"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("rack", LEVELS[1]),
        ("topology-rack", LEVELS[1]),
        ("cloud.provider.com/topology-rak", LEVELS[1]),
        ("example.com/topology-block", LEVELS[0]),
        ("hostnam", LEVELS[2]),
        ("zone", None),
    ],
)
def test_the_last_part_of_a_key_counts_first(given: str, meant: str | None) -> None:
    assert nearest(given, LEVELS) == meant


def test_a_misspelt_resource_is_found_among_short_names() -> None:
    assert nearest("nvidia.com/gpus", ["cpu", "memory", "nvidia.com/gpu"]) == "nvidia.com/gpu"
    assert nearest("gpu", ["cpu", "memory", "nvidia.com/gpu"]) == "nvidia.com/gpu"


def test_letters_that_only_changed_places_count_before_what_is_longer() -> None:
    assert nearest("gte", ["gates", "get"]) == "get"


def test_nothing_near_asks_nothing() -> None:
    assert did_you_mean("zzz", LEVELS) == ""
    assert did_you_mean("rack", LEVELS) == f"did you mean {LEVELS[1]}? "
