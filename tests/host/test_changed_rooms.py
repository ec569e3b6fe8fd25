"""Topologies, flavors, nodes and queues that change under running workloads: nothing crashes, and the user is told.

Every decision keeps the invariants of the stories. After each change no workload may be lost, and no exception raised.
"""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.embedded.loop import Worker
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Change, Key, Update
from closeknit.host.embedded import EmbeddedOptions
from host.centre import BLOCK, HOST, RACK, centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, Raw, condition
from stories.invariants import Broken, Invariants

LONG = JOB.manifest.replace("20s", "2h")


class Rooms(Invariants):
    """The invariants in this data centre, where hosts may get other names; `broken` is what did not hold."""

    rack = RACK

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.broken: list[str] = []

    def see(self, change: Change) -> None:
        try:
            super().see(change)
        except Broken as broken:
            self.broken.append(str(broken))

    def _node(self, host: str) -> Raw | None:
        nodes = self.store.all(kinds.NODE)
        return next((one for one in nodes if one["metadata"]["labels"].get(HOST) == host), None)

    def _queues(self) -> list[str]:
        return [one["metadata"]["name"] for one in self.store.all(kinds.CLUSTER_QUEUE)]


def a_centre() -> Lab:
    return centre(Lab(EmbeddedOptions(seed=1), prepare=lambda cluster: cluster.add(Rooms(cluster.store))))


def invariants_hold(lab: Lab) -> None:
    [rooms] = [one for one in lab.cluster.loop.participants if isinstance(one, Rooms)]
    assert rooms.decisions, "something was decided"
    assert rooms.broken == []
    rooms.quiet(set(lab.cluster.control_plane.cache.world.ledger.holdings))


def running() -> Lab:
    lab = a_centre()
    lab.apply(LONG)
    lab.advance(10)
    assert [condition(one, "Admitted") for one in lab.workloads()] == [True]
    return lab


def another(name: str) -> str:
    return LONG.replace("name: one", f"name: {name}")


def is_sound(lab: Lab) -> None:
    """No exception was raised, every workload is there and says where it stands, and the invariants hold."""
    plane = lab.cluster.control_plane
    workers = [one for one in lab.cluster.loop.participants if isinstance(one, Worker)]
    assert not plane.faults.counts
    assert not lab.cluster.loop.faults
    assert not [type(one.standin).__name__ for one in workers if one.faults]
    for one in lab.workloads():
        assert (one.get("status") or {}).get("conditions"), f"{one['metadata']['name']} was told nothing"
    invariants_hold(lab)


def inactive(lab: Lab, queue: str = "cq") -> tuple[str, str]:
    (one,) = [one for one in lab.get(kinds.CLUSTER_QUEUE, queue)["status"]["conditions"] if one["type"] == "Active"]
    return one["status"], one["reason"]


def waiting(lab: Lab, owner: str) -> Raw:
    (found,) = [one for one in lab.workloads() if one["metadata"]["ownerReferences"][0]["name"] == owner]
    (told,) = [one for one in found["status"]["conditions"] if one["type"] == "QuotaReserved"]
    result: Raw = told
    return result


def test_levels_of_a_topology_that_change_under_a_running_workload_leave_it_running() -> None:
    lab = running()
    before = [pod["spec"]["nodeName"] for pod in lab.pods()]
    levels = [{"nodeLabel": RACK}, {"nodeLabel": HOST}]
    lab.store.patch(_key(kinds.TOPOLOGY, "default"), {"spec": {"levels": levels}})
    lab.advance(30)
    is_sound(lab)
    assert [pod["spec"]["nodeName"] for pod in lab.pods()] == before
    lab.apply(another("two"))
    lab.advance(30)
    is_sound(lab)
    assert waiting(lab, "two")["message"]


def test_a_level_that_vanishes_makes_the_jobs_that_ask_for_it_wait_with_the_reason() -> None:
    lab = running()
    lab.store.patch(_key(kinds.TOPOLOGY, "default"), {"spec": {"levels": [{"nodeLabel": BLOCK}, {"nodeLabel": HOST}]}})
    lab.apply(another("two"))
    lab.advance(30)
    is_sound(lab)
    told = waiting(lab, "two")
    assert told["status"] == "False"
    assert "does not contain the requested level" in told["message"]


@pytest.mark.parametrize("label", [RACK, BLOCK, HOST, "pool"])
def test_node_labels_that_move_under_a_running_workload_promise_nothing_twice(label: str) -> None:
    lab = running()
    used = sorted({pod["spec"]["nodeName"] for pod in lab.pods()})
    for number, name in enumerate(used):
        lab.patch(kinds.NODE, "", name, {"metadata": {"labels": {label: f"moved-{number}"}}})
    lab.advance(5)
    lab.apply(another("two"))
    lab.advance(60)
    is_sound(lab)
    for number, name in enumerate(used):
        lab.patch(kinds.NODE, "", name, {"metadata": {"labels": {label: f"back-{number % 2}"}}})
    lab.advance(60)
    is_sound(lab)


