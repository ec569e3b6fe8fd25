"""The merge against the kubelet's way of doing it: one hint of every group, all combinations, one after another."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.model.numa import TopologyPolicy
from closeknit.numa.hints import Hint
from closeknit.numa.merge import Merger

ZONES = 4
FULL = (1 << ZONES) - 1
hints = st.builds(Hint, st.none() | st.integers(1, FULL), st.booleans())
groups = st.lists(st.lists(hints, min_size=1, max_size=4), max_size=4)
distances = st.lists(st.lists(st.integers(10, 21), min_size=ZONES, max_size=ZONES), min_size=ZONES, max_size=ZONES)


def one_by_one(policy: TopologyPolicy, closest: bool, far: list[list[int]], given_groups: list[list[Hint]]) -> Hint:
    """The rules as they are written down, for every combination in turn."""
    if policy == "single-numa-node":
        usable = [
            [h for h in group if h.preferred and (h.mask is None or bin(h.mask).count("1") == 1)]
            for group in given_groups
        ]
    else:
        usable = given_groups
    narrowest = [min((bin(h.mask).count("1") for h in group if h.mask is not None), default=-1) for group in usable]
    aim = max(narrowest, default=0)
    best: Hint | None = None
    for chosen in product(*usable):
        masks = [h.mask for h in chosen if h.mask is not None]
        merged = FULL
        for mask in masks:
            merged &= mask
        candidate = Hint(merged, all(h.preferred for h in chosen) and len(set(masks)) <= 1)
        if merged and (best is None or is_better(best, candidate, aim, closest and policy != "single-numa-node", far)):
            best = candidate
    found = best or Hint(FULL, False)
    return Hint(None, found.preferred) if policy == "single-numa-node" and found.mask == FULL else found


def is_better(current: Hint, candidate: Hint, aim: int, closest: bool, far: list[list[int]]) -> bool:
    assert current.mask is not None
    assert candidate.mask is not None
    if candidate.preferred != current.preferred:
        return candidate.preferred
    if candidate.preferred:
        return is_fitter(current.mask, candidate.mask, closest, far)
    c, d = bin(current.mask).count("1"), bin(candidate.mask).count("1")
    if c > aim or c == d:
        return is_fitter(current.mask, candidate.mask, closest, far)
    if c == aim:
        return False
    return d == aim or c < d < aim


def is_fitter(current: int, candidate: int, closest: bool, far: list[list[int]]) -> bool:
    c, d = bin(current).count("1"), bin(candidate).count("1")
    if c != d:
        return d < c
    if closest and mean(current, far) != mean(candidate, far):
        return mean(candidate, far) < mean(current, far)
    return candidate < current


def mean(mask: int, far: list[list[int]]) -> float:
    zones = [zone for zone in range(ZONES) if mask >> zone & 1]
    return sum(far[one][other] for one in zones for other in zones) / len(zones) ** 2


@settings(max_examples=200, deadline=None)
@given(
    policy=st.sampled_from(("best-effort", "restricted", "single-numa-node")),
    closest=st.booleans(),
    far=distances,
    some=groups,
)
def test_a_merge_gives_the_best_of_all_combinations(
    policy: TopologyPolicy, closest: bool, far: list[list[int]], some: list[list[Hint]]
) -> None:
    merger = Merger(policy, range(ZONES), dict(enumerate(far)), closest)
    assert merger.merge(some) == one_by_one(policy, closest, far, some)
