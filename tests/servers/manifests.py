"""Applies objects of any kind, with their paths from the server's discovery, as kubectl does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import yaml

from contract.client import Api
from contract.expect import make
from contract.objects import path

MANAGER = "test"
PATIENCE = 120.0
CRD = "apiextensions.k8s.io/v1/customresourcedefinitions"

Object = dict[str, Any]


def read(source: Path | str) -> list[Object]:
    """The objects in a file, or in a text."""
    text = source.read_text() if isinstance(source, Path) else source
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def apply(api: Api, objects: Iterable[Object]) -> list[Object]:
    """Server-side apply each object; returns them as stored."""
    return [apply_one(api, one) for one in objects]


def apply_one(api: Api, body: Object) -> Object:
    answer = api.apply(address(api, body), body, MANAGER, force=True)
    assert answer.status in (200, 201), answer.body
    result: Object = answer.body
    return result


def define(api: Api, definitions: Iterable[Object]) -> None:
    """Create CRDs; their kinds are served when this returns."""
    for spec in [make(api, path(CRD), one)["spec"] for one in definitions]:
        for version in spec["versions"]:
            if version["served"]:
                resource_of(api, f"{spec['group']}/{version['name']}", spec["names"]["kind"])


def address(api: Api, body: Object) -> str:
    """/apis/batch/v1/namespaces/default/jobs/train"""
    resource = resource_of(api, body["apiVersion"], body["kind"])
    metadata = body["metadata"]
    space = metadata.get("namespace", "default") if resource["namespaced"] else None
    return path(f"{body['apiVersion']}/{resource['name']}", space, metadata["name"])


def resource_of(api: Api, version: str, kind: str) -> Object:
    """The resource of a kind; one that was just defined may take a moment to be served."""
    end = monotonic() + PATIENCE
    while True:
        answer = api.get(f"/{'apis' if '/' in version else 'api'}/{version}")
        resources: list[Object] = answer.body["resources"] if answer.status == 200 else []
        for resource in resources:
            if resource["kind"] == kind and "/" not in resource["name"]:
                return resource
        assert monotonic() < end, f"the server has no {kind} in {version}"
        sleep(0.1)


def is_true(body: Object, condition: str) -> bool:
    """Whether the status of an object has this condition, and it is True."""
    conditions: list[Object] = (body.get("status") or {}).get("conditions") or []
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)
