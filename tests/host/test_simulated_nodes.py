"""What simulated kubelets and their agents would write for a node, from changes alone."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from closeknit.cluster.kinds import NODE, NODE_TOPOLOGY, POD, Kind
from closeknit.cluster.port import Change, Create, Delete, Update, Write
from closeknit.host.simulated_nodes import SimulatedNodes, Touched
from host.zoned_nodes import SINGLE, node, pod

Raw = dict[str, Any]
NOW = 1_800_000_000.0


class Room:
    """Simulated nodes that are told of objects as a watch tells."""

    def __init__(self, labels: dict[str, str] | None = None) -> None:
        self.nodes = SimulatedNodes(labels or {})
        self._version = count(1)

    def see(self, raw: Raw, type_: Any = "ADDED") -> Touched | None:
        kind = {"Node": NODE, "Pod": POD}.get(raw["kind"], NODE_TOPOLOGY)
        return self.nodes.see(Change(next(self._version), type_, kind, raw))

    def carry_out(self, name: str) -> list[Write]:
        """Let every admission be seen; returns the writes."""
        writes = list(self.nodes.admissions(name, NOW))
        for write in writes:
            if isinstance(write, Update):
                self.see(write.body, "MODIFIED")
        return writes


def zoned(name: str = "n1", numa: Any = SINGLE, labels: dict[str, str] | None = None) -> Raw:
    """Two zones of 4 CPUs."""
    found = node(name, numa=numa)
    found["metadata"].update(uid=f"uid-{name}", labels=labels or {})
    return found


def bound(name: str, cpu: int = 3, second: int = 0, version: int = 1, on: str = "n1") -> Raw:
    found = pod(name, cpu, nodeName=on)
    at = f"2027-01-15T08:00:{second:02d}Z"
    found["metadata"].update(uid=f"uid-{name}", resourceVersion=str(version), creationTimestamp=at)
    found["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}],
    }
    return found


def verdicts(writes: list[Write]) -> dict[str, str]:
    updates = [one.body for one in writes if isinstance(one, Update) and one.kind is POD]
    return {one["metadata"]["name"]: one["status"].get("reason", "") for one in updates}


def created(writes: list[Write], kind: Kind) -> list[Raw]:
    return [one.body for one in writes if isinstance(one, Create) and one.kind is kind]


def test_a_pod_that_no_zone_can_hold_is_refused() -> None:
    room = Room()
    room.see(zoned())
    for number, name in enumerate(("a", "b", "c")):
        room.see(bound(name, second=number))
    writes = room.carry_out("n1")
    assert verdicts(writes) == {"a": "", "b": "", "c": "TopologyAffinityError"}
    [refused] = [one.body for one in writes if isinstance(one, Update) and one.body["metadata"]["name"] == "c"]
    assert refused["status"]["phase"] == "Failed"
    assert refused["status"]["message"].startswith("Pod was rejected: ")
    assert list(room.nodes.admissions("n1", NOW)) == []


def test_pods_are_admitted_in_the_order_of_their_bindings_whatever_was_written_to_them_since() -> None:
    room = Room()
    room.see(zoned())
    for name, second in (("late", 9), ("first", 1), ("second", 1), ("third", 1)):
        room.see(bound(name, second=second))
    room.see(bound("first", second=1, version=50), "MODIFIED")
    assert list(verdicts(room.carry_out("n1"))) == ["first", "second", "third", "late"]


def test_the_state_is_on_the_pods_so_another_process_goes_on() -> None:
    before, after = Room(), Room()
    before.see(zoned())
    before.see(bound("a"))
    [write] = before.carry_out("n1")
    assert isinstance(write, Update)
    after.see(zoned())
    after.see(json.loads(json.dumps(write.body)))
    for number, name in enumerate(("b", "c")):
        after.see(bound(name, second=number))
    assert verdicts(after.carry_out("n1")) == {"b": "", "c": "TopologyAffinityError"}


@pytest.mark.parametrize("numa", [None, "no: zones"])
def test_a_node_without_zones_admits_every_pod(numa: Any) -> None:
    room = Room()
    room.see(zoned(numa=numa))
    for number in range(4):
        room.see(bound(f"p{number}", cpu=30))
    assert verdicts(room.carry_out("n1")) == {f"p{number}": "" for number in range(4)}
    assert list(room.nodes.report("n1")) == []


def test_only_selected_nodes_are_simulated_and_only_while_they_are_not_silent() -> None:
    room = Room({"type": "kwok"})
    assert room.see(zoned(labels={"type": "real"})) is None
    room.see(bound("a"))
    assert room.carry_out("n1") == []
    assert room.see(zoned(labels={"type": "kwok"}), "MODIFIED") == Touched("n1", True)
    silent = zoned(labels={"type": "kwok"})
    silent["metadata"]["annotations"]["closeknit.dev/failed"] = "true"
    room.see(silent, "MODIFIED")
    assert room.carry_out("n1") == []
    room.see(zoned(labels={"type": "kwok"}), "MODIFIED")
    assert verdicts(room.carry_out("n1")) == {"a": ""}


def test_a_report_counts_admitted_pods_and_is_written_only_when_it_would_change() -> None:
    room = Room()
    room.see(zoned())
    [first] = created(list(room.nodes.report("n1")), NODE_TOPOLOGY)
    assert first["metadata"]["ownerReferences"][0]["uid"] == "uid-n1"
    room.see(first)
    assert list(room.nodes.report("n1")) == []
    assert room.see(bound("a")) == Touched("n1", False), "a pod that waits is in no report"
    assert list(room.nodes.report("n1")) == []
    room.carry_out("n1")
    [write] = room.nodes.report("n1")
    assert isinstance(write, Update)
    free = [one["available"] for zone in write.body["zones"] for one in zone["resources"] if one["name"] == "cpu"]
    assert free == ["1", "4"]


def test_a_pod_that_ends_makes_the_report_stale() -> None:
    room = Room()
    room.see(zoned())
    room.see(bound("a"))
    [write] = room.carry_out("n1")
    assert isinstance(write, Update)
    ended = {**write.body, "status": {**write.body["status"], "phase": "Succeeded"}}
    assert room.see(ended, "MODIFIED") == Touched("n1", True)
    assert room.see(ended, "DELETED") == Touched("n1", False)


def test_a_report_goes_with_the_zones_and_comes_back_if_it_is_deleted() -> None:
    room = Room()
    room.see(zoned())
    [report] = created(list(room.nodes.report("n1")), NODE_TOPOLOGY)
    report["metadata"]["uid"] = "uid-report"
    room.see(report)
    assert room.see(report, "DELETED") == Touched("n1", True)
    assert len(list(room.nodes.report("n1"))) == 1
    room.see(report)
    assert room.see(zoned(numa=None), "MODIFIED") == Touched("n1", True)
    [write] = room.nodes.report("n1")
    assert isinstance(write, Delete)
