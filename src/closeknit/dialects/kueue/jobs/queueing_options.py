"""The queueing options of a job: its queue, its priority, its minimum number of pods, its maximum execution time.

Nothing is looked up here. The caller resolves priority classes, and a job without a queue may still belong to the
default queue of its namespace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ....model.label_names import is_subdomain
from ....model.shape import whole_number
from ... import timestamps
from ...field import INT32_MAX, Field, shown
from .. import keys
from .roles import MAIN

NAME = "use lower-case letters, digits, dashes and dots"


@dataclass(frozen=True, slots=True)
class QueueingOptions:
    """`workload_class` names a WorkloadPriorityClass, `pod_class` a PriorityClass; `priority` is a plain number.

    `least` has the minimum number of pods of each pod set that allows partial admission. `prebuilt` names an existing
    Workload for the job.
    """

    queue: str = ""
    workload_class: str = ""
    pod_class: str = ""
    priority: int | None = None
    max_seconds: int | None = None
    least: Mapping[str, int] = field(default_factory=dict)
    prebuilt: str = ""
    gated_by: str = ""
    uid: str = ""
    created: str = ""


UNKNOWN = QueueingOptions()


def of_job(body: Field, owner: Field, templates: Sequence[Field]) -> QueueingOptions:
    """Read a job. `body` is the part that looks like a job, `owner` the whole object; often they are the same."""
    labels, annotations = body.at("metadata", "labels"), body.at("metadata", "annotations")
    prebuilt = annotations.at(keys.PREBUILT)
    return QueueingOptions(
        _name(labels.at(keys.QUEUE)),
        labels.at(keys.PRIORITY_CLASS).text(),
        _pod_class(body, templates),
        None,
        _seconds(labels.at(keys.MAX_SECONDS)),
        _least(annotations.at(keys.MIN_PARALLELISM)) if _is_job(owner) else {},
        _name(prebuilt if prebuilt.given else labels.at(keys.PREBUILT)),
        annotations.at(keys.GATED_BY).text(),
        owner.at("metadata", "uid").text(),
        _created(owner),
    )


def of_workload(workload: Field) -> QueueingOptions:
    """Read a Workload, whose priority has already been resolved."""
    spec, priority = workload.at("spec"), workload.at("spec", "priority")
    sets = spec.at("podSets").items()
    return QueueingOptions(
        _name(spec.at("queueName")),
        priority=priority.count(least=-INT32_MAX - 1) if priority.given else 0,
        max_seconds=spec.at("maximumExecutionTimeSeconds").count(least=1)
        if spec.at("maximumExecutionTimeSeconds").given
        else None,
        least={
            one.at("name").text() or MAIN: one.at("minCount").count(least=1) for one in sets if one.at("minCount").given
        },
        gated_by=workload.at("metadata", "annotations", keys.GATED_BY).text(),
        uid=workload.at("metadata", "uid").text(),
        created=_created(workload),
    )


def _pod_class(body: Field, templates: Sequence[Field]) -> str:
    """The priority class of the job: that of a training job's scheduling policy, or else the first in a template."""
    names = [template.at("spec", "priorityClassName").text() for template in templates]
    policy = body.at("spec", "runPolicy")
    if policy.given or any("ReplicaSpecs" in template.path for template in templates):
        names = [policy.at("schedulingPolicy", "priorityClass").text(), *names]
        return next(filter(None, names), "")
    return names[0] if names else ""


def _name(label: Field) -> str:
    name = label.text()
    if name and not is_subdomain(name):
        label.wrong(f"is {shown(name)}, not the name of an object", NAME)
    return name


def _seconds(label: Field) -> int | None:
    if not label.given:
        return None
    seconds = whole_number(label.text())
    if seconds is None or not 0 < seconds <= INT32_MAX:
        label.wrong(f"is {shown(label.value)}", "use a whole number of seconds above 0, in quotes")
        return None
    return seconds


def _is_job(owner: Field) -> bool:
    return owner.at("apiVersion").text().startswith("batch/")


def _least(annotation: Field) -> dict[str, int]:
    """The minimum number of pods; the kind's own reader checks it against the number of pods."""
    number = whole_number(annotation.text()) if annotation.given else None
    return {} if number is None else {MAIN: number}


def _created(owner: Field) -> str:
    moment = owner.at("metadata", "creationTimestamp")
    text = moment.text()
    try:
        timestamps.parse(text) if text else None
    except ValueError:
        moment.wrong(f"is {shown(text)}, not a time", "write one such as 2026-01-31T12:00:00Z, or remove it")
    return text
