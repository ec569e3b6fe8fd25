"""The cluster that a command works on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from closeknit.cli.hints import forget, hint
from closeknit.cli.main import main
from closeknit.cli.program import ALONE, PLUGIN, call_it
from closeknit.cli.target import NoCluster, data_folder, run, target_of
from closeknit.cluster.kube.client import Client


def written(path: Path, server: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    tree = {
        "clusters": [{"name": "one", "cluster": {"server": server}}],
        "contexts": [{"name": "ctx", "context": {"cluster": "one", "namespace": "team"}}],
        "current-context": "ctx",
    }
    path.write_text(json.dumps(tree))
    return path


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CLOSEKNIT_KUBECONFIG", "KUBECONFIG", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_the_folder_of_the_host_follows_the_xdg_rules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert data_folder() == tmp_path / "home/.local/state/closeknit"
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert data_folder() == Path("/var/state/closeknit")
    assert data_folder("/elsewhere") == Path("/elsewhere")


def test_an_option_counts_before_the_variable_and_that_before_the_embedded_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written(tmp_path / "home/.local/state/closeknit/kubeconfig", "https://127.0.0.1:1")
    assert target_of(None, None, None).config.server == "https://127.0.0.1:1"
    monkeypatch.setenv("CLOSEKNIT_KUBECONFIG", str(written(tmp_path / "two", "https://127.0.0.1:2")))
    assert target_of(None, None, None).config.server == "https://127.0.0.1:2"
    third = str(written(tmp_path / "three", "https://127.0.0.1:3"))
    assert target_of(third, None, None).config.server == "https://127.0.0.1:3"
    written(tmp_path / "data/kubeconfig", "https://127.0.0.1:4")
    assert target_of(None, None, str(tmp_path / "data")).config.server == "https://127.0.0.1:4"


def test_the_kubeconfig_of_kubectl_is_used_only_when_a_context_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written(tmp_path / "home/.kube/config", "https://127.0.0.1:5")
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "six", "https://127.0.0.1:6")))
    with pytest.raises(NoCluster):
        target_of(None, None, None)
    assert target_of(None, "ctx", None).config.server == "https://127.0.0.1:6"
    monkeypatch.delenv("KUBECONFIG")
    found = target_of(None, "ctx", None)
    assert (found.config.server, found.config.namespace) == ("https://127.0.0.1:5", "team")
    assert found.words == f"context ctx of {tmp_path}/home/.kube/config"


@pytest.mark.parametrize("is_set", [False, True])
def test_without_a_cluster_the_exit_code_is_4_with_a_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_set: bool
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if is_set:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    unread = "; $KUBECONFIG is kubectl's and is used only with --context" if is_set else ""
    with pytest.raises(SystemExit) as ended:
        main(["get", "jobs", "--data", str(tmp_path / "none")])
    assert ended.value.code == 4
    assert capsys.readouterr().err == (
        f"error: no cluster runs in {tmp_path}/none; start it: closeknit up --data {tmp_path}/none, "
        f"or give another with --kubeconfig or --context{unread}\n"
    )


def test_a_stopped_host_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written(tmp_path / "data/kubeconfig", "http://127.0.0.1:1")
    with pytest.raises(SystemExit) as ended:
        main(["get", "jobs", "--data", str(tmp_path / "data")])
    assert ended.value.code == 4
    said = capsys.readouterr().err
    assert "the embedded host in" in said
    assert "does not answer: http://127.0.0.1:1: connection refused; start it: closeknit up --data" in said


@pytest.fixture
def plugin() -> Iterator[None]:
    """Called by kubectl."""
    call_it(PLUGIN)
    yield
    call_it(ALONE)


@pytest.mark.usefixtures("plugin")
def test_as_a_plug_in_of_kubectl_it_works_where_kubectl_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    written(tmp_path / "home/.local/state/closeknit/kubeconfig", "https://127.0.0.1:1")
    monkeypatch.setenv("CLOSEKNIT_KUBECONFIG", str(written(tmp_path / "two", "https://127.0.0.1:2")))
    written(tmp_path / "home/.kube/config", "https://127.0.0.1:5")
    assert target_of(None, None, None).config.server == "https://127.0.0.1:5"
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "six", "https://127.0.0.1:6")))
    assert target_of(None, None, None).config.server == "https://127.0.0.1:6"


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_takes_the_options_that_the_command_takes(tmp_path: Path) -> None:
    written(tmp_path / "home/.kube/config", "https://127.0.0.1:5")
    third = str(written(tmp_path / "three", "https://127.0.0.1:3"))
    assert target_of(third, None, None).config.server == "https://127.0.0.1:3"
    written(tmp_path / "data/kubeconfig", "https://127.0.0.1:4")
    assert target_of(None, None, str(tmp_path / "data")).config.server == "https://127.0.0.1:4"


@pytest.mark.usefixtures("plugin")
def test_a_plug_in_prints_the_name_it_was_called_by() -> None:
    forget()
    assert hint("get", "jobs") == "kubectl closeknit get jobs"


class Unspeakable:
    """Stands for all objects of a cluster: putting them into words takes as long as reading them."""

    def __repr__(self) -> str:
        raise AssertionError("nobody asked for it in words")


def test_what_a_command_has_read_is_never_put_into_words(tmp_path: Path) -> None:
    given = Unspeakable()

    async def read(_: Client) -> Unspeakable:
        return given

    assert run(target_of(str(written(tmp_path / "config", "https://127.0.0.1:1")), None, None), read) is given
