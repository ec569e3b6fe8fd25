"""Shell completion: what Tab offers."""

from __future__ import annotations

from pathlib import Path
from socket import socket
from time import monotonic

import pytest
import yaml
from click.shell_completion import ShellComplete

from cli.live import NODES, QUEUES, Live, job
from closeknit.cli.main import cli, main


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    live.create(*NODES, *QUEUES, job("train", 1), job("tune", 1))


@pytest.fixture
def offered(live: Live, monkeypatch: pytest.MonkeyPatch) -> ShellComplete:
    monkeypatch.setenv("CLOSEKNIT_KUBECONFIG", live.kubeconfig)
    return ShellComplete(cli, {}, "closeknit", "_CLOSEKNIT_COMPLETE")


def words(offered: ShellComplete, *before: str, begun: str = "") -> list[str]:
    return [item.value for item in offered.get_completions(list(before), begun)]


def test_kinds_come_first_and_then_names_of_the_running_cluster(offered: ShellComplete) -> None:
    assert words(offered, "get", begun="no") == ["noderesourcetopologies", "nodes"]
    assert words(offered, "get", "jobs", begun="t") == ["train", "tune"]
    assert words(offered, "describe", begun="job/tr") == ["job/train"]
    assert words(offered, "delete", "job", "train", begun="t") == ["tune"]


def test_queues_and_domains_are_offered(offered: ShellComplete) -> None:
    assert words(offered, "queue", begun="re") == ["resume", "research"]
    assert words(offered, "queue", "stop", begun="re") == ["research"]
    assert words(offered, "node", "drain", begun="r") == ["r1", "r2", "r3", "r4"]
    assert words(offered, "node", "fail", begun="n1") == ["n11", "n12"]
    assert "train" in words(offered, "explain", begun="t")


def test_completion_uses_the_given_namespace(offered: ShellComplete) -> None:
    assert words(offered, "get", "-n", "kube-system", "jobs", begun="t") == []


def test_all_and_namespaces_and_jobs_of_decisions_are_offered(offered: ShellComplete) -> None:
    assert words(offered, "get", begun="al") == ["all"]
    assert words(offered, "get", "-n", begun="kube-s") == ["kube-system"]
    assert "train" in words(offered, "decisions", begun="tr")


def test_a_cluster_that_never_answers_is_not_waited_for(
    offered: ShellComplete, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A server that accepts connections and never answers."""
    monkeypatch.delenv("CLOSEKNIT_KUBECONFIG")
    with socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        server = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = {
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "current-context": "c",
        }
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        begin = monotonic()
        assert words(offered, "get", "--data", str(tmp_path), "jobs", begun="t") == []
        assert monotonic() - begin < 5


def test_a_cluster_that_is_not_there_offers_nothing_and_is_no_error(
    offered: ShellComplete, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CLOSEKNIT_KUBECONFIG")
    assert words(offered, "get", "--data", str(tmp_path), "jobs", begun="t") == []
    (tmp_path / "kubeconfig").write_text("nonsense: [")
    assert words(offered, "get", "--data", str(tmp_path), "jobs", begun="t") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_is_offered_is_printed_for_the_shell(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole program as the script of the shell runs it, with its escaped streams."""
    monkeypatch.setenv("_CLOSEKNIT_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", "closeknit pla")
    monkeypatch.setenv("COMP_CWORD", "pla" if shell == "fish" else "1")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "place" in capsys.readouterr().out
