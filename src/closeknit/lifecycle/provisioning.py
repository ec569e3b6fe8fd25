"""ProvisioningRequests: a workload with quota waits for nodes that an autoscaler provisions or refuses.

Each provisioning check has one request at a time, numbered by attempt. The conditions of the request become the state
of the check; the workload reconciler acts on that state.

    reserved ──▶ ask (attempt n) ──▶ Accepted ──▶ Provisioned: Ready, pods are annotated with their request
                                        │
                   Failed, BookingExpired: Retry after a backoff (attempt n + 1), Rejected after the last one
                   CapacityRevoked: Rejected
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..model.event import Event
from ..model.gates import Gates
from ..model.provisioning import ProvisioningConfig
from ..model.shape import Shape
from ..model.workload import Check, CheckState, Condition, PodSetUpdate, Workload, WorkloadPodSet
from .action import Action, RequestProvisioning, StatusChange, Withdraw

CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"
NOT_NEEDED = "the provisioning request is not needed"
NOT_ACTIVE = "the check is not active"
LONGEST = 247
HASH = 5


@dataclass(frozen=True, slots=True)
class ProvisioningAttempt:
    """An existing request; `details` is what the autoscaler reports about the nodes it provisioned."""

    name: str
    check: str
    attempt: int
    class_name: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    pod_sets: tuple[str, ...] = ()

    def holds(self, kind: str) -> bool:
        condition = self.conditions.get(kind)
        return condition is not None and condition.holds

    def message(self, kind: str) -> str:
        condition = self.conditions.get(kind)
        return "" if condition is None else condition.message


@dataclass(frozen=True, slots=True)
class ProvisioningView:
    """`checks` has the configuration of each provisioning check that the workload lists; None if it has none.

    `parameters` are those set on the job.
    """

    workload: Workload
    checks: Mapping[str, ProvisioningConfig | None]
    asked: Sequence[ProvisioningAttempt]
    gates: Gates
    parameters: Mapping[str, str] = field(default_factory=dict)


class CheckProgress(NamedTuple):
    """The state that a check should have."""

    state: CheckState
    message: str = ""
    updates: tuple[PodSetUpdate, ...] = ()
    requeue_after: int | None = None


def provisioning(view: ProvisioningView, now: float) -> list[Action]:
    workload = view.workload
    cleans = "CleanupProvisioningRequestsOnEviction" in view.gates
    if workload.finished or (workload.evicted and cleans) or not workload.reserved:
        return [Withdraw(workload, one.name) for one in view.asked if workload.finished or cleans]
    if workload.evicted or not workload.active:
        return []
    actions = list(_requests(view))
    return [*actions, *_states(view, now)]


def _requests(view: ProvisioningView) -> Iterator[Action]:
    """Create one request for every check that needs nodes, and delete all others.

    The request of a Ready check is not changed, even if the configuration has changed since.
    """
    listed = {check.name for check, _ in _listed(view)}
    yield from (Withdraw(view.workload, one.name) for one in view.asked if one.check not in listed)
    for check, config in _listed(view):
        mine = [one for one in view.asked if one.check == check.name]
        attempt = check.retries + 1
        current = next((one for one in mine if one.attempt == attempt), None)
        yield from (Withdraw(view.workload, one.name) for one in mine if one is not current)
        if check.state == "Ready":
            continue
        wanted = config if config is not None and needed(view.workload, config) else None
        if current is not None and not _is_as_wanted(current, wanted, view.parameters):
            yield Withdraw(view.workload, current.name)
        elif current is None and wanted is not None and check.state == "Pending":
            yield RequestProvisioning(
                view.workload, check.name, request_name(view.workload.name, check.name, attempt), wanted
            )


def _listed(view: ProvisioningView) -> Iterator[tuple[Check, ProvisioningConfig | None]]:
    for check in view.workload.status.checks:
        if check.name in view.checks:
            yield check, view.checks[check.name]


def _is_as_wanted(one: ProvisioningAttempt, config: ProvisioningConfig | None, given: Mapping[str, str]) -> bool:
    if config is None:
        return False
    wanted = {**config.parameters, **given}
    return one.class_name == config.class_name and all(one.parameters.get(key) == wanted[key] for key in wanted)


def needed(workload: Workload, config: ProvisioningConfig) -> list[WorkloadPodSet]:
    """The pod sets to provision nodes for: those whose pods request a managed resource."""
    admission = workload.status.admission
    counts = {} if admission is None else {one.name: one.count for one in admission.pod_sets}
    asked = zip(workload.parts, workload.shapes, strict=True)
    return [part for part, shape in asked if counts.get(part.name) and _mentions(shape, config.managed)]


def _mentions(shape: Shape, managed: Sequence[str]) -> bool:
    named = {name for one in shape.containers for name, _ in (*one.requests, *one.limits)}
    return not managed or not named.isdisjoint(managed)


def request_name(workload: str, check: str, attempt: int) -> str:
    """`<workload>-<check>-<attempt>`, shortened with a hash if it is too long."""
    return shortened(f"{workload}-{check}-{attempt}")


def shortened(name: str) -> str:
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:LONGEST]}-{digest[:HASH]}"


def _states(view: ProvisioningView, now: float) -> Iterator[StatusChange]:
    """Update the checks from their requests, where they differ."""
    workload, events = view.workload, []
    checks = list(workload.status.checks)
    for at, check in enumerate(checks):
        if check.name not in view.checks:
            continue
        wanted = _state(view, check, view.checks[check.name])
        if wanted is None:
            continue
        after = check._replace(
            state=wanted.state,
            message=wanted.message,
            updates=wanted.updates,
            requeue_after=wanted.requeue_after if wanted.requeue_after is not None else check.requeue_after,
            since=check.since if check.state == wanted.state else now,
        )
        if after != check:
            checks[at] = after
            if after.state != check.state:
                text = f"Admission check {check.name} updated state from {check.state} to {after.state}"
                text += f" with message {after.message}" if after.message else ""
                events.append(Event(workload.key, "Normal", "AdmissionCheckUpdated", text))
    if tuple(checks) != workload.status.checks:
        status = replace(workload.status, checks=tuple(checks))
        yield StatusChange(workload, replace(workload, status=status), tuple(events))


def _state(view: ProvisioningView, check: Check, config: ProvisioningConfig | None) -> CheckProgress | None:
    """The new state of a check; None if it does not change."""
    ready = check.state == "Ready"
    if config is None:
        return None if ready and view.workload.admitted else CheckProgress("Pending", NOT_ACTIVE)
    if not needed(view.workload, config):
        return None if ready else CheckProgress("Ready", NOT_NEEDED)
    attempt = check.retries + 1
    one = next((each for each in view.asked if each.check == check.name and each.attempt == attempt), None)
    if one is None or check.state in ("Retry", "Rejected"):
        return None
    if one.holds("Failed"):
        return _failed(check, config, one, "failure", "Failed")
    if one.holds("CapacityRevoked"):
        return CheckProgress("Rejected", one.message("CapacityRevoked"))
    if one.holds("BookingExpired") and not view.workload.admitted:
        return _failed(check, config, one, "booking expired", "BookingExpired")
    if one.holds("Provisioned"):
        return CheckProgress(
            "Ready", one.message("Provisioned"), check.updates if ready else _updates(view, config, one)
        )
    if one.holds("Accepted"):
        return CheckProgress("Pending", one.message("Provisioned"))
    return CheckProgress("Pending")


def _failed(check: Check, config: ProvisioningConfig, one: ProvisioningAttempt, what: str, kind: str) -> CheckProgress:
    if one.attempt > config.retry.limit:
        return CheckProgress("Rejected", one.message(kind))
    wait = min(config.retry.base * 2 ** min(check.retries, 60), config.retry.longest)
    return CheckProgress("Retry", f"Retrying after {what}: {one.message(kind)}", (), wait)


def _updates(view: ProvisioningView, config: ProvisioningConfig, one: ProvisioningAttempt) -> tuple[PodSetUpdate, ...]:
    """What the pods of provisioned pod sets get: the request that they consume, and where its nodes are."""
    notes = {CONSUMES: one.name, CLASS_NAME: one.class_name}
    selector = {key: one.details[detail] for key, detail in config.selector.items() if detail in one.details}
    names = one.pod_sets or tuple(part.name for part in needed(view.workload, config))
    return tuple(PodSetUpdate(name, annotations=notes, selector=selector) for name in names)
