from __future__ import annotations

import pytest

from closeknit.model.assignment import Assignment
from closeknit.model.launch import hostfile, hosts, rankfile, torchrun
from closeknit.model.topology import HOSTNAME


def on(*hosts: tuple[str, int]) -> Assignment:
    return Assignment.of((HOSTNAME,), [((host,), pods) for host, pods in hosts])


LEADER, WORKERS = on(("n2", 1)), on(("n1", 2), ("n3", 1))
TORN = "# ranks are not contiguous per host; use -o rankfile for the exact order"


def test_a_hostfile_has_a_line_a_host_in_the_order_of_ranks() -> None:
    assert list(hostfile(hosts([LEADER, WORKERS]))) == ["n2 slots=1", "n1 slots=2", "n3 slots=1"]


def test_a_host_that_goes_on_into_the_next_pod_set_is_one_line() -> None:
    assert list(hostfile(hosts([on(("n1", 1)), on(("n1", 2), ("n2", 1))]))) == ["n1 slots=3", "n2 slots=1"]


def test_a_hostfile_that_cannot_hold_the_order_of_ranks_says_so_first() -> None:
    """Open MPI would add the lines of n1 together and start ranks 0, 1 and 2 there."""
    assert list(hostfile(hosts([on(("n1", 1), ("n2", 1)), on(("n1", 2))]))) == [
        TORN,
        "n1 slots=1",
        "n2 slots=1",
        "n1 slots=2",
    ]


def test_a_rankfile_has_a_line_a_rank_and_counts_slots_per_host() -> None:
    assert list(rankfile(hosts([on(("n1", 1), ("n2", 1)), on(("n1", 2))]))) == [
        "rank 0=n1 slot=0",
        "rank 1=n2 slot=0",
        "rank 2=n1 slot=1",
        "rank 3=n1 slot=2",
    ]


def test_torchrun_gets_the_number_of_nodes_and_the_host_of_rank_0() -> None:
    assert list(torchrun(hosts([LEADER, WORKERS]))) == ["NNODES=3", "MASTER_ADDR=n2", "0 n2", "1 n1", "2 n3"]


@pytest.mark.parametrize("assignments", [[], [on()]])
def test_no_pods_are_no_hosts(assignments: list[Assignment]) -> None:
    assert list(hostfile(hosts(assignments))) == []
    assert list(rankfile(hosts(assignments))) == []
    assert list(torchrun(hosts(assignments))) == ["NNODES=0"]
