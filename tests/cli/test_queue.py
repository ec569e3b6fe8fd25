"""`closeknit queue` on a cluster in files."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

from closeknit.cli.main import main
from closeknit.report.bars import BORROWED, FREE, OURS, USED
from observe.written import cluster_queue, flavor, folder, local_queue, namespace, small_cluster, workload

SAMPLE = str(Path(str(files("closeknit") / "samples")) / "cluster")


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["queue", *args])
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_the_sample_of_the_tour(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "--cluster", SAMPLE)
    assert (code, err) == (0, "")
    shown = [" ".join(line.replace("│", "").split()) for line in out.splitlines()]
    assert shown[0] == "Cohort lab"
    assert "├─ ClusterQueue batch 3 admitted, 1 pending, share 250, active" in shown
    assert "nvidia.com/gpu ▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓ 48 of 32 used, 16 borrowed" in shown
    assert "nvidia.com/gpu ▒▒▒▒▒▒▒▒░░░░░░░░ 16 of 32 used, 16 lent" in shown
    assert "LocalQueue" not in out


def test_the_help_explains_the_marks_that_bars_have(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "--help")
    said = " ".join(out.split())
    assert f"`{USED}` is usage within the queue's own quota, `{BORROWED}` is borrowed, `{FREE}` is free" in said
    assert OURS not in said


def test_wide_shows_local_queues(capsys: pytest.CaptureFixture[str]) -> None:
    assert "LocalQueue team-b/batch" in run(capsys, "--cluster", SAMPLE, "-o", "wide")[1]


def test_yaml_says_what_json_says(capsys: pytest.CaptureFixture[str]) -> None:
    as_json = json.loads(run(capsys, "--cluster", SAMPLE, "-o", "json")[1])
    assert yaml.safe_load(run(capsys, "--cluster", SAMPLE, "-o", "yaml")[1]) == as_json
    (lab,) = as_json["cohorts"]
    batch = lab["clusterQueues"][0]
    gpus = next(one for one in batch["quota"] if one["resource"] == "nvidia.com/gpu")
    assert (gpus["nominal"], gpus["used"], gpus["borrowed"]) == (32, 48, 16)


def test_an_inactive_queue_shows_its_reason(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = folder(tmp_path, namespace("default"), cluster_queue("cq"), local_queue("main", "cq"))
    code, out, _ = run(capsys, "--cluster", path)
    assert code == 0
    assert "inactive" in out
    assert "FlavorNotFound: Can't admit new workloads: references missing ResourceFlavor(s): gpu." in out


def test_workloads_of_a_folder_are_counted_and_nothing_is_decided(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = folder(tmp_path, *small_cluster(8), workload("a", 3, holds="cq"), workload("b", 2))
    code, out, _ = run(capsys, "--cluster", path)
    assert code == 0
    assert "1 admitted, 1 pending" in out
    assert "3 of 8 used" in out


def test_a_folder_without_queues_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, err = run(capsys, "--cluster", folder(tmp_path, flavor()))
    assert (code, out) == (2, "")
    assert "no ClusterQueue and no LocalQueue found" in err
