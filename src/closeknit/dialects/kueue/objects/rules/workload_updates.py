"""The rules for updates of a Workload. While quota is reserved, most of the spec is immutable.

Spec and status are written in separate requests, so a rule about the spec depends on the old status, and a rule about
the status on both the old and the new one.
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
_STOP_FIRST = "stop the job first, which releases its quota"
_WHILE_RESERVED = "while quota is reserved"
_MOVABLE = ("topologyAssignment", "delayedTopologyRequest")
"""The fields of an assignment that may change after admission."""


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
        _check_same(old, new, "spec", "maximumExecutionTimeSeconds", when="while the workload is admitted")
    _check_admission(old.at("status", "admission"), new.at("status", "admission"))
    _check_updates(old, new)
    _check_cluster(old.at("status"), new.at("status"))


def _current(field: Field) -> Field:
    """The object in v1beta2, so that fields that differ between versions do not count as changed."""
    try:
        return Field(to_v1beta2(field.mapping()), field.path, field.report)
    except Unreadable as error:
        field.at("status", "admission").wrong(str(error), "set levels, and domains with values and counts")
        return field


def _check_same(old: Field, new: Field, *path: str, when: str = _WHILE_RESERVED) -> None:
    if old.at(*path).value != new.at(*path).value:
        new.at(*path).wrong(f"cannot be changed from {shown(old.at(*path).value)} {when}", _STOP_FIRST)


def _check_pod_sets(old: Field, new: Field) -> None:
    """Pod sets are immutable while quota is reserved, but the counts of an elastic job may decrease."""
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
    new.at("spec", "podSets").wrong(f"cannot be changed {_WHILE_RESERVED}", remedy)


def _pod_sets(workload: Field) -> list[Any]:
    return [filled(without_nulls(one.mapping()), POD_SET) for one in workload.at("spec", "podSets").items()]


def _check_priority_class(old: Field, new: Field) -> None:
    """A WorkloadPriorityClass may be replaced by another, a PriorityClass of pods may not."""
    if old.given != new.given:
        new.wrong(f"cannot be {'added' if new.given else 'removed'} {_WHILE_RESERVED}", _STOP_FIRST)
        return
    for key in ("group", "kind"):
        _check_same(old, new, key)
    if old.at("group").text() != GROUP:
        _check_same(old, new, "name")


def _check_reclaimable(old: Field, new: Field) -> None:
    """Counts cannot decrease, since finished pods do not run again."""
    now = {one.at("name").text(): one.at("count").count(0) for one in new.at("status", "reclaimablePods").items()}
    for one in old.at("status", "reclaimablePods").items():
        name, count = one.at("name").text(), one.at("count").count(0)
        if now.get(name, -1) < count:
            field = new.at("status", "reclaimablePods")
            field.wrong(f"has {now.get(name, 'no entry')} for {name}, which had {count}", f"use at least {count}")


def _check_admission(old: Field, new: Field) -> None:
    """An admission may be set and removed, but only its topology assignments may change."""
    if old.given and new.given and _fixed(old) != _fixed(new):
        new.wrong("cannot be changed, except topologyAssignment", "remove it and set a new one")


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
    """The updates of a Ready check are immutable, since pods may already run with them."""
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
    """clusterName must be a nominated cluster, and is immutable until it is cleared."""
    before, after = old.at("clusterName").text(), new.at("clusterName")
    if not after.text() or after.text() == before:
        return
    if before:
        after.wrong(f"cannot be changed from {before}", "clear it first")
    nominated = [one.text() for side in (old, new) for one in side.at("nominatedClusterNames").items()]
    if after.text() not in nominated:
        after.wrong(f"is {shown(after.text())}, which was not nominated", f"use one of: {', '.join(nominated)}")


def _check_gated_by(old: Field, new: Field) -> None:
    """Gates are set when a Workload is created; later they can only be removed."""
    before, after = _gates(old), _gates(new)
    added = sorted(after - before)
    if added:
        field = new.at("metadata", "annotations", GATED_BY)
        field.wrong(f"cannot gain {', '.join(added)}", "set all gates when the Workload is created")


def _gates(workload: Field) -> set[str]:
    text = workload.at("metadata", "annotations", GATED_BY).text()
    return {gate.strip() for gate in text.split(",") if gate.strip()}
