"""TrainJob: its pods are counted in the JobSet that Trainer renders from it.

What a started job's pods get cannot be written into templates, since those are in the runtime; the job has an entry
of ours that patches the runtime. Trainer accepts changed patches only while the job is suspended and none of its Jobs
has pods, so a job is stopped in two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....served import Kind
from ...objects.wire import Unreadable
from ..injection import Info, StartConflict, injected
from ..integration import Counts, Integration, JobWrite, Sets, Templates, ended, is_suspended, suspended
from ..job_kind import AGE, STATE, AdmissionHold
from ..raw import Raw, at, each, mapping, number, put, without
from ..roles import ValidationRules
from ..train_job import GROUP, MANAGER, PATCHES, others, rendered, runtime_of
from . import job_set


def render(raw: Raw, runtime: Raw | None) -> Raw:
    if runtime is None:
        wanted = runtime_of(raw)
        raise Unreadable(f'{wanted.kind} "{wanted.name}" not found')
    return rendered(raw, runtime)


def with_templates(raw: Raw, templates: Templates, _counts: Counts) -> Raw:
    """The job with an entry of ours that patches each pod set with the patchable fields of its template."""
    jobs = [_patch(name, template) for name, template in templates.items()]
    entry = {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
    return put(raw, PATCHES, [*others(raw), entry])


def _patch(name: str, template: Raw) -> Raw:
    metadata = {key: value for key in ("labels", "annotations") if (value := mapping(template, "metadata", key))}
    parts = ("nodeSelector", "tolerations", "schedulingGates")
    spec = {key: value for key in parts if (value := at(template, "spec", key))}
    return {"name": name, "template": {"spec": {"template": {"metadata": metadata, "spec": spec}}}}


def start(raw: Raw, sets: Sets, infos: Sequence[Info]) -> Raw | StartConflict:
    """The started job. Its patch has all tolerations, since it replaces the list, but only the additions elsewhere."""
    added = {}
    for one, info in zip(sets, infos, strict=True):
        template = injected(one.template, info)
        if isinstance(template, StartConflict):
            return template
        plain = injected({}, info)
        assert isinstance(plain, dict)  # an empty template cannot conflict
        if info.tolerations:
            plain = put(plain, ("spec", "tolerations"), template["spec"]["tolerations"])
        added[one.name] = plain
    return suspended(with_templates(raw, added, {}), False)


def restore(raw: Raw) -> Raw:
    left = others(raw)
    return put(raw, PATCHES, left) if left else without(raw, PATCHES)


def stop(raw: Raw, restored: Callable[[Raw], Raw]) -> JobWrite | None:
    if not is_suspended(raw):
        return JobWrite(suspended(raw, True))
    is_patched = len(others(raw)) < len(each(raw, *PATCHES))
    return JobWrite(restored(raw)) if is_patched and not is_active(raw) else None


def is_active(raw: Raw) -> bool:
    return any(number(one, "active") for one in each(raw, "status", "jobsStatus"))


TRAIN_JOB = Integration(
    served=Kind(GROUP, "v1alpha1", "TrainJob", "trainjobs"),
    framework=GROUP + "/trainjob",
    description="A training run that refers to a runtime.",
    roles=job_set.roles,
    rules=ValidationRules.COUNT,
    rendered=True,
    fields={
        "spec": (
            "activeDeadlineSeconds",
            "initializer",
            "managedBy",
            "runtimePatches",
            "runtimeRef",
            "suspend",
            "trainer",
        ),
        "spec.trainer": ("args", "command", "env", "image", "numNodes", "numProcPerNode", "resourcesPerNode"),
        "spec.runtimeRef": ("apiGroup", "kind", "name"),
    },
    columns=(STATE, AGE),
    with_templates=with_templates,
    finished=ended("Complete", "Failed"),
    is_active=is_active,
    ready_in=job_set.pods_ready,
    reclaimable_in=job_set.reclaimable,
    source=runtime_of,
    render=render,
    start=start,
    restore=restore,
    stop=stop,
    held=AdmissionHold(),
)
