from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins.autoscaler import Autoscaler
from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.heartbeat import Heartbeat
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.node_groups import read
from closeknit.cluster.embedded.standins.node_lifecycle import NodeLifecycle
from closeknit.cluster.embedded.standins.settings import StandinSettings
from closeknit.cluster.kinds import CONFIG_MAP, NODE, POD_TEMPLATE, PROVISIONING_REQUEST
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, containers, states

CHECK = "check-capacity.autoscaling.x-k8s.io"
SCALE_UP = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
OWN = "queued.closeknit.dev"
GPU = """
max: 6
allocatable: {cpu: "8", memory: 32Gi, example.com/gpu: 4, pods: "20"}
labels: {pool: gpu}
taints: [{key: example.com/gpu, effect: NoSchedule}]
topology:
- {label: example.com/block, nodes: 4}
- {label: example.com/rack, nodes: 2}
"""


def standins(settings: StandinSettings) -> list[Any]:
    binder = Binder()
    return [
        Kubelet(settings),
        Heartbeat(settings),
        NodeLifecycle(settings),
        binder,
        Autoscaler(settings, binder.room),
    ]


def playground(**settings: Any) -> Playground:
    host = Playground(*standins(StandinSettings(**settings)))
    data = {"gpu": GPU}
    host.create(CONFIG_MAP, {"metadata": {"name": "closeknit-node-groups", "namespace": "kube-system"}, "data": data})
    return host


def request(host: Playground, kind: str, count: int, name: str = "r", cpu: str = "4", **parameters: str) -> None:
    spec = {**containers(cpu=cpu), "tolerations": [{"operator": "Exists"}]}
    host.create(POD_TEMPLATE, {"metadata": {"name": f"t-{name}"}, "template": {"spec": spec}})
    host.create(
        PROVISIONING_REQUEST,
        {
            "metadata": {"name": name},
            "spec": {
                "provisioningClassName": kind,
                "podSets": [{"podTemplateRef": {"name": f"t-{name}"}, "count": count}],
                "parameters": parameters,
            },
        },
    )


def said(host: Playground, kind: str, name: str = "r") -> tuple[str, str, str]:
    found = condition(host.get(PROVISIONING_REQUEST, name), kind)
    assert found is not None
    return found["status"], found["reason"], found["message"]


def state(host: Playground, name: str = "r") -> dict[str, str]:
    return states(host.get(PROVISIONING_REQUEST, name))


def test_a_request_is_accepted_at_once_with_the_expected_time_of_capacity() -> None:
    host = playground()
    request(host, OWN, 4, delay="30s")
    host.settle()
    assert state(host) == {"Accepted": "True", "Provisioned": "False"}
    assert said(host, "Provisioned")[2] == "Capacity is expected at 2023-11-14T22:13:50Z"
    assert host.names(NODE) == []


def test_nodes_of_the_group_are_created_after_the_delay() -> None:
    host = playground()
    request(host, OWN, 5, delay="30s")
    host.run(31)
    assert host.names(NODE) == ["gpu-0001", "gpu-0002", "gpu-0003"]
    node = host.get(NODE, "gpu-0003")
    assert node["metadata"]["labels"] == {
        "pool": "gpu",
        "example.com/block": "gpu-1",
        "example.com/rack": "gpu-2",
        "kubernetes.io/hostname": "gpu-0003",
        "closeknit.dev/node-group": "gpu",
        "closeknit.dev/provisioning-request": "r",
    }
    assert node["metadata"]["annotations"]["closeknit.dev/provisioning-request"] == "default/r"
    assert [one["key"] for one in node["spec"]["taints"]] == ["example.com/gpu"]
    assert node["status"]["allocatable"]["example.com/gpu"] == "4"
    assert states(node)["Ready"] == "True"
    assert said(host, "Provisioned") == (
        "True",
        "CapacityIsProvisioned",
        "Capacity is provisioned: 3 nodes of group gpu",
    )
    details = host.get(PROVISIONING_REQUEST, "r")["status"]["provisioningClassDetails"]
    assert details == {"NodeGroup": "gpu", "ProvisioningRequest": "r"}


def test_a_group_does_not_grow_beyond_its_limit() -> None:
    host = playground()
    request(host, OWN, 8)
    host.run(6)
    assert len(host.names(NODE)) == 4
    request(host, OWN, 6, "second")
    host.run(6)
    assert said(host, "Failed", "second") == (
        "True",
        "CapacityIsNotFound",
        "No node group can hold 6 more pods: gpu needs 3 more nodes and may have 2",
    )
    assert len(host.names(NODE)) == 4


def test_a_scale_up_creates_nodes_only_for_pods_that_do_not_fit() -> None:
    host = playground()
    host.node("old", cpu="8")
    request(host, SCALE_UP, 3)
    host.run(6)
    assert host.names(NODE) == ["old", "gpu-0001"]
    assert state(host)["Provisioned"] == "True"


