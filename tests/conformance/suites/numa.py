"""NUMA on the side of the scheduler: filter, scores and placement by NodeResourceTopologyMatch, and what it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from closeknit.dialects.core import PodSpec, WireContainer
from closeknit.dialects.field import Field
from closeknit.dialects.nrt.arguments import read_arguments
from closeknit.dialects.nrt.reading import read_topology
from closeknit.engine.numa.distances import mean, total_distances
from closeknit.engine.numa.least_zones import normalized, zones_required
from closeknit.engine.numa.outcome import Alignment
from closeknit.engine.numa.topology_match import align, score
from closeknit.engine.numa.zone_table import ZoneTable
from closeknit.model.container import Container, Kind, Needs, QoS, qos_class, sorted_amounts
from closeknit.model.numa_arguments import MatchArguments
from closeknit.model.resources import amounts
from closeknit.numa.fingerprint import check, covers_exclusive_only, fingerprint, is_compatible
from closeknit.numa.pod_needs import PodNeeds
from closeknit.numa.zone_names import zone_id, zone_name

from .case import Case, NotRun, Prepared

Raw = dict[str, Any]
CLASSES: dict[str, QoS] = {"Guaranteed": "Guaranteed", "Burstable": "Burstable", "BestEffort": "BestEffort"}


def _table(nodes: list[Raw], topologies: list[Raw]) -> ZoneTable:
    table = ZoneTable()
    for node in nodes:
        table.put_node(node["metadata"]["name"], (node.get("status") or {}).get("allocatable") or {})
    for topology in topologies:
        table.put_zones(read_topology(topology))
    return table


def _pod(raw: Raw) -> PodNeeds:
    """The pod as it is written: the API server, not the scheduler, copies limits to requests."""
    spec = msgspec.convert(raw["spec"], PodSpec)
    first = tuple(
        _container(one, "sidecar" if one.restart_policy == "Always" else "init") for one in spec.init_containers or ()
    )
    containers = first + tuple(_container(one, "app") for one in spec.containers or ())
    level = None
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        level = Needs(
            sorted_amounts(amounts(spec.resources.requests or {})), sorted_amounts(amounts(spec.resources.limits or {}))
        )
    given = CLASSES.get((raw.get("status") or {}).get("qosClass") or "")
    return PodNeeds(containers, given or qos_class(containers, level), sorted_amounts(amounts(spec.overhead or {})))


def _container(wire: WireContainer, kind: Kind) -> Container:
    given = wire.resources
    requests, limits = (given.requests, given.limits) if given is not None else (None, None)
    return Container.of(amounts(requests or {}), amounts(limits or {}), kind)


def numa_filter(case: Case) -> Prepared:
    table, pod = _table([case["node"]], case["nodeResourceTopologies"]), _pod(case["pod"])
    row = table.rows[case["node"]["metadata"]["name"]]

    def show(found: Alignment) -> Raw:
        return {"allowed": found is Alignment.FITS, "code": found.code, "reason": found.reason}

    return Prepared(lambda: align(table, pod).at(row), show, case["expected"])


def numa_score(case: Case) -> Prepared:
    return _KINDS[case["kind"]](case)


def _scores(case: Case) -> Prepared:
    names = [one["metadata"]["name"] for one in case["nodes"]]
    table, pod = _table(case["nodes"], case["nodeResourceTopologies"]), _pod(case["pod"])
    arguments = read_arguments(Field.root(case["args"]))

    def show(scores: dict[str, int]) -> Raw:
        most = max(scores.values())
        return {"scores": scores, "best": sorted(name for name, value in scores.items() if value == most)}

    def decide() -> dict[str, int]:
        found = score(table, pod, arguments)
        return {name: found.at(table.rows[name]) for name in names}

    return Prepared(decide, show, case["expected"])


def _zones_required(case: Case) -> Prepared:
    zones = read_topology(case["nodeResourceTopologies"][0])
    table = ZoneTable()
    table.put_zones(zones)
    [columns] = table
    requests = amounts(case["requests"])

    def decide() -> Raw:
        found = zones_required(columns, requests, CLASSES[case["qosClass"]])
        ids = sorted(int(one) for one in columns.ids[found.chosen])
        return {"numaNodes": ids if found.count[0] else None, "optimalDistance": bool(found.optimal[0])}

    return Prepared(decide, lambda found: _asserted(found, case), _asserted(case["expected"], case))


def _normalized(case: Case) -> Prepared:
    count, optimal, most = (np.array([case[key]]) for key in ("numaNodeCount", "optimalDistance", "maxNUMANodes"))
    return Prepared(lambda: int(normalized(count, optimal, most)[0]), lambda found: {"score": found}, case["expected"])


def _least_distance(case: Case) -> Prepared:
    zones = read_topology(case["nodeResourceTopologies"][0]).zones
    costs = np.array([[[zone.cost(other.id) for other in zones] for zone in zones]])
    want, tolerance = case["expected"]["distance"], case["expected"].get("tolerance", 0)

    def decide() -> float:
        chosen = [np.array([one], dtype=np.int64) for one in case["combinations"]]
        return min(float(mean(total_distances(costs, one), one.shape[1])[0, 0]) for one in chosen)

    return Prepared(decide, lambda found: want if abs(found - want) <= tolerance else found, want)


def numa_placement(case: Case) -> Prepared:
    names = [one["metadata"]["name"] for one in case["nodes"]]
    table, pod = _table(case["nodes"], case["nodeResourceTopologies"]), _pod(case["pod"])
    arguments = MatchArguments(strategy=case["profile"]["scoringStrategy"]["type"])
    expected = case["expected"]

    def decide() -> Raw:
        fits, scores = align(table, pod), score(table, pod, arguments)
        answers = {name: fits.at(table.rows[name]) for name in names}
        left = {name: scores.at(table.rows[name]) for name in names if answers[name] is Alignment.FITS}
        best = {name for name, value in left.items() if value == max(left.values())}
        return {"best": best, "reasons": {answer.reason for answer in answers.values()}}

    def show(found: Raw) -> Raw:
        best, reason = found["best"], expected.get("reason")
        accepted = best <= set(expected["acceptableNodes"])
        said = reason is None or any(reason in (one or "") for one in found["reasons"])
        return {"schedulable": bool(best), "accepted": accepted, "reason": said}

    return Prepared(decide, show, {"schedulable": expected["schedulable"], "accepted": True, "reason": True})


def pod_fingerprint(case: Case) -> Prepared:
    return _KINDS[case["kind"]](case)


def _fingerprint(case: Case) -> Prepared:
    pods = _names(case["pods"])
    return Prepared(lambda: fingerprint(pods), lambda found: {"fingerprint": found}, case["expected"])


def _check(case: Case) -> Prepared:
    if "pods" not in case:
        raise NotRun  # the pods are in another vector, which is not here
    pods = _names(case["pods"])
    return Prepared(
        lambda: check(case["fingerprint"], pods),
        lambda found: {"error": None if found is None else found.value},
        case["expected"],
    )


def _version(case: Case) -> Prepared:
    return Prepared(
        lambda: is_compatible(case["version"]),
        lambda found: {"compatible": bool(found), "error": "malformed" if found is None else None},
        case["expected"],
    )


def _lookup(case: Case) -> Prepared:
    def decide() -> Raw:
        zones = read_topology(case["nodeResourceTopology"])
        exclusive = covers_exclusive_only(zones, case["resyncMethod"])
        return {"fingerprint": zones.fingerprint, "onlyExclusiveResources": exclusive}

    return Prepared(decide, lambda found: _asserted(found, case), _asserted(case["expected"], case))


def _names(pods: list[Raw]) -> list[tuple[str, str]]:
    return [(one["namespace"], one["name"]) for one in pods]


def zone_names(case: Case) -> Prepared:
    if case["kind"] == "nameToId":
        return Prepared(
            lambda: zone_id(case["zoneName"]), lambda found: {"valid": found is not None, "id": found}, case["expected"]
        )
    return Prepared(
        lambda: zone_name(case["id"]), lambda found: {"valid": found is not None, "zoneName": found}, case["expected"]
    )


def _asserted(found: Raw, case: Case) -> Raw:
    return {key: found[key] for key in case.get("asserted") or found}


_KINDS: dict[str, Callable[[Case], Prepared]] = {
    "score": _scores,
    "zonesRequired": _zones_required,
    "normalize": _normalized,
    "minDistance": _least_distance,
    "fingerprint": _fingerprint,
    "check": _check,
    "version": _version,
    "nrtLookup": _lookup,
}
