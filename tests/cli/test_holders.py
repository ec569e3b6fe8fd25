"""Objects with a blocked deletion are marked in tables, and described with what blocks them."""

from __future__ import annotations

import pytest

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, admitted, job
from closeknit.cluster import kinds


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    live.create(*NODES, *QUEUES, job("train", 2))
    live.until(admitted("train"))


def test_objects_that_block_a_deletion_are_named_down_to_the_workload(ck: Run) -> None:
    ran = ck("delete", "topology/default", "flavor/main", "cq/research", "--timeout", "0.2s")
    assert ran.code == 3
    assert "`closeknit describe topology.kueue.x-k8s.io/default` shows what blocks the deletion" in ran.err
    assert ", blocked by 1 ResourceFlavor: main; it is deleted once no flavor uses it\n" in described(ck, "topology")
    assert ", blocked by 1 ClusterQueue: research; it is deleted once no queue uses it\n" in described(ck, "flavor")
    line = next(line for line in described(ck, "cq").splitlines() if "terminating:" in line)
    assert ", blocked by 1 Workload: default/job-train-" in line
    assert line.endswith("; it is deleted once they finish or are deleted")


def described(ck: Run, kind: str) -> str:
    name = {"topology": "default", "flavor": "main", "cq": "research"}[kind]
    return ck("describe", kind, name).out


@pytest.mark.parametrize("kind", ["topologies", "flavors", "clusterqueues"])
def test_terminating_objects_are_marked_in_tables(ck: Run, kind: str) -> None:
    assert [line.split()[-1] for line in ck("get", kind).out.splitlines()] == ["STATE", "Terminating"]


def test_everything_is_deleted_once_the_last_blocker_is_gone(live: Live, ck: Run) -> None:
    """The last test of this module."""
    assert ck("delete", "job", "train").code == 0
    live.until(lambda store: not store.objects[kinds.TOPOLOGY] and not store.objects[kinds.CLUSTER_QUEUE])
