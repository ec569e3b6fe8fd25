"""Kueue's own configuration, as far as it decides who is admitted: fair sharing, what quota counts, feature gates.

It is read as a file of its own, or from the ConfigMap in which Kueue's manifests keep it. Everything else in it is
about how Kueue is run, and is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from ...model.gates import ALL_GATES
from ...model.quantity import QuantityError, nanos
from ...model.settings import FAIR, FINAL_SHARE, INITIAL_SHARE, Settings, Transformation
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


@dataclass(frozen=True, slots=True)
class Configuration:
    settings: Settings
    gates: dict[str, bool] = field(default_factory=dict)


def configuration(root: Field) -> Configuration:
    """What it says; mistakes are noted in the report of the field."""
    resources = root.at("resources")
    strategy = resources.at("quotaCheckStrategy")
    if strategy.given:
        one_of(strategy, CHECKS)
    stamp = root.at("waitForPodsReady", "requeuingStrategy", "timestamp")
    if stamp.given:
        one_of(stamp, ("Eviction", "Creation"))
    settings = Settings(
        _fair_sharing(root.at("fairSharing"), is_old=root.at("apiVersion").text().endswith("/v1beta1")),
        tuple(one.text() for one in resources.at("excludeResourcePrefixes").items()),
        tuple(_transformation(one) for one in resources.at("transformations").items()),
        strategy.text() == "IgnoreUndeclared",
        cast(Any, stamp.text("Eviction")),
    )
    for path in NOT_HEEDED:
        if root.at(*path).value not in (None, False, {}):
            root.at(*path).warn("is not heeded here", "answers may differ from Kueue's")
    return Configuration(settings, _gates(root.at("featureGates")))


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
