from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.jobs import requests
from closeknit.dialects.kueue.jobs.kinds import KINDS
from closeknit.dialects.kueue.jobs.spelling import FIELDS, KEYS
from closeknit.model.gates import Gates

RACK = "example.com/rack"
PODSET = f"{keys.PREFIX}podset-"

Raw = dict[str, Any]


def a_template(**metadata: Any) -> Raw:
    return {"metadata": metadata, "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": 1}}}]}}


def an_object(api_version: str, kind: str, spec: Any, **metadata: Any) -> Raw:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "train", **metadata}, "spec": spec}


def a_job(template: Raw | None = None, **spec: Any) -> Raw:
    return an_object("batch/v1", "Job", {"template": template or a_template(), **spec})


def a_job_set(inner: Raw, **spec: Any) -> Raw:
    replicated = {"name": "workers", "template": inner}
    return an_object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [replicated], **spec})


def warnings(raw: Raw) -> list[str]:
    """The warnings about an object, which is read nevertheless."""
    parsed = requests([("file.yaml", raw)], Gates.profile())
    assert parsed.jobs
    start = f"file.yaml: {raw['kind']} train: "
    assert all(str(warning).startswith(start) for warning in parsed.warnings)
    return [str(warning).removeprefix(start) for warning in parsed.warnings]


@pytest.mark.parametrize(
    ("key", "meant"),
    [("queue-nam", keys.QUEUE), ("queue-nmae", keys.QUEUE), ("job-min-paralelism", keys.MIN_PARALLELISM)],
)
def test_any_other_key_of_kueue_that_is_misspelt_is_warned_of(key: str, meant: str) -> None:
    on_job = a_job()
    on_job["metadata"]["labels"] = {f"{keys.PREFIX}{key}": "x"}
    assert warnings(on_job) == [f"metadata.labels[{keys.PREFIX}{key}]: is not a known key; did you mean {meant}?"]


@pytest.mark.parametrize("key", [keys.QUEUE, keys.PREBUILT, f"{keys.PREFIX}multikueue-origin", "team/queue-nam"])
def test_known_keys_and_keys_without_a_close_match_cause_no_warning(key: str) -> None:
    on_job = a_job()
    on_job["metadata"]["labels"] = {key: "x"}
    assert warnings(on_job) == []


# Topology keys


@pytest.mark.parametrize("place", ["annotations", "labels"])
@pytest.mark.parametrize(
    ("key", "meant"),
    [
        (f"{PODSET}requird-topology", keys.REQUIRED),
        (f"{PODSET}required", keys.REQUIRED),
        (f"{PODSET}prefered-topology", keys.PREFERRED),
        (f"{PODSET}slice-sizes", keys.SLICE_SIZE),
        (f"{PODSET}slice-required-topology-constraint", keys.LAYERS),
        (f"{PODSET}group", keys.GROUP),
        (f"{keys.PREFIX}pod-set-required-topology", keys.REQUIRED),
        ("kueue.x-k8.io/podset-required-topology", keys.REQUIRED),
        ("podset-slice-size", keys.SLICE_SIZE),
    ],
)
def test_an_unknown_topology_key_is_warned_about_with_the_nearest(key: str, meant: str, place: str) -> None:
    bracket = f"[{key}]" if "/" in key else f".{key}"
    expected = f"metadata.{place}{bracket}: is not a known key; did you mean {meant}?"
    assert warnings(a_job(a_template(**{place: {key: RACK}}))) == [f"spec.template.{expected}"]
    on_job = a_job()
    on_job["metadata"][place] = {key: RACK}
    assert warnings(on_job) == [expected]
    pod = an_object("v1", "Pod", a_template()["spec"], **{place: {key: RACK}})
    assert warnings(pod) == [expected]


def test_an_unknown_topology_key_without_a_close_match_lists_all_keys() -> None:
    (text,) = warnings(a_job(a_template(annotations={f"{PODSET}x": "1"})))
    assert f"is not a known key; the keys are {', '.join(KEYS)}" in text


