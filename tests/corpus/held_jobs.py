"""Jobs that are held, with the fields that are set on them, and jobs that are left alone."""

from __future__ import annotations

from collections.abc import Iterator

from closeknit.cluster.kinds import (
    DEPLOYMENT,
    JOB,
    LEADER_WORKER_SET,
    MPI_JOB,
    POD,
    RAY_JOB,
    STATEFUL_SET,
)
from corpus.case import Step
from corpus.job_case import GATES, HELD_POD, IN, LWS, RACK, SERVING, JobCase, label, note, patch, with_leader
from corpus.job_objects import CLASS, KUEUE, PARENT, QUEUE, SUSPEND, TEMPLATES, made, noted


def holding() -> Iterator[JobCase]:
    for kind in SUSPEND:
        yield JobCase("is suspended", kind, made(kind, IN), {"suspend": True})
        yield JobCase("without a queue is left alone", kind, made(kind))
        yield JobCase(
            "goes to the default queue",
            kind,
            made(kind),
            {"suspend": True, "labels": {QUEUE: "default"}},
            space="queued",
        )
        yield JobCase("keeps its queue", kind, made(kind, IN), {"suspend": True}, space="queued")
        both = {QUEUE: "default", CLASS: "default"}
        yield JobCase("gets a class", kind, made(kind), {"suspend": True, "labels": both}, space="classed")
        yield JobCase("of a namespace that is left alone", kind, made(kind, IN), space="system")
    own = {**IN, CLASS: "high"}
    yield JobCase("keeps its class", JOB, made(JOB, own), {"suspend": True}, space="classed")
    yield JobCase("that says it runs is suspended", JOB, made(JOB, IN, suspend=False), {"suspend": True})
    yield JobCase("that is suspended stays so", JOB, made(JOB, IN, suspend=True))
    empty = {"labels": {QUEUE: "default"}, "suspend": True}
    yield JobCase("with an empty queue", JOB, made(JOB, {QUEUE: ""}), empty, space="queued")
    twice = {"containers": [{"name": "c", "image": "i:1", "env": [{"name": "A", "value": v} for v in "12"]}]}
    body = made(JOB, IN, template={"spec": {**twice, "restartPolicy": "Never"}})
    yield JobCase("with a variable twice", JOB, body, {"suspend": True})
    shared = made(MPI_JOB, IN, runLauncherAsWorker=True)
    offset = {"annotations": {KUEUE + "pod-index-offset": "1"}}
    workers = TEMPLATES[MPI_JOB][1]
    yield JobCase("whose launcher works", MPI_JOB, shared, {"suspend": True, workers: offset})
    grouped = shared
    for path in TEMPLATES[MPI_JOB]:
        grouped = noted(grouped, path, podset_group_name="g", podset_required_topology=RACK)
    yield JobCase("whose launcher is in a group with the workers", MPI_JOB, grouped, {"suspend": True})
    elsewhere = made(RAY_JOB, IN, clusterSelector={"ray.io/cluster": "x"}, rayClusterSpec=None)
    yield JobCase("in a cluster that is there", RAY_JOB, elsewhere)


def serving() -> Iterator[JobCase]:
    (template,) = TEMPLATES[DEPLOYMENT]
    marked = {"annotations": {PARENT: "deployment"}, "labels": {KUEUE + "managed": "true", QUEUE: "team"}}
    yield JobCase("marks its pods", DEPLOYMENT, made(DEPLOYMENT, IN), {template: marked})
    classed = {**marked, "labels": {**marked["labels"], CLASS: "high"}}
    yield JobCase(
        "marks its pods with their class", DEPLOYMENT, made(DEPLOYMENT, {**IN, CLASS: "high"}), {template: classed}
    )
    yield JobCase(
        "marks its pods again",
        DEPLOYMENT,
        made(DEPLOYMENT, IN),
        {template: marked},
        (
            Step(
                {
                    "spec": {
                        "template": {
                            "metadata": {"labels": {KUEUE + "managed": None, QUEUE: None}, "annotations": None}
                        }
                    }
                }
            ),
        ),
    )
    yield JobCase(
        "marks its pods late", DEPLOYMENT, made(DEPLOYMENT), {template: marked, "labels": IN}, (patch(labels=IN),)
    )
    default = {**marked, "labels": {**marked["labels"], QUEUE: "default"}}
    yield JobCase(
        "of the default queue",
        DEPLOYMENT,
        made(DEPLOYMENT),
        {template: default, "labels": {QUEUE: "default"}},
        space="queued",
    )
    both = {QUEUE: "default", CLASS: "default"}
    full = {**marked, "labels": {**marked["labels"], **both}}
    yield JobCase(
        "of the default class", DEPLOYMENT, made(DEPLOYMENT), {template: full, "labels": both}, space="classed"
    )
    yield JobCase(
        "marks its pods", STATEFUL_SET, made(STATEFUL_SET, IN), {template: {"annotations": {PARENT: "statefulset"}}}
    )
    yield JobCase(
        "of the default class",
        STATEFUL_SET,
        made(STATEFUL_SET),
        {template: {"annotations": {PARENT: "statefulset"}}, "labels": both},
        space="classed",
    )
    leader, worker = TEMPLATES[LEADER_WORKER_SET]
    notes = {PARENT: LWS, KUEUE + "pod-group-serving": "true"}
    yield JobCase(
        "marks its pods", LEADER_WORKER_SET, made(LEADER_WORKER_SET, IN), {worker: {"annotations": notes, "labels": IN}}
    )
    yield JobCase(
        "of the default class",
        LEADER_WORKER_SET,
        made(LEADER_WORKER_SET),
        {worker: {"annotations": notes, "labels": both}, "labels": both},
        space="classed",
    )
    led = with_leader(made(LEADER_WORKER_SET, IN))
    counted = {**notes, KUEUE + "pod-index-offset": "1"}
    parts = {leader: {"annotations": notes, "labels": IN}, worker: {"annotations": counted, "labels": IN}}
    yield JobCase("with a leader counts workers from 1", LEADER_WORKER_SET, led, parts)
    for path in (leader, worker):
        led = noted(led, path, podset_group_name="g", podset_required_topology=RACK)
    parts = {path: {"annotations": notes, "labels": IN} for path in (leader, worker)}
    yield JobCase("with a leader in one group", LEADER_WORKER_SET, led, parts)
    for kind in SERVING:
        yield JobCase("without a queue is left alone", kind, made(kind))
        yield JobCase("of a namespace that is left alone", kind, made(kind, IN), space="system")
        yield JobCase("without a queue stays so", kind, made(kind), {}, (patch(annotations={"a": "b"}),))


