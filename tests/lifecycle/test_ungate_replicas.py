"""Pods of a pod set that is placed replica by replica go only to the places of their own replica."""

from __future__ import annotations

from dataclasses import replace

from closeknit.lifecycle.action import Ungate
from closeknit.lifecycle.ungate import UngateView, ungate
from closeknit.model.assignment import Assignment
from closeknit.model.gates import Gates
from closeknit.model.pod import Pod
from closeknit.model.request import Constraint, PodSet, Ranks, Replicas, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Admission, PodSetAssignment, Status, Workload, WorkloadPodSet

TWICE = (("h2", 1), ("h4", 2), ("h2", 2), ("h3", 1))
"""Replica 0 is on h2 and h4, replica 1 on h2 and h3."""


def workload(domains: tuple[tuple[str, int], ...], replicas: int) -> Workload:
    topology = Assignment.of((HOSTNAME,), (((host,), count) for host, count in domains))
    constraint = Constraint(preferred="rack", replicas=Replicas(3))
    pod_set = PodSet("main", 3 * replicas, Shape.of({}), constraint, Ranks("index", "job", replicas))
    given = PodSetAssignment("main", {}, {}, topology.pods, topology)
    status = Status(admission=Admission("q", (given,))).condition("Admitted", True, "", "", 0.0)
    return Workload("ns", "w", Request.of([pod_set]), (WorkloadPodSet("main", {}),), status=status)


def pod(job: int, index: int, on: str | None = None) -> Pod:
    labels, selector = {"job": str(job), "index": str(index)}, {} if on is None else {HOSTNAME: on}
    return Pod(
        "ns",
        f"{job}-{index}",
        f"{job}-{index}",
        labels,
        selector=selector,
        workload="w",
        family="w",
        pod_set="main",
        phase="Pending",
        gated=on is None,
    )


def went(one: Workload, pods: list[Pod]) -> dict[str, tuple[str, int | None]]:
    """The host and the rank of each pod that was ungated."""
    actions = ungate(UngateView(one, pods, gates=Gates.profile()), 100.0)
    return {act.pod.name: (act.selector[HOSTNAME], act.rank) for act in actions if isinstance(act, Ungate)}


def test_a_host_that_two_replicas_use_serves_each_of_them() -> None:
    listed = [pod(job, index) for index in (2, 0, 1) for job in (1, 0)]
    assert went(workload(TWICE, 2), listed) == {
        "0-0": ("h2", 0),
        "0-1": ("h4", 1),
        "0-2": ("h4", 2),
        "1-0": ("h2", 3),
        "1-1": ("h2", 4),
        "1-2": ("h3", 5),
    }


def test_a_pod_whose_place_was_replaced_goes_to_its_own_replica() -> None:
    """Replica 0 lost h1, where index 0 was; survivors are on h4, so its free place is on h2, not that of replica 1."""
    listed = [pod(0, 0), pod(0, 1, "h4"), pod(0, 2, "h4"), pod(1, 0, "h2"), pod(1, 1, "h2"), pod(1, 2)]
    assert went(workload(TWICE, 2), listed) == {"0-0": ("h2", 0), "1-2": ("h3", 5)}


def test_pods_without_an_index_stay_in_their_replica() -> None:
    listed = [replace(pod(job, index), labels={"job": str(job)}) for job in (1, 0) for index in range(3)]
    hosts = {name: host for name, (host, _) in went(workload(TWICE, 2), listed).items()}
    assert sorted(hosts[f"0-{index}"] for index in range(3)) == ["h2", "h4", "h4"]
    assert sorted(hosts[f"1-{index}"] for index in range(3)) == ["h2", "h2", "h3"]


def test_replicas_that_are_left_share_the_places_where_one_has_finished() -> None:
    """Of three replicas one has finished: the places for two go to replicas 0 and 2, whichever comes first."""
    one = workload(TWICE, 3)
    first = {name: host for name, (host, _) in went(one, [pod(2, index) for index in range(3)]).items()}
    assert first == {"2-0": "h2", "2-1": "h4", "2-2": "h4"}
    sent = [pod(2, index, first[f"2-{index}"]) for index in range(3)]
    second = {name: host for name, (host, _) in went(one, [*sent, *(pod(0, index) for index in range(3))]).items()}
    assert second == {"0-0": "h2", "0-1": "h2", "0-2": "h3"}
