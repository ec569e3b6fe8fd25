"""The section `numa` of our configuration: the mode, and what is known of kubelets whose reports do not say it.

Names are those of a KubeletConfiguration, so that a value can be copied from there: `cpuManager` takes what
`cpuManagerPolicy` does, `options` those of the topology manager and the CPU manager, and a feature gate.
"""

from __future__ import annotations

from typing import get_args

from ..model.label_names import is_qualified_name
from ..model.nearest import did_you_mean
from ..model.numa_settings import SWITCHES, NodeNuma, NumaMode, NumaOption, NumaSettings
from ..model.shape import whole_number
from .field import Field, shown
from .label_selectors import read_selector
from .strictness import READ, Tree

FIELDS: Tree = {
    "mode": READ,
    "nodes": [
        {
            "selector": {"matchLabels": READ, "matchExpressions": [{"key": READ, "operator": READ, "values": READ}]},
            "cpuManager": READ,
            "memoryManager": READ,
            "options": READ,
            "ignoredResources": READ,
        }
    ],
}
MODES: dict[str, NumaMode] = {str(one): one for one in get_args(NumaMode)}
OPTIONS = (*SWITCHES, NumaOption.MAX_ZONES)
LEAST_MAX_ZONES = 8


def read_numa(numa: Field) -> NumaSettings:
    """The settings; mistakes go to the field's report."""
    return NumaSettings(_mode(numa.at("mode")), tuple(_node(one) for one in numa.at("nodes").items()))


def _mode(mode: Field) -> NumaMode:
    """YAML reads `off` without quotes as false."""
    word = "off" if mode.value is False else mode.value
    if mode.given and (not isinstance(word, str) or word not in MODES):
        mode.wrong(f"is {shown(mode.value)}", f"use one of: {', '.join(MODES)}")
    return MODES.get(str(word), "strict")


def _node(entry: Field) -> NodeNuma:
    return NodeNuma(
        read_selector(entry.at("selector")),
        _is_static(entry.at("cpuManager")),
        _is_static(entry.at("memoryManager")),
        tuple(sorted(_options(entry.at("options")).items())),
        frozenset(_resource(one) for one in entry.at("ignoredResources").items()),
    )


def _is_static(policy: Field) -> bool | None:
    """Whether the manager has the static policy; the kubelet writes Static for memory, static for CPUs."""
    if not policy.given:
        return None
    if policy.text().lower() not in ("static", "none"):
        policy.wrong(f"is {shown(policy.value)}", "use static or none")
    return policy.text().lower() == "static"


def _options(options: Field) -> dict[str, str]:
    found = {}
    for name, value in options.fields().items():
        if name == NumaOption.MAX_ZONES:
            found[name] = str(_max_zones(value))
        elif name in SWITCHES:
            found[name] = _switch(value)
        else:
            remedy = did_you_mean(name, OPTIONS).strip() or f"use one of: {', '.join(OPTIONS)}"
            value.wrong("is not a known option", remedy)
    return found


def _max_zones(value: Field) -> int:
    """The kubelet takes options as strings."""
    number = whole_number(value.value) if isinstance(value.value, str) else value.value
    if isinstance(number, bool) or not isinstance(number, int) or number < LEAST_MAX_ZONES:
        value.wrong(f"is {shown(value.value)}", f"use a whole number, {LEAST_MAX_ZONES} or more")
        return LEAST_MAX_ZONES
    return number


def _switch(value: Field) -> str:
    if isinstance(value.value, bool):
        return "true" if value.value else "false"
    if value.value not in ("true", "false"):
        value.wrong(f"is {shown(value.value)}", "use true or false")
    return "true" if value.value == "true" else "false"


def _resource(name: Field) -> str:
    if not is_qualified_name(name.text()):
        name.wrong(f"is {shown(name.value)}, not the name of a resource", "use a name such as example.com/nic")
    return name.text()
