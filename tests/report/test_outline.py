from __future__ import annotations

from closeknit.model.topology import HOSTNAME
from closeknit.report.census import Census
from closeknit.report.outline import default_level, outline, outline_json
from report.hall import BLOCK, GPU, RACK, hall, row_of

BLANK = " " * 16


def test_an_outline_has_a_line_a_domain_with_nodes_bar_and_numbers() -> None:
    assert list(outline(Census.of(hall()), deepest=1, resource=GPU)) == [
        "a      3 nodes                 ▒░░░░░░░░░░░░░░░        22 of 24 nvidia.com/gpu free",
        "├─ a1  2 nodes                 ▒▒░░░░░░░░░░░░░░        14 of 16 nvidia.com/gpu free",
        "└─ a2  1 node                  ░░░░░░░░░░░░░░░░         8 of 8 nvidia.com/gpu free",
        f"b      1 node, 1 out           {BLANK}         0 of 0 nvidia.com/gpu free",
        f"└─ b1  1 node, 1 out           {BLANK}         0 of 0 nvidia.com/gpu free",
    ]


def test_maintenance_of_a_rack_is_shown_once_and_not_again_at_each_of_its_hosts() -> None:
    census = Census.of(hall(window_in=("n1", "n2", "n3")))
    told = [line[:8].rstrip() for line in outline(census, deepest=2, resource=GPU) if "maintenance" in line]
    assert told == ["a"]
    census = Census.of(hall(window_in=("n1", "n2")))
    told = [line[:8].rstrip() for line in outline(census, deepest=2, resource=GPU) if "maintenance" in line]
    assert told == ["├─ a1"]


def test_branches_lead_down_past_siblings() -> None:
    labels = [line[:8].rstrip() for line in outline(Census.of(hall()), deepest=2, resource="cpu")]
    assert labels == ["a", "├─ a1", "│  ├─ n1", "│  └─ n2", "└─ a2", "   └─ n3", "b", "└─ b1", "   └─ n4"]


def test_a_wide_outline_has_all_other_resources() -> None:
    first, *_ = outline(Census.of(hall()), deepest=0, resource=GPU, wide=True)
    assert first.endswith("22 of 24 nvidia.com/gpu free  cpu 23/24  pods 29/30")


def test_the_level_shown_is_the_lowest_that_fits_on_a_screen() -> None:
    assert [default_level(Census.of(snapshot)) for snapshot in (hall(), row_of(60), row_of(61))] == [2, 2, 1]


def test_the_same_as_data_is_nested_as_the_tree_is() -> None:
    def amounts(nodes: int, cpu: int, gpu: int, pods: int) -> dict[str, dict[str, int]]:
        whole = {"cpu": 8000 * nodes, GPU: 8 * nodes, "pods": 10 * nodes}
        used = {"cpu": cpu, GPU: gpu, "pods": pods}
        return {
            name: {"allocatable": whole[name], "used": used[name], "free": whole[name] - used[name]} for name in whole
        }

    said = outline_json(Census.of(hall()), deepest=1)
    assert (said["topology"], said["levels"]) == ("default", [BLOCK, RACK, HOSTNAME])
    a, b = said["domains"]
    assert a == {
        "level": BLOCK,
        "value": "a",
        "path": ["a"],
        "nodes": 3,
        "usable": 3,
        "resources": amounts(3, cpu=1000, gpu=2, pods=1),
        "domains": [
            {
                "level": RACK,
                "value": "a1",
                "path": ["a", "a1"],
                "nodes": 2,
                "usable": 2,
                "resources": amounts(2, cpu=1000, gpu=2, pods=1),
            },
            {
                "level": RACK,
                "value": "a2",
                "path": ["a", "a2"],
                "nodes": 1,
                "usable": 1,
                "resources": amounts(1, cpu=0, gpu=0, pods=0),
            },
        ],
    }
    assert (b["nodes"], b["usable"], b["resources"][GPU]) == (1, 0, {"allocatable": 0, "used": 0, "free": 0})
