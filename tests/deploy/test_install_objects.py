"""The objects of an installation, and how a configuration changes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from closeknit import __version__
from closeknit.deploy.bundle import stages
from closeknit.deploy.objects import InstallOptions

Raw = dict[str, Any]


def objects(wishes: InstallOptions | None = None) -> dict[tuple[str, str], Raw]:
    made = [one for stage in stages(wishes or InstallOptions()) for one in stage.objects]
    return {(one["kind"], one["metadata"]["name"]): one for one in made}


def deployment(wishes: InstallOptions | None = None) -> Raw:
    return objects(wishes)["Deployment", "closeknit-controller"]


def pod(wishes: InstallOptions | None = None) -> Raw:
    found: Raw = deployment(wishes)["spec"]["template"]
    return found


def test_stages_come_in_the_order_in_which_each_needs_the_one_before() -> None:
    names = [stage.name for stage in stages(InstallOptions())]
    assert names == ["namespace", "definitions", "permissions", "policies", "configuration", "controller"]


def test_every_object_says_that_it_is_ours_and_of_which_version() -> None:
    labels = [one["metadata"]["labels"] for one in objects().values()]
    assert {one["app.kubernetes.io/part-of"] for one in labels} == {"closeknit"}
    assert {one["app.kubernetes.io/version"] for one in labels} == {__version__}


def test_no_object_is_sent_twice() -> None:
    made = [one for stage in stages(InstallOptions()) for one in stage.objects]
    assert len(objects()) == len(made)


def test_two_replicas_run_of_which_one_may_be_drained_at_a_time() -> None:
    assert deployment()["spec"]["replicas"] == 2
    budget = objects()["PodDisruptionBudget", "closeknit-controller"]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == deployment()["spec"]["selector"]
    assert budget["selector"]["matchLabels"].items() <= pod()["metadata"]["labels"].items()


def test_nothing_runs_as_root_or_writes_to_its_disk() -> None:
    spec = pod()["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    [container] = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_only_scrapers_and_the_api_server_reach_it_and_it_reaches_only_api_servers() -> None:
    policy = objects(InstallOptions(api_server=("10.0.0.1/32",)))["NetworkPolicy", "closeknit-controller"]["spec"]
    [container] = pod()["spec"]["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"health": 8081, "metrics": 8082}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    sources = [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}, {"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert policy["ingress"] == [{"from": sources, "ports": [{"protocol": "TCP", "port": ports["metrics"]}]}]
    [egress] = policy["egress"]
    assert {one["protocol"] for one in egress["ports"]} == {"TCP"}
    assert {443, 6443} <= {one["port"] for one in egress["ports"]}


def test_the_folder_for_temporary_files_is_bounded() -> None:
    assert [one["emptyDir"] for one in pod()["spec"]["volumes"] if "emptyDir" in one] == [{"sizeLimit": "64Mi"}]


def test_readers_of_metrics_and_of_decisions_have_a_role_each() -> None:
    found = objects()
    assert found["ClusterRole", "closeknit-metrics-reader"]["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    ]
    assert found["ClusterRole", "closeknit-reader"]["rules"] == [
        {"nonResourceURLs": ["/closeknit/decisions", "/closeknit/config", "/closeknit/numa"], "verbs": ["get"]}
    ]
    subjects = found["ClusterRoleBinding", "closeknit-reader"]["subjects"]
    assert subjects == [{"kind": "ServiceAccount", "name": "closeknit-reader", "namespace": "closeknit-system"}]
    assert ("ServiceAccount", "closeknit-reader") in found
    rules = found["Role", "closeknit-reader"]["rules"]
    assert [(one["resources"], one["verbs"], one.get("resourceNames")) for one in rules] == [
        (["leases"], ["get"], ["closeknit-controller"]),
        (["pods"], ["get"], None),
        (["pods/proxy"], ["get"], None),
        (["serviceaccounts/token"], ["create"], ["closeknit-reader"]),
    ]


def test_another_configuration_makes_other_pods_and_the_same_one_does_not() -> None:
    other = replace(InstallOptions(), configuration="kind: Configuration\n")
    hashes = [pod(one)["metadata"]["annotations"] for one in (InstallOptions(), other, other)]
    assert hashes[0] != hashes[1] == hashes[2]
    assert objects(other)["ConfigMap", "closeknit-controller-config"]["data"] == {
        "controller_manager_config.yaml": "kind: Configuration\n"
    }


def test_the_configuration_is_mounted_where_the_arguments_say() -> None:
    [container] = pod()["spec"]["containers"]
    [mount] = [one for one in container["volumeMounts"] if one["name"] == "config"]
    assert f"--config={mount['mountPath']}/controller_manager_config.yaml" in container["args"]


def test_the_role_is_for_the_lease_that_the_configuration_names() -> None:
    role = objects(replace(InstallOptions(), lease="mine"))["Role", "closeknit-controller"]
    leases = [one for one in role["rules"] if one["resources"] == ["leases"]]
    assert [one.get("resourceNames") for one in leases] == [None, ["mine"]]


def test_everything_is_in_the_namespace_that_was_asked_for() -> None:
    made = objects(replace(InstallOptions(), namespace="elsewhere"))
    homes = {one["metadata"].get("namespace") for one in made.values()}
    assert homes == {None, "elsewhere"}
    assert made["ClusterRoleBinding", "closeknit-controller"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "closeknit-controller", "namespace": "elsewhere"}
    ]


@pytest.mark.parametrize(("monitored", "there"), [(False, set()), (True, {"Service", "ServiceMonitor"})])
def test_a_service_monitor_is_installed_only_where_it_is_wanted(monitored: bool, there: set[str]) -> None:
    kinds = {kind for kind, _ in objects(replace(InstallOptions(), monitored=monitored))}
    assert kinds & {"Service", "ServiceMonitor"} == there
