"""Asking for machines: a workload that has its quota waits for nodes that an autoscaler brings, or refuses.

For each check of this kind there is one request at a time, numbered by attempt. What its conditions say becomes the
state of the check; what follows from a state is the workload's business.

    reserved ──▶ ask (attempt n) ──▶ Accepted ──▶ Provisioned: Ready, pods are told which request they consume
                                        │
                   Failed, BookingExpired: Retry after a while (attempt n + 1), Rejected after so many
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
from ..model.workload import Check, CheckState, Condition, Part, PodSetUpdate, Workload
from .action import Action, Ask, Change, Withdraw

CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_NAME = "autoscaling.x-k8s.io/provisioning-class-name"
NOT_NEEDED = "the provisioning request is not needed"
NOT_ACTIVE = "the check is not active"
LONGEST = 247
HASH = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it stands; `details` is what the autoscaler says of the machines it brought."""

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
    """`checks` has the configuration of each check of this kind that the workload lists; None if there is none.

    `parameters` are those that the job gives itself.
    """

    workload: Workload
    checks: Mapping[str, ProvisioningConfig | None]
    asked: Sequence[Asked]
    gates: Gates
    parameters: Mapping[str, str] = field(default_factory=dict)


class State(NamedTuple):
    """What a check should say."""

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
    """One request for every check that waits for machines, and none besides.

    What a check was made Ready by stays as it is, whatever its configuration says since then.
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
            yield Ask(view.workload, check.name, request_name(view.workload.name, check.name, attempt), wanted)


def _listed(view: ProvisioningView) -> Iterator[tuple[Check, ProvisioningConfig | None]]:
    for check in view.workload.status.checks:
        if check.name in view.checks:
            yield check, view.checks[check.name]


def _is_as_wanted(one: Asked, config: ProvisioningConfig | None, given: Mapping[str, str]) -> bool:
    if config is None:
        return False
    wanted = {**config.parameters, **given}
    return one.class_name == config.class_name and all(one.parameters.get(key) == wanted[key] for key in wanted)


def needed(workload: Workload, config: ProvisioningConfig) -> list[Part]:
    """The pod sets that machines are asked for: those with pods that mention a managed resource."""
    admission = workload.status.admission
    counts = {} if admission is None else {one.name: one.count for one in admission.pod_sets}
    asked = zip(workload.parts, workload.shapes, strict=True)
    return [part for part, shape in asked if counts.get(part.name) and _mentions(shape, config.managed)]


def _mentions(shape: Shape, managed: Sequence[str]) -> bool:
    named = {name for one in shape.containers for name, _ in (*one.requests, *one.limits)}
    return not managed or not named.isdisjoint(managed)


def request_name(workload: str, check: str, attempt: int) -> str:
    """`<workload>-<check>-<attempt>`, cut to size with a hash where it is too long."""
    return shortened(f"{workload}-{check}-{attempt}")


def shortened(name: str) -> str:
    if len(name) <= LONGEST:
        return name
    digest = hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()
    return f"{name[:LONGEST]}-{digest[:HASH]}"


def _states(view: ProvisioningView, now: float) -> Iterator[Change]:
    """The checks as the requests say; nothing if they say so already."""
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
        yield Change(workload, replace(workload, status=status), tuple(events))


def _state(view: ProvisioningView, check: Check, config: ProvisioningConfig | None) -> State | None:
    """None: it stays as it is."""
    ready = check.state == "Ready"
    if config is None:
        return None if ready and view.workload.admitted else State("Pending", NOT_ACTIVE)
    if not needed(view.workload, config):
        return None if ready else State("Ready", NOT_NEEDED)
    attempt = check.retries + 1
    one = next((each for each in view.asked if each.check == check.name and each.attempt == attempt), None)
    if one is None or check.state in ("Retry", "Rejected"):
        return None
    if one.holds("Failed"):
        return _failed(check, config, one, "failure", "Failed")
    if one.holds("CapacityRevoked"):
        return State("Rejected", one.message("CapacityRevoked"))
    if one.holds("BookingExpired") and not view.workload.admitted:
        return _failed(check, config, one, "booking expired", "BookingExpired")
    if one.holds("Provisioned"):
        return State("Ready", one.message("Provisioned"), check.updates if ready else _updates(view, config, one))
    if one.holds("Accepted"):
        return State("Pending", one.message("Provisioned"))
    return State("Pending")


def _failed(check: Check, config: ProvisioningConfig, one: Asked, what: str, kind: str) -> State:
    if one.attempt > config.retry.limit:
        return State("Rejected", one.message(kind))
    wait = min(config.retry.base * 2 ** min(check.retries, 60), config.retry.longest)
    return State("Retry", f"Retrying after {what}: {one.message(kind)}", (), wait)


def _updates(view: ProvisioningView, config: ProvisioningConfig, one: Asked) -> tuple[PodSetUpdate, ...]:
    """What pods of the sets that were asked for get: which request they consume, and where its machines are."""
    notes = {CONSUMES: one.name, CLASS_NAME: one.class_name}
    selector = {key: one.details[detail] for key, detail in config.selector.items() if detail in one.details}
    names = one.pod_sets or tuple(part.name for part in needed(view.workload, config))
    return tuple(PodSetUpdate(name, annotations=notes, selector=selector) for name in names)
