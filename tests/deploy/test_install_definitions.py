"""Kueue's own definitions: whether their conversion webhook is alive, and when they may be adopted."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from closeknit.deploy.definitions import Backend, adopt, adopted, is_alive, needs_adoption, not_adoptable
from closeknit.deploy.kinds import CRD
from closeknit.deploy.marks import stamped
from deploy.server import Server

Raw = dict[str, Any]
NAME = "workloads.kueue.x-k8s.io"


def kueues(stored: list[str], webhook: bool = True, old: bool = True) -> Raw:
    """As Kueue's installation has it: two versions, and a webhook that converts them."""
    service = {"namespace": "kueue-system", "name": "kueue-webhook-service", "path": "/convert"}
    conversion: Raw = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}}
    versions = [
        {"name": "v1beta1", "served": old, "storage": False},
        {"name": "v1beta2", "served": True, "storage": True},
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "resourceVersion": "7"},
        "spec": {
            "group": "kueue.x-k8s.io",
            "versions": versions,
            "conversion": conversion if webhook else {"strategy": "None"},
        },
        "status": {"storedVersions": stored, "conditions": [{"type": "Established", "status": "True"}]},
    }


def endpoints(addresses: list[str], ready: bool = True) -> Raw:
    labels = {"kubernetes.io/service-name": "kueue-webhook-service"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "x", "namespace": "kueue-system", "labels": labels},
        "endpoints": [{"addresses": addresses, "conditions": {"ready": ready}}],
    }


@pytest.mark.parametrize(
    ("there", "alive"),
    [([], False), ([endpoints(["10.0.0.1"])], True), ([endpoints(["10.0.0.1"], ready=False)], False)],
)
def test_a_service_is_alive_if_it_has_a_ready_endpoint(there: list[Raw], alive: bool) -> None:
    backend = Backend("kueue-system", "kueue-webhook-service")
    assert asyncio.run(is_alive(Server(*there), backend)) is alive


@pytest.mark.parametrize(
    ("raw", "needed"),
    [
        (kueues(["v1beta2"]), True),
        (kueues(["v1beta2"], webhook=False), True),
        (kueues(["v1beta2"], webhook=False, old=False), False),
        (stamped(kueues(["v1beta2"])), False),
    ],
)
def test_a_definition_with_a_webhook_or_another_served_version_needs_adoption(raw: Raw, needed: bool) -> None:
    assert needs_adoption(raw) is needed


@pytest.mark.parametrize("stored", [["v1beta1"], ["v1beta1", "v1beta2"], ["v1beta2", "v1beta1"], []])
def test_nothing_is_adopted_while_objects_may_be_stored_otherwise(stored: list[str]) -> None:
    [mistake] = not_adoptable(kueues(stored))
    assert mistake.field == "status.storedVersions"
    assert "rewrite every object as v1beta2" in mistake.remedy


def test_a_definition_stored_as_v1beta2_alone_may_be_adopted() -> None:
    assert list(not_adoptable(kueues(["v1beta2"]))) == []


def test_an_adopted_definition_converts_nothing_and_serves_v1beta2_only() -> None:
    server = Server(kueues(["v1beta2"]))
    asyncio.run(adopt(server, server.named(CRD, NAME)))
    spec = server.named(CRD, NAME)["spec"]
    assert spec["conversion"] == {"strategy": "None"}
    assert [(one["name"], one["served"]) for one in spec["versions"]] == [("v1beta1", False), ("v1beta2", True)]


def test_an_adoption_is_refused_if_the_definition_has_changed_meanwhile() -> None:
    assert adopted(kueues(["v1beta2"]))["metadata"] == {"resourceVersion": "7"}
