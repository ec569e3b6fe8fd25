"""Commands suggested in messages work as printed, on the same cluster."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, job
from closeknit.cli.main import main
from closeknit.cluster import kinds


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    live.create(*NODES, *QUEUES, job("large", 12))
    live.until(lambda store: [one for one in store.all(kinds.WORKLOAD) if (one.get("status") or {}).get("conditions")])


@pytest.mark.parametrize(
    "args",
    [
        ["get", "node", "nope"],
        ["get", "job", "nope"],
        ["describe", "job", "large"],
        ["describe", "job", "nope"],
        ["describe", "jobs"],
        ["decisions", "nope"],
        ["delete", "configmap", "nope"],
        ["node", "cordon", "nope"],
        ["node", "cordon", "no=pe"],
        ["queue", "stop", "nope"],
    ],
)
@pytest.mark.parametrize("option", ["--data", "--kubeconfig"])
def test_a_hint_can_be_typed_as_printed(
    live: Live,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    args: list[str],
    option: str,
    tmp_path: Path,
) -> None:
    """Run in a shell without any cluster configured."""
    monkeypatch.delenv("CLOSEKNIT_KUBECONFIG", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    where = str(live.folder) if option == "--data" else live.kubeconfig
    with pytest.raises(SystemExit):
        main([*args, option, where])
    said = "".join(capsys.readouterr())
    hints = re.findall(r"`closeknit ([^`]*)`", said) + re.findall(r"what would help: closeknit (.*)", said)
    assert hints
    for hint in hints:
        with pytest.raises(SystemExit) as ended:
            main(shlex.split(hint))
        assert ended.value.code == 0, hint
        capsys.readouterr()


def test_nothing_is_added_where_nothing_was_given(ck: Run) -> None:
    assert "`closeknit get nodes` lists those that exist" in ck("get", "node", "nope").err


def test_a_folder_with_a_space_is_quoted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["get", "jobs", "--data", str(tmp_path / "my cluster")])
    assert ended.value.code == 4
    assert f"start it: closeknit up --data '{tmp_path}/my cluster'," in capsys.readouterr().err
