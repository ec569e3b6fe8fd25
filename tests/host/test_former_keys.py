"""Jobs that were written for KEP-2724, on the whole embedded host."""

from __future__ import annotations

import pytest

from host.centre import RACK, centre
from host.jobs_of_each_kind import JOB
from host.lab import condition
from host.test_hot_swap_matrix import add_node
from stories.invariants import placed

FIVE = JOB.manifest.replace("20s", "1h")
"""Five pods of two processors, on racks of three hosts with four each."""


@pytest.mark.parametrize("key", ["require-topology", "prefer-topology"])
@pytest.mark.parametrize("level", [RACK, "auto"])
def test_a_job_with_a_key_of_the_kep_runs_in_one_rack_and_its_pods_count_once(key: str, level: str) -> None:
    lab = centre()
    lab.apply(FIVE.replace(f"podset-required-topology: {RACK}", f"{key}: {level}"))
    lab.advance(10)
    [workload] = lab.workloads()
    assert condition(workload, "PodsReady")
    [(_, _, places)] = placed(workload)
    assert set(places) <= {"h00", "h01", "h02"}
    rest = FIVE.replace("name: one", "name: rest").replace(f"required-topology: {RACK}", "unconstrained-topology: '1'")
    lab.apply(rest.replace("parallelism: 5", "parallelism: 19").replace("completions: 5", "completions: 19"))
    lab.advance(10)
    assert [condition(one, "PodsReady") for one in lab.workloads()] == [True, True], "24 places are taken"


def test_a_new_node_makes_a_job_admissible_that_waits() -> None:
    lab = centre()
    lab.apply(FIVE.replace(f"podset-required-topology: {RACK}", f"require-topology: {RACK}").replace(": 5", ": 7"))
    lab.advance(60)
    assert not condition(lab.workloads()[0], "Admitted"), "a rack has room for six"
    add_node(lab, "new")
    lab.advance(5)
    assert condition(lab.workloads()[0], "Admitted")
