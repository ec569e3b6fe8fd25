"""Whatever objects a cluster has, the control plane and every stand-in go on, and a good job still runs.

Half of the objects are stored as if a client had sent them, so most spoiled ones are refused. The others reach the
control plane unchecked, as from a server with other schemas. Their metadata is in order: spoiled metadata is for
test_server_fuzz.py. CLOSEKNIT_FUZZ sets how many objects there are, CLOSEKNIT_FUZZ_SEED which.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from contextlib import suppress
from random import Random
from time import monotonic

import pytest

from attacks.line import memory
from closeknit.cluster.embedded.form import check_types
from closeknit.cluster.embedded.store import WriteOptions
from closeknit.cluster.errors import BadRequest, Refused
from closeknit.cluster.kinds import KINDS, NODE, Kind
from closeknit.cluster.port import Change, Key
from cluster.embedded.rest.fuzzing import BODIES, Fuzz
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import CLIENT, Lab, Raw

COUNT = int(os.environ.get("CLOSEKNIT_FUZZ", "600"))
SEED = int(os.environ.get("CLOSEKNIT_FUZZ_SEED", "1"))
AT_ONCE = 50
LONGEST = 2.0
SPOILED = [kind for kind in KINDS if kind.kind in BODIES]


class Visitors:
    """Spoiled objects in a cluster that also has good nodes and a queue."""

    def __init__(self, lab: Lab) -> None:
        self.lab, self.fuzz, self.random = lab, Fuzz(SEED), Random(SEED)
        self.slowest = 0.0
        self.results: Counter[str] = Counter()
        self.unchecked: list[Change] = []

    def add(self, number: int) -> None:
        kind = self.random.choice(SPOILED)
        raw = self.fuzz.object(kind.kind, kind.api_version, f"fuzz-{number}")
        raw["metadata"] = {"name": f"fuzz-{number}", "labels": {"a": "b"}, "annotations": {"c": "d"}}
        if kind.namespaced:
            raw["metadata"]["namespace"] = "default"
        start = monotonic()
        if number % 2:
            self._send(kind, raw)
        else:
            self._show(kind, raw)
        self.lab.advance(0.1)
        self.slowest = max(self.slowest, monotonic() - start)

    def _send(self, kind: Kind, raw: Raw) -> None:
        try:
            if check_types(kind, raw):
                raise BadRequest("as the API would refuse it")
            self.lab.store.create(kind, raw, CLIENT)
            self.results["stored"] += 1
        except Refused:
            self.results["refused"] += 1

    def _show(self, kind: Kind, raw: Raw) -> None:
        """Deliver an object that no rule has checked."""
        raw["metadata"] |= {"uid": raw["metadata"]["name"], "resourceVersion": "1"}
        change = Change(self.lab.store.version, "ADDED", kind, raw)
        self._deliver(change)
        self.unchecked.append(change)
        self.results["unchecked"] += 1

    def _deliver(self, change: Change) -> None:
        self.lab.cluster.control_plane.see(change)
        # A change of the store makes the loop ask the control plane when it is due.
        turn = {"metadata": {"annotations": {"turn": change.object["metadata"]["name"] + change.type}}}
        self.lab.patch(NODE, "", "h00", turn)

    def clear(self) -> None:
        """Delete the spoiled objects, and what came of them."""
        for change in self.unchecked:
            self._deliver(change._replace(type="DELETED"))
        self.unchecked.clear()
        for kind in KINDS:
            for raw in list(self.lab.store.all(kind)):
                name = raw["metadata"]["name"]
                if "fuzz-" in name or (kind is NODE and not name.startswith("h")):
                    self._delete(Key(kind, raw["metadata"].get("namespace", ""), name))
        self.lab.advance(60)

    def _delete(self, key: Key) -> None:
        with suppress(Refused):  # it went with its owner
            self.lab.store.patch(key, {"metadata": {"finalizers": None}}, options=WriteOptions())
            self.lab.store.delete(key, options=WriteOptions())


def test_no_object_does_harm(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL + 1)  # pytest would keep every line, and memory is measured here
    lab = centre()
    visitors, early = Visitors(lab), 0
    for number in range(COUNT):
        visitors.add(number)
        if number % AT_ONCE == AT_ONCE - 1:
            visitors.clear()
        if number == COUNT // 5:
            early = memory(os.getpid())
    visitors.clear()
    lab.apply(JOB.manifest)
    lab.advance(10)
    assert [pod["status"]["phase"] for pod in lab.pods()] == ["Running"] * JOB.pods
    assert all(visitors.results[one] > COUNT / 20 for one in ("stored", "refused", "unchecked")), visitors.results
    assert visitors.slowest < LONGEST
    assert not lab.cluster.loop.faults, "a stand-in or the store failed on an object that the API accepts"
    late, faults = memory(os.getpid()), lab.cluster.control_plane.faults.counts
    assert late < 1.5 * early + 50_000_000
    print(f"\n{COUNT} objects {dict(visitors.results)}: slowest {visitors.slowest:.2f} s,")
    print(f"{early / 1e6:.0f} to {late / 1e6:.0f} MB; faults, by component: {dict(faults)}")
