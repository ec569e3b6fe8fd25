"""`closeknit what-if` of groups of pods: would they fit on this cluster now, and after a change of it?"""

from __future__ import annotations

import json
from pathlib import Path

from .clusters import ELEVEN, ZONE, kai_job, node, nodes, pod, topology
from .conftest import Run

SIX = [kai_job("six", 6, required=ZONE)]


def test_a_group_that_fits_now_is_drawn(run: Run) -> None:
    ran = run("what-if", SIX, "--cluster", [*nodes(ELEVEN), topology()])
    assert ran.code == 0
    assert "Job six: 6 pods on 6 nodes" in ran.out


def test_a_group_that_waits_is_explained_and_fits_with_fewer_pods_or_more_nodes(run: Run, tmp_path: Path) -> None:
    busy = [*nodes(ELEVEN), topology(), pod("other", node="b1-1")]
    now = run("what-if", SIX, "--cluster", busy, "-o", "json")
    assert now.code == 3
    assert json.loads(now.out)["obstacle"]["candidates"][0]["pods"] == 5
    without = run("what-if", SIX, "--cluster", busy[:-1], "-o", "json")
    assert without.code == 0
    more = [node("b9", 1, {ZONE: "zone-b", "topology.kubernetes.io/rack": "rack-b9"})]
    grown = run("what-if", SIX, "--cluster", busy, "--cluster", more, "-o", "json")
    assert grown.code == 0
    assert len(json.loads(grown.out)["bindings"]) == 6


def test_jobs_with_queues_and_groups_are_asked_about_apart(run: Run) -> None:
    queued = kai_job("queued", 1)
    queued["metadata"] = {"name": "queued", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    del queued["spec"]["template"]["spec"]["schedulerName"]
    ran = run("what-if", [*SIX, queued], "--cluster", [*nodes(ELEVEN), topology()])
    assert ran.code == 2
    assert "jobs with a queue and groups of pods are given together" in ran.err


def test_without_nodes_the_option_that_the_command_has_is_named(run: Run) -> None:
    ran = run("what-if", [*SIX, topology()])
    assert ran.code == 2
    assert "--cluster: no nodes are given; add --cluster FILE, or Nodes to the files" in ran.err
    assert run("what-if", [*SIX, topology(), *nodes(ELEVEN)]).code == 0