def test_keys_of_kueue_and_of_others_are_left_alone() -> None:
    labels = {keys.QUEUE: "q", f"{keys.PREFIX}podset": "main", f"{keys.PREFIX}priority-class": "high", "app": "x"}
    annotations = {keys.REQUIRED: RACK, "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    assert warnings(a_job(a_template(labels=labels, annotations=annotations))) == []


@pytest.mark.parametrize("key", KEYS)
def test_a_topology_annotation_among_labels_is_warned_about(key: str) -> None:
    assert warnings(a_job(a_template(labels={key: "4"}))) == [
        f"spec.template.metadata.labels[{key}]: is ignored as a label; make it an annotation"
    ]
    on_job = a_job()
    on_job["metadata"]["labels"] = {key: "4"}
    assert warnings(on_job) == [
        f"metadata.labels[{key}]: is ignored as a label; make it an annotation of the pod template"
    ]


def test_topology_between_the_object_and_its_pods_is_not_read() -> None:
    inner = {"metadata": {"annotations": {keys.REQUIRED: RACK}}, "spec": {"template": a_template()}}
    text = f"metadata.annotations[{keys.REQUIRED}]: is ignored there; put it on the pod template"
    assert warnings(a_job_set(inner)) == [f"spec.replicatedJobs[0].template.{text}"]
    assert warnings(an_object("batch/v1", "CronJob", {"jobTemplate": inner})) == [f"spec.jobTemplate.{text}"]


def test_every_pod_of_a_group_is_checked() -> None:
    def pod(name: str, **annotations: str) -> Raw:
        meta = {"name": name, "labels": {keys.POD_GROUP: "g"}}
        meta["annotations"] = {keys.POD_GROUP_COUNT: "2", **annotations}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": a_template()["spec"]}

    pods = [pod("a"), pod("b", **{f"{PODSET}requird-topology": RACK})]
    (warning,) = requests([("file.yaml", one) for one in pods], Gates.profile()).warnings
    assert (warning.what, warning.text) == ("Pod b", "is not a known key")


# Fields


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("paralelism", "parallelism"),
        ("Parallelism", "parallelism"),
        ("completion", "completions"),
        ("completionmode", "completionMode"),
        ("suspended", "suspend"),
        ("backOffLimit", "backoffLimit"),
    ],
)
def test_a_misspelt_field_of_a_job_is_warned_about(key: str, meant: str) -> None:
    text = f"spec.{key}: is not a known field; did you mean {meant}?"
    assert warnings(a_job(None, **{key: 4})) == [text]
    inner = {"spec": {"template": a_template(), key: 4}}
    assert warnings(a_job_set(inner)) == [f"spec.replicatedJobs[0].template.{text}"]
    assert warnings(an_object("batch/v1", "CronJob", {"jobTemplate": inner})) == [f"spec.jobTemplate.{text}"]


def test_unknown_fields_without_a_close_match_cause_no_warning() -> None:
    assert warnings(a_job(brandNew=1, parallelism=4)) == []


def test_a_misspelt_field_of_a_job_set_is_warned_about() -> None:
    raw = a_job_set({"spec": {"template": a_template()}}, sucessPolicy={})
    raw["spec"]["replicatedJobs"][0]["replica"] = 4
    assert warnings(raw) == [
        "spec.sucessPolicy: is not a known field; did you mean successPolicy?",
        "spec.replicatedJobs[0].replica: is not a known field; did you mean replicas?",
    ]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (a_job({**a_template(), "metdata": {}}), "spec.template.metdata: is not a known field; did you mean metadata?"),
        (
            a_job(a_template(annotation={keys.REQUIRED: RACK})),
            "spec.template.metadata.annotation: is not a known field; did you mean annotations?",
        ),
        (
            an_object("apps/v1", "StatefulSet", {"template": a_template(), "replica": 3}),
            "spec.replica: is not a known field; did you mean replicas?",
        ),
        (
            an_object(
                "kubeflow.org/v2beta1",
                "MPIJob",
                {
                    "mpiReplicaSpecs": {
                        "Launcher": {"template": a_template()},
                        "Workers": {"replicas": 8, "template": a_template()},
                    }
                },
            ),
            "spec.mpiReplicaSpecs.Workers: is not a known field; did you mean Worker?",
        ),
        (
            an_object(
                "kueue.x-k8s.io/v1beta2",
                "Workload",
                {"podSets": [{"template": a_template(), "topologyRequest": {"prefered": RACK}}]},
            ),
            "spec.podSets[0].topologyRequest.prefered: is not a known field; did you mean preferred?",
        ),
    ],
)
def test_misspelt_fields_elsewhere_are_warned_about(raw: Raw, text: str) -> None:
    assert warnings(raw) == [text]


def test_the_table_of_fields_names_kinds_that_are_read() -> None:
    assert FIELDS.keys() == {kind for _, kind in KINDS} | {"Workload"}
