"""The table of exit codes: the same cause ends every command in the same way."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, job
from closeknit.cli import exit_codes

NOT_THERE = [
    ["get", "job", "nope"],
    ["get", "nodes", "n11", "nope"],
    ["get", "job", "nope", "-o", "json"],
    ["get", "job", "nope", "-w"],
    ["describe", "workload", "nope"],
    ["describe", "node", "n11", "nope"],
    ["delete", "job", "nope"],
    ["decisions", "nope"],
    ["decisions", "job/nope"],
    ["explain", "nope"],
    ["queue", "nope"],
    ["queue", "stop", "nope"],
    ["queue", "resume", "nope/nope"],
    ["tree", "--flavor", "nope"],
    *(["node", verb, "nope"] for verb in ("cordon", "uncordon", "drain", "fail", "recover")),
]
WRONG_USE = [
    ["nope"],
    ["get", "nope"],
    ["get", "jobs", "--nope"],
    ["get", "jobs", "-l", "a=b=c"],
    ["get", "jobs", "-l", "!"],
    ["delete", "jobs", "-l", "in (a)"],
    ["delete", "jobs"],
    ["describe", "jobs"],
    ["apply"],
    ["decisions", "--since", "soon"],
    ["queue", "stop"],
    ["node", "drain"],
    ["explain"],
    ["completion", "nope"],
]
ON_A_CLUSTER = [
    ["get", "jobs"],
    ["get", "jobs", "-w"],
    ["describe", "job", "a"],
    ["delete", "job", "a"],
    ["decisions"],
    ["explain", "a"],
    ["what-if"],
    ["queue"],
    ["queue", "stop", "a"],
    ["tree"],
    ["node", "cordon", "a"],
]


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    live.create(*NODES, *QUEUES)


@pytest.mark.parametrize("args", NOT_THERE, ids=" ".join)
def test_a_missing_object_is_4(ck: Run, args: list[str]) -> None:
    ran = ck(*args)
    assert ran.code == 4
    assert "nope" in ran.err


@pytest.mark.parametrize("args", WRONG_USE, ids=" ".join)
def test_wrong_use_is_2(ck: Run, args: list[str]) -> None:
    assert ck(*args).code == 2


@pytest.mark.parametrize("command", ["apply", "delete", "check", "what-if", "explain"])
def test_a_manifest_that_cannot_be_used_is_2(ck: Run, command: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("kind: [\n")
    option = ["-f"] if command == "delete" else []
    assert ck(command, *option, str(tmp_path / "job.yaml")).code == 2


def test_what_the_cluster_refuses_is_4(ck: Run, tmp_path: Path) -> None:
    wrong = job("wrong", 1)
    wrong["spec"]["parallelism"] = -1
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(wrong))
    assert ck("apply", str(tmp_path / "job.yaml")).code == 4


@pytest.mark.parametrize("args", ON_A_CLUSTER, ids=" ".join)
def test_a_cluster_that_does_not_answer_is_4(
    ck: Run, args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host was never started, or has stopped."""
    monkeypatch.delenv("CLOSEKNIT_KUBECONFIG")
    assert ck(*args, "--data", str(tmp_path)).code == 4
    server = {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": server}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    ran = ck(*args, "--data", str(tmp_path))
    assert ran.code == 4
    assert "does not answer" in ran.err


def test_an_expired_timeout_is_3(live: Live, ck: Run) -> None:
    meta = {"name": "held", "namespace": "default", "finalizers": ["example.com/hold"]}
    live.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    assert ck("delete", "configmap", "held", "--timeout", "0.2s").code == 3


def test_nothing_to_show_or_to_delete_is_0(ck: Run) -> None:
    assert ck("get", "jobs").code == 0
    assert ck("delete", "jobs", "--all").code == 0
    assert ck("delete", "job", "nope", "--ignore-not-found").code == 0


def test_the_reference_has_every_code() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/commands.md").read_text()
    codes = [value for name, value in vars(exit_codes).items() if name.isupper()]
    assert sorted(codes) == [0, 1, 2, 3, 4, 5, 130]
    assert [code for code in codes if f"\n| {code} | " not in page] == []
