"""Where the volumes of a pod let it run; every expectation is worked out from Kubernetes' documentation.

Nodes: a1 and a2 in zone z1, b1 in z2 with the older label of the zone, c1 without any zone.
"""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import STORAGE_CLASS, VOLUME, VOLUME_CLAIM, Kind
from closeknit.cluster.port import Change
from closeknit.cluster.volumes import follow
from closeknit.dialects.pod_rules import with_rules
from closeknit.engine.fit import fit_of
from closeknit.engine.match import PASSES
from closeknit.engine.policy import Policy
from closeknit.model.claims import Volumes
from closeknit.model.node import Node
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

Raw = dict[str, Any]

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
LABELS: dict[str, dict[str, str]] = {
    "a1": {"rack": "a", ZONE: "z1"},
    "a2": {"rack": "a", ZONE: "z1"},
    "b1": {"rack": "b", OLD_ZONE: "z2"},
    "c1": {"rack": "c"},
}
EVERYWHERE = "a1 a2 b1 c1"
DATA = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
IN_RACK_A = {"key": "rack", "operator": "In", "values": ["a"]}
RWO = ["ReadWriteOnce"]


def claim(name: str = "data", phase: str = "Bound", volume: str = "pv", **spec: Any) -> Raw:
    meta: Raw = {"name": name, "namespace": "default"}
    size = {"resources": {"requests": {"storage": "1Gi"}}}
    named = {"volumeName": volume} if volume else {}
    return {"metadata": meta, "spec": {"accessModes": RWO, **size, **named, **spec}, "status": {"phase": phase}}


def unbound(storage_class: str = "", **spec: Any) -> Raw:
    return claim(phase="Pending", volume="", storageClassName=storage_class, **spec)


def volume(name: str = "pv", labels: dict[str, str] | None = None, expression: Raw | None = None, **spec: Any) -> Raw:
    reach = {} if expression is None else {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    size = {"capacity": {"storage": "1Gi"}, "accessModes": RWO}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"nodeAffinity": reach, **size, **spec}}


def of_class(name: str, mode: str = "WaitForFirstConsumer", *racks: str, **more: Any) -> Raw:
    one = [{"matchLabelExpressions": [{"key": "rack", "values": list(racks)}]}] if racks else []
    return {
        "metadata": {"name": name},
        "provisioner": "csi.example.com",
        "volumeBindingMode": mode,
        "allowedTopologies": one,
        **more,
    }


def known(*objects: Raw) -> Volumes:
    found = Volumes()
    for raw in objects:
        follow(found, Change(0, "ADDED", kind_of(raw), raw))
    return found


def kind_of(raw: Raw) -> Kind:
    if "provisioner" in raw:
        return STORAGE_CLASS
    return VOLUME if "capacity" in raw["spec"] else VOLUME_CLAIM


def passing(volumes: Volumes, spec: Raw = DATA) -> tuple[str, dict[str, int]]:
    """The nodes that take a pod, and how many are excluded by which cause."""
    nodes = [Node(name, {**labels, HOSTNAME: name}, {"cpu": 4000, "pods": 9}) for name, labels in LABELS.items()]
    snapshot = Snapshot(Topology("t", ("rack", HOSTNAME)), NodeTable.of(nodes))
    shape = volumes.ruled(with_rules(Shape.of({"cpu": 1000}), "default", {}, spec))
    fit = fit_of(snapshot, shape, None, Policy())
    names = [name for name, cause in zip(snapshot.table.names, fit.cause, strict=True) if cause == PASSES]
    return " ".join(sorted(names)), dict(fit.excluded())


CONFLICT = 'volume node affinity conflict "data"'
NO_ZONE = 'no available volume zone "data"'
NOWHERE = 'no available persistent volume to bind "data"'


