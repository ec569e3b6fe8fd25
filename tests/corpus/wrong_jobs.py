"""Jobs that are refused, and their next of kin that are not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from closeknit.cluster.kinds import (
    JOB,
    JOB_SET,
    LEADER_WORKER_SET,
    MPI_JOB,
    POD,
    PYTORCH_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    TRAIN_JOB,
    Kind,
)
from corpus.case import Step
from corpus.job_case import HOST, IN, LAYERS, LWS, RACK, SERVING, JobCase, label, note, with_leader
from corpus.job_objects import (
    APP_WRAPPER,
    KUEUE,
    PARENT,
    QUEUE,
    RULED,
    SPARK_APPLICATION,
    SUSPEND,
    TEMPLATES,
    Raw,
    bodies,
    made,
    noted,
)


def names() -> Iterator[JobCase]:
    for kind in bodies():
        yield JobCase("a queue in capitals", kind, made(kind, {QUEUE: "Team"}), field=label(QUEUE))
    for kind in (*SERVING, JOB_SET, MPI_JOB, PYTORCH_JOB, TRAIN_JOB, APP_WRAPPER, SPARK_APPLICATION):
        yield JobCase(
            "cannot be elastic", kind, made(kind, IN, {KUEUE + "elastic-job": "true"}), field=note("elastic-job")
        )
    prebuilt, longest = KUEUE + "prebuilt-workload-name", KUEUE + "max-exec-time-seconds"
    for kind in (*SUSPEND, POD):
        yield JobCase("runs for 0", kind, made(kind, {**IN, longest: "0"}), field=label(longest))
        yield JobCase("of a Workload in capitals", kind, made(kind, {**IN, prebuilt: "W"}), field=label(prebuilt))
        body = made(kind, IN, {prebuilt: "W"})
        yield JobCase("of a noted Workload in capitals", kind, body, field=note("prebuilt-workload-name"))
    for word in ("-5", "x", "3000000000"):
        yield JobCase(f"runs for {word}", JOB, made(JOB, {**IN, longest: word}), field=label(longest))
    yield JobCase("runs for a minute", JOB, made(JOB, {**IN, longest: "60"}), {"suspend": True})
    yield JobCase(
        "of a noted Workload that wins", JOB, made(JOB, {**IN, prebuilt: "W"}, {prebuilt: "w"}), {"suspend": True}
    )


def wrong(kind: Kind, title: str, key: str, **notes: str) -> JobCase:
    """Whose last template has a wrong annotation."""
    return wrong_in(kind, TEMPLATES[kind][-1], title, key, **notes)


def wrong_in(kind: Kind, path: str, title: str, key: str, **notes: str) -> JobCase:
    return JobCase(title, kind, noted(made(kind, IN), path, **notes), field=note(key, path))


def right(kind: Kind, title: str, **notes: str) -> JobCase:
    body = noted(made(kind, IN), TEMPLATES[kind][-1], **notes)
    return JobCase(title, kind, body, {"suspend": True} if kind in SUSPEND else {})


def levels() -> Iterator[JobCase]:
    required, preferred, anywhere = (f"podset-{one}-topology" for one in ("required", "preferred", "unconstrained"))
    for kind in RULED:
        if kind is not LEADER_WORKER_SET:
            yield right(kind, "within a rack", podset_required_topology=RACK)
        if kind is not LEADER_WORKER_SET and len(TEMPLATES[kind]) > 1:
            title = "the first within what is no level"
            yield wrong_in(kind, TEMPLATES[kind][0], title, required, podset_required_topology="/x")
    yield right(
        JOB, "within a block, a rack if it can be", podset_required_topology=RACK, podset_preferred_topology=HOST
    )
    yield wrong(
        JOB, "near and anywhere", anywhere, podset_preferred_topology=RACK, podset_unconstrained_topology="true"
    )
    yield wrong(JOB, "within a long level", required, podset_required_topology="a" * 60 + "/" + "b" * 10)
    for word in ("true", "F", "0"):
        yield right(JOB, f"anywhere: {word}", podset_unconstrained_topology=word)
    elastic = made(JOB, IN, {KUEUE + "elastic-job": "true"})
    within, near = ({f"podset_{one}_topology": RACK} for one in ("required", "preferred"))
    for title, key, asked in (("within a rack", required, within), ("near a rack", preferred, near)):
        body = noted(elastic, "spec.template", **asked)
        yield JobCase(f"elastic {title}", JOB, body, field=note(key, "spec.template"))
    free = noted(elastic, "spec.template", podset_unconstrained_topology="true")
    yield JobCase("elastic, anywhere", JOB, free, {"suspend": True})


def layer(level: str, size: int) -> str:
    return f'{{"topology": "{level}", "size": {size}}}'


def slices() -> Iterator[JobCase]:
    size, layers = "podset-slice-size", "podset-slice-required-topology-constraints"
    for kind in RULED:
        yield right_slices(kind)
    for word in ("-2", "x", "1.5", "", "99999999999"):
        yield wrong(JOB, f"in slices of '{word}'", size, podset_slice_required_topology=RACK, podset_slice_size=word)
    yield right(JOB, "in slices of +002", podset_slice_required_topology=RACK, podset_slice_size="+002")
    rack, host = layer(RACK, 4), layer(HOST, 2)
    yield right(JOB, "in layers", **{LAYERS: f"[{rack}, {host}]"})
    yield right(
        JOB, "in layers, closely written", **{LAYERS: f'[{{"size":4,"topology":"{RACK}"}},{{"topology":"a","size":1}}]'}
    )
    bad = {"that are broken": "[{", "of no entry": "[]", "of four entries": f"[{', '.join([rack] * 4)}]"}
    for title, text in bad.items():
        yield wrong(JOB, f"in layers {title}", layers, **{LAYERS: text})
    below = {"of no size": (layer(RACK, 0), "[0].size"), "of no level": (layer("a b", 4), "[0].topology")}
    for title, (entry, part) in below.items():
        case = wrong(JOB, f"in layers {title}", layers, **{LAYERS: f"[{entry}]"})
        yield replace(case, field=case.field + part)


def right_slices(kind: Kind) -> JobCase:
    case = right(kind, "in slices", podset_slice_required_topology=HOST, podset_slice_size="1")
    if kind is not LEADER_WORKER_SET:
        return case
    worker = TEMPLATES[kind][1]
    notes = {PARENT: LWS, KUEUE + "pod-group-serving": "true"}
    return replace(case, adds={worker: {"annotations": notes, "labels": IN}})


def groups() -> Iterator[JobCase]:
    key = "podset-group-name"
    for kind, body in led().items():
        first, last = TEMPLATES[kind]
        alone = noted(body, last, podset_group_name="g", podset_required_topology=RACK)
        yield JobCase("a group of one", kind, alone, field=note(key, last))
        both = noted(alone, first, podset_group_name="g", podset_required_topology=RACK)
        if kind in SUSPEND:
            yield JobCase("a group of two", kind, both, {"suspend": True})
        apart = noted(alone, first, podset_group_name="g", podset_required_topology=HOST)
        yield JobCase("a group of two levels", kind, apart, field=note(key, last))
    for kind, (body, paths) in leaderless().items():
        for path in paths:
            body = noted(body, path, podset_group_name="g", podset_preferred_topology=RACK)
        yield JobCase("a group without a leader", kind, body, field=note(key, paths[-1]))


def led() -> dict[Kind, Raw]:
    """Kinds that may have groups; the first of their two templates is for one pod."""
    found = {kind: made(kind, IN) for kind in (MPI_JOB, RAY_JOB, RAY_CLUSTER, JOB_SET)}
    leader = found[JOB_SET]["spec"]["replicatedJobs"][0]
    leader["replicas"] = leader["template"]["spec"]["parallelism"] = leader["template"]["spec"]["completions"] = 1
    return {**found, LEADER_WORKER_SET: with_leader(made(LEADER_WORKER_SET, IN))}


def leaderless() -> dict[Kind, tuple[Raw, tuple[str, ...]]]:
    """With two templates of several pods each; a LeaderWorkerSet cannot have that."""
    launched = made(MPI_JOB, IN)
    launched["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
    workers = {kind: TEMPLATES[kind][1] for kind in (RAY_JOB, RAY_CLUSTER)}
    return {
        JOB_SET: (made(JOB_SET, IN), TEMPLATES[JOB_SET]),
        MPI_JOB: (launched, TEMPLATES[MPI_JOB]),
        **{kind: (grouped(kind, "v", "w"), (one, one.replace(".0.", ".1."))) for kind, one in workers.items()},
    }


def partial() -> Iterator[JobCase]:
    least, same = "job-min-parallelism", "job-completions-equal-parallelism"

    def fewer(number: str, **spec: Any) -> Raw:
        return made(JOB, IN, {KUEUE + least: number}, **spec)

    yield JobCase("starts with two", JOB, fewer("2"), {"suspend": True})
    for word in ("0", "4", "x"):
        yield JobCase(f"starts with {word}", JOB, fewer(word), field=note(least))
    equal = {KUEUE + same: "true"}
    yield JobCase("as many completions", JOB, made(JOB, IN, equal), {"suspend": True})
    yield JobCase("as many completions, perhaps", JOB, made(JOB, IN, {KUEUE + same: "x"}), field=note(same))
    yield JobCase(
        "as many completions without an index", JOB, made(JOB, IN, equal, completionMode=None), field=note(same)
    )
    yield JobCase("as many completions, but more", JOB, made(JOB, IN, equal, completions=8), field="spec.completions")
    start = Step({"spec": {"suspend": False, "parallelism": 2}})
    yield JobCase("is started with two", JOB, fewer("2"), {"suspend": False}, (start,))
    stop = Step({"spec": {"suspend": True}})
    yield JobCase("is stopped with two", JOB, fewer("2"), {"suspend": True}, (start, stop))
    yield JobCase(
        "is resized as it runs", JOB, fewer("2"), {}, (start, Step({"spec": {"parallelism": 3}})), "spec.parallelism"
    )
    cut = noted(fewer("2"), "spec.template", podset_slice_required_topology=HOST, podset_slice_size="4")
    yield JobCase("in slices is started with two", JOB, cut, {"suspend": False}, (start,), by="controller")


def ray() -> Iterator[JobCase]:
    for kind, at in ((RAY_CLUSTER, "spec"), (RAY_JOB, "spec.rayClusterSpec")):
        for title, group in (("like the head", "head"), ("that is none", "A_b")):
            fault = f"{at}.workerGroupSpecs[0].groupName"
            yield JobCase(f"a group with a name {title}", kind, grouped(kind, group), field=fault)
        yield JobCase(
            "two groups of a name", kind, grouped(kind, "w", "W"), field=f"{at}.workerGroupSpecs[1].groupName"
        )
        yield JobCase(
            "18 groups",
            kind,
            grouped(kind, *(f"w{i}" for i in range(18))),
            field=f"{at}.workerGroupSpecs[17].groupName",
        )
        yield JobCase("17 groups", kind, grouped(kind, *(f"w{i}" for i in range(17))), {"suspend": True})
        scaling = grouped(kind, "w", enableInTreeAutoscaling=True)
        yield JobCase("scales itself", kind, scaling, field=f"{at}.enableInTreeAutoscaling")
        elastic = {**scaling, "metadata": {"labels": IN, "annotations": {KUEUE + "elastic-job": "true"}}}
        yield JobCase("elastic, scales itself", kind, elastic, {"suspend": True})
        free = {**scaling, "metadata": {}}
        yield JobCase("without a queue, scales itself", kind, free)
    yield JobCase(
        "leaves its cluster",
        RAY_JOB,
        made(RAY_JOB, IN, shutdownAfterJobFinishes=False),
        field="spec.shutdownAfterJobFinishes",
    )
    yield JobCase("without a queue, leaves its cluster", RAY_JOB, made(RAY_JOB, shutdownAfterJobFinishes=False))


def spark() -> Iterator[JobCase]:
    required = KUEUE + "podset-required-topology"
    refused: dict[str, tuple[str, Raw]] = {
        "runs its driver elsewhere": ("spec.mode", {"mode": "client"}),
        "scales itself": ("spec.dynamicAllocation.enabled", {"dynamicAllocation": {"enabled": True}}),
    }
    for title, (fault, spec) in refused.items():
        yield JobCase(title, SPARK_APPLICATION, made(SPARK_APPLICATION, IN, **spec), field=fault)
        yield JobCase(f"without a queue, {title}", SPARK_APPLICATION, made(SPARK_APPLICATION, **spec))
    settled: Raw = {"mode": "cluster", "dynamicAllocation": {"enabled": False}}
    yield JobCase("says the defaults", SPARK_APPLICATION, made(SPARK_APPLICATION, IN, **settled), {"suspend": True})

    def annotated(level: str) -> Raw:
        return made(SPARK_APPLICATION, IN, executor={"instances": 4, "annotations": {required: level}})

    yield JobCase("a role within a rack", SPARK_APPLICATION, annotated(RACK), {"suspend": True})
    fault = f"spec.executor.annotations[{required}]"
    yield JobCase("a role within what is no level", SPARK_APPLICATION, annotated("a b"), field=fault)


def grouped(kind: Kind, *groups: str, **more: Any) -> Raw:
    body = made(kind, IN)
    cluster = body["spec"] if kind is RAY_CLUSTER else body["spec"]["rayClusterSpec"]
    (one,) = cluster["workerGroupSpecs"]
    changed = {**cluster, "workerGroupSpecs": [{**one, "groupName": name} for name in groups], **more}
    return {**body, "spec": changed if kind is RAY_CLUSTER else {**body["spec"], "rayClusterSpec": changed}}
