"""Kueue's own configuration: fair sharing, what quota counts, feature gates, and what becomes of those who run.

It is read as a file of its own, or from the ConfigMap in which Kueue's manifests keep it. Everything else in it is
about how Kueue's process is run, and is passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

from ...model.gates import ALL_GATES
from ...model.quantity import QuantityError, nanos
from ...model.settings import FAIR, FINAL_SHARE, INITIAL_SHARE, PodsReady, Settings, Transformation
from ..field import Field, shown
from ..node_choice import one_of

GROUP = "config.kueue.x-k8s.io"
KIND = "Configuration"
FILE = "controller_manager_config.yaml"
"""What the configuration is called inside its ConfigMap."""

STRATEGIES = (FINAL_SHARE, INITIAL_SHARE)
CHECKS = ("BlockUndeclared", "IgnoreUndeclared")

NOT_HEEDED = (("admissionFairSharing",), ("waitForPodsReady", "blockAdmission"), ("resources", "deviceClassMappings"))
"""What changes who is admitted in Kueue, and does not here."""


_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Configuration:
    """`settings` and `gates` decide who is admitted; the rest is for a control plane that runs."""

    settings: Settings
    gates: dict[str, bool] = field(default_factory=dict)
    pods_ready: PodsReady | None = PodsReady()  # noqa: RUF009 - a value
    keep_finished: float | None = None
    without_queue: bool = False


def configuration(root: Field) -> Configuration:
    """What it says; mistakes are noted in the report of the field."""
    is_old = root.at("apiVersion").text().endswith("/v1beta1")
    resources = root.at("resources")
    strategy = resources.at("quotaCheckStrategy")
    if strategy.given:
        one_of(strategy, CHECKS)
    stamp = root.at("waitForPodsReady", "requeuingStrategy", "timestamp")
    if stamp.given:
        one_of(stamp, ("Eviction", "Creation"))
    settings = Settings(
        _fair_sharing(root.at("fairSharing"), is_old),
        tuple(one.text() for one in resources.at("excludeResourcePrefixes").items()),
        tuple(_transformation(one) for one in resources.at("transformations").items()),
        strategy.text() == "IgnoreUndeclared",
        cast(Any, stamp.text("Eviction")),
    )
    for path in NOT_HEEDED:
        if root.at(*path).value not in (None, False, {}):
            root.at(*path).warn("is not heeded here", "answers may differ from Kueue's")
    kept = root.at("objectRetentionPolicies", "workloads", "afterFinished")
    return Configuration(
        settings,
        _gates(root.at("featureGates")),
        _pods_ready(root.at("waitForPodsReady"), is_old),
        _seconds(kept) if kept.given else None,
        root.at("manageJobsWithoutQueueName").value is True,
    )


def _pods_ready(wait: Field, is_old: bool) -> PodsReady | None:
    """On, unless it is an old one that does not ask for it."""
    if is_old and wait.at("enable").value is not True:
        return None
    usual = PodsReady(timeout=300.0) if is_old else PodsReady()
    requeuing = wait.at("requeuingStrategy")
    limit, recovery, timeout = requeuing.at("backoffLimitCount"), wait.at("recoveryTimeout"), wait.at("timeout")
    return PodsReady(
        _seconds(timeout) if timeout.given else usual.timeout,
        _seconds(recovery) if recovery.given else None,
        limit.count() if limit.given else None,
        float(requeuing.at("backoffBaseSeconds").count(int(usual.base))),
        float(requeuing.at("backoffMaxSeconds").count(int(usual.longest))),
    )


def _seconds(span: Field) -> float:
    """As Go writes spans of time: 1h30m, 500ms."""
    text = span.text()
    if not text or _SPAN.sub("", text):
        span.wrong(f"is {shown(span.value)}", "give a span of time such as 90s, 5m or 1h30m")
        return 0.0
    return sum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(text))


def _fair_sharing(sharing: Field, is_old: bool) -> tuple[str, ...]:
    """That it is there switches it on, but in v1beta1 it says so itself."""
    if not sharing.given or (is_old and sharing.at("enable").value is not True):
        return ()
    given = sharing.at("preemptionStrategies").items()
    for one in given:
        one_of(one, STRATEGIES)
    named = tuple(one.text() for one in given)
    if len(named) > 1 and named != FAIR:
        sharing.at("preemptionStrategies").wrong(f"is {', '.join(named)}", f"give one, or {', '.join(FAIR)}")
    return named or FAIR


def _transformation(one: Field) -> Transformation:
    strategy = one.at("strategy")
    if strategy.given:
        one_of(strategy, ("Retain", "Replace"))
    if not one.at("input").text():
        one.at("input").wrong("is missing", "name the resource that is counted as others")
    outputs = {name: _factor(factor) for name, factor in one.at("outputs").fields().items()}
    return Transformation(
        one.at("input").text(), outputs, strategy.text("Retain") != "Replace", one.at("multiplyBy").text()
    )


def _factor(factor: Field) -> int:
    try:
        return nanos(str(factor.value))
    except (QuantityError, ValueError):
        factor.wrong(f"is {shown(factor.value)}, not a quantity", "give a quantity such as 500m, 2 or 1.5Gi")
        return 0


def _gates(gates: Field) -> dict[str, bool]:
    """Kueue has gates that change nothing here; they are named in a warning."""
    changes = {}
    for name, value in gates.fields().items():
        if not isinstance(value.value, bool):
            value.wrong(f"is {shown(value.value)}", "give true or false")
        elif name in ALL_GATES:
            changes[name] = value.value
        else:
            value.warn("is a gate that is not known here", "it is passed over")
    return changes
