"""The kubelet's topology manager, and the hints of its CPU, memory and device manager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from closeknit.dialects import core
from closeknit.model.container import Container
from closeknit.numa.cpus import CpuPlaces, cpu_hints, kept_cpu_hints
from closeknit.numa.demand import PodDemand, device_limits
from closeknit.numa.devices import Devices, device_hints, kept_device_hints
from closeknit.numa.hints import Answer, Hint, groups_of
from closeknit.numa.masks import mask_of, mean_distance, zones_of
from closeknit.numa.memory import MemoryBlock, ZoneMemory, breaks_group, kept_memory_hints, memory_hints
from closeknit.numa.merge import Merger, single_zone_hints, widest_of_narrowest
from closeknit.numa.refusal import AFFINITY

from .case import Case, Prepared


def topology_manager(case: Case) -> Prepared:
    return Prepared(lambda: MERGING[case["kind"]](case), lambda answer: answer, _expected(case))


def kubelet_hints(case: Case) -> Prepared:
    def decide() -> Any:
        return ASKING[case["kind"]](case)

    return Prepared(decide, lambda answer: answer, _expected(case))


def _expected(case: Case) -> Any:
    """The expected answer; lists of hints are compared as sets but for those of memory."""
    want = dict(case["expected"])
    tolerance = want.pop("tolerance", None)
    if tolerance is not None:
        want = {name: round(value, 6) for name, value in want.items()}
    if case["kind"] in ("cpuHints", "deviceHints", "deviceGenerate"):
        want["hints"] = _in_any_order(want["hints"])
    return want


def _in_any_order(hints: Any) -> Any:
    if isinstance(hints, dict):
        return {name: _in_any_order(some) for name, some in hints.items()}
    return sorted(hints, key=str) if isinstance(hints, list) else hints


# Masks and hints


def hint(wire: Any) -> Hint:
    return Hint(None if wire["numaNodes"] is None else mask_of(wire["numaNodes"]), wire["preferred"])


def shown(one: Hint) -> Any:
    return {"numaNodes": None if one.mask is None else zones_of(one.mask), "preferred": one.preferred}


def answer(wire: Any) -> Answer | None:
    return wire and {name: None if hints is None else list(map(hint, hints)) for name, hints in wire.items()}


def shown_answer(given: Answer | None, sort: bool = True) -> Any:
    if given is None:
        return {"hints": None}
    wire = {name: None if hints is None else list(map(shown, hints)) for name, hints in given.items()}
    return {"hints": _in_any_order(wire) if sort else wire}


def merger(case: Case) -> Merger:
    distances = {int(zone): row for zone, row in (case.get("distances") or {}).items()}
    closest = (case.get("options") or {}).get("prefer-closest-numa-nodes", False)
    return Merger(case.get("policy", "best-effort"), case.get("numaNodes") or [], distances, closest)


# The topology manager


def merge(case: Case) -> Any:
    merged = merger(case).merge(groups_of(map(answer, case["providers"])))
    return {"hint": shown(merged), "admit": merger(case).admits(merged)}


def compare(case: Case) -> Any:
    current = None if case["current"] is None else hint(case["current"])
    won = merger(case).better(current, hint(case["candidate"]), case["bestNonPreferredAffinityCount"])
    return {"winner": "candidate" if won else "current"}


def closest(case: Case) -> Any:
    one = Merger("restricted", (), merger(case).distances, closest=True)
    current, candidate = mask_of(case["current"]), mask_of(case["candidate"])
    return {"winner": "candidate" if one.fitness(candidate) < one.fitness(current) else "current"}


def groups(case: Case) -> list[list[Hint]]:
    return [[hint(one) for one in group] for group in case["groups"]]


def single_zone(case: Case) -> Any:
    return {"groups": [[shown(one) for one in group] for group in single_zone_hints(groups(case))]}


def can_admit(case: Case) -> Any:
    return {"admit": Merger(case["policy"], ()).admits(hint(case["hint"]))}


def average(case: Case) -> Any:
    return {"average": round(mean_distance(mask_of(case["numaNodes"]), merger(case).distances), 6)}


def admit(case: Case) -> Any:
    """Every manager answers the same for each container and for the pod."""
    admitted = case["policy"] == "none" or merge(case)["admit"]
    return {"admit": admitted, "reason": None if admitted else AFFINITY}


MERGING: dict[str, Callable[[Case], Any]] = {
    "merge": merge,
    "compare": compare,
    "maxOfMin": lambda case: {"count": widest_of_narrowest(groups(case))},
    "singleNUMAFilter": single_zone,
    "canAdmit": can_admit,
    "averageDistance": average,
    "closest": closest,
    "admit": admit,
}


# Hints of the managers


def demand(case: Case) -> PodDemand:
    gates = case.get("featureGates") or {}
    managed = bool(gates.get("PodLevelResources") and gates.get("PodLevelResourceManagers"))
    shape = core.shape(msgspec.convert(case["pod"]["spec"], core.PodSpec, strict=False))
    return PodDemand.of(shape.containers, shape.pod_level, managed)


def container(case: Case) -> Container | None:
    """The container that is asked about; None for the whole pod."""
    if case["scope"] == "pod":
        return None
    return demand(case).containers[names(case).index(case["container"])]


def names(case: Case) -> list[str]:
    spec = case["pod"]["spec"]
    return [one["name"] for one in [*(spec.get("initContainers") or ()), *spec["containers"]]]


def own(case: Case) -> list[Any]:
    """What the pod's containers, or the one that is asked about, have already."""
    held = case["assignments"].get(case["pod"]["metadata"].get("uid", ""), {})
    return [held[name] for name in names(case) if name in held and case.get("container") in (None, name)]


