"""A write gets the warnings of `closeknit check` for its object."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.store import WriteOptions
from closeknit.cluster.kinds import DEPLOYMENT, JOB, NODE, POD, WORKLOAD, Kind
from closeknit.cluster.port import Key, Raw
from cluster.embedded.rules.hosts import KUEUE, Host, a_set, job, pod

TOPOLOGY = "kueue.x-k8s.io/podset-required-topolgy"
MEANT = "is not a known key; did you mean kueue.x-k8s.io/podset-required-topology?"


def warned(kind: Kind, body: Raw) -> list[str]:
    options = WriteOptions(trusted=False)
    Host().store.create(kind, {**body, "metadata": {"name": "x", **body.get("metadata", {})}}, options)
    return options.warnings


def noted(**annotations: str) -> Raw:
    return {"annotations": {f"closeknit.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}}


def gpus(name: str) -> Raw:
    amounts = {name: "1"}
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]}


def test_a_misspelt_topology_key_is_named_with_what_was_meant() -> None:
    body = job()
    body["spec"]["template"]["metadata"] = {"annotations": {TOPOLOGY: "rack"}}
    assert warned(JOB, body) == [f"spec.template.metadata.annotations[{TOPOLOGY}]: {MEANT}"]
    assert warned(POD, {**pod(), "metadata": {"annotations": {TOPOLOGY: "rack"}}}) == [
        f"metadata.annotations[{TOPOLOGY}]: {MEANT}"
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [("require-topology", "podset-required-topology"), ("prefer-topology", "podset-preferred-topology")],
)
def test_a_key_of_the_kep_is_named_with_the_key_that_it_is_read_as(old: str, new: str) -> None:
    body = job()
    body["spec"]["template"]["metadata"] = {"annotations": {KUEUE + old: "auto"}}
    text = f"is read as {KUEUE}{new}; use that key"
    assert warned(JOB, body) == [f"spec.template.metadata.annotations[{KUEUE}{old}]: {text}"]
    on_job = {**job(), "metadata": {"annotations": {KUEUE + old: "auto"}}}
    assert warned(JOB, on_job) == [f"metadata.annotations[{KUEUE}{old}]: is ignored there; put it on the pod template"]


def test_a_misspelt_label_is_named_with_what_was_meant() -> None:
    body = {**job(), "metadata": {"labels": {"kueue.x-k8s.io/queue-nam": "main"}}}
    text = "is not a known key; did you mean kueue.x-k8s.io/queue-name?"
    assert warned(JOB, body) == [f"metadata.labels[kueue.x-k8s.io/queue-nam]: {text}"]


def test_a_resource_that_is_nearly_a_known_device_is_named() -> None:
    text = "[nvidia.com/gpus]: is not a resource that nodes commonly have; did you mean nvidia.com/gpu?"
    assert warned(JOB, job(pods=gpus("nvidia.com/gpus"))) == [
        f"spec.template.spec.containers[0].resources.{part}{text}" for part in ("requests", "limits")
    ]
    assert warned(JOB, job(pods=gpus("nvidia.com/gpu"))) == []


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        (POD, pod(), 'closeknit.dev/run-time]: "soon" is not a duration: write one such as 90s, 2m, 1h30m'),
        (NODE, {}, "closeknit.dev/run-time]: is ignored there; put it on the pods"),
        (JOB, job(), "closeknit.dev/run-time]: is ignored there; put it on the pod template"),
        (DEPLOYMENT, a_set(), "closeknit.dev/run-time]: is ignored there; put it on the pod template"),
    ],
)
def test_annotations_of_ours_are_judged_where_they_stand(kind: Kind, body: Raw, expected: str) -> None:
    (said,) = warned(kind, {**body, "metadata": noted(run_time="soon")})
    assert said.startswith(f"metadata.annotations[{expected}")


def test_a_deployment_of_very_many_pods_is_judged_without_making_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("a job was made")

    monkeypatch.setattr("closeknit.dialects.kueue.jobs.reading._job", never)
    assert warned(DEPLOYMENT, a_set(replicas=10_000)) == []


def test_a_workload_is_judged_by_its_pod_sets() -> None:
    sets = [{"name": "main", "count": 1, "template": {"spec": gpus("nvidia.com/gpus")}}]
    assert [one.partition(": ")[0] for one in warned(WORKLOAD, {"spec": {"podSets": sets}})] == [
        f"spec.podSets[0].template.spec.containers[0].resources.{part}[nvidia.com/gpus]"
        for part in ("requests", "limits")
    ]


def test_an_update_warns_again_only_if_it_changes_what_is_checked() -> None:
    host, quiet, loud = Host(), WriteOptions(trusted=False), WriteOptions(trusted=False)
    key = Key(JOB, "default", "x")
    host.create(JOB, {**job(), "metadata": noted(run_time="1m")})
    host.store.patch(key, {"metadata": {"labels": {"a": "b"}}}, options=quiet)
    host.store.patch(key, {"spec": {"parallelism": 2}}, options=loud)
    assert (quiet.warnings, len(loud.warnings)) == ([], 1)


def test_trusted_writers_get_no_warnings() -> None:
    options = WriteOptions(trusted=True)
    Host().store.create(POD, {**pod(), "metadata": {"name": "x", **noted(run_time="soon")}}, options)
    assert options.warnings == []
