"""What may change in a Workload, and when. Once quota is reserved for it, most may not.

Spec and status are written in separate requests, so a rule about the spec goes by the status as it was, and a rule
about the status by both sides of the change.
"""

from __future__ import annotations

from typing import Any

from ....field import Field, shown
from ...keys import MAIN
from ..defaults import POD_SET, filled
from ..versions import to_v1beta2
from ..wire import GROUP, Unreadable, without_nulls
from ..workloads import GATED_BY
from .workloads import check_workload, holds, is_elastic

RESERVED = "QuotaReserved"
_STOP_FIRST = "stop the job first, so that its quota is given back"
_MOVABLE = ("topologyAssignment", "delayedTopologyRequest")
"""What of an admission may change after it was given."""


def check_workload_update(old: Field, new: Field) -> None:
    check_workload(new)
    old, new = _current(old), _current(new)
    _check_gated_by(old, new)
    if holds(old, RESERVED):
        _check_pod_sets(old, new)
        _check_priority_class(old.at("spec", "priorityClassRef"), new.at("spec", "priorityClassRef"))
    if holds(old, RESERVED) and holds(new, RESERVED):
        _check_same(old, new, "spec", "queueName")
        _check_reclaimable(old, new)
    if holds(old, "Admitted"):
        _check_same(old, new, "spec", "maximumExecutionTimeSeconds")
    _check_admission(old.at("status", "admission"), new.at("status", "admission"))
    _check_updates(old, new)
    _check_cluster(old.at("status"), new.at("status"))


def _current(field: Field) -> Field:
    """Both sides in one version, or renamed fields would look changed."""
    try:
        return Field(to_v1beta2(field.mapping()), field.path, field.report)
    except Unreadable as error:
        field.at("status", "admission").wrong(str(error), "give levels, and domains with values and counts")
        return field


def _check_same(old: Field, new: Field, *path: str) -> None:
    if old.at(*path).value != new.at(*path).value:
        new.at(*path).wrong(f"cannot be changed from {shown(old.at(*path).value)} now", _STOP_FIRST)


def _check_pod_sets(old: Field, new: Field) -> None:
    """An elastic job may go on with fewer pods."""
    before, after = _pod_sets(old), _pod_sets(new)
    if before == after:
        return
    if is_elastic(new) and len(before) == len(after):
        for was, now in zip(before, after, strict=True):
            if isinstance(now["count"], int) and isinstance(was["count"], int) and now["count"] < was["count"]:
                was["count"] = now["count"]
        if before == after:
            return
    remedy = "lower counts only, or " + _STOP_FIRST if is_elastic(new) else _STOP_FIRST
    new.at("spec", "podSets").wrong("cannot be changed while quota is reserved", remedy)


def _pod_sets(workload: Field) -> list[Any]:
    return [filled(without_nulls(one.mapping()), POD_SET) for one in workload.at("spec", "podSets").items()]


def _check_priority_class(old: Field, new: Field) -> None:
    """A WorkloadPriorityClass may be exchanged for another, a PriorityClass of pods may not."""
    if old.given != new.given:
        new.wrong(f"cannot be {'added' if new.given else 'removed'} while quota is reserved", _STOP_FIRST)
        return
    for key in ("group", "kind"):
        _check_same(old, new, key)
    if old.at("group").text() != GROUP:
        _check_same(old, new, "name")


def _check_reclaimable(old: Field, new: Field) -> None:
    """Pods that are done do not come back."""
    now = {one.at("name").text(): one.at("count").count(0) for one in new.at("status", "reclaimablePods").items()}
    for one in old.at("status", "reclaimablePods").items():
        name, count = one.at("name").text(), one.at("count").count(0)
        if now.get(name, -1) < count:
            field = new.at("status", "reclaimablePods")
            field.wrong(f"has {now.get(name, 'no entry')} for {name}, after {count}", f"give at least {count}")


def _check_admission(old: Field, new: Field) -> None:
    """It may be given and taken back, not edited; only places may change."""
    if old.given and new.given and _fixed(old) != _fixed(new):
        new.wrong("cannot be edited", "take it back, and give another")


def _fixed(admission: Field) -> Any:
    return without_nulls(
        {
            **admission.mapping(),
            "podSetAssignments": [
                {"name": MAIN, **{key: value for key, value in one.mapping().items() if key not in _MOVABLE}}
                for one in admission.at("podSetAssignments").items()
            ],
        }
    )


def _check_updates(old: Field, new: Field) -> None:
    """Pods may run already with what a check that is ready has added."""
    ready = {
        one.at("name").text(): without_nulls(one.at("podSetUpdates").value or [])
        for one in old.at("status", "admissionChecks").items()
        if one.at("state").value == "Ready"
    }
    for one in new.at("status", "admissionChecks").items():
        name, updates = one.at("name").text(), one.at("podSetUpdates")
        if one.at("state").value == "Ready" and name in ready and without_nulls(updates.value or []) != ready[name]:
            updates.wrong("cannot be changed while the check is Ready", "set the check to Pending or Retry first")


def _check_cluster(old: Field, new: Field) -> None:
    """One of those that were nominated; from then on it stays, until it is taken back."""
    before, after = old.at("clusterName").text(), new.at("clusterName")
    if not after.text() or after.text() == before:
        return
    if before:
        after.wrong(f"cannot be changed from {before}", "take it back first")
    nominated = [one.text() for side in (old, new) for one in side.at("nominatedClusterNames").items()]
    if after.text() not in nominated:
        after.wrong(f"is {shown(after.text())}, which was not nominated", f"use one of: {', '.join(nominated)}")


def _check_gated_by(old: Field, new: Field) -> None:
    """Gates are set when a Workload is made, and then only taken away."""
    before, after = _gates(old), _gates(new)
    added = sorted(after - before)
    if added:
        field = new.at("metadata", "annotations", GATED_BY)
        field.wrong(f"cannot gain {', '.join(added)}", "give all gates when the Workload is made")


def _gates(workload: Field) -> set[str]:
    text = workload.at("metadata", "annotations", GATED_BY).text()
    return {gate.strip() for gate in text.split(",") if gate.strip()}
