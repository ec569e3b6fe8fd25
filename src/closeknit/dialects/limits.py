"""Kubernetes' LimitRange and RuntimeClass, and what they add to a pod template before it is read.

The API server applies these when a pod is created. Quota is counted before that, so they are applied here as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..model.limit_range import LimitRange, combined
from ..model.quantity import nanos
from ..model.resources import Resources, amounts, show

Raw = dict[str, Any]

_KINDS = ("Container", "Pod")


def limit_ranges(raw: Raw) -> tuple[LimitRange, ...]:
    """The ranges of one LimitRange object, except those of PersistentVolumeClaims."""
    limits = (raw.get("spec") or {}).get("limits") or ()
    return tuple(
        LimitRange(
            cast(Any, one["type"]),
            amounts(one.get("min") or {}),
            amounts(one.get("max") or {}),
            amounts(one.get("default") or {}),
            amounts(one.get("defaultRequest") or {}),
            {name: nanos(str(value)) for name, value in (one.get("maxLimitRequestRatio") or {}).items()},
        )
        for one in limits
        if one.get("type") in _KINDS
    )


def runtime_class(raw: Raw) -> tuple[str, dict[str, int]]:
    """A RuntimeClass's name and its pod overhead."""
    overhead = (raw.get("overhead") or {}).get("podFixed") or {}
    return (raw.get("metadata") or {}).get("name") or "", amounts(overhead)


def adjusted(template: Raw, ranges: Sequence[LimitRange], runtime_classes: Mapping[str, Resources]) -> Raw:
    """A copy with overhead, defaults, and requests taken from limits, each where the template sets none.

    Defaults of type Pod apply to pod-level resources, and only if the template has any.
    """
    spec = dict(template.get("spec") or {})
    overhead = runtime_classes.get(spec.get("runtimeClassName") or "")
    if overhead and not spec.get("overhead"):
        spec["overhead"] = _quantities(overhead)
    container, pod = combined(ranges, "Container"), combined(ranges, "Pod")
    for key in ("initContainers", "containers"):
        if spec.get(key):
            spec[key] = [_with_needs(one, container) for one in spec[key]]
    if spec.get("resources"):
        spec = _with_needs(spec, pod)
    return {**template, "spec": spec}


def _with_needs(owner: Raw, limits: LimitRange | None) -> Raw:
    """A container or pod spec with defaulted `resources`."""
    needs = dict(owner.get("resources") or {})
    filled = {
        "limits": {**_quantities(limits.default if limits else {}), **(needs.get("limits") or {})},
        "requests": {**_quantities(limits.default_request if limits else {}), **(needs.get("requests") or {})},
    }
    filled["requests"] = {**filled["limits"], **filled["requests"]}
    needs |= {key: quantities for key, quantities in filled.items() if quantities}
    return {**owner, "resources": needs} if needs else owner


def _quantities(resources: Resources) -> dict[str, str]:
    return {name: show(name, value) for name, value in resources.items()}
