"""For any template, restoring it after an injection gives the original."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.dialects.kueue.jobs.injection import Info, StartConflict, injected, restored
from closeknit.dialects.kueue.jobs.integration import Integration
from closeknit.dialects.kueue.jobs.kinds import LIVE
from closeknit.dialects.kueue.jobs.starting import started, stopping
from closeknit.dialects.kueue.jobs.workload_object import workload_for
from closeknit.model.gates import Gates
from closeknit.model.shape import Toleration

Raw = dict[str, Any]
KUEUE = Gates.profile("kueue")

texts = st.sampled_from(["a", "b", "c", "d"])
labels = st.dictionaries(texts, texts, max_size=3)
tolerations = st.builds(
    Toleration, texts, st.sampled_from(["Equal", "Exists"]), texts, texts, st.none() | st.integers(0, 9)
)
infos = st.builds(
    Info,
    st.just("main"),
    st.integers(1, 9),
    labels,
    labels,
    labels,
    st.lists(tolerations, max_size=2).map(tuple),
    st.lists(texts, max_size=2, unique=True).map(tuple),
)


def sometimes(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Raw]:
    return st.fixed_dictionaries({}, optional=fields)


wire_tolerations = sometimes(key=texts, operator=st.just("Exists"), value=texts, tolerationSeconds=st.integers(0, 9))
metadata = sometimes(labels=labels, annotations=labels, name=texts)
spec = sometimes(
    nodeSelector=labels,
    tolerations=st.lists(wire_tolerations, max_size=2),
    schedulingGates=st.lists(st.fixed_dictionaries({"name": texts}), max_size=2),
    containers=st.just([{"name": "c"}]),
)
templates = sometimes(metadata=metadata, spec=spec)


def text(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True)


@given(templates, infos)
def test_a_restored_template_is_the_submitted_one(template: Raw, info: Info) -> None:
    before = text(template)
    changed = injected(template, info)
    assert text(template) == before
    if not isinstance(changed, StartConflict):
        assert text(restored(changed, template)) == before


@given(templates, infos)
def test_injecting_twice_is_injecting_once(template: Raw, info: Info) -> None:
    once = injected(template, info)
    if not isinstance(once, StartConflict):
        assert injected(once, info) == once


def a_job(template: Raw) -> tuple[Integration, Raw]:
    return LIVE["batch", "Job"], {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}


def a_job_set(template: Raw) -> tuple[Integration, Raw]:
    jobs = [{"name": "main", "template": {"spec": {"template": template}}}]
    raw = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": jobs}}
    return LIVE["jobset.x-k8s.io", "JobSet"], raw


def a_training_job(template: Raw) -> tuple[Integration, Raw]:
    specs = {"Worker": {"template": template}}
    raw = {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "spec": {"jaxReplicaSpecs": specs, "runPolicy": {}}}
    return LIVE["kubeflow.org", "JAXJob"], raw


@settings(max_examples=60)
@given(st.sampled_from([a_job, a_job_set, a_training_job]), templates, infos)
def test_a_stopped_job_is_the_submitted_one(make: Any, template: Raw, info: Info) -> None:
    integration, raw = make(template)
    raw = integration.suspended({**raw, "metadata": {"name": "x", "uid": "u"}}, True)
    workload = workload_for(raw, integration, Gates.profile("kueue", {"TopologyAwareScheduling": False}))
    now = started(integration, raw, [info])
    if isinstance(now, StartConflict):
        return
    for _ in range(4):
        step = stopping(integration, now, workload)
        if step is None:
            break
        now = step.body
    assert text(now) == text(raw)
