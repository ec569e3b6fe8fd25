"""Control characters from objects and files are shown as escapes by every command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, job, node
from closeknit.cli.main import main
from closeknit.cluster import kinds
from closeknit.cluster.port import Key

HOSTILE = "\x1b]0;owned\x07\u202edaeh\u202c\x9b2J"
SHOWN = "\\u001b]0;owned\\u0007\\u202edaeh\\u202c\\u009b2J"


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    """A job with hostile annotations, and an event about it."""
    live.create(*NODES, *QUEUES, job("train", 6, annotations={"example.com/note": HOSTILE}))
    live.until(lambda store: store.all(kinds.WORKLOAD))
    uid = live.do(lambda store: store.find(kinds.JOB, "default", "train"))["metadata"]["uid"]  # type: ignore[index]
    live.create(
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "told", "namespace": "default"},
            "involvedObject": {"apiVersion": "batch/v1", "kind": "Job", "namespace": "default", "name": "train"}
            | {"uid": uid},
            "type": "Warning",
            "reason": "Told",
            "message": f"{HOSTILE}\nerror: forged",
        }
    )
    live.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "odd"}})
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stuck", "namespace": "odd"},
        "spec": {"schedulerName": "none", "containers": [{"name": "c", "image": "i"}]},
    }
    live.create(pod)
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": HOSTILE}
    key = Key(kinds.POD, "odd", "stuck")
    live.do(lambda store: store.patch(key, {"status": {"conditions": [why]}}, subresource="status"))


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "job", "train"],
        ["get", "events"],
        ["explain", "pod/stuck", "-n", "odd"],
        ["describe", "pod", "stuck", "-n", "odd"],
    ],
)
def test_what_objects_say_is_shown_and_never_obeyed(ck: Run, words: list[str]) -> None:
    ran = ck(*words)
    assert ran.code == 0
    assert SHOWN in ran.out
    assert "\x1b" not in ran.out + ran.err
    assert "\nerror: forged" not in ran.out


def test_as_json_the_value_is_the_same(ck: Run) -> None:
    found = json.loads(ck("get", "job", "train", "-o", "json").out)
    assert found["metadata"]["annotations"]["example.com/note"] == HOSTILE
    found = yaml.safe_load(ck("get", "job", "train", "-o", "yaml").out)
    assert found["metadata"]["annotations"]["example.com/note"] == HOSTILE


@pytest.mark.parametrize(
    ("words", "code"),
    [(["explain", HOSTILE], 4), (["get", HOSTILE], 3), ([HOSTILE], 3), (["tree", "--nodes", f"{HOSTILE}.yaml"], 3)],
)
def test_errors_show_what_they_were_given(ck: Run, words: list[str], code: int) -> None:
    ran = ck(*words)
    assert ran.code in (2, 3, 4), ran.err
    assert "owned" in ran.err
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err


def test_names_in_files_are_shown_by_check_and_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = node(f"n{HOSTILE}", f"b{HOSTILE}", "r1\nerror: forged")
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [odd]}))
    for words in (
        ["tree", "--nodes", str(path), "--levels", "example.com/block,example.com/rack"],
        ["check", str(path)],
        ["tree", "--nodes", str(path), "--levels", "example.com/block,example.com/rack", "-o", "svg"],
    ):
        with pytest.raises(SystemExit):
            main(words)
        ran = capsys.readouterr()
        assert "\x1b" not in ran.out + ran.err
        assert "\u202e" not in ran.out + ran.err
        assert "\nerror: forged" not in ran.out + ran.err


def test_the_streams_are_as_before_when_a_command_has_ended() -> None:
    before = sys.stdout, sys.stderr
    with pytest.raises(SystemExit):
        main(["gates"])
    assert (sys.stdout, sys.stderr) == before


def test_control_sequences_are_escaped_in_a_pipe_too(tmp_path: Path) -> None:
    job = '{apiVersion: batch/v1, kind: Job, metadata: {name: "a\\u001b[2Jb"}, spec: {}}'
    (tmp_path / "job.yaml").write_text(job)
    words = [sys.executable, "-m", "closeknit", "check", str(tmp_path / "job.yaml")]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert "a\\u001b[2Jb" in told.stdout
    assert "\x1b" not in told.stdout
