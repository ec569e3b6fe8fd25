"""The state folder, taken away or damaged under a running host; and files that other users could read."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from stat import S_IMODE
from time import monotonic, sleep

import pytest

from contract.objects import config_map, config_maps
from host.process import PATIENCE, HostProcess

UNAVAILABLE = 4
WITHIN = 6.0
"""A second, and what a busy machine needs to end a process."""
MAPS = config_maps("default")


def deleted(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced(folder: Path) -> None:
    folder.rename(folder.with_name("old"))
    shutil.copytree(folder.with_name("old"), folder)


def read_only(folder: Path) -> None:
    folder.chmod(0o500)


def file_deleted(folder: Path) -> None:
    (folder / "state.db").unlink()


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (deleted, "was deleted while the host was running"),
        (replaced, "was replaced while the host was running"),
        (read_only, "is read-only while the host was running"),
        (file_deleted, "state.db was deleted while the host was running"),
    ],
)
def test_a_host_that_loses_its_folder_says_so_and_ends(folder: Path, attack: Callable[[Path], None], said: str) -> None:
    with HostProcess(folder, "--demo", "first-steps") as host:
        attack(folder)
        assert host.process.wait(PATIENCE) == UNAVAILABLE
    text = Path(host.output.name).read_text()
    assert said in text
    assert "choose another with --data" in text
    assert "Traceback" not in text
    folder.parent.chmod(0o700)
    if folder.exists():
        folder.chmod(0o700)


def test_no_write_is_acknowledged_once_the_folder_is_gone(folder: Path) -> None:
    with HostProcess(folder, "--demo", "first-steps") as host:
        assert host.api.post(MAPS, config_map("before")).status == 201
        deleted(folder)
        try:
            status = host.api.post(MAPS, config_map("after")).status
        except OSError:
            status = 0  # it has ended already
        assert status in (500, 0)


def test_a_host_notices_within_a_second_though_nothing_is_written(folder: Path) -> None:
    with HostProcess(folder, "--demo", "first-steps") as host:
        end = monotonic() + 20
        while Path(host.output.name).stat().st_size == 0 and monotonic() < end:
            sleep(0.05)
        deleted(folder)
        begin = monotonic()
        assert host.process.wait(PATIENCE) == UNAVAILABLE
        assert monotonic() - begin < WITHIN


def test_loose_file_modes_are_corrected_with_a_notice(folder: Path) -> None:
    with HostProcess(folder, "--demo", "first-steps"):
        pass
    names = ("token", "token-view", "tls.key", "state.db")
    for name in names:
        (folder / name).chmod(0o644)
    with HostProcess(folder) as host:
        assert {S_IMODE((folder / name).stat().st_mode) for name in names} == {0o600}
    text = Path(host.output.name).read_text()
    assert "other users could open tls.key, token, token-view, state.db" in text
    assert "delete tls.key and token and token-view" in text


def test_a_shared_folder_is_never_advised_to_be_closed(tmp_path: Path) -> None:
    """As /tmp: every user may write there, with the sticky bit."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    command = [sys.executable, "-m", "closeknit", "up", "--data", str(shared), "--lines"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 2
    assert f"choose a folder of your own, such as {shared}/closeknit" in ran.stderr
    assert "chmod" not in ran.stderr


def test_a_folder_with_other_files_is_not_advised_to_be_closed(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    (folder / "thesis.tex").touch()
    with HostProcess(folder, "--demo", "first-steps"):
        pass
    text = (folder.parent / f"{folder.name}.log").read_text()
    assert "a folder of its own with --data prevents that" in text
    assert "chmod" not in text


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9])
def test_a_host_starts_from_a_truncated_write_ahead_log(folder: Path, kept: float) -> None:
    """The file without the end of its log is an earlier state: older, but whole."""
    with HostProcess(folder, "--demo", "first-steps") as host:
        for number in range(30):
            assert host.api.post(MAPS, config_map(f"m{number}")).status == 201
        host.kill()
    log = folder / "state.db-wal"
    size = log.stat().st_size
    assert size
    with log.open("r+b") as file:
        file.truncate(int(size * kept))
    with HostProcess(folder) as again:
        names = [one["metadata"]["name"] for one in again.api.get(MAPS).body["items"]]
        numbers = sorted(int(name[1:]) for name in names if name.startswith("m"))
        assert numbers == list(range(len(numbers)))
        assert again.api.post(MAPS, config_map("more")).status == 201
