"""How often the status of a queue is written: once a second, and less often where the server is slow to answer."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.port import Change, Write
from closeknit.controller.queues import BATCH, LONGEST_BATCH, SPARING, Queues
from closeknit.model.gates import Gates
from closeknit.model.settings import Settings
from closeknit.observe.known import Known
from closeknit.write.events import Recorder

QUEUE: dict[str, Any] = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ClusterQueue",
    "metadata": {
        "name": "cq",
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
    },
    "spec": {"resourceGroups": []},
}


class Desk:
    """The desk of one queue whose counts change all the time."""

    def __init__(self) -> None:
        self.time = 100.0
        self.known = Known(Gates.profile(), Settings(), lambda: self.time)
        self.desk = Queues(self.known, Recorder())
        self.number = 0
        self.see()

    def see(self) -> None:
        self.known.tally.queues["cq"].reserving += 1
        self.number += 1
        raw = {**QUEUE, "metadata": {**QUEUE["metadata"], "resourceVersion": str(self.number)}}
        change = Change(self.number, "MODIFIED" if self.number > 1 else "ADDED", kinds.CLUSTER_QUEUE, raw)
        self.known.see(change)
        self.desk.see(change)

    def write(self) -> Write:
        (found,) = self.desk.step(self.time)
        return found

    def answered(self, write: Write, after: float) -> None:
        self.time += after
        self.desk.done(write, {}, self.time)


@pytest.mark.parametrize(
    ("took", "pause"),
    [(0.001, BATCH), (BATCH / SPARING, BATCH), (2 * BATCH / SPARING, 2 * BATCH), (60.0, LONGEST_BATCH)],
)
def test_the_next_status_waits_as_the_last_one_took(took: float, pause: float) -> None:
    one = Desk()
    begin = one.time
    one.answered(one.write(), took)
    one.see()
    due = one.desk.due()
    assert due == pytest.approx(max(one.time, begin + pause))


def test_what_came_while_a_status_was_under_way_waits_as_well() -> None:
    one = Desk()
    begin, write = one.time, one.write()
    one.time += BATCH
    one.see()
    assert list(one.desk.step(one.time)) == []
    assert one.desk.due() is None
    one.answered(write, 0.5)
    assert one.desk.due() == pytest.approx(begin + LONGEST_BATCH)
