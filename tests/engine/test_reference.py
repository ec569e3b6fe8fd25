"""The engine and the slow reference give the same answers, to problems drawn at random and to some chosen by hand.

A difference is a mistake in one of the two; the rules in words decide in which. Problems without a single answer
are left out, and there must be few of them. The examples at the end are differences that were found this way,
cut down to what a reader can follow.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from conformance.suites import difference
from conformance.suites.placement import placement

from .problems import HOSTNAME, problem
from .reference import Undefined, answer

SHARED = Path(__file__).parents[2].parent / "shared" / "conformance"
BLOCKS, BLOCK_SIZE = 8, 500

Wire = dict[str, Any]


def decided(case: Wire) -> Any:
    """What the engine makes of a case."""
    prepared = placement(case)
    return prepared.show(prepared.decide())


@pytest.mark.parametrize("block", range(BLOCKS))
def test_engine_and_reference_agree_on_random_problems(block: int) -> None:
    differing, undefined = {}, 0
    for seed in range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE):
        case = problem(seed)
        try:
            found = difference(answer(case), decided(case))
        except Undefined:
            undefined += 1
            continue
        if found:
            differing[case["name"]] = found
    assert differing == {}
    assert undefined < BLOCK_SIZE // 20


def test_a_problem_is_the_same_for_the_same_seed() -> None:
    assert all(problem(seed) == problem(seed) for seed in range(50))


@pytest.mark.parametrize("suite", ["random_placement", "random_placement_wide"])
def test_reference_gives_the_answers_of_the_shared_cases(suite: str) -> None:
    files = sorted((SHARED / suite).glob("*.ndjson.gz"))
    if not files:
        pytest.skip(f"NO SHARED CONFORMANCE DATA: {SHARED / suite} is absent, the reference stays unchecked")
    lines = [line for file in files for line in gzip.decompress(file.read_bytes()).splitlines()]
    for case in map(json.loads, Random(1).sample(lines, min(len(lines), 300))):
        wanted = [{"assignment": one["wantAssignment"], "reason": one["wantReason"]} for one in case["podSets"]]
        for one in filter(None, (expected["assignment"] for expected in wanted)):
            one["Domains"] = one["Domains"] or []
        assert difference(wanted, answer(case)) is None, case["name"]


# Examples.


def node(path: str, ready: bool = True, **room: int) -> Wire:
    """A node at "block/host" with so many units of each resource and 10 places for pods."""
    block, host = path.split("/")
    return {
        "metadata": {"name": host, "labels": {"block": block, HOSTNAME: host}},
        "spec": {},
        "status": {
            "allocatable": {"pods": "10", **{name: f"{amount}" for name, amount in room.items()}},
            "conditions": [{"type": "Ready", "status": str(ready)}],
        },
    }


def pods(name: str, count: int, request: Wire | None, group: str | None = None, **asks: int) -> Wire:
    empty = ("tolerations", "nodeSelector", "nodeAffinity", "previousAssignment", "wantAssignment")
    fields = {"podSetName": name, "count": count, "topologyRequest": request, "requests": asks, "wantReason": ""}
    return {**dict.fromkeys(empty), **fields, "podSetGroupName": group}


def case_of(nodes: list[Wire], sets: list[Wire], *gates: str) -> Wire:
    return {"levels": ["block", HOSTNAME], "nodes": nodes, "podSets": sets, "featureGates": dict.fromkeys(gates, True)}


def places(case: Wire) -> list[Any]:
    """Hosts with their pods, or the reason, for each pod set; engine and reference must say the same."""
    got = decided(case)
    assert difference(answer(case), got) is None
    return [
        one["reason"] or {domain["Values"][-1]: domain["Count"] for domain in one["assignment"]["Domains"]}
        for one in got
    ]


def slices(size: int) -> Wire:
    return {"podSetSliceRequiredTopology": HOSTNAME, "podSetSliceSize": size}


def test_domains_that_get_nothing_still_offer_their_children() -> None:
    """Block b takes the leader, having least room beside one; among the hosts of all blocks a1 is first of equals."""
    nodes = [node("a/a1", cpu=5, gpu=1), node("b/b1", cpu=4, gpu=1), node("c/c1", cpu=8)]
    workers = pods("workers", 4, slices(4), "group", cpu=2000)
    leader = pods("leader", 1, None, "group", cpu=1000, gpu=1)
    assert places(case_of(nodes, [workers, leader])) == [{"c1": 4}, {"a1": 1}]


def test_balancing_stops_at_a_preferred_domain_without_room() -> None:
    """Three a host prunes all of block a, which affinity still puts first; so nothing is balanced."""
    nodes = [node("a/a1", gpu=2), node("a/a2", gpu=1), node("b/b1", gpu=4)]
    known = {"matchExpressions": [{"key": "block", "operator": "Exists"}]}
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": known}]}
    workers = {**pods("workers", 3, {"preferred": "block"}, gpu=1), "nodeAffinity": affinity}
    case = case_of(nodes, [workers], "TASBalancedPlacement", "TASRespectNodeAffinityPreferred")
    assert places(case) == [{"a1": 2, "a2": 1}]


def test_balancing_fails_when_fewer_domains_hold_all_pods_but_not_all_slices() -> None:
    """Two hosts hold 18 pods, but only 8 slices of 2: three are needed, and no path of three is ever taken."""
    nodes = [node("a/a1", gpu=9), node("a/a2", gpu=9), node("a/a3", gpu=9)]
    workers = pods("workers", 18, {"preferred": HOSTNAME, **slices(2)}, gpu=1)
    assert places(case_of(nodes, [workers], "TASBalancedPlacement")) == [{"a1": 8, "a2": 8, "a3": 2}]


def test_a_domain_pruned_as_host_of_the_leader_has_no_room_beside_one() -> None:
    """Only a3 can hold the leader and two more; a4, with room for one beside it, then comes last, not first."""
    nodes = [
        node("a/a1", cpu=3, gpu=5),
        node("a/a2", cpu=3, gpu=5),
        node("a/a3", cpu=9, gpu=4),
        node("a/a4", cpu=4, gpu=4),
    ]
    workers = pods("workers", 11, {"preferred": "block"}, "group", cpu=1000, gpu=1)
    leader = pods("leader", 1, None, "group", cpu=3000, gpu=1)
    case = case_of(nodes, [workers, leader], "TASBalancedPlacement")
    assert places(case) == [{"a1": 3, "a2": 3, "a3": 3, "a4": 2}, {"a3": 1}]


def test_a_domain_without_usable_nodes_is_none() -> None:
    nodes = [node("a/a1", ready=False, gpu=2), node("b/b1", gpu=2)]
    layers = [{"topology": "block", "size": 3}, {"topology": HOSTNAME, "size": 1}]
    workers = pods("workers", 3, {"podsetSliceRequiredTopologyConstraints": layers}, gpu=1)
    text = 'topology "default" doesn\'t allow to fit; 0/1 slice(s) fit on level block'
    assert places(case_of(nodes, [workers])) == [f"{text}; 2/3 slice(s) fit on level {HOSTNAME}"]
    grouped = [pods("workers", 1, {"required": "block"}, "group", gpu=1), pods("leader", 1, None, "group", nic=1)]
    assert places(case_of(nodes, grouped)) == ['topology "default" allows to fit only 2 out of 1 pod(s)'] * 2


def test_pods_of_a_failed_node_that_make_no_slice_are_not_lost_in_silence() -> None:
    nodes = [node("a/a1", ready=False, gpu=4), node("a/a2", gpu=4)]
    before = {"domainCount": 2, "valuesPerLevel": [{"individual": {"prefix": "a", "roots": ["1", "2"]}}]}
    existing = {"levels": [HOSTNAME], "slices": [{**before, "podCounts": {"universal": 1}}]}
    admission = {"podSetAssignments": [{"name": "workers", "topologyAssignment": existing}]}
    workload = {"metadata": {}, "status": {"admission": admission, "unhealthyNodes": [{"name": "a1"}]}}
    workers = pods("workers", 2, {"preferred": HOSTNAME, **slices(3)}, gpu=1)
    case = {**case_of(nodes, [workers]), "workload": workload}
    assert places(case) == ["cannot find replacement assignment for unhealthy node: a1"]


def test_a_missing_slice_size_is_said_before_an_unknown_level() -> None:
    request = {"required": "elsewhere", "podSetSliceRequiredTopology": HOSTNAME}
    case = case_of([node("a/a1", gpu=4)], [pods("workers", 2, request, gpu=1)])
    assert places(case) == ["slice topology requested, but slice size not provided"]
