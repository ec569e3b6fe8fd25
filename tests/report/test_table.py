"""Rows in columns, and placements as small trees."""

from __future__ import annotations

from closeknit.model.topology import Path
from closeknit.report.placement import branches, common
from closeknit.report.table import Columns, table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert list(table(("Name", "Age"), [("a", "5s"), ("longer", None)])) == [
        "NAME     AGE",
        "a        5s",
        "longer   <none>",
    ]


def test_a_table_without_rows_is_nothing_at_all() -> None:
    assert list(table(("Name",), [])) == []


def test_rows_that_come_later_line_up_with_those_before() -> None:
    columns = Columns(("Name", "Age"))
    assert list(columns.lines([("a-long-name", "1s")])) == ["a-long-name   1s"]
    assert list(columns.lines([("b", "2s")])) == ["b             2s"]
    assert columns.heading() == "NAME          AGE"


def test_the_smallest_domain_that_holds_all() -> None:
    assert common([("a", "b", "c"), ("a", "b", "d")]) == ("a", "b")
    assert common([("a", "b")]) == ("a", "b")
    assert common([("a",), ("b",)]) == ()
    assert common([]) == ()


def test_a_placement_is_a_tree_below_the_domain_that_holds_all() -> None:
    pods: dict[Path, int] = {("b1", "r1", "n1"): 4, ("b1", "r1", "n2"): 2, ("b1", "r2", "n3"): 10}
    assert list(branches(pods, "  ")) == [
        "  b1        16 pods",
        "  ├─ r1      6 pods",
        "  │  ├─ n1   4 pods",
        "  │  └─ n2   2 pods",
        "  └─ r2     10 pods",
        "     └─ n3  10 pods",
    ]


def test_one_host_is_one_line() -> None:
    assert list(branches({("b1", "r1", "n1"): 1})) == ["b1/r1/n1  1 pod"]


def test_a_large_placement_is_cut_short() -> None:
    lines = list(branches({("b", f"n{number:03}"): 1 for number in range(100)}, most=3))
    assert len(lines) == 4
    assert lines[-1] == "… and 98 more domains"
