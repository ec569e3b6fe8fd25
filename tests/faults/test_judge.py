"""The judge notices faults: each is put into a healthy cluster, and is found."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from time import monotonic
from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Key
from faults.accounts import Accounts, agreed, every_job_has_a_workload, nothing_is_doubled, nothing_is_lost
from faults.evidence import Seen
from faults.judge import Witness
from host.lab import Lab
from stories import objects
from stories.invariants import Broken, same

Raw = dict[str, Any]
FACTS = {"kind": "Job", "pods": 4, "cpu": 4, "wish": "required", "level": "rack", "priority": "", "fails": False}


@pytest.fixture
def lab() -> Lab:
    """A job that runs on the hosts of a rack, and one that has ended."""
    lab = Lab()
    for raw in objects.data_centre():
        lab.create(raw)
    for name, seconds in (("runs", 3000), ("ended", 0)):
        for raw in objects.submitted({**FACTS, "name": name, "queue": "red", "seconds": seconds}):
            lab.create(raw)
    lab.advance(60)
    return lab


def workload(lab: Lab, name: str) -> Raw:
    (found,) = [one for one in lab.workloads() if one["metadata"]["ownerReferences"][0]["name"] == name]
    return deepcopy(found)


def put(lab: Lab, kind: Kind, raw: Raw, **metadata: Any) -> Raw:
    """Store an invalid object, past everything that would refuse it."""
    raw = {**deepcopy(raw), "metadata": {**raw["metadata"], **metadata}}
    lab.store.restore(kind, raw)
    return raw


def test_a_healthy_cluster_passes(lab: Lab) -> None:
    accounts = Accounts()
    accounts.made(Key(kinds.JOB, "default", "runs"), lab.get(kinds.JOB, "runs")["metadata"]["uid"])
    accounts.deleted(Key(kinds.JOB, "default", "never"))
    nothing_is_lost(accounts.copy(), lab.store)
    nothing_is_doubled(lab.store)
    every_job_has_a_workload(lab.store)
    Witness(lab.store).stands()


@pytest.mark.parametrize(("name", "uid"), [("gone", "1"), ("runs", "that of another"), ("runs", None)])
def test_a_lost_acknowledged_write_is_found(lab: Lab, name: str, uid: str | None) -> None:
    with pytest.raises(Broken, match=r"was acknowledged as|was deleted and is back"):
        nothing_is_lost({Key(kinds.JOB, "default", name): uid}, lab.store)


def test_changes_during_a_check_are_not_counted_as_faults() -> None:
    one, two = (Key(kinds.JOB, "default", name) for name in ("one", "two"))
    accounts = Accounts()
    accounts.made(one, "1")
    accounts.made(two, "2")
    before = accounts.copy()
    accounts.doubtful(two)
    assert agreed(before, accounts.copy()) == {one: "1"}


def test_a_second_workload_of_a_job_is_found(lab: Lab) -> None:
    put(lab, kinds.WORKLOAD, workload(lab, "runs"), name="another", uid="another")
    with pytest.raises(Broken, match="2 workloads of job runs"):
        nothing_is_doubled(lab.store)


def test_a_pod_too_many_is_found(lab: Lab) -> None:
    pod = next(one for one in lab.pods() if one["status"]["phase"] == "Running")
    put(lab, kinds.POD, pod, name="another", uid="another")
    with pytest.raises(Broken, match="5 pods of job runs live, it wants 4"):
        nothing_is_doubled(lab.store)


def test_a_job_without_a_workload_and_a_workload_that_outlives_its_job_are_found(lab: Lab) -> None:
    ended = workload(lab, "ended")
    ended["status"]["conditions"] = [one for one in ended["status"]["conditions"] if one["type"] != "Finished"]
    put(lab, kinds.WORKLOAD, ended)
    with pytest.raises(Broken, match="job ended has ended, its workload has not"):
        every_job_has_a_workload(lab.store)
    lab.store.objects[kinds.WORKLOAD].clear()
    with pytest.raises(Broken, match="has 0 workloads"):
        every_job_has_a_workload(lab.store)


def moved(raw: Raw, change: Callable[[Raw], None]) -> Raw:
    change(raw["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["slices"][0])
    return raw


def on_hosts(*hosts: str) -> Callable[[Raw], None]:
    def change(part: Raw) -> None:
        part.update(domainCount=len(hosts), valuesPerLevel=[{"individual": {"roots": list(hosts)}}])
        part["podCounts"] = {"universal": 4 // len(hosts)}

    return change


@pytest.mark.parametrize(
    ("hosts", "why"),
    [
        (("n00", "n01", "n02", "n04"), "required one rack"),
        (("n00",), "n00 holds 16000m of 8000m"),
        (("n00", "n01", "n02"), "wants 4, has 4, placed"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_found(lab: Lab, hosts: tuple[str, ...], why: str) -> None:
    wrong = moved(workload(lab, "runs"), on_hosts(*hosts))
    before = deepcopy(lab.store.get(kinds.WORKLOAD, "default", wrong["metadata"]["name"]))
    before["status"].pop("admission")
    put(lab, kinds.WORKLOAD, before)
    witness = Witness(lab.store)
    with pytest.raises(Broken, match=why):
        witness.replay([Seen(1, "MODIFIED", kinds.WORKLOAD, wrong, monotonic())])
    with pytest.raises(Broken, match=why):
        witness.stands()


def test_a_promise_on_a_machine_that_is_gone_since_is_none_that_was_wrong(lab: Lab) -> None:
    facts = {**FACTS, "name": "sliced", "queue": "blue", "pods": 2, "cpu": 8, "wish": "slices", "seconds": 3000}
    for raw in objects.submitted(facts):
        lab.create(raw)
    lab.advance(5)
    (one, _) = {pod["spec"]["nodeName"] for pod in lab.pods() if pod["metadata"]["name"].startswith("sliced")}
    del lab.store.objects[kinds.NODE]["", one]
    Witness(lab.store).stands()


def test_a_decision_beyond_quota_is_found(lab: Lab) -> None:
    right = workload(lab, "runs")
    before = deepcopy(right)
    before["status"].pop("admission")
    put(lab, kinds.WORKLOAD, before)
    for queue in ("red", "blue", "strict"):
        put(lab, kinds.CLUSTER_QUEUE, objects.cluster_queue(queue, 5))
    with pytest.raises(Broken, match="16000m are in use, quota is 15000m"):
        Witness(lab.store).replay([Seen(1, "MODIFIED", kinds.WORKLOAD, right, monotonic())])


def test_a_cache_that_disagrees_with_the_objects_is_found() -> None:
    same({"leads": True, "holdings": {"a": 1}}, {"holdings": {"a": 1}})
    with pytest.raises(Broken, match="holdings is not what the objects say: b: 2, rebuilt None"):
        same({"leads": True, "holdings": {"a": 1, "b": 2}}, {"holdings": {"a": 1}})
