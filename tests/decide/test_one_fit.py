"""With another fit, victims, the check before admission, stories and prospects agree with the placement.

A pod wants its node to itself. Every host here has room for several by its resources alone.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from closeknit.decide.decision import Admit, Wait
from closeknit.decide.what_if import WhatIfOptions, play
from closeknit.engine.policy import Policy
from closeknit.model.cluster_queue import ClusterQueue, LocalQueue, Selector
from closeknit.model.container import Container
from closeknit.model.gates import Gates
from closeknit.model.name import Name
from closeknit.model.request import Constraint
from closeknit.model.settings import Settings
from closeknit.model.topology import HOSTNAME
from closeknit.queue.pending_workload import pending_workload
from closeknit.report.standing import placed
from engine.fits import one_per_empty_node

from .objects import GPU, part, workload
from .test_our_gates import RACK, cluster, job, running, victims
from .test_prospects import IN_A_RACK, NOW, found, racks, texts

IN_ONE = Constraint(required=RACK)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every policy that is built has this fit."""

    def of(cls: type[Policy], gates: Gates, empty: bool = False) -> Policy:
        return cls(gates, empty, one_per_empty_node)

    monkeypatch.setattr(Policy, "of", classmethod(of))


@pytest.mark.parametrize("by_domain", [False, True])
def test_victims_go_until_whole_nodes_are_empty(by_domain: bool) -> None:
    """On every host runs one pod of four that it has room for; two hosts of one rack have to be emptied."""
    built = cluster(racks=2, hosts=2, gates={"VictimsByDomain": by_domain})
    for number, host in enumerate(("r0h0", "r1h0", "r1h1", "r0h1")):
        built.put(running(job(host, 1, priority=number), **{host: 1}), 0.0)
    built.put(job("incoming", 2, IN_ONE, priority=9), 0.0)
    assert victims(built) == ["r1h0", "r1h1"]


def test_a_victim_that_would_leave_a_node_half_empty_is_spared() -> None:
    built = cluster(racks=1, hosts=2)
    built.put(running(job("half", 2, priority=1), r0h0=1, r0h1=1), 0.0)
    built.put(running(job("other", 1, priority=2), r0h0=1), 0.0)
    built.put(job("incoming", 1, IN_ONE, priority=9), 0.0)
    assert victims(built) == ["half"]


def test_two_workloads_of_one_cycle_do_not_get_one_node() -> None:
    built = cluster(racks=1, hosts=1)
    first = built.world.cluster_queues["cq"]
    built.put_cluster_queue(ClusterQueue("second", first.groups, selector=Selector()))
    built.put_local_queue(LocalQueue("ns", "lq2", "second"))
    built.put(job("a", 1, IN_ONE, priority=1), 0.0)
    built.put(replace(job("b", 1, IN_ONE), queue="lq2"), 0.0)
    decisions = {type(one): one for one in built.cycle(1.0)}
    assert decisions.keys() == {Admit, Wait}
    admitted = decisions[Admit]
    assert isinstance(admitted, Admit)
    assert admitted.workload.name == "a"


def test_a_story_admits_one_pod_per_node() -> None:
    built = racks(100)
    story = play(built, [workload("a", count=2, constraint=IN_A_RACK), workload("b", count=3)], NOW, WhatIfOptions())
    assert story.workloads["default/a"].admitted
    assert not story.workloads["default/b"].admitted


def test_prospects_offer_what_the_fit_allows() -> None:
    said = found(racks(100), workload("big", count=3, constraint=IN_A_RACK))
    assert texts(said) == [
        f'relax to preferred "{IN_A_RACK.required}"',
        "ask for 2 pods instead of 3",
        "add 1 node like n0 in r0",
    ]
    (room,) = said.rooms
    assert [(view.level, view.pods, view.when_empty) for view in room.levels] == [
        (IN_A_RACK.required, 2, 2),
        (HOSTNAME, 1, 1),
    ]


def test_workloads_are_parked_as_one_only_if_the_fit_cannot_tell_them_apart() -> None:
    one, limited = part(), part(containers=(Container.of({GPU: 1}, {GPU: 1}),))
    first, other = (
        pending_workload(workload("w", "a", 1, 1, each), "a", Settings(), Gates.profile()).equivalence_key
        for each in (one, limited)
    )
    assert first != other


def test_a_picture_of_what_runs_counts_so_too() -> None:
    built = cluster(racks=2, hosts=2)
    one = running(job("a", 1, IN_ONE), r0h0=1)
    built.put(one, 0.0)
    (place,) = placed(built.world, one, Name("Job", "ns", "a"), NOW).places
    (pods,) = place.plan.placed
    assert (pods.pods.tolist(), pods.after.tolist(), pods.empty.tolist()) == ([1, 0, 0, 0], [0, 1, 1, 1], [1, 1, 1, 1])
    assert [(view.level, view.pods) for view in place.levels[0][1]] == [(RACK, 2), (HOSTNAME, 1)]
    assert place.stays
