"""The API server itself suspends jobs with a queue, before any controller sees them."""

from __future__ import annotations

import secrets

import pytest

from contract.client import Api
from contract.expect import eventually, make, namespace
from contract.objects import jobs
from servers.cluster import RealCluster

from .objects import job, template

QUEUE = "kueue.x-k8s.io/queue-name"
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: hold}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
  matchConditions:
  - name: queued
    expression: has(object.metadata.labels) && 'kueue.x-k8s.io/queue-name' in object.metadata.labels
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{suspend: true}}'}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: hold}
spec: {policyName: hold}
"""


def is_held(api: Api, space: str) -> bool:
    body = job(f"x{secrets.token_hex(5)}", space, template())
    body["metadata"]["labels"] = {QUEUE: "team"}
    return bool(make(api, jobs(space), body)["spec"]["suspend"])


def test_a_job_with_a_queue_is_suspended_as_it_is_made(cluster: RealCluster, api: Api, space: str) -> None:
    cluster.apply(POLICY)
    eventually(lambda: is_held(api, space))
    other = make(api, jobs(space), job("other", space, template()))
    assert other["spec"]["suspend"] is False
    cluster.kubectl("delete", "mutatingadmissionpolicybinding,mutatingadmissionpolicy", "hold")


def test_a_server_without_the_plugin_lets_it_run() -> None:
    flags = {"kube-apiserver": ["--disable-admission-plugins=MutatingAdmissionPolicy"]}
    with RealCluster((), flags=flags) as cluster, namespace(cluster.api) as space:
        cluster.apply(POLICY)
        with pytest.raises(AssertionError, match="not so within"):
            eventually(lambda: is_held(cluster.api, space), within=3.0)