ABSURD = ["-1", "-8", "0", "999999999999999999999", "1e30", "9223372036854775807", "-9223372036854775808", "1n"]


@pytest.mark.parametrize("amount", ABSURD)
@pytest.mark.parametrize("resource", ["cpu", "memory", "pods"])
def test_a_negative_or_absurd_allocatable_neither_crashes_nor_offers_room_that_is_not_there(
    resource: str, amount: str
) -> None:
    lab = running()
    used = {pod["spec"]["nodeName"] for pod in lab.pods()}
    free = next(name for name in (f"h{n:02d}" for n in range(12)) if name not in used)
    for name in (*used, free):
        _allocatable(lab, name, resource, amount)
    lab.advance(5)
    lab.apply(another("two"))
    lab.advance(60)
    invariants_hold(lab)
    plane = lab.cluster.control_plane
    assert set(plane.faults.counts) <= {"ClusterCache"}, "an object that cannot be read is told so; nothing else fails"
    told = {one["reason"] for one in lab.all(kinds.EVENT) if one["involvedObject"]["kind"] == "Node"}
    assert ("InvalidObject" in told) is bool(plane.faults.counts)
    if resource != "memory" and (amount.startswith("-") or amount == "0"):  # the pods ask for no memory
        two = [pod for pod in lab.pods() if pod["metadata"]["name"].startswith("two")]
        assert free not in {pod["spec"].get("nodeName") for pod in two}


def _allocatable(lab: Lab, name: str, resource: str, amount: str) -> None:
    node = lab.get(kinds.NODE, name)
    status = {**node["status"], "allocatable": {**node["status"]["allocatable"], resource: amount}}
    lab.store.carry_out(Update(kinds.NODE, {**node, "status": status}, "status"))


def _key(kind: Kind, name: str) -> Key:
    return Key(kind, "", name)


@pytest.mark.parametrize("kind", [kinds.TOPOLOGY, kinds.RESOURCE_FLAVOR], ids=["topology", "flavor"])
def test_a_topology_or_flavor_in_use_that_is_deleted_stays_until_nothing_refers_to_it(kind: Kind) -> None:
    lab = running()
    name = "default" if kind is kinds.TOPOLOGY else "gpu"
    lab.delete(kind, "", name)
    lab.advance(30)
    is_sound(lab)
    assert "deletionTimestamp" in lab.get(kind, name)["metadata"], "its finalizer keeps it"
    assert [condition(one, "Admitted") for one in lab.workloads()] == [True]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(kinds.TOPOLOGY, "TopologyNotFound"), (kinds.RESOURCE_FLAVOR, "FlavorNotFound")],
    ids=["topology", "flavor"],
)
def test_one_that_is_gone_by_force_makes_the_queue_inactive_with_the_reason(kind: Kind, reason: str) -> None:
    lab = running()
    name = "default" if kind is kinds.TOPOLOGY else "gpu"
    lab.delete(kind, "", name)
    lab.store.patch(_key(kind, name), {"metadata": {"finalizers": None}})
    lab.advance(10)
    lab.apply(another("two"))
    lab.advance(30)
    is_sound(lab)
    assert inactive(lab) == ("False", reason)
    assert waiting(lab, "two")["status"] == "False"
    assert [pod for pod in lab.pods() if pod["spec"].get("nodeName")], "what runs goes on"


TWO_QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: NAME}
spec:
  namespaceSelector: {}
  cohortName: both
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority, borrowWithinCohort: {policy: LowerPriority}}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors: [{name: gpu, resources: [{name: cpu, nominalQuota: 10}, {name: memory, nominalQuota: 1000Gi}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq-NAME, namespace: default}
spec: {clusterQueue: NAME}
"""


def test_two_queues_that_preempt_each_other_come_to_rest() -> None:
    """Each queue has room for one job and borrows for a second; jobs of high priority preempt in both directions."""
    lab = a_centre()
    for name in ("left", "right"):
        lab.apply(TWO_QUEUES.replace("NAME", name))
    for number, more in enumerate(("", "", ", kueue.x-k8s.io/priority-class: high")):
        for name in ("left", "right"):
            lab.apply(another(f"{name}-{number}").replace("queue-name: lq", f"queue-name: lq-{name}{more}"))
            lab.advance(5)
    counts = [_preemptions(lab)]
    for _ in range(6):
        lab.advance(120)
        is_sound(lab)
        counts.append(_preemptions(lab))
    assert counts[-1] > 0, "no queue preempted the other"
    assert counts[-1] == counts[-3], f"they never come to rest: {counts}"
    assert any(condition(one, "Admitted") for one in lab.workloads())


def _preemptions(lab: Lab) -> int:
    return sum(one.get("count", 1) for one in lab.all(kinds.EVENT) if one["reason"] == "Preempted")
