"""On a full disk the host acknowledges nothing that it cannot store, reports it and exits."""

from __future__ import annotations

import resource
from pathlib import Path

from closeknit.host.service import STATE
from contract.objects import config_map, config_maps
from host.process import PATIENCE, HostProcess

ROOM = 200_000
"""Bytes by which the files may still grow."""
NOT_HAD = 4


def test_a_host_whose_disk_is_full_ends_with_a_sentence_and_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    folder = tmp_path / "host"
    with HostProcess(folder, "--demo", "first-steps") as host:
        largest = max(file.stat().st_size for file in folder.glob(f"{STATE}*"))
        resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (largest + ROOM, largest + ROOM))
        kept = _fill(host)
        assert host.process.wait(PATIENCE) == NOT_HAD
    said = Path(host.output.name).read_text()
    assert f"{folder / STATE}: changes cannot be written: " in said
    assert "all acknowledged changes are saved; free disk space and start it again" in said
    assert "Traceback" not in said
    with HostProcess(folder) as again:
        there = {one["metadata"]["name"] for one in again.api.get(config_maps("default")).body["items"]}
    assert kept
    assert set(kept) <= there


def _fill(host: HostProcess) -> list[str]:
    """Write until a write is refused; returns the names of the objects written."""
    kept: list[str] = []
    for number in range(1000):
        name = f"ballast-{number}"
        try:
            answer = host.api.post(config_maps("default"), config_map(name, {"text": "x" * 20_000}))
        except OSError:
            return kept
        if answer.status != 201:
            assert (answer.status, answer.body["kind"]) == (500, "Status")
            assert "changes cannot be written" in answer.body["message"]
            return kept
        kept.append(name)
    raise AssertionError("the disk is never full")
