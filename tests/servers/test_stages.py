"""The stage files treat pods as the embedded host does, and stay valid when the plan is inserted."""

from __future__ import annotations

from pathlib import Path

import yaml

from closeknit.cluster.embedded.standins.pod_plan import SERVICES
from closeknit.dialects.own_marks import EXIT_CODE, FAIL_AFTER, RUN_TIME, START_TIME
from servers.components import STAGES, write_stages

PLAN = (STAGES / "plan.jq").read_text()


def test_the_plan_knows_every_annotation_of_the_embedded_host() -> None:
    assert [key for key in (EXIT_CODE, FAIL_AFTER, RUN_TIME, START_TIME) if f'"{key}"' not in PLAN] == []


def test_the_same_kinds_are_services() -> None:
    words = PLAN.partition("IN(")[2].partition(")")[0]
    assert {word.strip(' "') for word in words.split(",")} == SERVICES


def test_the_plan_is_put_into_every_place_that_asks_for_it(tmp_path: Path) -> None:
    files = write_stages(tmp_path / "stages")
    assert [file.name for file in files] == ["node.yaml", "pod.yaml"]
    stages = {one["metadata"]["name"]: one["spec"] for file in files for one in yaml.safe_load_all(file.read_text())}
    assert set(stages) == {
        *("node-up", "node-heartbeat"),
        *("pod-start", "pod-succeed", "pod-fail", "pod-stop", "pod-delete"),
    }
    for name in ("pod-start", "pod-succeed", "pod-fail"):
        expression = stages[name]["delay"]["durationFrom"]["jq"]["expression"]
        assert expression.startswith("(def seconds:")
        assert expression.endswith(("| .start", "| .end"))
