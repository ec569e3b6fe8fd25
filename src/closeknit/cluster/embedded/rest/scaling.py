"""The scale subresource: desired and current replicas, in the same form for every kind that has one."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....model.shape import whole_number
from ...errors import BadRequest, Cause, Invalid
from ...kinds import LEADER_WORKER_SET, PYTORCH_JOB, Kind
from ...port import Raw
from .selectors import selector_text

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


class _Places(NamedTuple):
    """The paths of the numbers in an object."""

    wanted: tuple[str, ...] = ("spec", "replicas")
    actual: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ("spec", "selector")


_PLACES = {
    LEADER_WORKER_SET: _Places(selector=("status", "hpaPodSelector")),
    PYTORCH_JOB: _Places(
        ("spec", "pytorchReplicaSpecs", "Worker", "replicas"),
        ("status", "replicaStatuses", "Worker", "active"),
        ("status", "replicaStatuses", "Worker", "selector"),
    ),
}
_USUAL = _Places()


def scale_of(kind: Kind, raw: Raw) -> Raw:
    """The Scale object of an object."""
    places, meta = _PLACES.get(kind, _USUAL), raw["metadata"]
    wanted = _at(raw, places.wanted)
    status: Raw = {"replicas": _at(raw, places.actual) or 0}
    selector = _at(raw, places.selector)
    text = selector if isinstance(selector, str) else selector_text(selector or {})
    if text:
        status["selector"] = text
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in _KEPT if field in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": status,
    }


def scaled(kind: Kind, raw: Raw, scale: Any) -> Raw:
    """The object with the replicas of this Scale, and its resourceVersion as a precondition if it is set."""
    spec = scale.get("spec") if isinstance(scale, dict) else None
    if not isinstance(scale, dict) or not isinstance(spec, dict | None):
        raise BadRequest("the body is not a Scale")
    replicas = (spec or {}).get("replicas") or 0
    if not isinstance(replicas, int) or isinstance(replicas, bool) or whole_number(str(replicas)) is None:
        raise BadRequest("Scale cannot be read: spec.replicas has to be a number")
    meta = raw["metadata"]
    if replicas < 0:
        cause = Cause("spec.replicas", f"Invalid value: {replicas}: must be greater than or equal to 0")
        text = f'Scale.autoscaling "{meta["name"]}" is invalid: spec.replicas: {cause.message}'
        raise Invalid(text, group="autoscaling", kind="Scale", name=meta["name"], causes=[cause])
    given = scale.get("metadata") if isinstance(scale.get("metadata"), dict) else {}
    version = (given or {}).get("resourceVersion") or meta["resourceVersion"]
    return _with({**raw, "metadata": {**meta, "resourceVersion": version}}, _PLACES.get(kind, _USUAL).wanted, replicas)


def _at(raw: Any, place: tuple[str, ...]) -> Any:
    for step in place:
        raw = raw.get(step) if isinstance(raw, dict) else None
    return raw


def _with(raw: Raw, place: tuple[str, ...], value: int) -> Raw:
    first, *rest = place
    inner = raw.get(first)
    return {**raw, first: _with(inner if isinstance(inner, dict) else {}, tuple(rest), value) if rest else value}
