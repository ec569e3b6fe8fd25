"""Jobs that were written for KEP-2724, on the whole embedded host."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from host.centre import HOST, RACK, centre
from host.jobs_of_each_kind import JOB
from host.lab import condition
from host.test_hot_swap_matrix import add_node
from stories.invariants import placed

FIVE = JOB.manifest.replace("20s", "1h")
"""Five pods of two processors, on racks of three hosts with four each."""


FILLER = FIVE.replace("name: one", "name: filler").replace(": 5", ": 2").replace(RACK, HOST)
"""Two pods that fill the first host: without a constraint, the other two of its rack would be filled up first."""


@pytest.mark.parametrize("key", ["require-topology", "prefer-topology"])
@pytest.mark.parametrize("level", [RACK, "auto"])
def test_a_job_with_a_key_of_the_kep_runs_in_one_rack_and_its_pods_count_once(key: str, level: str) -> None:
    lab = centre()
    lab.apply(FILLER)
    lab.advance(5)
    lab.apply(FIVE.replace(f"podset-required-topology: {RACK}", f"{key}: {level}"))
    lab.advance(10)
    [(_, _, places)] = placed(next(one for one in lab.workloads() if "filler" not in one["metadata"]["name"]))
    assert {lab.get(kinds.NODE, name)["metadata"]["labels"][RACK] for name in places} == {"r1"}
    rest = FIVE.replace("name: one", "name: rest").replace(f"required-topology: {RACK}", "unconstrained-topology: '1'")
    lab.apply(rest.replace(": 5", ": 17"))
    lab.advance(10)
    assert [condition(one, "PodsReady") for one in lab.workloads()] == [True] * 3, "24 places are taken"


def test_a_new_node_makes_a_job_admissible_that_waits() -> None:
    lab = centre()
    lab.apply(FIVE.replace(f"podset-required-topology: {RACK}", f"require-topology: {RACK}").replace(": 5", ": 7"))
    lab.advance(60)
    assert not condition(lab.workloads()[0], "Admitted"), "a rack has room for six"
    add_node(lab, "new")
    lab.advance(5)
    assert condition(lab.workloads()[0], "Admitted")
