from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closeknit.dialects.kueue.topology_request import grouped
from closeknit.engine.place import PodSetOutcome, Result, place
from closeknit.engine.policy import Policy
from closeknit.model.request import Constraint, Layer, Request
from closeknit.model.topology import HOSTNAME
from closeknit.report.plan import (
    JobPlan,
    as_json,
    order_of,
    picture,
    plan,
    pods_on_leaves,
    refusal_json,
    take,
    wording,
)
from closeknit.state.snapshot import Snapshot
from report.hall import BLOCK, GPU, RACK, hall, pods, row_of

IN_A_RACK = Request.of([pods("main", 3, Constraint(required=RACK))])


def made(snapshot: Snapshot, request: Request, name: str = "Job train") -> JobPlan:
    result = place(snapshot, request, Policy())
    assert result.fits
    return plan(snapshot, name, result, Policy())


def test_a_plan_as_data() -> None:
    """Of 24 usable gpu 2 are used and 12 are taken; n3 could hold two more such pods."""
    slices = [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}],
            "podCounts": {"individual": [1, 2]},
        }
    ]
    assert as_json(made(hall(), IN_A_RACK)) == {
        "fits": True,
        "reason": None,
        "workload": "Job train",
        "podSets": [
            {
                "name": "main",
                "count": 3,
                "level": RACK,
                "assignment": {"levels": [HOSTNAME], "slices": slices},
                "domains": [{"path": ["a", "a1", "n1"], "pods": 1}, {"path": ["a", "a1", "n2"], "pods": 2}],
                "ranks": [{"rank": 0, "node": "n1"}, {"rank": 1, "node": "n2"}, {"rank": 2, "node": "n2"}],
            }
        ],
        "left": {"pods": {"main": 2}, "free": {"cpu": 20000, GPU: 10, "pods": 26}},
    }


def test_a_plan_as_a_picture_shows_only_what_the_job_touches() -> None:
    assert list(picture(made(hall(), IN_A_RACK))) == [
        "Job train · main: 3 pods on 2 domains, all in a/a1 (example.com/rack)",
        "  requested: required example.com/rack",
        "  a/a1       3 pods  ████████████▒▒▒▒  full",
        "  ├─ n1       1 pod  ████████▒▒▒▒▒▒▒▒  full",
        "  └─ n2      2 pods  ████████████████  full",
        "  left: 2 pods like these would still fit in the cluster",
    ]


def test_a_job_over_several_blocks_says_so() -> None:
    lines = list(picture(made(hall(all_ready=True), Request.of([pods("main", 7)]))))
    assert lines[0] == "Job train · main: 7 pods on 4 domains, spread over several top-level domains"
    assert [line[2:10].rstrip() for line in lines[2:-1]] == [
        "a",
        "├─ a1",
        "│  ├─ n1",
        "│  └─ n2",
        "└─ a2",
        "   └─ n3",
        "b",
        "└─ b1",
        "   └─ n4",
    ]


def test_a_long_picture_is_cut_unless_everything_is_wanted() -> None:
    plan_of_many = made(row_of(100), Request.of([pods("main", 200)]))
    short, whole = list(picture(plan_of_many)), list(picture(plan_of_many, everything=True))
    assert (len(short), short[-2]) == (64, "  … and 41 more domains; -o wide shows them all")
    assert (len(whole), whole[-2].split()[:2]) == (104, ["└─", "h0099"])


def test_planning_leaves_the_snapshot_as_it_was() -> None:
    snapshot = hall()
    before = snapshot.remaining.copy()
    made(snapshot, IN_A_RACK)
    assert (snapshot.remaining == before).all()


def test_what_is_taken_is_seen_on_the_leaves() -> None:
    snapshot = hall()
    (outcome,) = place(snapshot, IN_A_RACK, Policy()).outcomes
    assert outcome.assignment is not None
    take(snapshot, outcome.assignment, outcome.pod_set)
    assert pods_on_leaves(snapshot).tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize(
    ("leaves", "level"), [([2], 2), ([0, 1], 1), ([0, 2], 0), ([0, 1, 2], 0), ([1, 3], -1), ([], -1)]
)
def test_the_level_that_holds_all_of_some_leaves(leaves: list[int], level: int) -> None:
    assert hall().tree.common_level(np.array(leaves, dtype=np.int64)) == level


def test_ranks_follow_the_pod_sets_as_written_with_a_leader_first() -> None:
    workers, leader = (pods(name, count) for name, count in (("workers", 4), ("leader", 1)))
    alone = pods("alone", 1)
    request = grouped([(workers, "g"), (alone, None), (leader, "g")])
    result = Result(tuple(PodSetOutcome(one) for one in (alone, workers, leader)))
    assert [one.pod_set.name for one in order_of(request, result)] == ["leader", "workers", "alone"]


def test_a_refusal_as_data_has_the_reason_at_its_pod_set() -> None:
    request = Request.of([pods("main", 9, Constraint(required=BLOCK)), pods("more", 1)])
    result = place(hall(), request, Policy())
    reason = str(result.reason)
    assert reason.startswith('topology "default" allows to fit only 5 out of 9 pod(s)')
    nothing: dict[str, Any] = {"level": None, "assignment": None, "domains": [], "ranks": []}
    assert refusal_json("Job train", result, request) == {
        "fits": False,
        "reason": reason,
        "workload": "Job train",
        "podSets": [
            {"name": "main", "count": 9, **nothing, "reason": reason},
            {"name": "more", "count": 1, **nothing},
        ],
        "left": None,
    }


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (None, "anywhere"),
        (Constraint(unconstrained=True), "unconstrained"),
        (Constraint(required=RACK), f"required {RACK}"),
        (
            Constraint(BLOCK, RACK, slices=(Layer(RACK, 4), Layer(HOSTNAME, 2))),
            f"required {BLOCK}, preferred {RACK}, slices of 4 per {RACK}, slices of 2 per {HOSTNAME}",
        ),
    ],
)
def test_a_constraint_in_a_few_words(constraint: Constraint | None, words: str) -> None:
    assert wording(constraint) == words
