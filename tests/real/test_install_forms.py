"""The chart, the kustomize base and `install` give a cluster the same objects."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.expect import eventually
from servers.build import binary
from servers.cluster import RealCluster
from servers.nodes import make_nodes

from .installation import BIN, HOME, await_policies, await_well, ck, controller, done, leader

ROOT = Path(__file__).parents[2]
CHART, BASE = ROOT / "deploy/chart", ROOT / "deploy/kustomize/base"
Objects = dict[tuple[str, str], dict[str, Any]]


def said(*command: str | Path) -> str:
    ran = subprocess.run([str(one) for one in command], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def objects(text: str) -> Objects:
    found = [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def charted(*values: str) -> Objects:
    more = [word for value in values for word in ("--set", value)]
    return objects(said(binary("helm"), "template", "closeknit", CHART, "-n", HOME, "--include-crds", *more))


def sent(*words: str) -> Objects:
    return objects(said(BIN / "closeknit", "install", "-o", "yaml", *words))


@pytest.fixture
def cluster() -> Iterator[RealCluster]:
    with RealCluster() as cluster:
        make_nodes(cluster.api, racks=1, hosts=2)
        yield cluster


def test_chart_kustomize_and_install_are_the_same() -> None:
    kustomized = objects(said(binary("kubectl"), "kustomize", BASE))
    assert kustomized == sent()
    assert charted() == {key: one for key, one in sent().items() if key[0] != "Namespace"}


def test_values_of_the_chart_are_options_of_install() -> None:
    values = ("image.repository=example.com/closeknit", "image.tag=9", "replicas=3", "serviceMonitor.enabled=true")
    options = ("--image", "example.com/closeknit:9", "--replicas", "3", "--service-monitor")
    expected = {key: one for key, one in sent(*options).items() if key[0] != "Namespace"}
    assert charted(*values) == expected


def test_the_chart_passes_on_where_its_pods_may_run() -> None:
    values = ("nodeSelector.a=b", "tolerations[0].key=k", "priorityClassName=p", "imagePullSecrets[0].name=s")
    pod = charted(*values)["Deployment", "closeknit-controller"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"a": "b"}
    assert pod["tolerations"] == [{"key": "k"}]
    assert pod["priorityClassName"] == "p"
    assert pod["imagePullSecrets"] == [{"name": "s"}]


def test_the_chart_states_that_its_policies_are_for_one_namespace() -> None:
    ran = subprocess.run([binary("helm"), "template", "x", CHART, "-n", "other"], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "the policies of this chart are made for the namespace closeknit-system" in ran.stderr


def test_an_installation_by_helm_is_healthy_and_can_be_taken_over(cluster: RealCluster) -> None:
    where = ("-n", HOME, "--create-namespace", "--kubeconfig", cluster.kubeconfig)
    said(binary("helm"), "install", "closeknit", CHART, *where)
    is_well(cluster)
    done(ck(cluster, "install", "--force-conflicts"))
    is_well(cluster)


def test_an_installation_by_kustomize_is_healthy(cluster: RealCluster) -> None:
    cluster.kubectl("apply", "--server-side", "-k", str(BASE))
    is_well(cluster)


def is_well(cluster: RealCluster) -> None:
    await_policies(cluster)
    with controller(cluster):
        eventually(lambda: bool(leader(cluster.api)))
        await_well(cluster)