def cpus(case: Case) -> Any:
    machine, one, pod = case["machine"]["cpus"], container(case), demand(case)
    count = pod.pod_cpus() if one is None else pod.cpus(one)
    if not count:
        return {"hints": None}
    places = CpuPlaces(
        by(machine, "numaNode"), tuple(by(machine, "core").values()), tuple(by(machine, "socket").values())
    )
    if held := own(case):
        return shown_answer({"cpu": kept_cpu_hints(places, mask_of(cpu for some in held for cpu in some), count)})
    free = mask_of(case["sharedPool"]) & ~mask_of(case["reserved"])
    by_socket = case["policyOptions"].get("align-by-socket") == "true"
    return shown_answer({"cpu": cpu_hints(places, free, mask_of(case["reusable"]), count, by_socket)})


def by(machine: Iterable[Any], name: str) -> dict[int, int]:
    found: dict[int, int] = {}
    for cpu in machine:
        found[cpu[name]] = found.get(cpu[name], 0) | 1 << cpu["cpu"]
    return dict(sorted(found.items()))


def memory(case: Case) -> Any:
    one, pod = container(case), demand(case)
    request = pod.pod_memory() if one is None else pod.memory(one)
    if not request:
        return {"hints": None}
    if held := own(case):
        blocks = [MemoryBlock(each["type"], mask_of(each["numaNodes"]), each["size"]) for some in held for each in some]
        return shown_answer(kept_memory_hints(blocks, request), sort=False)
    hints = memory_hints(zones(case), request, {})
    return shown_answer(dict.fromkeys(request, hints), sort=False) if hints else {"hints": {}}


def zones(case: Case) -> dict[int, ZoneMemory]:
    found = {}
    for zone, state in case["machineState"].items():
        amounts = state["memory"].items()
        allocatable = {name: one["allocatable"] for name, one in amounts}
        free = {name: one["free"] for name, one in amounts}
        found[int(zone)] = ZoneMemory(mask_of(state["cells"]), state["numberOfAssignments"], allocatable, free)
    return found


def devices(case: Case) -> Any:
    one, pod, registered = container(case), demand(case), case["devices"]
    request = pod.pod_devices(registered) if one is None else device_limits(one, registered)
    if not request:
        return {"hints": None}
    hints = {}
    for name, count in request.items():
        known = {device["id"]: device["numaNodes"] for device in registered[name]}
        held = [known[each] for some in own(case) for each in some.get(name, ())]
        used = [each for pods in case["assignments"].values() for some in pods.values() for each in some.get(name, ())]
        free = [zones for each, zones in known.items() if each not in used]
        there = Devices(by_zones(known.values()), by_zones(free), {})
        hints[name] = kept_device_hints(there, by_zones(held), count) if held else device_hints(there, count)
    return shown_answer(hints)


def by_zones(devices: Iterable[Sequence[int] | None]) -> Counter[int]:
    return Counter(mask_of(zones or ()) for zones in devices)


def generated(case: Case) -> Any:
    known = {device["id"]: device["numaNodes"] for device in case["devices"]}
    free = [known[each] for each in case["available"] if each not in case["reusable"]]
    there = Devices(by_zones(known.values()), by_zones(free), by_zones(known[each] for each in case["reusable"]))
    return {"hints": _in_any_order([shown(one) for one in device_hints(there, case["request"]) or ()])}


def device_zones(case: Case) -> Any:
    found = Devices(by_zones(device["numaNodes"] for device in case["devices"]), {}, {}).zones
    return {"numaNodes": [zone for zone in found if zone in case["numaNodes"]]}


ASKING: dict[str, Callable[[Case], Any]] = {
    "cpuHints": cpus,
    "memoryHints": memory,
    "deviceHints": devices,
    "cpuPodRequest": lambda case: {"cpus": demand(case).pod_cpus()},
    "memoryPodRequest": lambda case: {"bytes": demand(case).requested_memory()},
    "memoryGroupViolation": lambda case: {"violation": breaks_group(zones(case), mask_of(case["numaNodes"]))},
    "deviceGenerate": generated,
    "deviceNUMANodes": device_zones,
    "devicePodRequest": lambda case: {"devices": demand(case).pod_devices(case["registeredDevices"])},
}