def lone_pods() -> Iterator[JobCase]:
    yield JobCase("is gated", POD, made(POD, IN), HELD_POD)
    yield JobCase("without a queue is left alone", POD, made(POD))
    default = {**HELD_POD, "labels": {**HELD_POD["labels"], QUEUE: "default"}}
    yield JobCase("goes to the default queue", POD, made(POD), default, space="queued")
    full = {**default, "labels": {**default["labels"], CLASS: "default"}}
    yield JobCase("gets a class", POD, made(POD), full, space="classed")
    yield JobCase("of a namespace that is left alone", POD, made(POD, IN), space="system")
    gated = made(POD, IN, schedulingGates=[{"name": "example.com/a"}, GATES[1]])
    yield JobCase("keeps its gates", POD, gated, {**HELD_POD, "gates": [{"name": "example.com/a"}, GATES[1], GATES[0]]})
    group = made(POD, {**IN, KUEUE + "pod-group-name": "g"}, {KUEUE + "pod-group-total-count": "2"})
    yield JobCase("of a group is gated", POD, group, HELD_POD)
    ranked = made(POD, {**IN, "rank": "3"}, {KUEUE + "pod-group-pod-index-label": "rank"})
    labels = {**HELD_POD["labels"], KUEUE + "pod-group-pod-index": "3"}
    yield JobCase("copies its rank", POD, ranked, {**HELD_POD, "labels": labels})
    without = made(POD, IN, {KUEUE + "pod-group-pod-index-label": "rank"})
    yield JobCase(
        "has no rank to copy", POD, without, {**HELD_POD, "labels": {**labels, KUEUE + "pod-group-pod-index": ""}}
    )
    ours = {key: value for key, value in HELD_POD.items() if key != "finalizers"}
    for parent in ("deployment", "statefulset", LWS):
        yield JobCase(f"of a {parent.rpartition('/')[2]}", POD, made(POD, notes={PARENT: parent}), ours)
    yield JobCase("of an unknown framework", POD, made(POD, IN, {PARENT: "example.com/x"}))
    yield JobCase(
        "of a set in a namespace with a default", POD, made(POD, notes={PARENT: "deployment"}), ours, space="classed"
    )
    total, name = KUEUE + "pod-group-total-count", KUEUE + "pod-group-name"
    yield JobCase("of a group without a number", POD, made(POD, {**IN, name: "g"}), field=note("pod-group-total-count"))
    yield JobCase("of a number without a group", POD, made(POD, IN, {total: "2"}), field=label(name))
    for word in ("0", "-1", "x", "2.5", "3000000000"):
        body = made(POD, {**IN, name: "g"}, {total: word})
        yield JobCase(f"of a group of {word}", POD, body, field=note("pod-group-total-count"))
    yield JobCase("of a group in capitals", POD, made(POD, {**IN, name: "G"}, {total: "2"}), field=label(name))
    yield JobCase("of a group by annotation", POD, made(POD, IN, {name: "g", total: "2"}), HELD_POD)
    yield JobCase(
        "of a group by annotation, in capitals",
        POD,
        made(POD, IN, {name: "G", total: "2"}),
        field=note("pod-group-name"),
    )
    yield JobCase("managed, but not quite", POD, made(POD, {KUEUE + "managed": "no"}), field=label(KUEUE + "managed"))
    yield JobCase("leaves its group", POD, group, {}, (patch(labels={name: "h"}),), label(name))
    hopeless = made(
        POD, group["metadata"]["labels"], {**group["metadata"]["annotations"], KUEUE + "retriable-in-group": "false"}
    )
    yield JobCase(
        "hopes again",
        POD,
        hopeless,
        {},
        (patch(annotations={KUEUE + "retriable-in-group": "true"}),),
        note("retriable-in-group"),
    )
    elastic = made(POD, IN, {KUEUE + "elastic-job": "true"})
    yield JobCase("cannot be elastic", POD, elastic, field=note("elastic-job"))
    free = Step({"spec": {"schedulingGates": None}})
    yield JobCase("is ungated", POD, made(POD, IN), {**HELD_POD, "gates": []}, (free,))
    yield JobCase(
        "that waits changes its queue",
        POD,
        made(POD, IN),
        {**HELD_POD, "labels": {**HELD_POD["labels"], QUEUE: "other"}},
        (patch(labels={QUEUE: "other"}),),
    )
