"""LimitRanges: their own defaults, the defaults they give to pods, and the pods they reject."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....dialects.limits import adjusted, limit_ranges
from ....model.resources import PODS, amounts, canonical, pod_requests
from ...errors import Forbidden
from ...kinds import LIMIT_RANGE, POD
from ...port import Raw
from ..store import Store
from .quantities import canonical_all

KEYS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def filled_range(raw: Raw) -> Raw:
    """The range with defaults: for containers, max becomes the default limit, and that or min the default request."""
    spec = raw.get("spec") or {}
    limits = [_filled(one) for one in spec.get("limits") or ()]
    return {**raw, "spec": {**spec, "limits": limits}}


def _filled(item: Raw) -> Raw:
    item = {**item, **{key: canonical_all(item[key]) for key in KEYS if item.get(key)}}
    if item.get("type") != "Container":
        return item
    most, least = item.get("max") or {}, item.get("min") or {}
    limit = {**most, **(item.get("default") or {})}
    request = {**least, **limit, **(item.get("defaultRequest") or {})}
    return {**item, **({"default": limit} if limit else {}), **({"defaultRequest": request} if request else {})}


def limited(store: Store, pod: Raw) -> Raw:
    """The pod with the defaults of its namespace; raises Forbidden if it requests more or less than allowed."""
    if not store.objects[LIMIT_RANGE]:
        return pod
    meta = pod["metadata"]
    objects = list(store.all(LIMIT_RANGE, meta["namespace"]))
    if not objects:
        return pod
    result = adjusted(pod, [one for raw in objects for one in limit_ranges(raw)], {})
    wrong = [
        text for raw in objects for item in raw["spec"].get("limits") or () for text in _broken(item, result["spec"])
    ]
    if wrong:
        told = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
        raise Forbidden(f'pods "{meta["name"]}" is forbidden: {told}', kind=POD.plural, name=meta["name"])
    return result


def _broken(item: Raw, spec: Raw) -> Iterator[str]:
    containers = [one.get("resources") or {} for one in spec.get("containers") or ()]
    first = [
        (one.get("resources") or {}, one.get("restartPolicy") == "Always") for one in spec.get("initContainers") or ()
    ]
    match item.get("type"):
        case "Container":
            for needs in (*(one for one, _ in first), *containers):
                requests, limits = needs.get("requests") or {}, needs.get("limits") or {}
                yield from _outside(item, "Container", amounts(requests), amounts(limits))
        case "Pod":
            sums = [
                pod_requests(
                    [amounts(one.get(key) or {}) for one in containers],
                    [(amounts(one.get(key) or {}), stays) for one, stays in first],
                )
                for key in ("requests", "limits")
            ]
            yield from _outside(item, "Pod", sums[0], sums[1])


def _outside(item: Raw, kind: str, requests: dict[str, int], limits: dict[str, int]) -> Iterator[str]:
    for name, bound in _bounds(item, "min"):
        for word, given in (("request", requests), ("limit", limits)):
            if word == "request" and name not in given:
                yield f"a {kind} asks for at least {canonical(name, bound)} of {name}, but no request is given"
            elif name in given and given[name] < bound:
                least, got = canonical(name, bound), canonical(name, given[name])
                yield f"a {kind} asks for at least {least} of {name}, but its {word} is {got}"
    for name, bound in _bounds(item, "max"):
        for word, given in (("limit", limits), ("request", requests)):
            if word == "limit" and name not in given:
                yield f"a {kind} has at most {canonical(name, bound)} of {name}, but no limit is given"
            elif name in given and given[name] > bound:
                most, got = canonical(name, bound), canonical(name, given[name])
                yield f"a {kind} has at most {most} of {name}, but its {word} is {got}"
    for name, ratio in _bounds(item, "maxLimitRequestRatio"):
        request, limit = requests.get(name, 0), limits.get(name, 0)
        times = ratio / 1000 if name == "cpu" else ratio
        if not request or not limit:
            yield f"in a {kind} the limit of {name} is at most {times:g} times the request, but one is missing"
        elif limit / request > times:
            share = limit / request
            yield f"in a {kind} the limit of {name} is at most {times:g} times the request, not {share:g} times"


def _bounds(item: Raw, key: str) -> Iterator[tuple[str, int]]:
    quantities: Any = item.get(key) or {}
    return ((name, value) for name, value in amounts(quantities).items() if name != PODS)
