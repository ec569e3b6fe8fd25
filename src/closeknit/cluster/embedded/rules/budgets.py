"""PodDisruptionBudgets, Events and Leases: small kinds with a rule or two each."""

from __future__ import annotations

from ....dialects.field import Field
from ...port import Raw
from .causes import Causes
from .names import anything
from .placing_checks import check_selector
from .rule import KindRule, Making
from .sets import check_share

_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
_EVENT: Raw = {
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def _begun_budget(_making: Making, raw: Raw) -> Raw:
    return {**raw, "spec": raw.get("spec") or {}, "status": dict.fromkeys(_COUNTS, 0)}


def _check_budget(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    if spec.at("minAvailable").given and spec.at("maxUnavailable").given:
        causes.invalid(spec, "set minAvailable or maxUnavailable, not both")
    for key in ("minAvailable", "maxUnavailable"):
        if spec.at(key).given:
            check_share(spec.at(key), causes)
    if spec.at("unhealthyPodEvictionPolicy").given:
        causes.one_of(spec.at("unhealthyPodEvictionPolicy"), ("AlwaysAllow", "IfHealthyBudget"))
    check_selector(spec.at("selector"), causes)


def _filled_event(raw: Raw) -> Raw:
    return {**_EVENT, **raw}


def _check_event(raw: Field, causes: Causes) -> None:
    about, home = raw.at("involvedObject", "namespace"), raw.at("metadata", "namespace").text()
    if about.text() != home and not (not about.text() and home == "default"):
        causes.invalid(about, "is not the namespace of the event", about.text())


def _filled_lease(raw: Raw) -> Raw:
    return {**raw, "spec": raw.get("spec") or {}}


def _check_lease(raw: Field, causes: Causes) -> None:
    spec = raw.at("spec")
    seconds = spec.at("leaseDurationSeconds")
    if seconds.given and (not isinstance(seconds.value, int) or seconds.value <= 0):
        causes.invalid(seconds, "must be greater than 0")
    causes.at_least(spec.at("leaseTransitions"), 0)


BUDGET_RULE = KindRule(begin=_begun_budget, check=_check_budget, name=anything)
EVENT_RULE = KindRule(_filled_event, check=_check_event, name=anything)
LEASE_RULE = KindRule(_filled_lease, check=_check_lease)
