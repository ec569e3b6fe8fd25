"""Marks on pods that make them members of a group, replaced by those of another dialect."""

from __future__ import annotations

from collections.abc import Iterator

from .field import Field
from .kai import keys as kai
from .kai.writing import SCHEDULER as KAI_SCHEDULER
from .volcano import keys as volcano
from .volcano.writing import LABEL as VOLCANO_LABEL
from .written_gang import PodMarks, Raw

ANNOTATIONS = (volcano.GROUP_NAME, volcano.OWN_GROUP_NAME, kai.POD_GROUP)
LABELS = (kai.SUB_GROUP, VOLCANO_LABEL)
SPEC = ("schedulingGroup", "workloadRef")
SCHEDULERS = (KAI_SCHEDULER, volcano.SCHEDULER)


def remarked(pod: Raw, marks: PodMarks) -> Raw:
    """The pod with these marks in place of those of other dialects."""
    meta, spec = dict(pod.get("metadata") or {}), dict(pod.get("spec") or {})
    for key, old, new in (("labels", LABELS, marks.labels), ("annotations", ANNOTATIONS, marks.annotations)):
        kept = {name: value for name, value in (meta.pop(key, None) or {}).items() if name not in old}
        meta |= {key: {**kept, **new}} if kept or new else {}
    is_theirs = spec.get("schedulerName") in SCHEDULERS
    kept = {key: value for key, value in spec.items() if key not in SPEC and not (is_theirs and key == "schedulerName")}
    return {**pod, "metadata": meta, "spec": {**kept, **marks.spec}}


def named_group(pod: Field) -> str:
    """The group that a pod or a pod template names, in any dialect; empty if it names none."""
    notes, spec = pod.at("metadata", "annotations"), pod.at("spec")
    named = (spec.at("schedulingGroup", "podGroupName"), *(notes.at(key) for key in ANNOTATIONS))
    return next((one.text() for one in named if one.text()), "")


def described(marks: PodMarks) -> Iterator[str]:
    """The marks as a sentence lists them."""
    yield from (f"label {key}={value}" for key, value in marks.labels.items())
    yield from (f"annotation {key}={value}" for key, value in marks.annotations.items())
    for key, value in marks.spec.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        yield from (f"spec.{'.'.join(filter(None, (key, name)))}={one}" for name, one in inner)
