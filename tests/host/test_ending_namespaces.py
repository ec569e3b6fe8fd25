"""Nothing is created in a terminating namespace, and a refused creation there is not retried."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind
from closeknit.cluster.port import Create, Key
from host.centre import centre
from host.jobs_of_each_kind import GROUP, JOB, STATEFUL_SET, Case
from host.lab import Lab
from host.late import Late
from host.over_rest import Cluster, controller
from host.test_kubernetes import has, job, story

HELD = "example.com/held"
QUEUE = """
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: cq}
"""


def ending(case: Case, noticed: float = 0.0) -> tuple[Lab, Late]:
    """A namespace that stays terminating, because a job in it has a finalizer."""
    lab = centre()
    lab.apply(QUEUE)
    for raw in lab.apply(case.manifest.replace("namespace: default", "namespace: team").replace("20s", "600s")):
        kind = kinds.kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None
        finalizers = [*raw["metadata"].get("finalizers", ()), HELD]
        lab.patch(kind, "team", raw["metadata"]["name"], {"metadata": {"finalizers": finalizers}})
    lab.advance(10)
    assert lab.all(kinds.WORKLOAD, "team")
    late = Late(lab.cluster, {kinds.NAMESPACE: noticed})
    lab.delete(kinds.NAMESPACE, "", "team")
    lab.advance(30)
    assert lab.store.find(kinds.NAMESPACE, "", "team") is not None
    return lab, late


def made(late: Late) -> list[Kind]:
    """The kinds of the objects that the control plane tried to create."""
    return [one.kind for one in late.writes if isinstance(one, Create)]


@pytest.mark.parametrize("case", [JOB, GROUP, STATEFUL_SET], ids=lambda case: case.name)
def test_nothing_is_made_where_a_namespace_ends(case: Case) -> None:
    _, late = ending(case)
    assert made(late) == []


def test_what_was_refused_since_a_namespace_ends_is_not_tried_again() -> None:
    """Until the job changes: the control plane does not know yet that the namespace is terminating."""
    lab, late = ending(JOB, noticed=3600.0)
    assert lab.all(kinds.WORKLOAD, "team") == []
    tried = made(late).count(kinds.WORKLOAD)
    assert 1 <= tried <= 5
    lab.advance(300)
    assert made(late).count(kinds.WORKLOAD) == tried


def test_a_namespace_of_the_same_name_is_another_one() -> None:
    lab = centre()
    lab.apply(QUEUE)
    lab.delete(kinds.NAMESPACE, "", "team")
    lab.advance(5)
    assert lab.store.find(kinds.NAMESPACE, "", "team") is None
    lab.apply(QUEUE)
    lab.apply(JOB.manifest.replace("namespace: default", "namespace: team"))
    lab.advance(5)
    assert [one["metadata"]["namespace"] for one in lab.all(kinds.WORKLOAD, "team")] == ["team"]


def test_over_the_network_nothing_is_refused_again_and_again(tmp_path: Path) -> None:
    async def scenario(one: Cluster) -> None:
        one.apply(QUEUE)
        async with controller(one) as host:
            one.apply(job("train", "600s").replace("namespace: default", "namespace: team"))
            key = Key(kinds.JOB, "team", "train")
            one.store.patch(key, {"metadata": {"finalizers": [HELD]}})
            await one.until(lambda: has(one, "train", "Admitted"))
            one.store.delete(Key(kinds.NAMESPACE, "", "team"))
            one.service.nudge()
            await one.until(lambda: not one.all(kinds.WORKLOAD))
            for number in range(20):
                one.store.patch(key, {"metadata": {"labels": {"seen": str(number)}}})
                one.service.nudge()
                await asyncio.sleep(0.05)
            refused = {what: count for what, count in host.control_plane.answered.items() if what[1] == "Forbidden"}
            assert refused.get(("create", "Forbidden"), 0) <= 1

    story(scenario, tmp_path)
