"""`closeknit explain` on a cluster saved in files: the answer for one job, and which warnings it drops."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from closeknit.cli.main import main
from observe.written import Raw, cluster_queue, folder, job, local_queue, small_cluster, workload

Explain = Callable[..., tuple[list[str], str]]


@pytest.fixture
def explain(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Explain:
    """Explain a name in a cluster of these objects; the lines on stdout, and stderr."""

    def call(name: str, *objects: Raw) -> tuple[list[str], str]:
        with pytest.raises(SystemExit):
            main(["explain", name, "--cluster", folder(tmp_path, *objects)])
        captured = capsys.readouterr()
        return captured.out.splitlines(), captured.err

    return call


def preempted(one: Raw, by: str) -> Raw:
    when = "2026-03-01T00:00:00Z"
    message = f"Preempted to accommodate a workload (UID: {by}, JobUID: j) due to prioritization in the ClusterQueue"
    conditions = [
        {"type": "Evicted", "status": "True", "reason": "Preempted", "message": message, "lastTransitionTime": when},
        {"type": "Preempted", "status": "True", "reason": "InClusterQueue", "message": message},
    ]
    return {**one, "status": {"conditions": conditions}}


def test_the_preemptor_of_a_job_is_named(explain: Explain) -> None:
    victim = preempted(workload("low", 8, owner="train"), "uid-of-high")
    lines, _ = explain("train", *small_cluster(8), workload("high", 8, holds="cq", owner="urgent"), victim)
    assert lines[0] == "Job default/train waits in LocalQueue default/main of ClusterQueue cq: WaitingForQuota"
    assert lines[1] == (
        "  it was preempted at 2026-03-01T00:00:00Z by Job default/urgent: prioritization in the ClusterQueue"
    )
    assert "  preemption: it may not preempt any workload: ClusterQueue cq has withinClusterQueue: Never" in lines


def test_a_job_without_a_decision_waits_though_it_would_be_admitted(explain: Explain) -> None:
    lines, _ = explain("train", *small_cluster(8), workload("w", 8, owner="train"))
    assert lines[0] == "Job default/train waits in LocalQueue default/main of ClusterQueue cq: NotDecidedYet"
    assert lines[1].startswith("  It would be admitted now: ")
    assert lines[-1].endswith("simulates that")


def test_a_deleted_preemptor_is_reported_in_the_words_of_the_condition(explain: Explain) -> None:
    victim = preempted(workload("low", 8, owner="train"), "nobody")
    lines, _ = explain("train", *small_cluster(4), victim)
    assert lines[1].endswith(
        "Z: Preempted to accommodate a workload (UID: nobody, JobUID: j) due to prioritization in the ClusterQueue"
    )


def test_warnings_about_other_objects_are_dropped(explain: Explain) -> None:
    checks = {"admissionChecks": [{"name": "c", "onFlavors": ["other"]}]}
    odd = cluster_queue("odd", admissionChecksStrategy=checks, resourceGroups=[])
    cluster = [*small_cluster(), odd, local_queue("aside", "odd")]
    _, about_train = explain("train", *cluster, job("train"))
    _, about_lost = explain("lost", *cluster, job("lost", queue="aside"))
    assert "ClusterQueue odd" not in about_train
    assert "warning: " in about_lost
    assert "ClusterQueue odd: spec.admissionChecksStrategy" in about_lost


def test_an_ignored_queue_is_always_reported(explain: Explain) -> None:
    broken = cluster_queue("bad", fairSharing={"weight": "-1"})
    _, err = explain("train", *small_cluster(), broken, job("train"))
    assert "warning: ignored because they are invalid: ClusterQueue bad" in err


def test_a_job_from_a_file_that_was_not_submitted_gets_a_note(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = folder(tmp_path / "cluster", *small_cluster(8), job("there"))
    for name, is_new in (("new", True), ("there", False)):
        (tmp_path / f"{name}.yaml").write_text(json.dumps(job(name)))
        with pytest.raises(SystemExit):
            main(["explain", str(tmp_path / f"{name}.yaml"), "--cluster", cluster])
        out, told = capsys.readouterr()
        assert ("of ClusterQueue cq: NotSubmitted" in out) is is_new
        assert (f"note: Job default/{name} is not in the cluster; explaining it as if" in told) is is_new


def test_a_misspelt_key_of_a_job_with_a_workload_gets_a_warning(explain: Explain) -> None:
    wrong = job("train", uid="uid-of-train")
    wrong["spec"]["template"]["metadata"] = {"annotations": {"kueue.x-k8s.io/podset-requird-topology": "rack"}}
    _, err = explain("train", *small_cluster(8), workload("job-train-abcde", 8, owner="train"), wrong, job("other"))
    assert err.count("podset-requird-topology]: is not a known key; did you mean kueue.x-k8s.io/podset-required") == 1
