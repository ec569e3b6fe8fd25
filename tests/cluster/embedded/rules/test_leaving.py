"""Deleting an object in use warns with its users, and so does a new reference to it."""

from __future__ import annotations

from closeknit.cluster.embedded.rules.leaving import why_it_stays
from closeknit.cluster.embedded.store import WriteOptions
from closeknit.cluster.kinds import (
    CLUSTER_QUEUE,
    CONFIG_MAP,
    JOB,
    LOCAL_QUEUE,
    RESOURCE_FLAVOR,
    TOPOLOGY,
    WORKLOAD,
    Kind,
)
from closeknit.cluster.port import Key, Patch, Raw
from cluster.embedded.rules.hosts import QUEUE, Host, job

HELD = {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}


def centre() -> Host:
    """A topology, a flavor on it, a queue for that, and a way into the queue."""
    host = Host()
    host.create(TOPOLOGY, {"metadata": {"name": "t", **HELD}, "spec": {"levels": [{"nodeLabel": "rack"}]}})
    flavor = {"nodeLabels": {"a": "b"}, "topologyName": "t"}
    host.create(RESOURCE_FLAVOR, {"metadata": {"name": "f"}, "spec": flavor})
    host.create(CLUSTER_QUEUE, {"metadata": {"name": "q", **HELD}, "spec": queue_of("f")})
    host.create(LOCAL_QUEUE, {"metadata": {"name": "lq"}, "spec": {"clusterQueue": "q"}})
    return host


def queue_of(flavor: str) -> Raw:
    quota = {"name": "cpu", "nominalQuota": 4}
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [quota]}]}]
    return {"namespaceSelector": {}, "resourceGroups": groups}


def workload(host: Host, name: str, finished: bool = False, queue: str = "q") -> None:
    """One that has quota in the queue."""
    sets = [{"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}]
    host.create(WORKLOAD, {"metadata": {"name": name}, "spec": {"podSets": sets}}, trusted=True)
    conditions = [{"type": "Finished", "status": "True"}] if finished else []
    status = {"admission": {"clusterQueue": queue}, "conditions": conditions}
    host.store.carry_out(Patch(Key(WORKLOAD, "default", name), {"status": status}, subresource="status"))


def delete(host: Host, kind: Kind, name: str) -> Raw:
    host.store.delete(Key(kind, "", name))
    return host.store.get(kind, "", name)


def warned(host: Host, kind: Kind, body: Raw) -> list[str]:
    """The warnings when the object is created."""
    options = WriteOptions(trusted=False)
    host.store.create(kind, {**body, "metadata": {"name": "new", **body.get("metadata", {})}}, options)
    return options.warnings


def test_a_queue_names_the_workloads_that_hold_its_quota() -> None:
    host = centre()
    for name in ("x", "y"):
        workload(host, name)
    workload(host, "over", finished=True)
    workload(host, "elsewhere", queue="other")
    going = delete(host, CLUSTER_QUEUE, "q")
    assert why_it_stays(host.store, CLUSTER_QUEUE, going) == (
        'ClusterQueue "q" stays until its 2 workloads are gone: default/x, default/y'
    )


def test_many_workloads_are_named_in_part_and_counted() -> None:
    host = centre()
    for number in range(12):
        workload(host, f"w{number:02}")
    assert why_it_stays(host.store, CLUSTER_QUEUE, host.store.get(CLUSTER_QUEUE, "", "q")) == (
        'ClusterQueue "q" stays until its 12 workloads are gone: '
        "default/w00, default/w01, default/w02, default/w03, default/w04 and 7 more"
    )


def test_flavors_and_topologies_name_the_objects_that_refer_to_them() -> None:
    host = centre()
    flavor, topology = delete(host, RESOURCE_FLAVOR, "f"), delete(host, TOPOLOGY, "t")
    assert why_it_stays(host.store, RESOURCE_FLAVOR, flavor) == (
        'ResourceFlavor "f" stays until no ClusterQueue refers to it: q'
    )
    assert why_it_stays(host.store, TOPOLOGY, topology) == (
        'Topology "t" stays until no ResourceFlavor refers to it: f'
    )


def test_an_unused_object_has_no_reason_to_stay() -> None:
    host = centre()
    assert why_it_stays(host.store, CLUSTER_QUEUE, host.store.get(CLUSTER_QUEUE, "", "q")) == ""
    assert why_it_stays(host.store, CONFIG_MAP, {"metadata": {"name": "q", "namespace": "default"}}) == ""


def test_a_reference_to_an_object_that_is_being_deleted_is_a_warning() -> None:
    host = centre()
    workload(host, "x")
    for kind, name in ((CLUSTER_QUEUE, "q"), (RESOURCE_FLAVOR, "f"), (TOPOLOGY, "t")):
        delete(host, kind, name)
    until_x = 'ClusterQueue "q" is being deleted; it stays until its workload is gone: default/x'
    assert warned(host, LOCAL_QUEUE, {"spec": {"clusterQueue": "q"}}) == [f"spec.clusterQueue: {until_x}"]
    assert warned(host, JOB, job({QUEUE: "lq"})) == [f"metadata.labels[{QUEUE}]: {until_x}"]
    assert warned(host, CLUSTER_QUEUE, {"spec": queue_of("f")}) == [
        'spec.resourceGroups[0].flavors[0].name: ResourceFlavor "f" is being deleted; '
        "it stays until no ClusterQueue refers to it: q"
    ]
    assert warned(host, RESOURCE_FLAVOR, {"spec": {"nodeLabels": {"a": "b"}, "topologyName": "t"}}) == [
        'spec.topologyName: Topology "t" is being deleted; it stays until no ResourceFlavor refers to it: f'
    ]


def test_a_write_to_an_object_that_is_being_deleted_is_a_warning() -> None:
    host, options = centre(), WriteOptions(trusted=False)
    workload(host, "x")
    delete(host, CLUSTER_QUEUE, "q")
    host.store.patch(Key(CLUSTER_QUEUE, "", "q"), {"spec": {"cohortName": "c"}}, options=options)
    assert options.warnings == [
        'it is being deleted, which this write does not change: ClusterQueue "q" stays until its workload is gone: '
        "default/x"
    ]


def test_a_reference_to_an_object_that_is_not_being_deleted_is_no_warning() -> None:
    host = centre()
    assert warned(host, LOCAL_QUEUE, {"spec": {"clusterQueue": "q"}}) == []
    assert warned(host, JOB, job({QUEUE: "lq"})) == []
    assert warned(host, JOB, {**job({QUEUE: "nowhere"}), "metadata": {"name": "b", "labels": {QUEUE: "nowhere"}}}) == []
