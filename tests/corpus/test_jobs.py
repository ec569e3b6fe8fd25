"""Every job of the corpus, on the server at hand: the same verdict, the same field, the same marks."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from closeknit.cluster.kinds import CLUSTER_TRAINING_RUNTIME, JOB, LOCAL_QUEUE, NAMESPACE, WORKLOAD_PRIORITY_CLASS, Kind
from contract.client import Answer, Api
from contract.expect import eventually, make, namespace
from corpus.answers import fields, plain, told
from corpus.conftest import POLICIES
from corpus.job_case import JobCase
from corpus.job_cases import cases
from corpus.job_objects import CLASS, KUEUE, QUEUE, SUSPEND, TEMPLATES, Raw, made, reach

Said = dict[str, list[str]]
CASES = [one for one in cases() if one.space != "classed"]
CLASSED = [one for one in cases() if one.space == "classed"]
COMPUTED = {KUEUE + "role-hash"}
"""What the embedded host writes at once, and the controller on Kubernetes later: CEL has no hash."""


@pytest.fixture(scope="module")
def queued(api: Api) -> Iterator[str]:
    """A namespace with a default queue that is in force."""
    with namespace(api) as name:
        make(api, LOCAL_QUEUE.path(name), named(LOCAL_QUEUE, "default", spec={"clusterQueue": "x"}))
        eventually(lambda: labels_of(tried(api, name)).get(QUEUE) == "default")
        yield name


@pytest.fixture(scope="module")
def classed(api: Api, queued: str) -> Iterator[str]:
    """The same while there is a default class, which is one for all namespaces."""
    make(api, WORKLOAD_PRIORITY_CLASS.path(), named(WORKLOAD_PRIORITY_CLASS, "default", value=1))
    eventually(lambda: labels_of(tried(api, queued)).get(CLASS) == "default")
    yield queued
    api.delete(WORKLOAD_PRIORITY_CLASS.path("", "default"))
    eventually(lambda: CLASS not in labels_of(tried(api, queued)))


@pytest.fixture(scope="module")
def system(api: Api) -> str:
    """It is there on Kubernetes; the bare host of the corpus has none."""
    if api.get(NAMESPACE.path("", "kube-system")).status == 404:
        make(api, NAMESPACE.path(), {"metadata": {"name": "kube-system"}})
    return "kube-system"


@pytest.fixture(scope="module", autouse=True)
def runtime(api: Api, has_policies: None) -> Iterator[None]:
    """What TrainJobs of the corpus are made of."""
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [{"name": "node"}]}}}}}]
    spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    make(api, CLUSTER_TRAINING_RUNTIME.path(), named(CLUSTER_TRAINING_RUNTIME, "torch", spec=spec))
    yield
    api.delete(CLUSTER_TRAINING_RUNTIME.path("", "torch"))


@pytest.fixture(scope="module", autouse=True)
def has_policies(is_real: bool) -> None:
    if is_real and not os.environ.get(POLICIES):
        pytest.skip("jobs are judged by policies, which are not installed")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_how_a_server_admits_a_job(
    api: Api, space: str, queued: str, system: str, is_real: bool, said: Said, case: JobCase
) -> None:
    judge(api, {"plain": space, "queued": queued, "system": system}[case.space], is_real, said, case)


@pytest.mark.parametrize("case", CLASSED, ids=lambda case: case.title)
def test_how_a_server_admits_a_job_with_a_default_class(
    api: Api, classed: str, is_real: bool, said: Said, case: JobCase
) -> None:
    judge(api, classed, is_real, said, case)


def judge(api: Api, space: str, is_real: bool, said: Said, case: JobCase) -> None:
    if not is_real and case.by == "controller":
        pytest.skip("its own controller is believed without being asked")
    answer = outcome(api, space, case)
    if case.field:
        assert answer.status == 422, answer.body
        assert any(plain(case.field).startswith(one) for one in fields(answer.body)), answer.body
        said.setdefault(case.kind.kind, []).extend(told(answer.body))
        return
    assert answer.status in (200, 201), answer.body
    assert marks(case.kind, answer.body) == expected(case)


def outcome(api: Api, space: str, case: JobCase) -> Answer:
    """What the last step comes to; all before it have to work."""
    kind, name = case.kind, f"x{secrets.token_hex(5)}"
    body = {**case.body, "apiVersion": kind.api_version, "kind": kind.kind}
    body["metadata"] = {**case.body["metadata"], "name": name}
    answer = api.post(kind.path(space), body, **({} if case.steps else {"dryRun": "All"}), fieldValidation="Strict")
    try:
        for step in case.steps:
            assert answer.status in (200, 201), answer.body
            answer = api.merge(kind.path(space, name, step.part), step.patch)
    finally:
        if case.steps:
            api.delete(kind.path(space, name), {"gracePeriodSeconds": 0})
            api.merge(kind.path(space, name), {"metadata": {"finalizers": None}})
    return answer


def named(kind: Kind, name: str, **parts: Any) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **parts}


def tried(api: Api, space: str) -> Raw:
    body = {**made(JOB), "apiVersion": JOB.api_version, "kind": JOB.kind}
    body["metadata"] = {"generateName": "x"}
    found: Raw = api.post(JOB.path(space), body, dryRun="All").body
    return found


def labels_of(raw: Raw) -> Raw:
    found: Raw = raw["metadata"].get("labels") or {}
    return found


def marks(kind: Kind, raw: Raw) -> Raw:
    """All that policies may put on an object, by part; what is empty is left out, and what servers put on Jobs."""
    meta, tree = raw["metadata"], deepcopy(raw)
    found: Raw = {key: kueues(meta.get(key)) for key in ("labels", "annotations")}
    found["finalizers"] = list(meta.get("finalizers") or ())
    found["gates"] = list((raw["spec"] or {}).get("schedulingGates") or ())
    if kind in SUSPEND:
        *above, last = SUSPEND[kind]
        found["suspend"] = reach(tree, ".".join(above)).get(last)
    for path in filter(None, TEMPLATES[kind]):
        inner = reach(tree, f"{path}.metadata")
        found[path] = {key: some for key in ("labels", "annotations") if (some := kueues(inner.get(key)))}
    return {key: value for key, value in found.items() if value}


def kueues(entries: Raw | None) -> Raw:
    return {key: value for key, value in (entries or {}).items() if key.startswith(KUEUE) and key not in COMPUTED}


def expected(case: JobCase) -> Raw:
    """What the object brought, with what is added; None takes a label away."""
    merged = marks(case.kind, case.body)
    for part, value in case.adds.items():
        if not isinstance(value, dict):
            merged[part] = value
        elif part in ("labels", "annotations"):
            both = {**merged.get(part, {}), **value}
            merged[part] = {key: one for key, one in both.items() if one is not None}
        else:
            both = merged.get(part, {})
            merged[part] = {**both, **{key: {**both.get(key, {}), **more} for key, more in value.items()}}
    return {key: value for key, value in merged.items() if value}
