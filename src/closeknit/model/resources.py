"""Resource amounts: plain mappings from resource name to int64, cpu in milli-units, the rest in whole units.

Everything here saturates at the ends of int64 instead of wrapping, and nothing mutates its arguments. What a
pod asks for is computed by `pod_requests` from its containers, by the rules the kubelet and the scheduler use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .quantity import milli, saturate, units

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"

ABSURD = 2**53
"""The most that a node has or a pod requests: 8 PiB of memory, nine trillion cores."""

Resources = Mapping[str, int]

_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki")
_POD_LEVEL = ("cpu", "memory")


def amount(resource: str, quantity: str | int | float) -> int:
    """A quantity as an integer amount: amount("cpu", "2") == 2000, amount("memory", "1Ki") == 1024."""
    text = quantity if isinstance(quantity, str) else str(quantity)
    return saturate(milli(text) if resource == CPU else units(text))


def amounts(quantities: Mapping[str, str | int | float]) -> dict[str, int]:
    """A Kubernetes resource list as amounts."""
    return {name: amount(name, quantity) for name, quantity in quantities.items()}


def total(parts: Iterable[Resources]) -> dict[str, int]:
    """The sum of several amounts."""
    result: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            result[name] = saturate(result.get(name, 0) + value)
    return result


def times(requests: Resources, count: int) -> dict[str, int]:
    """What `count` pods request together."""
    return {name: saturate(value * count) for name, value in requests.items()}


def largest(left: Resources, right: Resources) -> dict[str, int]:
    """The larger of the two, resource by resource."""
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}


def pod_requests(
    containers: Sequence[Resources],
    init: Sequence[tuple[Resources, bool]] = (),
    overhead: Resources | None = None,
    pod_level: Resources | None = None,
) -> dict[str, int]:
    """What one pod requests.

    `init` holds each init container's requests and whether it is a sidecar (restartPolicy Always). Sidecars run
    beside everything that starts after them; plain init containers run alone, one by one. A pod-level request
    for cpu, memory or huge pages replaces the sum of the containers; overhead comes on top.

    >>> pod_requests([{"cpu": 2}], init=[({"cpu": 1}, True), ({"cpu": 4}, False)])
    {'cpu': 5}
    """
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for requests, is_sidecar in init:
        if is_sidecar:
            sidecars = total((sidecars, requests))
            peak = largest(peak, sidecars)
        else:
            peak = largest(peak, total((sidecars, requests)))
    result = largest(total((*containers, sidecars)), peak)
    for name, value in (pod_level or {}).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            result[name] = value
    return total((result, overhead or {}))


def rough(resource: str, value: int) -> str:
    """An amount for people, to about three digits: rough("cpu", 2057415) == "2057", rough("memory", 2**40) == "1Ti"."""
    if resource == CPU:
        return _short(value / 1000)
    if _is_memory(resource):
        for power, suffix in zip(range(6, 0, -1), _BINARY, strict=True):
            if abs(value) >= 1024**power:
                return f"{_short(value / 1024**power)}{suffix}"
    return str(value)


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.1f}"


def canonical(resource: str, value: int) -> str:
    """An amount as the API server writes it: canonical("cpu", 10_000_000) == "10k"."""
    if _is_memory(resource):
        return show(resource, value)
    if resource == CPU:
        if value % 1000:
            return f"{value}m"
        value //= 1000
    suffix = 0
    while value and value % 1000 == 0 and suffix < len(_DECIMAL) - 1:
        value //= 1000
        suffix += 1
    return f"{value}{_DECIMAL[suffix]}"


def _is_memory(resource: str) -> bool:
    return resource in (MEMORY, "ephemeral-storage") or resource.startswith("hugepages-")


def show(resource: str, value: int) -> str:
    """An amount as people write it: show("cpu", 1500) == "1500m", show("memory", 2**31) == "2Gi"."""
    if resource == CPU:
        return f"{value // 1000}" if value % 1000 == 0 else f"{value}m"
    if _is_memory(resource):
        for power, suffix in zip(range(6, 0, -1), _BINARY, strict=True):
            if value and value % 1024**power == 0:
                return f"{value // 1024**power}{suffix}"
    return str(value)
