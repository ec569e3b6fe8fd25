"""Validation of pods that wait in a queue by themselves or in a group."""

from __future__ import annotations

from .....dialects.field import Field
from .....dialects.kueue import keys
from .....dialects.kueue.jobs import marks
from .....dialects.kueue.topology_request import AnnotationError, parse_int32
from .....model.label_names import is_subdomain
from ..causes import Causes
from ..rule import IMMUTABLE


def check_pod(pod: Field, causes: Causes) -> None:
    """Check that a group has both a name and a number of pods."""
    labels, annotations = pod.at("metadata", "labels"), pod.at("metadata", "annotations")
    name = labels.at(keys.POD_GROUP) if labels.at(keys.POD_GROUP).given else annotations.at(keys.POD_GROUP)
    count = annotations.at(keys.POD_GROUP_COUNT)
    if labels.at(marks.MANAGED).given and labels.at(marks.MANAGED).text() != "true":
        causes.forbidden(labels.at(marks.MANAGED), "can only be 'true'")
    if name.text() and not is_subdomain(name.text()):
        causes.invalid(name, "use lower-case letters, digits, '-' and '.'")
    if name.text() and not count.given:
        causes.required(count, "both the name and the total count of a group should be set")
    elif count.given and not name.text():
        causes.required(labels.at(keys.POD_GROUP), "both the name and the total count of a group should be set")
    if count.given and _number(count) < 1:
        causes.invalid(count, "must be a whole number above 0")


def _number(count: Field) -> int:
    try:
        return parse_int32(count.text())
    except AnnotationError:
        return 0


def check_pod_change(old: Field, new: Field, causes: Causes) -> None:
    """Check that a pod stays in its group, and that an unretriable group does not become retriable."""
    before, after = (one.at("metadata", "labels", keys.POD_GROUP) for one in (old, new))
    if before.given and before.value != after.value:
        causes.invalid(after, IMMUTABLE, after.value)
    before, after = (one.at("metadata", "annotations", marks.RETRIABLE) for one in (old, new))
    if before.value == "false" and after.value != "false":
        causes.forbidden(after, "an unretriable group cannot become retriable")
