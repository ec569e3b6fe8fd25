"""A real server with our CRDs and policies, and helpers to see how it changes jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from closeknit.cluster.kinds import LOCAL_QUEUE, Kind
from closeknit.deploy.crds import definitions
from contract.client import Api
from contract.expect import eventually, make, namespace
from contract.objects import path
from corpus.job_objects import TEMPLATES, made
from servers.cluster import RealCluster
from servers.manifests import define
from servers.policies import install
from servers.versions import JOB_DEFINITIONS

Raw = dict[str, Any]
QUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
OTHER_KINDS = tuple(kind for kind in TEMPLATES if not kind.is_built_in)


@contextmanager
def policed(components: Iterable[str] = (), others: Iterable[str] = JOB_DEFINITIONS) -> Iterator[RealCluster]:
    """`others`: projects whose kinds are defined; operators bring their own."""
    with RealCluster(components) as cluster:
        define(cluster.api, definitions())
        cluster.define(*others)
        install(cluster.api, kinds=OTHER_KINDS)
        yield cluster


def body_of(kind: Kind, name: str, labels: Raw | None = None, **spec: Any) -> Raw:
    raw = made(kind, labels, **spec)
    return {"apiVersion": kind.api_version, "kind": kind.kind, **raw, "metadata": {**raw["metadata"], "name": name}}


def create(api: Api, kind: Kind, space: str, name: str, labels: Raw | None = None, **spec: Any) -> Raw:
    return make(api, kind.path(space), body_of(kind, name, labels, **spec))


def tried(api: Api, kind: Kind, space: str, labels: Raw | None = None) -> Raw:
    """The object as a dry run returns it."""
    answer = api.post(kind.path(space), body_of(kind, "tried", labels), dryRun="All")
    assert answer.status == 201, answer.body
    found: Raw = answer.body
    return found


@contextmanager
def queued(api: Api, kind: Kind) -> Iterator[str]:
    """A namespace with a default queue that is in force."""
    with namespace(api) as space:
        queue = {"apiVersion": LOCAL_QUEUE.api_version, "kind": LOCAL_QUEUE.kind, "metadata": {"name": "default"}}
        make(api, LOCAL_QUEUE.path(space), {**queue, "spec": {"clusterQueue": "x"}})
        eventually(lambda: QUEUE in labels(tried(api, kind, space)))
        yield space


def labels(raw: Raw) -> Raw:
    found: Raw = raw["metadata"].get("labels") or {}
    return found


def gates(pod: Raw) -> list[str]:
    return [one["name"] for one in pod["spec"].get("schedulingGates") or ()]


def pods_of(api: Api, space: str) -> list[Raw]:
    found: list[Raw] = api.get(path("v1/pods", space)).body["items"]
    return found