@pytest.mark.parametrize(
    ("volumes", "nodes", "causes"),
    [
        pytest.param(known(claim(), volume()), EVERYWHERE, {}, id="a volume without affinity"),
        pytest.param(known(claim(), volume(expression=IN_RACK_A)), "a1 a2", {CONFLICT: 2}, id="a volume of rack a"),
        pytest.param(known(claim(), volume(labels={ZONE: "z1"})), "a1 a2 c1", {NO_ZONE: 1}, id="zone label"),
        pytest.param(known(claim(), volume(labels={OLD_ZONE: "z1"})), "a1 a2 c1", {NO_ZONE: 1}, id="older zone label"),
        pytest.param(known(claim(), volume(labels={OLD_ZONE: "z2"})), "b1 c1", {NO_ZONE: 2}, id="older label on both"),
        pytest.param(known(claim(), volume(labels={ZONE: "z1__z9"})), "a1 a2 c1", {NO_ZONE: 1}, id="several zones"),
        pytest.param(known(unbound("w"), of_class("w")), EVERYWHERE, {}, id="waits, created anywhere"),
        pytest.param(
            known(unbound("w"), of_class("w", "WaitForFirstConsumer", "b", "c")),
            "b1 c1",
            {'allowedTopologies of StorageClass "w"': 2},
            id="waits, created in some racks",
        ),
        pytest.param(
            known(
                unbound("w"),
                of_class("w", provisioner="kubernetes.io/no-provisioner"),
                volume(expression=IN_RACK_A, storageClassName="w"),
            ),
            "a1 a2",
            {NOWHERE: 2},
            id="waits, bound to a local volume",
        ),
        pytest.param(
            known(
                unbound("w"),
                of_class("w", provisioner="kubernetes.io/no-provisioner"),
                volume(storageClassName="w", capacity={"storage": "1Mi"}),
            ),
            "",
            {NOWHERE: 4},
            id="the free volume is too small",
        ),
        pytest.param(
            known(
                unbound("w"),
                of_class("w", provisioner="kubernetes.io/no-provisioner"),
                volume(storageClassName="w", claimRef={"namespace": "default", "name": "other"}),
            ),
            "",
            {NOWHERE: 4},
            id="the free volume is reserved for another claim",
        ),
        pytest.param(
            known(
                unbound("w"),
                of_class("w", "WaitForFirstConsumer", "b"),
                volume(expression=IN_RACK_A, storageClassName="w"),
            ),
            "a1 a2 b1",
            {'allowedTopologies of StorageClass "w"': 1},
            id="a free volume or a new one",
        ),
    ],
)
def test_nodes_are_those_that_reach_the_volume(volumes: Volumes, nodes: str, causes: dict[str, int]) -> None:
    assert passing(volumes) == (nodes, causes)


@pytest.mark.parametrize(
    ("volumes", "cause"),
    [
        (known(volume()), "does not exist"),
        (known({**claim(), "metadata": {"name": "data", "deletionTimestamp": "now"}}, volume()), "is being deleted"),
        (known(claim()), None),
        (known(claim(phase="Lost"), volume()), None),
        (known(unbound(""), volume()), "is not bound"),
        (known(unbound("i"), of_class("i", "Immediate")), "is not bound"),
        (known(unbound("gone")), "is not bound"),
        (known(claim(phase="Pending", storageClassName="w"), of_class("w"), volume()), "is not bound"),
    ],
)
def test_a_claim_that_cannot_be_used_excludes_every_node(volumes: Volumes, cause: str | None) -> None:
    what = 'PersistentVolumeClaim "data"'
    text = f'{what}: PersistentVolume "pv" does not exist' if cause is None else f"{what} {cause}"
    assert passing(volumes) == ("", {text: 4})


def test_a_claim_without_a_class_is_of_the_default_class() -> None:
    default = of_class("w", "WaitForFirstConsumer", "c")
    default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    assert passing(known(claim(phase="Pending", volume=""), default))[0] == "c1"


def test_an_ephemeral_volume_goes_where_its_class_creates_volumes() -> None:
    template = {"spec": {"accessModes": RWO, "storageClassName": "w", "resources": {"requests": {"storage": "1Gi"}}}}
    spec = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}
    assert passing(known(of_class("w", "WaitForFirstConsumer", "b")), spec)[0] == "b1"
    assert passing(known(of_class("w", "Immediate", "b")), spec)[0] == EVERYWHERE


def test_a_claim_for_one_pod_caps_a_job_at_one_pod() -> None:
    single = claim(accessModes=["ReadWriteOncePod"])
    assert passing(known(single, volume()))[1] == {'volume "data" is for one pod': 4}


def test_where_volumes_are_not_known_they_exclude_nothing() -> None:
    volumes = known()
    volumes.is_known = lambda: False
    assert passing(volumes) == (EVERYWHERE, {})


def test_a_pod_whose_volumes_exclude_nothing_has_no_rules() -> None:
    volumes = known(claim(), volume())
    assert volumes.ruled(with_rules(Shape.of({}), "default", {}, DATA)).rules is None


def test_only_a_change_that_pods_see_is_one() -> None:
    volumes = known(claim(), volume())
    assert not follow(volumes, Change(0, "MODIFIED", VOLUME_CLAIM, {**claim(), "spec": {**claim()["spec"], "x": 1}}))
    assert follow(volumes, Change(0, "DELETED", VOLUME_CLAIM, claim()))
    assert passing(volumes)[0] == ""
