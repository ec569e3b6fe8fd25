"""Ranks across pod sets, and the host of each rank."""

from __future__ import annotations

from closeknit.lifecycle.ranks import first_ranks, hosts_by_rank
from closeknit.model.launch import RANK, domain_label
from closeknit.model.pod import Pod
from closeknit.model.topology import HOSTNAME

from .test_ungate import Set, workload


def pod(rank: int, host: str, **more: object) -> Pod:
    return Pod("ns", f"p{rank}", labels={RANK: str(rank)}, selector={HOSTNAME: host}, **more)  # type: ignore[arg-type]


def test_ranks_continue_across_pod_sets_and_a_leader_comes_first() -> None:
    grouped = workload(Set({"a": 3}, "workers", group="g"), Set({"b": 1}, "leader", group="g"))
    assert first_ranks(grouped) == {"leader": 0, "workers": 1}
    assert first_ranks(workload(Set({"a": 2}, "one"), Set({"b": 1}, "two"))) == {"one": 0, "two": 2}


def test_pods_that_only_start_the_others_have_no_rank() -> None:
    assert first_ranks(workload(Set({"a": 1}, "launcher"), Set({"b": 2}, "worker")), ["launcher"]) == {"worker": 0}


def test_without_pods_the_hosts_are_those_of_the_assignment_in_order() -> None:
    assert hosts_by_rank(workload(Set({"a": 2, "b": 1})), []) == ["a", "a", "b"]


def test_a_rank_is_where_its_pod_was_sent_and_the_others_get_what_is_left() -> None:
    given = workload(Set({"a": 1, "b": 2}))
    assert hosts_by_rank(given, [pod(0, "b")]) == ["b", "a", "b"]


def test_pods_that_end_or_still_wait_do_not_count() -> None:
    given = workload(Set({"a": 1, "b": 2}))
    gone = [pod(0, "b", deleting=True), pod(0, "b", phase="Failed"), pod(0, "b", gated=True), pod(9, "b")]
    assert hosts_by_rank(given, gone) == ["a", "b", "b"]


def test_levels_that_end_alike_have_labels_with_their_whole_key() -> None:
    levels = ("a.com/rack", "b.com/rack", HOSTNAME)
    assert domain_label("a.com/rack", levels) == "closeknit.dev/domain.a.com.rack"
    assert domain_label(HOSTNAME, levels) == "closeknit.dev/domain.hostname"
