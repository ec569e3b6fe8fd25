"""Killed at random points, the host loses nothing that it acknowledged, and its state is consistent.

CLOSEKNIT_KILLS sets the number of kills, five by default. The seed is printed when something is lost.
"""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import sleep, time
from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.embedded.sqlite import SqliteLog
from closeknit.host.embedded import EmbeddedOptions
from contract.expect import eventually
from host.lab import Lab
from host.process import HostProcess
from stories import objects
from stories.invariants import Invariants
from stories.steps import Drawer

PARTS = 5
KILLS = int(os.environ.get("CLOSEKNIT_KILLS", "5"))
SEED = int(os.environ.get("CLOSEKNIT_SEED", "1"))
CONFIG_MAPS, JOBS = "/api/v1/namespaces/default/configmaps", "/apis/batch/v1/namespaces/default/jobs"

Raw = dict[str, Any]


class Client(Thread):
    """Writes as fast as it can and remembers every response."""

    def __init__(self, host: HostProcess, seed: int, kept: dict[str, str | None]) -> None:
        super().__init__(daemon=True)
        self.host, self.random, self.kept = host, Random(seed), kept
        self.drawer, self.seed, self.over = Drawer(seed), seed, Event()

    def run(self) -> None:
        number = 0
        while not self.over.is_set():
            number += 1
            try:
                self._write(number)
            except (OSError, http.client.HTTPException):
                return

    def _write(self, number: int) -> None:
        api, name = self.host.api, f"c{self.seed}-{number}"
        match self.random.random():
            case draw if draw < 0.3:
                facts = {**self.drawer._submit(), "name": name, "kind": "Job", "seconds": 1}
                self._note(f"{JOBS}/{name}", api.post(JOBS, objects.submitted(facts)[0]))
            case draw if draw < 0.6:
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"n": str(number)}}
                self._note(f"{CONFIG_MAPS}/{name}", api.post(CONFIG_MAPS, body))
            case draw if draw < 0.8:
                known = [path for path, version in self.kept.items() if version and CONFIG_MAPS in path]
                if known:
                    path = self.random.choice(known)
                    self._note(path, api.merge(path, {"data": {"n": f"again {number}"}}))
            case _:
                known = [path for path, version in self.kept.items() if version]
                if known:
                    self._remove(self.random.choice(known))

    def _remove(self, path: str) -> None:
        """Delete an object; if the response is lost, its outcome is unknown and the object is forgotten."""
        version = self.kept.pop(path)
        self.kept[path] = None if self.host.api.delete(path).status == 200 else version

    def _note(self, path: str, answer: Any) -> None:
        if answer.status in (200, 201):
            self.kept[path] = answer.body["metadata"]["resourceVersion"]


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_that_was_acknowledged_is_lost_and_invariants_hold(tmp_path: Path, part: int) -> None:
    seed, kills = SEED * 100 + part, max(1, KILLS // PARTS)
    random, folder = Random(seed), tmp_path / "host"
    kept: dict[str, str | None] = {}
    with HostProcess(folder, "--port", "0", "--nodes", str(nodes(tmp_path))) as host:
        for raw in objects.data_centre():
            if raw["kind"] != "Node":
                plural = kinds.BY_NAME["kueue.x-k8s.io", raw["kind"]].path(raw["metadata"].get("namespace", ""))
                assert host.api.post(plural, raw).status in (201, 409)
        for number in range(kills):
            client = Client(host, seed * 1000 + number, kept)
            client.start()
            eventually(lambda: acknowledged(kept) > 0)
            sleep(random.uniform(0.05, 0.8))
            host.kill()
            client.over.set()
            client.join(10)
            check_file(folder)
            host = HostProcess(folder, "--port", "0")
            try:
                check_kept(host, kept)
            except AssertionError:
                print(f"replay: CLOSEKNIT_SEED={SEED} CLOSEKNIT_KILLS={KILLS}")
                host.stop()
                raise
        host.stop()
    assert acknowledged(kept) >= kills


def acknowledged(kept: dict[str, str | None]) -> int:
    """The number of acknowledged objects that the client has not deleted; it may be writing meanwhile."""
    return sum(version is not None for version in list(kept.values()))


def nodes(folder: Path) -> Path:
    """The nodes of the stories' data centre, as a file."""
    path = folder / "nodes.json"
    listed = [raw for raw in objects.data_centre() if raw["kind"] == "Node"]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": listed}))
    return path


def check_kept(host: HostProcess, kept: dict[str, str | None]) -> None:
    there = {
        f"{path}/{one['metadata']['name']}": int(one["metadata"]["resourceVersion"])
        for path in (CONFIG_MAPS, JOBS)
        for one in host.api.get(path).body["items"]
    }
    for path, version in kept.items():
        if version is None:
            assert path not in there, f"{path} was deleted and is back"
        else:
            assert path in there, f"{path} was acknowledged at {version} and is gone"
            assert there[path] >= int(version), f"{path} has fallen back"


def check_file(folder: Path) -> None:
    """The file alone is a consistent snapshot of one moment, and everything started in it finishes."""
    log = SqliteLog(folder / "state.db")
    life = Lab(EmbeddedOptions(seed=1), time(), lambda cluster: log.load(cluster.store))
    log.close()
    life.max_steps = 100_000
    invariants = Invariants(life.store)
    invariants.quiet(set(life.cluster.control_plane.cache.world.ledger.holdings))
    life.advance(120)
    invariants.quiet(set(life.cluster.control_plane.cache.world.ledger.holdings))
    invariants.rid()
