"""Which fields of a job may change when, and which changes are not checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from closeknit.cluster.kinds import (
    DEPLOYMENT,
    JOB,
    JOB_SET,
    LEADER_WORKER_SET,
    POD,
    RAY_CLUSTER,
    STATEFUL_SET,
    Kind,
)
from corpus.case import Step
from corpus.job_case import HELD_POD, HOST, IN, OWNER, SERVING, JobCase, label, nested, note, patch, with_leader
from corpus.job_objects import APP_WRAPPER, CLASS, KUEUE, PARENT, QUEUE, SUSPEND, TEMPLATES, Raw, made, noted


def started(kind: Kind) -> Step:
    """What makes it one that runs."""
    if kind in SUSPEND:
        return Step(nested(SUSPEND[kind], False))
    if kind is POD:
        return Step({"spec": {"schedulingGates": None}})
    return Step({"status": {"replicas": 1, "readyReplicas": 1}}, "status")


def standing() -> Iterator[JobCase]:
    """What every kind says of its place in line."""
    late = {QUEUE: "other", CLASS: "high", KUEUE + "prebuilt-workload-name": "w", KUEUE + "max-exec-time-seconds": "60"}
    for kind in TEMPLATES:
        for key, value in late.items():
            steps = (started(kind), patch(labels={key: value}))
            title = f"that runs gets another {key.partition('/')[2]}"
            yield JobCase(title, kind, made(kind, IN), {}, steps, label(key))
        poorer, elastic = patch(labels={CLASS: None}), patch(annotations={KUEUE + "elastic-job": "true"})
        yield JobCase("loses its class", kind, made(kind, {**IN, CLASS: "low"}), {}, (poorer,), label(CLASS))
        yield JobCase("becomes elastic", kind, made(kind, IN), {}, (elastic,), note("elastic-job"))
    for kind in (JOB, POD):
        gone, title = patch(labels={QUEUE: None}), "loses its queue where a default is"
        yield JobCase(title, kind, made(kind, IN), {}, (gone,), label(QUEUE), space="queued")


def changes() -> Iterator[JobCase]:
    other = patch(labels={QUEUE: "other"})
    for kind in SUSPEND:
        yield JobCase("is started", kind, made(kind, IN), {"suspend": False}, (started(kind),))
        yield JobCase(
            "that waits changes its queue",
            kind,
            made(kind, IN),
            {"suspend": True, "labels": {QUEUE: "other"}},
            (other,),
        )
    keys = {"prebuilt-workload-name": "w", "max-exec-time-seconds": "60"}
    for key, value in keys.items():
        late = patch(labels={KUEUE + key: value})
        waits = {"suspend": True, "labels": {KUEUE + key: value}}
        yield JobCase(f"that waits gets a {key}", JOB, made(JOB, IN), waits, (late,))
    classed = patch(labels={CLASS: "high"})
    yield JobCase(
        "that waits gets a class", JOB, made(JOB, IN), {"suspend": True, "labels": {CLASS: "high"}}, (classed,)
    )
    rich = made(JOB, {**IN, CLASS: "low"})
    yield JobCase(
        "changes its class", JOB, rich, {"suspend": False, "labels": {CLASS: "high"}}, (started(JOB), classed)
    )
    gone = patch(labels={QUEUE: None})
    yield JobCase("that waits loses its queue", JOB, made(JOB, IN), {"suspend": True, "labels": {QUEUE: None}}, (gone,))
    bad = {"metadata": {"annotations": {KUEUE + "podset-required-topology": "a b"}}}
    yield JobCase(
        "gets a bad level",
        JOB,
        made(JOB, IN),
        {},
        (Step({"spec": {"template": bad}}),),
        note("podset-required-topology", "spec.template"),
    )


def sets() -> Iterator[JobCase]:
    gone = patch(labels={QUEUE: None})
    for kind in SERVING:
        yield JobCase("loses its queue", kind, made(kind, IN), {}, (gone,), label(QUEUE))
    (template,) = TEMPLATES[STATEFUL_SET]
    marked = {template: {"annotations": {PARENT: "statefulset"}}}

    def asks(kind: Kind, cpu: str, *path: str, **more: Any) -> Step:
        container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
        return Step(nested((*path, "spec"), {"containers": [container], **more}))

    path = ("spec", "template")
    yield JobCase(
        "asks for more",
        STATEFUL_SET,
        made(STATEFUL_SET, IN),
        {},
        (asks(STATEFUL_SET, "1", *path),),
        "spec.template.spec",
    )
    yield JobCase(
        "goes elsewhere",
        STATEFUL_SET,
        made(STATEFUL_SET, IN),
        {},
        (Step(nested((*path, "spec", "nodeSelector"), {"a": "b"})),),
        "spec.template.spec",
    )
    image = Step(nested((*path, "spec"), {"containers": [{"name": "c", "image": "i:2"}]}))
    yield JobCase("changes its image", STATEFUL_SET, made(STATEFUL_SET, IN), marked, (image,))
    yield JobCase(
        "without a queue asks for more", STATEFUL_SET, made(STATEFUL_SET), {}, (asks(STATEFUL_SET, "1", *path),)
    )
    for title, numbers, fault in (
        ("is scaled", (5,), "spec.replicas"),
        ("is scaled to 0", (0,), ""),
        ("is scaled to 0 and back", (0, 5), ""),
    ):
        steps = tuple(Step({"spec": {"replicas": one}}) for one in numbers)
        yield JobCase(title, STATEFUL_SET, made(STATEFUL_SET, IN), {} if fault else marked, steps, fault)
    group = ("spec", "leaderWorkerTemplate")
    size = Step(nested((*group, "size"), 7))
    yield JobCase(
        "changes its size",
        LEADER_WORKER_SET,
        made(LEADER_WORKER_SET, IN),
        {},
        (size,),
        "spec.leaderWorkerTemplate.size",
    )
    for part in ("leaderTemplate", "workerTemplate"):
        yield JobCase(
            f"asks for more in its {part}",
            LEADER_WORKER_SET,
            with_leader(made(LEADER_WORKER_SET, IN)),
            {},
            (asks(LEADER_WORKER_SET, "1", *group, part),),
            f"spec.leaderWorkerTemplate.{part}.spec",
        )
    (deployed,) = TEMPLATES[DEPLOYMENT]
    notes = {"annotations": {PARENT: "deployment"}, "labels": {KUEUE + "managed": "true", QUEUE: "team"}}
    yield JobCase("asks for more", DEPLOYMENT, made(DEPLOYMENT, IN), {deployed: notes}, (asks(DEPLOYMENT, "1", *path),))


def children() -> Iterator[JobCase]:
    """Dependents of an integrated kind are left alone, whatever their labels."""

    def child(body: Raw, version: str, kind: str) -> Raw:
        owner = {**OWNER, "apiVersion": version, "kind": kind}
        return {**body, "metadata": {**body["metadata"], "ownerReferences": [owner]}}

    yield JobCase("of a JobSet", JOB, child(made(JOB), "jobset.x-k8s.io/v1alpha2", "JobSet"), space="queued")
    cut = noted(made(JOB), "spec.template", podset_slice_required_topology=HOST, podset_slice_size="8")
    yield JobCase("of a JobSet in larger slices", JOB, child(cut, "jobset.x-k8s.io/v1alpha2", "JobSet"))
    yield JobCase("of a Job", POD, child(made(POD), "batch/v1", "Job"), space="classed")
    yield JobCase("of a leader", STATEFUL_SET, child(made(STATEFUL_SET), "v1", "Pod"), space="queued")
    yield JobCase(
        "of a TrainJob", JOB_SET, child(made(JOB_SET), "trainer.kubeflow.org/v1alpha1", "TrainJob"), space="queued"
    )
    yield JobCase("of a RayJob", RAY_CLUSTER, child(made(RAY_CLUSTER), "ray.io/v1", "RayJob"), space="queued")
    yield JobCase("of an AppWrapper", JOB, child(made(JOB), APP_WRAPPER.api_version, APP_WRAPPER.kind), space="queued")
    yield JobCase("of a CronJob", JOB, child(made(JOB, IN), "batch/v1", "CronJob"), {"suspend": True})
    yield JobCase("of a ReplicaSet", POD, child(made(POD, IN), "apps/v1", "ReplicaSet"), HELD_POD)