def test_a_scale_up_with_enough_capacity_creates_nothing() -> None:
    host = playground()
    host.node("old", cpu="8")
    request(host, SCALE_UP, 2)
    host.run(6)
    assert host.names(NODE) == ["old"]
    assert said(host, "Provisioned") == ("True", "CapacityIsFound", "Capacity is found in the cluster")


def test_checking_capacity_creates_no_nodes() -> None:
    host = playground()
    host.node("old", cpu="8")
    request(host, CHECK, 2)
    request(host, CHECK, 3, "more")
    host.run(6)
    assert state(host) == {"Accepted": "True", "Provisioned": "True"}
    assert said(host, "Failed", "more") == (
        "True",
        "CapacityIsNotFound",
        "Capacity is not found: there is no room for 1 pods",
    )
    assert host.names(NODE) == ["old"]
    host.pod("p", **containers(cpu="8"))
    host.settle()
    assert host.pods()[0]["spec"]["nodeName"] == "old"


def test_pods_that_fit_no_node_of_a_group_are_refused() -> None:
    host = playground()
    request(host, OWN, 1, cpu="9")
    host.run(6)
    assert said(host, "Failed")[2] == "No node group can hold 1 more pods: gpu does not fit"


def test_a_missing_template_and_missing_groups_are_reported() -> None:
    host = playground()
    host.delete(CONFIG_MAP, "closeknit-node-groups", "kube-system")
    request(host, OWN, 1)
    request(host, OWN, 1, "lost")
    host.delete(POD_TEMPLATE, "t-lost")
    host.run(6)
    assert said(host, "Failed")[2] == "There is no room for 1 pods, and there are no node groups to grow"
    assert said(host, "Failed", "lost")[2] == 'PodTemplate "t-lost" is not found'


def test_an_invalid_group_is_reported() -> None:
    host = playground()
    host.patch(CONFIG_MAP, "closeknit-node-groups", {"data": {"gpu": "max: many"}}, namespace="kube-system")
    request(host, OWN, 1)
    host.run(6)
    assert said(host, "Failed")[2].startswith("ConfigMap kube-system/closeknit-node-groups: gpu is not a node group")


def test_requests_of_other_classes_are_left_alone() -> None:
    host = playground()
    request(host, "queued-provisioning.example.com", 1)
    host.run(60)
    assert state(host) == {}


def test_a_booking_expires_and_capacity_is_revoked_when_wanted() -> None:
    host = playground()
    request(host, OWN, 2, booking="1m", revocation="2m")
    host.run(64)
    assert state(host) == {"Accepted": "True", "Provisioned": "True"}
    host.run(2)
    assert state(host)["BookingExpired"] == "True"
    host.run(60)
    assert state(host)["CapacityRevoked"] == "True"
    assert host.names(NODE) == []


def test_without_limits_capacity_stays() -> None:
    host = playground()
    request(host, OWN, 2)
    host.run(100_000)
    assert state(host) == {"Accepted": "True", "Provisioned": "True"}
    assert host.names(NODE) == ["gpu-0001"]


def test_nodes_that_stay_empty_are_removed_if_configured() -> None:
    host = playground(empty_node_time=300.0)
    request(host, OWN, 4)
    host.run(10)
    spec = {**containers(cpu="4"), "tolerations": [{"operator": "Exists"}]}
    host.pod("p", {"closeknit.dev/run-time": "200s"}, **spec)
    host.run(299)
    assert host.names(NODE) == ["gpu-0001"]
    host.run(300)
    assert host.names(NODE) == []


def test_a_restart_waits_for_the_same_nodes() -> None:
    host = playground()
    request(host, OWN, 4, delay="30s")
    host.run(10)
    host.start(standins(StandinSettings()))
    host.run(25)
    assert host.names(NODE) == ["gpu-0001", "gpu-0002"]
    before = host.store.version
    host.start(standins(StandinSettings()))
    host.run(100)
    assert host.store.version == before


@pytest.mark.parametrize("text", ["", "max: 3", "allocatable: {cpu: 1}", "max: 1\nallocatable: {cpu: lots}", "]["])
def test_an_invalid_group_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a node group"):
        read({"data": {"g": text}})


def test_nodes_are_numbered_side_by_side() -> None:
    (group,) = read({"data": {"gpu": GPU}})
    labels: list[Raw] = [group.body(number)["metadata"]["labels"] for number in (1, 2, 3, 5)]
    assert [one["example.com/rack"] for one in labels] == ["gpu-1", "gpu-1", "gpu-2", "gpu-3"]
    assert [one["example.com/block"] for one in labels] == ["gpu-1", "gpu-1", "gpu-1", "gpu-2"]
