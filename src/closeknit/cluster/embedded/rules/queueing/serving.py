"""Which fields may change in a StatefulSet or LeaderWorkerSet in a queue: its pods were admitted as they are."""

from __future__ import annotations

from typing import Any

from .....dialects.core import PodSpec, plain_shape
from .....dialects.field import Field
from .....dialects.kueue.jobs.kinds import SERVING
from .....dialects.kueue.objects.wire import Unreadable, convert
from ....kinds import LEADER_WORKER_SET, STATEFUL_SET, Kind
from ..causes import Causes
from ..rule import IMMUTABLE, unchanged

_GROUP = ("spec", "leaderWorkerTemplate")


def is_serving(kind: Kind) -> bool:
    return (kind.group, kind.kind) in SERVING


def check_serving_change(kind: Kind, old: Field, new: Field, causes: Causes) -> None:
    """Check that resources and scheduling directives stay, and that a StatefulSet is scaled only to 0 and back."""
    if kind is STATEFUL_SET:
        _check_shape(old.at("spec", "template"), new.at("spec", "template"), causes)
        before, after = old.at("spec", "replicas").value, new.at("spec", "replicas")
        if before != after.value and before and after.value:
            causes.forbidden(after, "a StatefulSet in a queue can only be scaled to 0, and back")
    if kind is LEADER_WORKER_SET:
        unchanged(old.at(*_GROUP), new.at(*_GROUP), causes, "size")
        for key in ("leaderTemplate", "workerTemplate"):
            _check_shape(old.at(*_GROUP, key), new.at(*_GROUP, key), causes)


def _check_shape(old: Field, new: Field, causes: Causes) -> None:
    if old.given != new.given or _shape(old.at("spec").value) != _shape(new.at("spec").value):
        causes.invalid(new.at("spec"), IMMUTABLE + " in all fields that affect placement", None)


def _shape(spec: Any) -> Any:
    """The shape of this spec's pods; an unreadable spec equals no other."""
    try:
        return plain_shape(convert(spec or {}, PodSpec))
    except (Unreadable, ValueError):
        return object()
