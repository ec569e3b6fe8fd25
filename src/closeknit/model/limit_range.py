"""What a namespace's LimitRanges allow a container or a pod to request, and how a workload violates them.

Several ranges apply together: the smallest maximum and ratio, the largest minimum, the first default. The messages are
Kueue's, word for word, because they end up in conditions and events that people search for; that about the ratio of
limit to request is ours, since Kueue does not check it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from .container import Container
from .resources import Resources, pod_requests
from .shape import Shape
from .workload import Workload

Kind = Literal["Container", "Pod"]

ABOVE_LIMITS = "requests must not exceed its limits"
ABOVE_MAX = "requests must not be above the limitRange max"
BELOW_MIN = "requests must not be below the limitRange min"
ABOVE_RATIO = "limits must be set and not exceed requests times the limitRange maxLimitRequestRatio"
NANO = 10**9


@dataclass(frozen=True, slots=True)
class LimitRange:
    """`default` is the limit and `default_request` the request of a container that sets none.

    `ratio` is the greatest ratio of limit to request, in billionths; the API server refuses pods that exceed it.
    """

    kind: Kind
    min: Resources = field(default_factory=dict)
    max: Resources = field(default_factory=dict)
    default: Resources = field(default_factory=dict)
    default_request: Resources = field(default_factory=dict)
    ratio: Resources = field(default_factory=dict)


def combined(ranges: Iterable[LimitRange], kind: Kind) -> LimitRange | None:
    """Combine all ranges of a kind into one; None if there is none."""
    of_kind = [one for one in ranges if one.kind == kind]
    if not of_kind:
        return None
    return LimitRange(
        kind,
        _each(max, (one.min for one in of_kind)),
        _each(min, (one.max for one in of_kind)),
        _each(_first, (one.default for one in of_kind)),
        _each(_first, (one.default_request for one in of_kind)),
        _each(min, (one.ratio for one in of_kind)),
    )


def violation(workload: Workload, ranges: Iterable[LimitRange], ratios: bool = True) -> str | None:
    """Why a workload cannot run in a namespace with these ranges; None if it can. `ratios`: check those too."""
    shapes = [(f"spec.podSets[{index}].template.spec", one) for index, one in enumerate(workload.shapes)]
    beyond = [one for path, shape in shapes for one in _beyond_limits(shape, path)]
    if beyond:
        return f"resources validation failed: {_listed(beyond)}"
    listed = list(ranges)
    if not listed:
        return None
    container, pod = combined(listed, "Container"), combined(listed, "Pod")
    asked = zip(shapes, workload.parts, strict=True)
    outside = [
        one for (path, shape), part in asked for one in _outside_ranges(shape, part.requests, container, pod, path)
    ]
    if ratios:
        outside += [one for path, shape in shapes for one in _beyond_ratio(shape, container, pod, path)]
    return f"resources didn't satisfy LimitRange constraints: {_listed(outside)}" if outside else None


@lru_cache(maxsize=1024)
def _beyond_limits(shape: Shape, path: str) -> tuple[str, ...]:
    pairs = ((f"{path}.{where}", one) for where, one in _containers(shape))
    return tuple(
        text for where, one in pairs for text in _invalid(where, dict(one.requests), dict(one.limits), ABOVE_LIMITS)
    )


def _outside_ranges(
    shape: Shape, requests: Resources, container: LimitRange | None, pod: LimitRange | None, path: str
) -> Iterator[str]:
    """The larger of a container's request and limit is checked against max, the smaller against min."""
    if container is not None:
        for where, one in _containers(shape):
            given = (dict(one.requests), dict(one.limits))
            yield from _invalid(f"{path}.{where}", _each(max, given), container.max, ABOVE_MAX)
            yield from _invalid(f"{path}.{where}", container.min, _each(min, given), BELOW_MIN)
    if pod is not None:
        yield from _invalid(path, requests, pod.max, ABOVE_MAX)
        yield from _invalid(path, pod.min, requests, BELOW_MIN)


def _beyond_ratio(shape: Shape, container: LimitRange | None, pod: LimitRange | None, path: str) -> Iterator[str]:
    """Each container, and the sums of all, have a request and a limit for every resource with a ratio."""
    if container is not None and container.ratio:
        for where, one in _containers(shape):
            yield from _above_ratio(f"{path}.{where}", dict(one.requests), dict(one.limits), container.ratio)
    if pod is not None and pod.ratio:
        yield from _above_ratio(path, _sum(shape, "requests"), _sum(shape, "limits"), pod.ratio)


def _above_ratio(path: str, requests: Resources, limits: Resources, ratio: Resources) -> Iterator[str]:
    times = {name: requests.get(name, 0) * most // NANO for name, most in ratio.items()}
    given = {name: limits.get(name, 0) or times[name] + 1 for name in ratio}
    yield from _invalid(path, given, times, ABOVE_RATIO)


def _sum(shape: Shape, part: Literal["requests", "limits"]) -> Resources:
    amounts = [(dict(getattr(one, part)), one.kind) for one in shape.containers]
    init = [(one, kind == "sidecar") for one, kind in amounts if kind != "app"]
    return pod_requests([one for one, kind in amounts if kind == "app"], init)


def _invalid(path: str, larger: Resources, smaller: Resources, text: str) -> Iterator[str]:
    """Where `smaller` exceeds `larger`; a resource that only one side names is ignored."""
    names = sorted(name for name, value in larger.items() if value > smaller.get(name, value))
    if names:
        quoted = ",".join(f'"{name}"' for name in names)
        yield f"{path}: Invalid value: [{quoted}]: {text}"


def _containers(shape: Shape) -> Iterator[tuple[str, Container]]:
    """Each container with its path in the pod template, init containers first, in start order."""
    counts: Counter[str] = Counter()
    for one in shape.containers:
        listed = "containers" if one.kind == "app" else "initContainers"
        yield f"{listed}[{counts[listed]}]", one
        counts[listed] += 1


def _listed(sentences: list[str]) -> str:
    unique = list(dict.fromkeys(sentences))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def _each(pick: Callable[[int, int], int], several: Iterable[Resources]) -> dict[str, int]:
    """One amount for each resource that any of them names."""
    result: dict[str, int] = {}
    for resources in several:
        for name, value in resources.items():
            result[name] = pick(result[name], value) if name in result else value
    return result


def _first(one: int, _: int) -> int:
    return one
