"""Filter and score of one pod on one node, written straight from the rules: one zone, one resource at a time."""

from __future__ import annotations

from itertools import combinations
from math import ceil, floor

import numpy as np

from closeknit.model.container import QoS
from closeknit.model.numa import NodeZones
from closeknit.numa.pod_needs import PodNeeds

Free = list[dict[str, int]]
"""What each zone has left, in the order of the report; a name that is not listed is absent."""


def filtered(zones: NodeZones, offered: set[str], pod: PodNeeds) -> str | None:
    """The reason for a refusal; None if the node passes."""
    devices = any(not _native(name) for one in pod.containers for name, _ in one.requests)
    if (pod.qos == "BestEffort" and not devices) or zones.manager.policy != "single-numa-node":
        return None
    if zones.manager.scope == "pod":
        fits = _lowest(zones, _free(zones), offered, _effective(pod), pod.qos) is not None
        return None if fits else "cannot align pod"
    for one in pod.containers:
        if one.kind != "app" and _lowest(zones, _free(zones), offered, dict(one.requests), pod.qos) is None:
            return "cannot align sidecar container" if one.kind == "sidecar" else "cannot align init container"
    free = _free(zones)
    for one in pod.containers:
        if one.kind != "app":
            continue
        chosen = _lowest(zones, free, offered, dict(one.requests), pod.qos)
        if chosen is None:
            return "cannot align container"
        for zone, held in zip(zones.zones, free, strict=True):
            for name, amount in one.requests:
                if zone.id == chosen and name in held and not (_affine(name) and pod.qos != "Guaranteed"):
                    held[name] -= amount
    return None


def _lowest(zones: NodeZones, free: Free, offered: set[str], requests: dict[str, int], qos: QoS) -> int | None:
    """The lowest id of a zone that fits; 0 if nothing needs a zone."""
    ids = set(range(64))
    for name, amount in requests.items():
        if amount == 0:
            continue
        plain = "/" not in name and not name.startswith("hugepages-")  # a scheduler keeps no others of a node
        if name not in {"cpu", "memory", "pods", "ephemeral-storage"} and (plain or name not in offered):
            return None
        listed = [(zone.id, held[name]) for zone, held in zip(zones.zones, free, strict=True) if name in held]
        if not listed and (name in ("ephemeral-storage", "storage") or not _native(name)):
            continue
        ids &= {number for number, has in listed if has >= amount or (_affine(name) and qos != "Guaranteed")}
    return min(ids, default=None)


def scored(zones: NodeZones, pod: PodNeeds, strategy: str, weights: dict[str, int]) -> int:
    if pod.qos != "Guaranteed":
        return 100
    pod_scope = zones.manager.scope == "pod"
    requests = [_effective(pod)] if pod_scope else [dict(one.requests) for one in pod.containers]
    if strategy == "LeastNUMANodes":
        return _least_zones(zones, requests)
    if zones.manager.policy != "single-numa-node":
        return 0
    scores = []
    for one in requests:
        of_zones = [_zone_score(held, one, strategy, weights) for held in _free(zones)]
        scores.append(min((score for score in of_zones if score), default=0))
    return sum(scores) // len(scores)


def _zone_score(held: dict[str, int], requests: dict[str, int], strategy: str, weights: dict[str, int]) -> int:
    if strategy == "BalancedAllocation":
        fractions = [
            _value(name, amount) / _value(name, held[name]) if held.get(name) else 1.0
            for name, amount in requests.items()
        ]
        if max(fractions) > 1:
            return 0
        return floor((1 - float(np.var(fractions, ddof=1))) * 100 + 1e-9)
    total = weight = 0
    for name, amount in requests.items():
        weight += max(1, weights.get(name, 1))
        has = held.get(name, 0)
        if has and amount <= has:
            part = amount if strategy == "MostAllocated" else None
            whole = _value(name, has)
            used = _value(name, amount)
            points = used * 100 // whole if part is not None else (whole - used) * 100 // whole
            total += points * max(1, weights.get(name, 1))
    return total // weight


def _least_zones(zones: NodeZones, requests: list[dict[str, int]]) -> int:
    free, most, optimal, counted = _free(zones), 0, True, False
    for one in requests:
        if not any(name in held for name in one for held in free):
            continue
        counted = True
        found = _closest(zones, free, one)
        if found is None:
            return 0
        chosen, best = found
        most, optimal = max(most, len(chosen)), optimal and best
        _drain(zones, free, chosen, one)
    unit = 100 // zones.manager.max_zones
    return 100 - most * unit + (unit // 2 if optimal else 0) if counted else 100


def _closest(zones: NodeZones, free: Free, requests: dict[str, int]) -> tuple[tuple[int, ...], bool] | None:
    """The positions of the zones that are chosen, and whether no others as many are closer."""
    for count in range(1, len(free) + 1):
        ideal, fitting = 255.0, []
        for chosen in combinations(range(len(free)), count):
            total = sum(zones.zones[a].costs.get(zones.zones[b].id, 255) for a in chosen for b in chosen)
            distance = float(np.float32(total) / np.float32(count * count))
            ideal = min(ideal, distance)
            usable = distance < 256 and all(name in free[at] for name in requests for at in chosen)
            if usable and all(sum(free[at][name] for at in chosen) >= amount for name, amount in requests.items()):
                fitting.append((distance, chosen))
        if fitting:
            distance, chosen = min(fitting)
            return chosen, distance == ideal
    return None


def _drain(zones: NodeZones, free: Free, chosen: tuple[int, ...], requests: dict[str, int]) -> None:
    """Take the request zone by zone; the id of a zone is taken for its position where the list is long enough."""
    ids = sorted((zones.zones[at].id, at) for at in chosen)
    as_positions = all(number < len(free) for number, _ in ids)
    for name, amount in requests.items():
        for number, at in ids:
            held = free[number if as_positions else at]
            taken = min(amount, held.get(name, 0))
            if name in held:
                held[name] -= taken
            amount -= taken


def _free(zones: NodeZones) -> Free:
    return [{name: one.available for name, one in zone.resources.items()} for zone in zones.zones]


def _effective(pod: PodNeeds) -> dict[str, int]:
    apps: dict[str, int] = {}
    for one in pod.containers:
        for name, amount in one.requests if one.kind == "app" else ():
            apps[name] = apps.get(name, 0) + amount
    for one in pod.containers:
        for name, amount in one.requests if one.kind != "app" else ():
            apps[name] = max(apps.get(name, 0), amount)
    for name, amount in pod.overhead:
        apps[name] = apps.get(name, 0) + amount
    return apps


def _value(name: str, amount: int) -> int:
    return ceil(amount / 1000) if name == "cpu" else amount


def _native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _affine(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")
