"""A clock that goes backwards: no time of an object runs backwards, and what is due stays due."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from closeknit.cluster.embedded.folder import Folder
from closeknit.cluster.kinds import CONFIG_MAP
from closeknit.host.clock import Clock
from closeknit.host.embedded import EmbeddedOptions
from closeknit.host.service import Service

HOUR = 3600.0


def test_a_clock_that_is_set_back_stands_still_until_time_has_caught_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, at = Clock(), [1_000_000.0]
    monkeypatch.setattr(time, "time", lambda: at[0])
    first = clock.now()
    at[0] -= HOUR
    assert clock.now() == first
    at[0] += 2 * HOUR
    assert clock.now() == first + HOUR


def test_objects_written_after_the_clock_was_set_back_are_not_older(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = [time.time()]
    monkeypatch.setattr(time, "time", lambda: at[0])
    with Folder(tmp_path / "host") as folder:
        service = Service(folder, EmbeddedOptions())
        service.begin()
        stamps = []
        for step in (0.0, -HOUR, -HOUR):
            at[0] += step
            raw = service.store.create(CONFIG_MAP, {"metadata": {"generateName": "m-", "namespace": "default"}})
            service.cluster.run()
            stamps.append(raw["metadata"]["creationTimestamp"])
        assert stamps == sorted(stamps)
        assert len(set(stamps)) == 1
        service.settle()
        service.log.close()


def test_a_host_that_starts_on_an_earlier_clock_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = [time.time()]
    monkeypatch.setattr(time, "time", lambda: at[0])
    for step in (0.0, -HOUR):
        at[0] += step
        with Folder(tmp_path / "host") as folder:
            service = Service(folder, EmbeddedOptions())
            service.begin()
            service.store.create(CONFIG_MAP, {"metadata": {"generateName": "m-", "namespace": "default"}})
            service.cluster.run()
            service.settle()
            count = len(list(service.store.all(CONFIG_MAP)))
            service.log.close()
    assert count == 2
