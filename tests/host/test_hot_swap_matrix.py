"""Failed nodes with the profile `kueue-0.14`, as the documentation of that version promises, gate by gate."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import BLOCK, HOST, RACK
from host.hot_swap_matrix import PROFILE, ROWS, Row
from host.lab import Lab, condition
from host.test_node_failure import FIVE, PAUSE, evictions, fail, planned, running

SIX = FIVE.replace("parallelism: 5", "parallelism: 6").replace("completions: 5", "completions: 6")
"""A job that fills its rack: there is no spare node."""

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.title)
swapping = pytest.mark.parametrize("row", [row for row in ROWS if row.replacement], ids=lambda row: row.title)


def started(row: Row, manifest: str = FIVE, cpu: int = 6) -> Lab:
    return running(manifest, EmbeddedOptions(gates=Gates.profile(PROFILE, row.gates), seed=1), cpu)


def lose(lab: Lab, node: str) -> None:
    """Advance to the moment at which the node is not ready."""
    fail(lab, node)
    while condition(lab.get(kinds.NODE, node), "Ready"):
        lab.advance(1)


def end_pods(lab: Lab, node: str) -> None:
    """Delete the pods on a node. Its kubelet is dead, so that they keep terminating."""
    for pod in lab.pods():
        if pod["spec"].get("nodeName") == node:
            lab.delete(kinds.POD, "default", pod["metadata"]["name"])


def add_node(lab: Lab, name: str) -> None:
    room = {"cpu": "4", "memory": "64Gi", "pods": "32"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    labels = {BLOCK: "b0", RACK: "r0", HOST: name, "pool": "gpu"}
    lab.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status})


@rows
def test_a_node_that_is_not_ready_for_30_s_is_replaced_while_its_pods_stay(row: Row) -> None:
    lab = started(row)
    lose(lab, "h01")
    lab.advance(25)
    assert planned(lab) == {"h00", "h01"}, "not before 30 s"
    lab.advance(10)
    assert planned(lab) == ({"h00", "h02"} if row.by_time else {"h00", "h01"})


@rows
def test_an_unready_node_is_replaced_when_its_pods_terminate(row: Row) -> None:
    lab = started(row)
    lose(lab, "h01")
    lab.advance(5)
    end_pods(lab, "h01")
    lab.advance(10)
    assert planned(lab) == ({"h00", "h02"} if row.by_pods else {"h00", "h01"})


@rows
def test_in_the_end_a_lost_node_is_replaced_unless_hot_swap_is_off(row: Row) -> None:
    lab = started(row)
    lose(lab, "h01")
    lab.advance(PAUSE)
    assert planned(lab) == ({"h00", "h02"} if row.replacement else {"h00", "h01"})
    assert evictions(lab.workloads()[0]) == {}
    assert condition(lab.workloads()[0], "PodsReady") == row.replacement, "without it the job is stuck"


@rows
def test_a_deleted_node_is_replaced_at_once(row: Row) -> None:
    lab = started(row)
    lab.delete(kinds.NODE, "", "h01")
    lab.advance(5)
    assert planned(lab) == ({"h00", "h02"} if row.replacement else {"h00", "h01"})


@swapping
def test_a_job_without_a_spare_node_is_evicted_at_the_first_try_or_waits_for_one(row: Row) -> None:
    lab = started(row, SIX, cpu=4)
    lab.delete(kinds.NODE, "", "h01")
    lab.advance(5)
    assert evictions(lab.workloads()[0]) == ({} if row.retries else {"NodeFailures": 1})


@pytest.mark.parametrize("row", [row for row in ROWS if row.retries], ids=lambda row: row.title)
def test_a_spare_node_that_appears_ends_the_waiting_at_once(row: Row) -> None:
    """The retries are up to 30 s apart by then."""
    lab = started(row, SIX, cpu=4)
    lab.delete(kinds.NODE, "", "h01")
    lab.advance(200)
    assert planned(lab) == {"h00", "h01", "h02"}
    add_node(lab, "new")
    lab.advance(3)
    assert planned(lab) == {"h00", "h02", "new"}
    assert evictions(lab.workloads()[0]) == {}


def test_with_the_default_profile_too() -> None:
    gates = Gates.profile(changes={"TASFailedNodeReplacementFailFast": False})
    lab = running(SIX, EmbeddedOptions(gates=gates, seed=1))
    lab.delete(kinds.NODE, "", "h01")
    lab.advance(200)
    add_node(lab, "new")
    lab.advance(1)
    assert planned(lab) == {"h00", "h02", "new"}
