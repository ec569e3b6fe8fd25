"""A cluster that had Kueue: its definitions are used as they are, and adopted where that is safe and asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from contract.expect import accepted, eventually, make
from contract.objects import path
from servers.cluster import RealCluster
from servers.definitions import definitions
from servers.manifests import define

from .installation import ailments, ck, done

Raw = dict[str, Any]
CRDS = "apiextensions.k8s.io/v1/customresourcedefinitions"
WORKLOADS = "workloads.kueue.x-k8s.io"
SERVICE = {"namespace": "kueue-system", "name": "kueue-webhook-service", "path": "/convert"}
WITH_WEBHOOK = ("workloads", "clusterqueues", "localqueues", "cohorts", "resourceflavors")


@pytest.fixture
def cluster() -> Iterator[RealCluster]:
    """Kueue's CRDs as its installation has them, without a backend of the webhook."""
    with RealCluster(()) as cluster:
        define(cluster.api, definitions("kueue"))
        webhook = {"clientConfig": {"service": SERVICE}, "conversionReviewVersions": ["v1"]}
        for name in WITH_WEBHOOK:
            place = path(CRDS, None, f"{name}.kueue.x-k8s.io")
            accepted(cluster.api.merge(place, {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}))
        yield cluster


def definition(cluster: RealCluster, name: str = WORKLOADS) -> Raw:
    found: Raw = accepted(cluster.api.get(path(CRDS, None, name)))
    return found


def test_definitions_of_kueue_are_used_as_they_are(cluster: RealCluster) -> None:
    before = definition(cluster)
    said = done(ck(cluster, "install"))
    assert "kept and used: not installed by Closeknit" in said
    after = definition(cluster)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]


def test_a_webhook_without_a_backend_is_found_and_adoption_fixes_it(cluster: RealCluster) -> None:
    done(ck(cluster, "install"))
    [text] = [text for check, text in ailments(cluster) if check == "definitions"]
    assert "calls Service kueue-system/kueue-webhook-service, which has no endpoints" in text
    done(ck(cluster, "install", "--adopt-crds", "--dry-run"))
    assert definition(cluster)["spec"]["conversion"]["strategy"] == "Webhook"
    said = done(ck(cluster, "install", "--adopt-crds"))
    assert f"customresourcedefinition/{WORKLOADS} adopted" in said
    spec = definition(cluster)["spec"]
    assert spec["conversion"] == {"strategy": "None"}
    assert {one["name"]: one["served"] for one in spec["versions"]} == {"v1beta1": False, "v1beta2": True}
    eventually(lambda: not [text for check, text in ailments(cluster) if check == "definitions"])
    eventually(lambda: cluster.api.get("/apis/kueue.x-k8s.io/v1beta1/workloads").status == 404)
    flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "f"}}
    make(cluster.api, path("kueue.x-k8s.io/v1beta2/resourceflavors"), flavor)


def test_nothing_is_adopted_while_something_may_be_stored_as_v1beta1(cluster: RealCluster) -> None:
    place = f"{path(CRDS, None, WORKLOADS)}/status"
    accepted(cluster.api.merge(place, {"status": {"storedVersions": ["v1beta1", "v1beta2"]}}))
    ran = ck(cluster, "install", "--adopt-crds")
    assert ran.code == 2
    assert f"customresourcedefinition/{WORKLOADS}: status.storedVersions: is [v1beta1, v1beta2]" in ran.err
    assert cluster.api.get(path("v1/namespaces", None, "closeknit-system")).status == 404
    assert definition(cluster, "cohorts.kueue.x-k8s.io")["spec"]["conversion"]["strategy"] == "Webhook"


def test_what_kueue_brought_survives_a_purge(cluster: RealCluster) -> None:
    done(ck(cluster, "install"))
    done(ck(cluster, "uninstall", "--purge"))
    assert definition(cluster)["spec"]["group"] == "kueue.x-k8s.io"
