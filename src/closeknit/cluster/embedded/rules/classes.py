"""PriorityClasses, RuntimeClasses and LimitRanges: objects that pods refer to or are limited by."""

from __future__ import annotations

from ....dialects.field import Field
from ....model.quantity import QuantityError, nanos
from ...port import Raw
from .causes import Causes, entries
from .limit_ranges import filled_range
from .metadata import check_labels
from .names import label
from .placing_checks import check_tolerations
from .quantities import canonical_all
from .rule import KindRule, unchanged

MAX_PRIORITY = 10**9
POLICIES = ("PreemptLowerPriority", "Never")
LIMITED = ("Container", "Pod", "PersistentVolumeClaim")
_CHAIN = (
    ("min", "max", "is greater than max value"),
    ("min", "default", "is greater than default value"),
    ("min", "defaultRequest", "is greater than default request value"),
    ("defaultRequest", "default", "is greater than default limit value"),
    ("defaultRequest", "max", "is greater than max value"),
    ("default", "max", "is greater than max value"),
)
"""Pairs of which the first may not exceed the second; errors name the second if both are defaults, else the first."""


def _filled_priority(raw: Raw) -> Raw:
    return {"value": 0, "preemptionPolicy": "PreemptLowerPriority", **{k: v for k, v in raw.items() if v is not None}}


def _check_priority(raw: Field, causes: Causes) -> None:
    name, value = raw.at("metadata", "name"), raw.at("value")
    if name.text().startswith("system-"):
        causes.forbidden(name, "names with the prefix system- are reserved")
    if isinstance(value.value, int) and value.value > MAX_PRIORITY:
        causes.forbidden(value, f"must be at most {MAX_PRIORITY}")
    causes.one_of(raw.at("preemptionPolicy"), POLICIES)


def _check_priority_change(old: Field, new: Field, causes: Causes) -> None:
    if old.at("value").value != new.at("value").value:
        causes.forbidden(new.at("value"), "cannot be changed")
    unchanged(old, new, causes, "preemptionPolicy")


def _filled_runtime(raw: Raw) -> Raw:
    overhead = raw.get("overhead")
    if not overhead or not overhead.get("podFixed"):
        return raw
    return {**raw, "overhead": {**overhead, "podFixed": canonical_all(overhead["podFixed"])}}


def _check_runtime(raw: Field, causes: Causes) -> None:
    handler = raw.at("handler")
    if not handler.text():
        causes.required(handler)
    elif label(handler.text()):
        causes.invalid(handler, label(handler.text()))
    check_labels(raw.at("scheduling", "nodeSelector"), causes)
    check_tolerations(raw.at("scheduling", "tolerations"), causes)


def _check_runtime_change(old: Field, new: Field, causes: Causes) -> None:
    unchanged(old, new, causes, "handler")


def _check_range(raw: Field, causes: Causes) -> None:
    seen: set[str] = set()
    for item in raw.at("spec", "limits").items():
        kind = item.at("type")
        if kind.text() not in LIMITED and "/" not in kind.text():
            causes.invalid(kind, f"use one of {', '.join(LIMITED)}, or a name with a domain")
        elif kind.text() in seen:
            causes.duplicate(kind)
        seen.add(kind.text())
        if kind.text() == "Pod":
            for key in ("default", "defaultRequest"):
                if item.at(key).value:
                    causes.forbidden(item.at(key), "a whole Pod has no defaults")
        _check_bounds(item, causes)


def _check_bounds(item: Field, causes: Causes) -> None:
    for low, high, text in _CHAIN:
        others = entries(item.at(high))
        for name, field in entries(item.at(low)).items():
            other = others.get(name)
            if other is not None and _exact(field) > _exact(other):
                at = other if high.startswith("default") and low == "min" else field
                causes.invalid(at, f"{low} {field.value} {text} {other.value}")
    for field in entries(item.at("maxLimitRequestRatio")).values():
        if _exact(field) < 10**9:
            causes.invalid(field, "must be at least 1")


def _exact(field: Field) -> int:
    try:
        return nanos(str(field.value))
    except (QuantityError, ValueError):
        return 0


PRIORITY_CLASS_RULE = KindRule(_filled_priority, check=_check_priority, change=_check_priority_change)
RUNTIME_CLASS_RULE = KindRule(_filled_runtime, check=_check_runtime, change=_check_runtime_change)
LIMIT_RANGE_RULE = KindRule(filled_range, check=_check_range)
