from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest

from closeknit.model.topology import HOSTNAME
from closeknit.report.census import Census
from closeknit.report.svg import cell_level, draw
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable
from report.hall import BLOCK, GPU, RACK, TOPOLOGY, hall, node, row_of

SVG = "{http://www.w3.org/2000/svg}"


def cells(picture: str) -> dict[str, tuple[str, str]]:
    """What each cell says, with its colour and that of its edge."""
    return {
        str(title.text): (rect.attrib["fill"], rect.attrib["stroke"])
        for rect in ElementTree.fromstring(picture).iter(f"{SVG}rect")
        for title in rect.iter(f"{SVG}title")
    }


def texts(picture: str) -> list[str]:
    return [str(text.text) for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_every_host_is_a_cell_that_says_what_is_free_and_darkens_with_use() -> None:
    assert cells(draw(Census.of(hall()), GPU)) == {
        "a/a1/n1: 6 of 8 nvidia.com/gpu free": ("#91caf2", "#868e96"),
        "a/a1/n2: 8 of 8 nvidia.com/gpu free": ("#e7f5ff", "#868e96"),
        "a/a2/n3: 8 of 8 nvidia.com/gpu free": ("#e7f5ff", "#868e96"),
        "b/b1/n4: 0 of 0 nvidia.com/gpu free": ("#dee2e6", "#868e96"),
    }


def test_a_full_cell_has_the_darkest_colour() -> None:
    snapshot = hall()
    snapshot.use("n1", {GPU: 6})
    assert cells(draw(Census.of(snapshot), GPU))["a/a1/n1: 0 of 8 nvidia.com/gpu free"][0] == "#1c5c96"


def test_domains_above_the_cells_are_boxes_with_their_names() -> None:
    picture = draw(Census.of(hall()), GPU)
    assert texts(picture) == [
        f"{BLOCK} / {RACK} / {HOSTNAME} (a cell is one hostname)",
        "nvidia.com/gpu in use, 0 %",
        "100 %",
        "out or none",
        *["a", "a1", "a2", "b", "b1"],
    ]
    assert texts(draw(Census.of(hall()), GPU, level=1))[4:] == ["a", "b"]


def test_a_job_is_drawn_over_its_cells_and_named_in_the_legend() -> None:
    jobs = [("Job one", np.array([1, 0, 2, 0])), ("Job two", np.array([0, 0, 1, 0]))]
    picture = draw(Census.of(hall()), GPU, jobs=jobs)
    found = cells(picture)
    assert found["a/a1/n1: 6 of 8 nvidia.com/gpu free, 1 pods of Job one"] == ("#d9480f", "#91caf2")
    assert "a/a2/n3: 8 of 8 nvidia.com/gpu free, 2 pods of Job one, 1 pods of Job two" in found
    assert texts(picture)[3:6] == ["out or none", "Job one", "Job two"]


def test_pods_are_summed_where_cells_are_higher_domains() -> None:
    jobs = [("Job one", np.array([1, 2, 4, 0]))]
    assert list(cells(draw(Census.of(hall()), GPU, level=1, jobs=jobs))) == [
        "a/a1: 14 of 16 nvidia.com/gpu free, 3 pods of Job one",
        "a/a2: 8 of 8 nvidia.com/gpu free, 4 pods of Job one",
        "b/b1: 0 of 0 nvidia.com/gpu free",
    ]


def test_names_cannot_break_the_picture() -> None:
    snapshot = Snapshot(TOPOLOGY, NodeTable.of([node("n1", "<a>", "a&b")]))
    picture = draw(Census.of(snapshot), GPU, jobs=[("Job </svg>", np.array([1]))])
    assert "<a>/a&b/n1: 8 of 8 nvidia.com/gpu free, 1 pods of Job </svg>" in cells(picture)


@pytest.mark.parametrize("name", ["\x1b[2J", "\x00", "\u202ex", "]]>", '"> onload="x', "&#x1;", "a\nb", "\ufffe"])
def test_hostile_names_leave_it_a_picture_without_anything_active(name: str) -> None:
    snapshot = Snapshot(TOPOLOGY, NodeTable.of([node("n1", name, f"r{name}")]))
    root = ElementTree.fromstring(draw(Census.of(snapshot), GPU, jobs=[(f"Job {name}", np.array([1]))]))
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {"svg", "rect", "text", "title"}
    assert not any(key.startswith("on") or "href" in key for each in root.iter() for key in each.attrib)
    assert all(text.isprintable() for each in root.iter() if (text := each.text) and text.strip())


def test_cells_do_not_lie_on_one_another() -> None:
    rects = ElementTree.fromstring(draw(Census.of(row_of(100)), "cpu")).iter(f"{SVG}rect")
    places = Counter((rect.attrib["x"], rect.attrib["y"]) for rect in rects if len(rect))
    assert (len(places), max(places.values())) == (100, 1)


def test_cells_are_the_lowest_level_that_can_be_drawn() -> None:
    assert [cell_level(Census.of(row_of(hosts))) for hosts in (4000, 4001)] == [2, 1]
