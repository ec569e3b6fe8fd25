"""`closeknit numa simulate`: what it prints, and what it refuses."""

from __future__ import annotations

import pytest
import yaml

from closeknit.cli.main import main


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["numa", "simulate", *words])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_the_stage_starts_pending_pods_that_have_a_start_time(capsys: pytest.CaptureFixture[str]) -> None:
    stage = yaml.safe_load(printed(capsys, "--print-stage"))
    keys = [one["key"] for one in stage["spec"]["selector"]["matchExpressions"]]
    assert (stage["kind"], stage["metadata"]["name"]) == ("Stage", "pod-ready")
    assert keys == [".metadata.deletionTimestamp", ".status.phase", ".status.startTime"]


def test_the_role_writes_the_status_of_pods_reports_and_events_only(capsys: pytest.CaptureFixture[str]) -> None:
    _, role, binding = yaml.safe_load_all(printed(capsys, "--print-rbac"))
    written = {
        resource: set(one["verbs"]) - {"get", "list", "watch"} for one in role["rules"] for resource in one["resources"]
    }
    assert {resource: verbs for resource, verbs in written.items() if verbs} == {
        "pods/status": {"update"},
        "noderesourcetopologies": {"create", "update", "delete"},
        "events": {"create"},
    }
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "closeknit-numa-simulate", "namespace": "closeknit-system"}
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--nodes", "kwok"], 'error: --nodes: "kwok" is not a label; write KEY=VALUE'),
        (["--delay", "soon"], '"soon" is not a duration: write one such as 90s, 10m or 1h30m'),
        ([], "numa simulate: does not run in a pod, and no cluster is given; give --kubeconfig FILE or --context NAME"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_remedy(
    words: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLOSEKNIT_KUBECONFIG", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["numa", "simulate", *words])
    assert ended.value.code == 2
    assert text in capsys.readouterr().err
