"""Every command reports a failing node under pods: the affected workloads, since when, and what happens next."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, Raw, admitted, job, local_queue
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store

KUEUE = "kueue.x-k8s.io/v1beta2"
BORNE = "after the pods' 300 s toleration expires and they are evicted, these pods get another host"


def plain_queue() -> list[Raw]:
    """Quota on nodes without a topology."""
    quota = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": 8}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}]}
    flavor = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "plain"}, "spec": {}}
    queue = {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "plain"}, "spec": spec}
    return [flavor, queue, local_queue("plain", "plain")]


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    """train has 4 pods on n11 and 2 on n12."""
    live.create(*NODES, *QUEUES, *plain_queue(), job("train", 6))
    live.until(admitted("train"))
    live.until(lambda store: len(running(store)) == 6)


def running(store: Store) -> list[Raw]:
    return [one for one in store.all(kinds.POD) if (one.get("status") or {}).get("phase") == "Running"]


def is_lost(store: Store, node: str) -> bool:
    conditions = store.get(kinds.NODE, "", node)["status"]["conditions"]
    taints = (store.get(kinds.NODE, "", node).get("spec") or {}).get("taints") or ()
    return any(one["type"] == "Ready" and one["status"] != "True" for one in conditions) and bool(taints)


def test_ready_nodes_add_no_notes(ck: Run) -> None:
    assert ck("get", "jobs").err == ""
    assert "NotReady" not in ck("describe", "job", "train").out


@pytest.fixture(scope="module")
def lost(live: Live) -> str:
    """n11 fails; the output of `node fail`."""
    ran = subprocess.run(
        [sys.executable, "-m", "closeknit", "node", "fail", "n11", "--kubeconfig", live.kubeconfig],
        capture_output=True,
        text=True,
        check=True,
    )
    live.until(lambda store: is_lost(store, "n11"))
    return ran.stdout


def test_failing_a_node_lists_the_affected_workloads_and_what_happens_next(lost: str) -> None:
    first, hit = lost.splitlines()
    assert first == "node/n11 failed"
    assert hit.startswith("affected: default/job-train-")
    assert f", 4 pods on n11; once the node is NotReady: {BORNE}" in hit


def test_failing_an_empty_node_affects_no_workload(live: Live, ck: Run) -> None:
    assert ck("node", "fail", "n42").out == "node/n42 failed\nno workload is affected: no pods run there\n"
    ck("node", "recover", "n42")


@pytest.mark.parametrize("kind", ["jobs", "workloads", "all"])
def test_tables_of_affected_jobs_have_a_note(ck: Run, lost: str, kind: str) -> None:
    ran = ck("get", kind)
    assert ran.code == 0
    (note,) = ran.err.splitlines()
    assert note.startswith("note: default/job-train-")
    assert ": node n11 with 4 of its pods is NotReady since " in note
    assert BORNE in note
    assert ck("get", "nodes").err == ""


def test_describe_reports_the_failing_node_in_one_line(ck: Run, lost: str) -> None:
    for words in (["job", "train"], ["workload", "train"]):
        lines = ck("describe", *words).out.splitlines()
        (line,) = [line for line in lines if "NotReady since" in line]
        assert line.startswith("  node n11 with 4 of its pods is NotReady since ")
        assert " ago; next at " in line


def test_describe_node_lists_the_affected_workloads(ck: Run, lost: str) -> None:
    lines = ck("describe", "node", "n11").out.splitlines()
    assert lines[lines.index("affected workloads:") + 1].startswith("  default/job-train-")


def test_a_workload_that_no_topology_placed_is_found_by_its_pods(live: Live, ck: Run, lost: str) -> None:
    live.create(job("loose", 2, queue="plain", required=""))
    live.until(admitted("loose"))
    nodes = live.until(lambda store: {pod["spec"]["nodeName"] for pod in running(store) if "loose" in str(pod)})
    out = ck("node", "fail", *nodes).out
    assert "affected: default/job-loose-" in out
    assert "its pods are evicted, and new ones go to other nodes (it was not placed by topology)" in out
    live.until(lambda store: all(is_lost(store, node) for node in nodes))
    assert "its pods are evicted, and new ones go to other nodes" in ck("get", "job", "loose").err
