"""Kinds that are added or removed, forbidden, or unreadable: the controller reports each, and the others continue."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import pytest

from closeknit.cluster.kinds import DAEMON_SET, JOB, JOB_SET, RUNTIME_CLASS, WORKLOAD, Kind
from closeknit.cluster.kube.discovery import CRD
from contract.client import Api
from contract.expect import accepted, eventually, gone, make
from contract.objects import path
from servers import manifests
from servers.cluster import RealCluster
from servers.definitions import definitions
from servers.manifests import is_true
from servers.operators import NO_CONVERSION
from servers.policies import is_known
from servers.process import Process
from servers.real.objects import template

from .installation import ACCOUNT, NAME, ailments, await_policies, controller, findings, installed, said

Raw = dict[str, Any]
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: open}
spec:
  namespaceSelector: {}
  resourceGroups:
  - {coveredResources: [cpu], flavors: [{name: any, resources: [{name: cpu, nominalQuota: "10"}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: default}
spec: {clusterQueue: open}
"""
ROLE = path("rbac.authorization.k8s.io/v1/clusterroles", None, NAME)
OTHER_VERSION = "v1alpha3"
BEGUN = " on https://"
OFF, ON = "is not served: features that need it are disabled", "is watched: features that need it are enabled"
PATIENCE = 120.0


def submit(api: Api, kind: Kind, name: str) -> None:
    pods = {"parallelism": 1, "completions": 1, "template": template()}
    spec = pods if kind is JOB else {"replicatedJobs": [{"name": "workers", "template": {"spec": pods}}]}
    meta = {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "team"}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": {"suspend": True, **spec}}
    make(api, kind.path("default"), body)


def await_admitted(api: Api, kind: Kind, name: str) -> None:
    """Wait until its Workload is admitted and the job may start."""

    def is_admitted(one: Raw) -> bool:
        [owner] = one["metadata"]["ownerReferences"]
        return (owner["kind"], owner["name"]) == (kind.kind, name) and is_true(one, "Admitted")

    eventually(lambda: any(map(is_admitted, api.get(WORKLOAD.path("default")).body["items"])), PATIENCE)
    eventually(lambda: api.get(kind.path("default", name)).body["spec"]["suspend"] is False, PATIENCE)


def lines(process: Process, kind: Kind, text: str) -> int:
    """How often the log has this line about a kind."""
    return sum(kind.resource in one and text in one for one in said(process).splitlines())


def test_job_sets_are_queued_from_when_they_are_defined_until_they_are_not_any_more() -> None:
    with installed() as cluster:
        cluster.apply(QUEUES)
        await_policies(cluster)
        with controller(cluster) as process:
            eventually(lambda: lines(process, JOB_SET, OFF) == 1)
            assert [state for check, state, text in findings(cluster) if JOB_SET.resource in text] == ["ok"]
            submit(cluster.api, JOB, "before")
            await_admitted(cluster.api, JOB, "before")

            cluster.define("jobset")
            eventually(partial(is_known, cluster.api, JOB_SET))
            submit(cluster.api, JOB_SET, "train")
            await_admitted(cluster.api, JOB_SET, "train")
            assert lines(process, JOB_SET, ON) == 1
            assert [text for _, _, text in findings(cluster) if JOB_SET.resource in text] == []

            place = CRD.path(name=JOB_SET.resource)
            accepted(cluster.api.delete(place))
            eventually(gone(cluster.api, place), PATIENCE)
            eventually(lambda: lines(process, JOB_SET, OFF) == 2, PATIENCE)
            submit(cluster.api, JOB, "after")
            await_admitted(cluster.api, JOB, "after")
            assert process.is_alive
            assert said(process).count(BEGUN) == 1


def without(cluster: RealCluster, kind: Kind, verb: str) -> Callable[[], None]:
    """Take a verb out of the ClusterRole; returns what puts it back."""
    before = cluster.api.get(ROLE).body["rules"]
    after = deepcopy(before)
    [rule] = [one for one in after if one["resources"] == [kind.plural]]
    rule["verbs"].remove(verb)
    accepted(cluster.api.merge(ROLE, {"rules": after}))
    return lambda: accepted(cluster.api.merge(ROLE, {"rules": before}))


@pytest.mark.parametrize(("kind", "verb"), [(RUNTIME_CLASS, "list"), (DAEMON_SET, "watch")])
def test_a_kind_that_is_forbidden_is_named_with_the_verb_until_it_is_granted(kind: Kind, verb: str) -> None:
    with installed() as cluster:
        cluster.apply(QUEUES)
        await_policies(cluster)
        grant = without(cluster, kind, verb)
        with controller(cluster) as process:
            eventually(lambda: lines(process, kind, f": {verb} is forbidden: grant it in the ClusterRole") == 1)
            assert ("permissions", f"{ACCOUNT} lacks: {verb} on {kind.resource}") in ailments(cluster)
            submit(cluster.api, JOB, "train")
            await_admitted(cluster.api, JOB, "train")
            grant()
            eventually(lambda: lines(process, kind, ON) == 1, PATIENCE)
            assert lines(process, kind, "forbidden") == 1


def test_job_sets_without_their_conversion_webhook_block_nothing_else() -> None:
    """They are stored in another version than ours, and the conversion webhook is down."""
    [definition] = definitions("jobset")
    [ours] = definition["spec"]["versions"]
    definition["spec"]["versions"] = [{**ours, "storage": False}, {**ours, "name": OTHER_VERSION}]
    place = CRD.path(name=JOB_SET.resource)
    with installed() as cluster:
        cluster.apply(QUEUES)
        await_policies(cluster)
        manifests.define(cluster.api, [definition])
        eventually(partial(is_known, cluster.api, JOB_SET))
        submit(cluster.api, JOB_SET, "kept")
        accepted(cluster.api.merge(place, {"spec": {"conversion": NO_CONVERSION}}))
        eventually(lambda: cluster.api.get(JOB_SET.path(), limit=500).status == 500)
        with controller(cluster) as process:
            eventually(lambda: lines(process, JOB_SET, ": list failed, retrying: conversion webhook") == 1)
            submit(cluster.api, JOB, "train")
            await_admitted(cluster.api, JOB, "train")
            accepted(cluster.api.merge(place, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}))
            await_admitted(cluster.api, JOB_SET, "kept")
            assert lines(process, JOB_SET, ON) == 1
