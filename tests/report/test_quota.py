"""Quota as a tree: the numbers by hand, the picture line by line."""

from __future__ import annotations

from typing import Any

from closeknit.decide.scheduler import Scheduler
from closeknit.model.cluster_queue import LocalQueue
from closeknit.model.flavor import Flavor
from closeknit.model.quota import UNLIMITED, FlavorResource, Quota
from closeknit.model.workload import Workload
from closeknit.report.quota import QuotaReport, amounts, as_data, tree
from decide.objects import DEFAULT, GPU, ON_DEFAULT, cohort, limited, queue, scheduler, workload
from decide.test_what_if import running


def ledger(built: Scheduler, *workloads: Workload) -> QuotaReport:
    for one in workloads:
        built.put(one, 0.0)
    return QuotaReport.of(built, workloads)


def drawn(built: Scheduler, *workloads: Workload, wide: bool = False) -> list[str]:
    return list(tree(ledger(built, *workloads), wide))


def two_queues(**more: Any) -> Scheduler:
    return scheduler([queue("a", 8, "lab", **more), queue("b", limited(4, 6, 2), "lab")])


def test_what_one_borrows_another_has_lent() -> None:
    """b uses 10 of its own 4: 6 are a's. a has 8, uses 1, and could use only 1 more of the 7 that are left to it."""
    shown = ledger(two_queues(), running("small", 1, "a"), running("big", 10, "b"))
    nodes = shown.scheduler.world.tree.queues
    a, b = amounts(nodes["a"])[ON_DEFAULT], amounts(nodes["b"])[ON_DEFAULT]
    assert (a.nominal, a.used, a.borrowed, a.lent) == (8, 1, 0, 6)
    assert (b.nominal, b.used, b.borrowed, b.lent) == (4, 10, 6, 0)
    assert (b.borrowing_limit, b.lending_limit) == (6, 2)


def test_a_cohort_counts_what_its_members_lend() -> None:
    """a lends all of its 8, b 2 of its 4; the cohort adds 3 of its own."""
    built = scheduler([queue("a", 8, "lab"), queue("b", limited(4, None, 2), "lab")], [cohort("lab", "", 3)])
    found = amounts(built.world.tree.cohorts["lab"])[ON_DEFAULT]
    assert (found.nominal, found.whole) == (3, 13)


def test_the_picture() -> None:
    lines = drawn(two_queues(), running("small", 1, "a"), running("big", 10, "b"), workload("waits", "a", 20))
    assert lines == [
        "Cohort lab",
        "│  default  gpu     ▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░       9 of 10 used",
        "├─ ClusterQueue a   1 admitted, 1 pending, share 0, active",
        "│     default  gpu  ▒▒░░░░░░░░░░░░░░       1 of 8 used, 6 lent",
        "└─ ClusterQueue b   1 admitted, 0 pending, share 600, active",
        "      default  gpu  ▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓      10 of 4 used, 6 borrowed, borrows at most 6, lends at most 2",
    ]


def test_flavors_and_resources_have_a_line_each() -> None:
    quotas = {"x": {"cpu": 4000, "memory": 2**31}, "y": {"cpu": 1000, "memory": 0}}
    built = scheduler([queue("a", quotas)], flavors=[Flavor("x"), Flavor("y")])
    assert [line.split() for line in drawn(built)[1:]] == [
        ["x", "cpu", "░" * 16, "0", "of", "4", "used"],
        ["memory", "░" * 16, "0", "of", "2Gi", "used"],
        ["y", "cpu", "░" * 16, "0", "of", "1", "used"],
        ["memory", "no", "quota"],
    ]


def test_unlimited_quota_is_called_that() -> None:
    (line,) = drawn(scheduler([queue("a", limited(UNLIMITED))]))[1:]
    assert line.endswith("0 of unlimited used")


def test_a_queue_that_admits_nothing_says_why_and_what_to_do() -> None:
    lines = drawn(scheduler([queue("a", 4, stop="Hold")]))
    assert lines[0].endswith("0 admitted, 0 pending, inactive")
    assert lines[1] == (
        "   Stopped: Can't admit new workloads: is stopped. Would help: set spec.stopPolicy of ClusterQueue a to None: "
        "`closeknit queue resume a`"
    )


def test_a_weight_that_is_not_one_is_shown_and_a_share_without_bound_too() -> None:
    built = scheduler([queue("a", 4, "lab"), queue("b", 0, "lab", weight=0.0)])
    lines = drawn(built, running("big", 2, "b"))
    assert any("share ∞ (weight 0)" in line for line in lines)


def test_local_queues_are_for_the_wide_picture() -> None:
    built = scheduler([queue("a", 4)])
    built.put_local_queue(LocalQueue("team", "stopped", "a", "Hold"))
    workloads = [running("one", 1, "a"), workload("two", "a", 9)]
    assert not any("LocalQueue" in line for line in drawn(built, *workloads))
    found = [" ".join(line.split()) for line in drawn(built, *workloads, wide=True) if "LocalQueue" in line]
    assert found == [
        "LocalQueue default/a 1 admitted, 1 pending",
        "LocalQueue team/stopped 0 admitted, 0 pending, stopped (Hold)",
    ]


def test_workloads_without_a_way_to_a_queue_are_counted_at_the_end() -> None:
    assert drawn(scheduler([queue("a", 4)]), workload("lost", "nowhere"))[-1] == (
        "1 workload without an existing LocalQueue"
    )


def test_deeper_trees_are_indented() -> None:
    built = scheduler([queue("a", 1, "team"), queue("z", 1, "root"), queue("alone", 1)], [cohort("team", "root")])
    heads = [line for line in drawn(built) if "Cohort" in line or "ClusterQueue" in line]
    assert [line.split("  ")[0].rstrip() for line in heads[:1]] == ["Cohort root"]
    assert [line[: line.index("Co" if "Cohort" in line else "Cl")] for line in heads] == [
        "",
        "├─ ",
        "│  └─ ",
        "└─ ",
        "",
    ]


def test_the_same_as_data() -> None:
    data = as_data(ledger(two_queues(), running("small", 1, "a"), running("big", 10, "b"), workload("w", "a", 20)))
    (lab,) = data["cohorts"]
    assert (lab["name"], data["clusterQueues"]) == ("lab", [])
    a, b = lab["clusterQueues"]
    assert b["quota"] == [
        {
            "flavor": DEFAULT,
            "resource": GPU,
            "nominal": 4,
            "total": 4,
            "used": 10,
            "borrowed": 6,
            "lent": 0,
            "borrowingLimit": 6,
            "lendingLimit": 2,
        }
    ]
    assert (b["weight"], b["weightedShare"], b["active"], b["strategy"]) == (1.0, 600, True, "BestEffortFIFO")
    assert a["workloads"] == {"pending": 1, "reserving": 1, "admitted": 1}
    assert a["localQueues"][0]["workloads"] == {"pending": 1, "reserving": 1, "admitted": 1}


def test_data_of_a_queue_that_admits_nothing_has_the_reason() -> None:
    (found,) = as_data(ledger(scheduler([queue("a", {"missing": Quota(4)})])))["clusterQueues"]
    assert (found["active"], found["reason"], found["remedy"]) == (
        False,
        "FlavorNotFound",
        "create these ResourceFlavors",
    )
    assert found["quota"][0]["flavor"] == FlavorResource("missing", GPU).flavor
