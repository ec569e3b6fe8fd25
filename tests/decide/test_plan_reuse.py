"""A head is planned again only if something that its plan depends on has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest

from closeknit.decide import nominate as nominate_module
from closeknit.decide.scheduler import Scheduler
from closeknit.dialects.pod_rules import with_rules
from closeknit.model.cluster_queue import LocalQueue
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.pod_rules import PodKind
from closeknit.model.request import Constraint
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Workload
from closeknit.queue.wake import WakeEvent
from closeknit.state.mirror import OtherPod

from .objects import DEFAULT, GPU, queue, running, workload

HERE = Constraint(required=HOSTNAME)


@pytest.fixture
def planned() -> Iterator[list[str]]:
    """The workloads that were planned, in order."""
    names: list[str] = []
    plain = nominate_module.nominate

    def counted(world, entry, *rest):  # type: ignore[no-untyped-def]
        names.append(entry.workload.name)
        return plain(world, entry, *rest)

    with patch.object(nominate_module, "nominate", counted):
        yield names


def built() -> Scheduler:
    """Two separate queues, each full, on nodes of their own; one workload is pending in each."""
    made = Scheduler(Gates.profile())
    made.world.namespaces[DEFAULT] = {}
    made.world.put_topology(Topology("t", (HOSTNAME,)))
    for name in ("a", "b"):
        made.world.put_flavor(Flavor(name, {"pool": name}, topology="t"))
        made.world.put_node(node(name))
        made.put_cluster_queue(queue(name, {name: 4}))
        made.put_local_queue(LocalQueue(DEFAULT, name, name))
        made.put(running(workload(f"runs-{name}", name, 4, constraint=HERE), name, hosts={f"n-{name}": 4}), 0.0)
        made.put(workload(f"waits-{name}", name, 2, constraint=HERE), 0.0)
    made.cycle(1.0)
    return made


def node(pool: str, gpus: int = 8) -> Node:
    return Node(f"n-{pool}", {HOSTNAME: f"n-{pool}", "pool": pool}, {GPU: gpus, "pods": 10})


def again(made: Scheduler, planned: list[str]) -> list[str]:
    planned.clear()
    made.wake_queues(WakeEvent.FLAVOR_CHANGED, (), 2.0)
    made.cycle(2.0)
    return planned


def test_nothing_is_planned_again_where_nothing_has_changed(planned: list[str]) -> None:
    made = built()
    assert planned == ["waits-a", "waits-b"]
    assert again(made, planned) == []


CHANGES: dict[str, Callable[[Scheduler], object]] = {
    "a workload of the queue ends": lambda made: made.drop(f"{DEFAULT}/runs-a"),
    "a workload of the queue is evicted": lambda made: made.put(_evicted(made), 2.0),
    "its node changes": lambda made: made.world.put_node(node("a", 6)),
    "another pod runs on its node": lambda made: made.world.put_pod("other", OtherPod("n-a", {GPU: 1})),
    "the workload itself changes": lambda made: made.put(
        workload("waits-a", "a", 3, constraint=HERE, generation=2), 2.0
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_only_the_workload_concerned_is_planned_again(planned: list[str], name: str) -> None:
    made = built()
    CHANGES[name](made)
    assert again(made, planned) == ["waits-a"]


BEYOND: dict[str, Callable[[Scheduler], object]] = {
    "another pod runs elsewhere": lambda made: made.world.put_pod("other", OtherPod("n-b", {})),
    "another pod elsewhere is gone": lambda made: made.world.drop_pod("guard"),
    "a node elsewhere changes": lambda made: made.world.put_node(node("b", 6)),
    "a workload elsewhere ends": lambda made: made.drop(f"{DEFAULT}/runs-b"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_workload_with_rules_about_other_pods_depends_on_pods_of_other_flavors(planned: list[str], name: str) -> None:
    made = built()
    made.world.put_pod("guard", OtherPod("n-b", {}, kind=PodKind(DEFAULT, (("app", "x"),))))
    plain = workload("waits-a", "a", 2, constraint=HERE, generation=2)
    near = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}}
    sets = (replace(one, shape=with_rules(one.shape, DEFAULT, {}, spec)) for one in plain.request.pod_sets)
    made.put(replace(plain, request=plain.request.changed(sets)), 2.0)
    again(made, planned)
    assert again(made, planned) == []
    BEYOND[name](made)
    assert "waits-a" in again(made, planned)


def _evicted(made: Scheduler) -> Workload:
    one = made.world.ledger.holdings[f"{DEFAULT}/runs-a"].workload
    return replace(one, status=one.status.condition("Evicted", True, "x", "", 2.0))


RULES: dict[str, Callable[[Scheduler], object]] = {
    "a queue has another quota": lambda made: made.put_cluster_queue(queue("b", {"b": 3})),
    "a flavor has other labels": lambda made: made.world.put_flavor(Flavor("b", {"pool": "c"}, topology="t")),
}


@pytest.mark.parametrize("name", RULES)
def test_rules_concern_every_workload(planned: list[str], name: str) -> None:
    made = built()
    RULES[name](made)
    assert again(made, planned) == ["waits-a", "waits-b"]


def test_a_node_heartbeat_concerns_no_workload(planned: list[str]) -> None:
    made = built()
    made.world.put_node(node("a"))
    assert again(made, planned) == []


def test_an_admission_observed_as_decided_concerns_no_workload(planned: list[str]) -> None:
    made = built()
    made.put(made.world.ledger.holdings[f"{DEFAULT}/runs-a"].workload, 2.0)
    assert again(made, planned) == []
