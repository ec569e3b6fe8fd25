"""The plug-in's arguments, read from a KubeSchedulerConfiguration as it is.

Only what the plug-in is configured with is read; other plug-ins and fields are left to kube-scheduler. A profile uses
the plug-in if it enables it at an extension point. Mistakes have upstream's words where it checks a value at its start;
values that it accepts and then ignores are reported too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from ...model.numa_arguments import (
    PLUGIN,
    InformerMode,
    MatchArguments,
    PodsMode,
    ResyncMethod,
    ResyncScope,
    ScoringStrategy,
)
from ..field import Field, shown
from ..strictness import READ, Tree, check_fields, truth

VERSIONS = tuple(f"kubescheduler.config.k8s.io/{version}" for version in ("v1", "v1beta3", "v1beta2"))
KIND = "KubeSchedulerConfiguration"
DEFAULT_PROFILE = "default-scheduler"
HEAVIEST = 2**40
FIELDS: Tree = {
    "apiVersion": READ,
    "kind": READ,
    "scoringStrategy": {"type": READ, "resources": [{"name": READ, "weight": READ}]},
    "cacheResyncPeriodSeconds": READ,
    "discardReservedNodes": READ,
    "cache": {"foreignPodsDetect": READ, "resyncMethod": READ, "informerMode": READ, "resyncScope": READ},
    "preemptionMode": READ,
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SchedulerProfile:
    """`uses_plugin`: whether an extension point enables the plug-in."""

    name: str
    arguments: MatchArguments
    uses_plugin: bool


def read_profiles(configuration: Field) -> list[SchedulerProfile]:
    """The profiles of a scheduler; mistakes go to the field's report."""
    version = configuration.at("apiVersion")
    if version.text() not in VERSIONS:
        version.wrong(f"is {shown(version.text())}, which is not read", f"use {' or '.join(VERSIONS)}")
    return [_profile(one) for one in configuration.at("profiles").items()]


def check_configuration(configuration: Field) -> None:
    read_profiles(configuration)


def _profile(profile: Field) -> SchedulerProfile:
    arguments = MatchArguments()
    for plugin in profile.at("pluginConfig").items():
        if plugin.at("name").text() == PLUGIN:
            arguments = read_arguments(plugin.at("args"))
    return SchedulerProfile(profile.at("schedulerName").text(DEFAULT_PROFILE), arguments, _is_enabled(profile))


def _is_enabled(profile: Field) -> bool:
    points = profile.at("plugins").fields().values()
    return any(one.at("name").text() == PLUGIN for point in points for one in point.at("enabled").items())


def read_arguments(args: Field) -> MatchArguments:
    """The arguments; what is not given has its default."""
    check_fields(args, FIELDS)
    cache = args.at("cache")
    return MatchArguments(
        _strategy(args.at("scoringStrategy")),
        _weights(args.at("scoringStrategy", "resources")),
        _seconds(args.at("cacheResyncPeriodSeconds")),
        truth(args.at("discardReservedNodes")),
        _one_of(cache.at("foreignPodsDetect"), PodsMode, "All"),
        _one_of(cache.at("resyncMethod"), ResyncMethod, "Autodetect"),
        _one_of(cache.at("informerMode"), InformerMode, "Dedicated"),
        _one_of(cache.at("resyncScope"), ResyncScope, "All"),
        _preemption(args.at("preemptionMode")),
    )


def _strategy(strategy: Field) -> ScoringStrategy:
    """The strategy. Given without a type, it is an error and not the default."""
    if not strategy.given:
        return "LeastAllocated"
    kind = strategy.at("type")
    known: dict[str, ScoringStrategy] = {str(one): one for one in get_args(ScoringStrategy)}
    if kind.text() not in known:
        kind.wrong(f'Invalid value: "{kind.text()}": invalid ScoringStrategyType', f"use one of: {', '.join(known)}")
    return known.get(kind.text(), "LeastAllocated")


def _preemption(mode: Field) -> bool:
    if mode.text("Disabled") not in ("Disabled", "Enabled"):
        mode.wrong(f'Invalid value: "{mode.text()}": invalid PreemptionMode', "use Disabled or Enabled")
    return mode.text() == "Enabled"


def _weights(resources: Field) -> dict[str, int]:
    weights = {}
    for one in resources.items():
        value = one.at("weight").value
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            one.at("weight").wrong(f"is {shown(value)}, not a weight", "use a whole number such as 1")
            value = None
        weights[one.at("name").text()] = max(1, min(value or 1, HEAVIEST))
    return weights


def _seconds(period: Field) -> int:
    value = period.value
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        period.wrong(f"is {shown(value)}, not a number of seconds", "use a whole number such as 5")
        return 0
    return value or 0


def _one_of(field: Field, kind: Any, usual: T) -> T:
    values: dict[str, T] = {str(one): one for one in get_args(kind)}
    if field.given and field.text() not in values:
        field.wrong(f"is {shown(field.value)}", f"use one of: {', '.join(values)}")
    return values.get(field.text() if field.given else "", usual)
