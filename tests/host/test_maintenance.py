"""Maintenance windows in virtual time: they begin, end, overlap and are cancelled, also across a restart."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.dialects.timestamps import show
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from closeknit.model.topology import HOSTNAME
from host.centre import BLOCK, RACK, centre
from host.jobs_of_each_kind import JOB
from host.lab import START, Lab, Raw, condition
from host.test_lives import LONG, said

HOUR = 3600.0
SHORT = JOB.manifest.replace("queue-name: lq", "queue-name: lq, kueue.x-k8s.io/max-exec-time-seconds: '600'").replace(
    "20s", "5m"
)


def maintain(lab: Lab, name: str, begin: float, end: float, drain: bool = True, **labels: str) -> None:
    """A window in seconds from the start of the lab, for nodes with these labels: rack=r0."""
    keys = {"rack": RACK, "block": BLOCK, "host": HOSTNAME}
    lab.create(
        {
            "apiVersion": "closeknit.dev/v1alpha1",
            "kind": "Maintenance",
            "metadata": {"name": name},
            "spec": {
                "domains": [{"nodeLabels": {keys[key]: value for key, value in labels.items()}}],
                "from": show(START + begin),
                "until": show(START + end),
                "drain": drain,
            },
        }
    )
    lab.settle()


def racks(lab: Lab, job: str = "one") -> set[str]:
    """The racks of the running pods of a job."""
    nodes = {one["metadata"]["name"]: one["metadata"]["labels"][RACK] for one in lab.all(kinds.NODE)}
    pods = [pod for pod in lab.pods() if pod["metadata"]["labels"].get("batch.kubernetes.io/job-name") == job]
    return {nodes[pod["spec"]["nodeName"]] for pod in pods if pod["spec"].get("nodeName")}


def workload(lab: Lab, job: str = "one") -> Raw:
    return next(one for one in lab.workloads() if one["metadata"]["ownerReferences"][0]["name"] == job)


def all_blocks(lab: Lab, name: str, begin: float, end: float, drain: bool = True) -> None:
    maintain(lab, f"{name}-0", begin, end, drain, block="b0")
    maintain(lab, f"{name}-1", begin, end, drain, block="b1")


def test_a_gang_is_evicted_as_a_whole_when_the_window_begins_and_runs_elsewhere() -> None:
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    assert racks(lab) == {"r0"}
    maintain(lab, "rack", 2 * HOUR / 4, HOUR, rack="r0")
    lab.advance(1780)
    assert racks(lab) == {"r0"}
    assert not condition(workload(lab), "Evicted")
    lab.advance(60)
    assert racks(lab) == {"r1"}
    found = workload(lab)
    assert condition(found, "Admitted")
    evictions = found["status"]["schedulingStats"]["evictions"]
    assert [(one["reason"], one["count"]) for one in evictions] == [("Maintenance", 1)]


def test_without_drain_a_running_gang_stays_and_nothing_new_is_placed() -> None:
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    maintain(lab, "rack", 100, HOUR, drain=False, rack="r0")
    lab.apply(LONG.replace("name: one", "name: two"))
    lab.advance(200)
    assert racks(lab) == {"r0"}
    assert racks(lab, "two") == {"r1"}
    assert condition(workload(lab), "PodsReady")


def test_only_a_job_that_is_sure_to_end_is_still_placed_before_a_window() -> None:
    lab = centre()
    all_blocks(lab, "all", 700, 1400)
    lab.apply(LONG.replace("name: one", "name: long"))
    lab.apply(SHORT)
    lab.advance(60)
    assert condition(workload(lab, "one"), "Admitted")
    waits = workload(lab, "long")
    assert not condition(waits, "QuotaReserved")
    text = next(one["message"] for one in waits["status"]["conditions"] if one["type"] == "QuotaReserved")
    assert f'maintenance "all-0" from {show(START + 700)} until {show(START + 1400)}' in text


def test_a_waiting_job_starts_when_the_window_ends() -> None:
    lab = centre()
    all_blocks(lab, "all", 100, 500)
    lab.apply(LONG)
    lab.advance(499)
    assert not condition(workload(lab), "QuotaReserved")
    lab.advance(5)
    assert condition(workload(lab), "Admitted")


def test_a_waiting_job_starts_when_the_window_is_cancelled() -> None:
    lab = centre()
    all_blocks(lab, "all", 100, 5000)
    lab.apply(LONG)
    lab.advance(200)
    assert not condition(workload(lab), "QuotaReserved")
    lab.delete(kinds.MAINTENANCE, "", "all-1")
    lab.advance(5)
    assert racks(lab) <= {"r2", "r3"}
    assert condition(workload(lab), "Admitted")


def test_a_window_that_is_cancelled_before_it_begins_evicts_nothing() -> None:
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    maintain(lab, "rack", 100, 200, rack="r0")
    lab.delete(kinds.MAINTENANCE, "", "rack")
    lab.advance(300)
    assert "Evicted" not in {one["type"] for one in workload(lab)["status"]["conditions"]}


def test_while_two_windows_overlap_nodes_are_free_only_after_both() -> None:
    lab = centre()
    all_blocks(lab, "first", 10, 500)
    all_blocks(lab, "second", 300, 900)
    lab.apply(LONG)
    lab.advance(600)
    assert not condition(workload(lab), "QuotaReserved")
    lab.advance(310)
    assert condition(workload(lab), "Admitted")


def test_a_window_that_is_moved_counts_at_its_new_time() -> None:
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    maintain(lab, "rack", 100, 2000, rack="r0")
    spec = {"from": show(START + 1000)}
    lab.patch(kinds.MAINTENANCE, "", "rack", {"spec": spec})
    lab.advance(500)
    assert racks(lab) == {"r0"}
    lab.advance(600)
    assert racks(lab) == {"r1"}


@pytest.mark.parametrize("at", [50, 120, 300])
def test_a_host_that_was_killed_continues_with_its_windows(at: int) -> None:
    """It is killed before the window begins, while its workloads stop, or goes down before it ends and is late."""
    lab = centre()
    lab.apply(LONG)
    lab.advance(10)
    maintain(lab, "rack", 100, 400, rack="r0")
    lab.advance(at - 10)
    lab.restart()
    lab.advance(160)
    assert racks(lab) == {"r1"}
    lab.clock.time += 600
    lab.restart()
    lab.apply(LONG.replace("name: one", "name: two"))
    lab.advance(10)
    assert racks(lab, "two") == {"r0"}
    assert not lab.cluster.control_plane.cache.world.windows


def test_the_running_state_is_what_a_restart_finds() -> None:
    lab = centre()
    all_blocks(lab, "all", 100, 5000)
    maintain(lab, "host", 50, 600, host="h03")
    lab.advance(70)
    before = _windows(lab)
    lab.restart()
    lab.settle()
    assert _windows(lab) == before


def _windows(lab: Lab) -> list[tuple[str, tuple[object, ...]]]:
    world = lab.cluster.control_plane.cache.world
    return [(node.name, node.taints) for node in sorted(world.mirror.nodes.values(), key=lambda one: one.name)]


def test_in_the_profile_kueue_windows_have_no_effect() -> None:
    lab = centre(Lab(EmbeddedOptions(gates=Gates.profile("kueue"), seed=1)))
    all_blocks(lab, "all", 0, 5000)
    lab.apply(LONG)
    lab.advance(20)
    assert said(workload(lab), "Admitted") == ("True", "Admitted")
