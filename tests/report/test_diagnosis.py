"""Explanations as people read them."""

from __future__ import annotations

from closeknit.engine.explain import ExclusionCause, Explanation, LevelView
from closeknit.engine.remedy import Remedy
from closeknit.model.reason import Why, reason
from closeknit.model.request import Constraint, PodSet
from closeknit.model.shape import Shape
from closeknit.report.diagnosis import diagnosis, diagnosis_json

MAIN = PodSet("main", 8, Shape.of({"cpu": 1000}), Constraint(required="example.com/rack"))
NO_ROOM = reason(Why.NO_ROOM, topology="default", fits=6, need=8, unit="pod")
FOUND = Explanation(
    MAIN,
    None,
    MAIN.constraint,
    NO_ROOM,
    leaves=4,
    levels=(
        LevelView("example.com/rack", 2, 0, ("r1",), 6, 7, need=8),
        LevelView("kubernetes.io/hostname", 4, 1, ("r1", "h1"), 3, 3, need=8),
    ),
    causes=(ExclusionCause("cordoned", 1, 1), ExclusionCause('resource "gpu"', 2, 0, "no node has it")),
    remedies=(Remedy("fewer", pods=1, count=8), Remedy("add", nodes=("h1",), count=1, domain=("r1",))),
)


def test_levels_causes_and_remedies_come_one_to_a_line() -> None:
    assert list(diagnosis("Job train", FOUND)) == [
        'Job train does not fit: topology "default" allows to fit only 6 out of 8 pod(s)',
        "  requested: 8 pods of main, required example.com/rack",
        "  what each level can hold now:",
        "    example.com/rack        0 of 2 hold 8; r1 holds the most: 6 "
        "(fragmented: if contiguous, its free room would hold 7)",
        "    kubernetes.io/hostname  1 of 4 holds 8; r1/h1 holds the most: 3",
        "  obstacles (4 nodes are ready and not cordoned):",
        "    cordoned        1 node, which would hold 1 pod",
        '    resource "gpu"  2 nodes: no node has it',
        "  any one of these would help (each was tried):",
        "    * ask for 1 pod instead of 8",
        "    * add 1 node like h1 in r1",
    ]


def test_what_is_free_now_and_what_empty_nodes_would_hold_are_distinguished() -> None:
    level = LevelView("example.com/rack", 2, 0, ("r1",), 3, 3, when_empty=6, need=8)
    never = Explanation(MAIN, None, MAIN.constraint, NO_ROOM, 4, (level,), never=NO_ROOM)
    assert list(diagnosis("Job train", never))[3:] == [
        "    example.com/rack  0 of 2 hold 8; r1 holds the most: 3; on empty nodes at most 6",
        "  it can never fit on this cluster, even if all usable nodes were empty: "
        'topology "default" allows to fit only 6 out of 8 pod(s)',
        "  no change helped (tried tolerations, selectors, levels, fewer pods, other nodes)",
    ]


def test_one_pod_is_one_pod() -> None:
    alone = Explanation(
        PodSet("main", 1, Shape.of({"cpu": 1000})), None, None, NO_ROOM, 1, causes=(ExclusionCause("cordoned", 1, 1),)
    )
    assert list(diagnosis("Job train", alone))[1:4] == [
        "  requested: 1 pod of main, anywhere",
        "  obstacles (1 node is ready and not cordoned):",
        "    cordoned  1 node, which would hold 1 pod",
    ]


def test_when_nothing_helps_it_says_what_was_tried() -> None:
    lines = list(diagnosis("Job train", Explanation(MAIN, None, MAIN.constraint, NO_ROOM)))
    assert lines[-1] == ("  no change helped (tried tolerations, selectors, levels, fewer pods, other nodes)")


def test_a_wrong_request_is_not_said_to_be_beyond_help() -> None:
    wrong = Explanation(MAIN, None, MAIN.constraint, reason(Why.NO_LEVEL, level="x"))
    assert list(diagnosis("Job train", wrong))[-1] == "  requested: 8 pods of main, required example.com/rack"


def test_data_has_what_the_text_says() -> None:
    data = diagnosis_json(FOUND)
    assert data["levels"][0]["best"] == {"path": ["r1"], "pods": 6, "inOnePiece": 7}
    assert data["causes"][1] == {"cause": 'resource "gpu"', "nodes": 2, "pods": 0, "detail": "no node has it"}
    assert data["remedies"][0] == {"kind": "fewer", "pods": 1, "count": 8, "text": "ask for 1 pod instead of 8"}
