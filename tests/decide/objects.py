"""Queues, workloads and nodes in a line each, for examples that can be worked out by hand.

A LocalQueue of the namespace `default` leads to every ClusterQueue under its own name. Amounts are of `gpu`, in whole
units, unless an example says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from closeknit.decide.scheduler import Scheduler
from closeknit.dialects.kueue.topology_request import grouped
from closeknit.model.assignment import Assignment
from closeknit.model.cluster_queue import ClusterQueue, LocalQueue, Selector
from closeknit.model.container import Container
from closeknit.model.flavor import Flavor
from closeknit.model.gates import Gates
from closeknit.model.quota import Cohort, FlavorQuotas, FlavorResource, Quota, ResourceGroup
from closeknit.model.request import Constraint, PodSet, Request
from closeknit.model.resources import Resources
from closeknit.model.settings import Settings
from closeknit.model.shape import Shape, Term, Toleration
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.model.workload import Admission, PodSetAssignment, Workload, WorkloadPodSet

GPU = "gpu"
DEFAULT = "default"
ON_DEFAULT = FlavorResource(DEFAULT, GPU)
ANYWHERE = Selector()

Quotas = Mapping[str, int | Quota | Mapping[str, int | Quota]]
"""By flavor: a quota of gpus, or quotas by resource."""


def groups(quotas: Quotas) -> tuple[ResourceGroup, ...]:
    """One resource group of these flavors, in order."""
    flavors = []
    for name, given in quotas.items():
        by_resource = given if isinstance(given, Mapping) else {GPU: given}
        amounts = {resource: Quota(one) if isinstance(one, int) else one for resource, one in by_resource.items()}
        flavors.append(FlavorQuotas(name, amounts))
    covered = tuple(flavors[0].resources) if flavors else ()
    return (ResourceGroup(covered, tuple(flavors)),) if flavors else ()


def queue(name: str, quotas: Quotas | int = 10, cohort: str = "", **more: Any) -> ClusterQueue:
    given = {DEFAULT: quotas} if isinstance(quotas, int) else quotas
    return ClusterQueue(name, groups(given), cohort, **{"selector": ANYWHERE, **more})


def limited(nominal: int | None, borrowing: int | None = None, lending: int | None = None) -> Quotas:
    """Quota in the flavor `default` with limits."""
    return {DEFAULT: Quota(nominal or 0, borrowing, lending)}


def cohort(name: str, parent: str = "", quotas: Quotas | int = 0, weight: float = 1.0) -> Cohort:
    given = {DEFAULT: quotas} if isinstance(quotas, int) else quotas
    return Cohort(name, parent, groups(given), weight)


def shape(requests: Resources | int = 1, **more: Any) -> Shape:
    return Shape.of({GPU: requests} if isinstance(requests, int) else requests, **more)


class Given(NamedTuple):
    """A pod set with what quota counts for it, and the name of its group."""

    pod_set: PodSet
    part: WorkloadPodSet
    group: str | None = None


def asked(*given: Given) -> tuple[Request, tuple[WorkloadPodSet, ...]]:
    """The request and the parts of a workload of these pod sets."""
    return grouped((one.pod_set, one.group) for one in given), tuple(one.part for one in given)


def part(
    name: str = "main",
    count: int = 1,
    requests: Resources | int = 1,
    constraint: Constraint | None = None,
    group: str | None = None,
    min_count: int | None = None,
    selector: Mapping[str, str] | None = None,
    tolerations: tuple[Toleration, ...] = (),
    required: tuple[Term, ...] | None = None,
    containers: tuple[Container, ...] | None = None,
) -> Given:
    made = shape(requests, selector=selector, tolerations=tolerations, required=required, containers=containers)
    return Given(PodSet(name, count, made, constraint), WorkloadPodSet(name, dict(made.requests), min_count), group)


def workload(
    name: str, queue: str = "a", count: int = 1, requests: Resources | int = 1, *parts: Given, **more: Any
) -> Workload:
    """One pod set `main`, unless parts are given; its uid is its name, it was made at 0."""
    given = parts or (
        part("main", count, requests, more.pop("constraint", None), min_count=more.pop("min_count", None)),
    )
    return Workload(DEFAULT, name, *asked(*given), queue, **{"uid": name, "created": 0.0, **more})


def running(one: Workload, flavor: str = DEFAULT, at: float = 0.0, hosts: Mapping[str, int] | None = None) -> Workload:
    """Admitted at a time, all of it in one flavor, its pods on these hosts."""
    places = None if hosts is None else Assignment.of((HOSTNAME,), (((name,), pods) for name, pods in hosts.items()))
    given = tuple(
        PodSetAssignment(
            each.name,
            dict.fromkeys(each.requests, flavor),
            {name: amount * pod_set.count for name, amount in each.requests.items()},
            pod_set.count,
            places,
        )
        for each in one.parts
        if (pod_set := one.pod_set(each.name)) is not None
    )
    status = replace(one.status, admission=Admission(one.queue, given))
    status = status.condition("QuotaReserved", True, "QuotaReserved", "", at)
    return replace(one, status=status.condition("Admitted", True, "Admitted", "", at))


def scheduler(
    queues: Iterable[ClusterQueue],
    cohorts: Iterable[Cohort] = (),
    flavors: Iterable[Flavor] = (Flavor(DEFAULT),),
    topologies: Iterable[Topology] = (),
    gates: Gates | None = None,
    settings: Settings | None = None,
) -> Scheduler:
    """With a namespace `default`, and a LocalQueue for every queue."""
    built = Scheduler(gates or Gates.profile(), settings)
    built.world.namespaces[DEFAULT] = {}
    for topology in topologies:
        built.world.put_topology(topology)
    for flavor in flavors:
        built.world.put_flavor(flavor)
    for one in cohorts:
        built.world.put_cohort(one)
    for each in queues:
        built.put_cluster_queue(each)
        built.put_local_queue(LocalQueue(DEFAULT, each.name, each.name))
    return built
