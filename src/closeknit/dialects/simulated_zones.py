"""The NUMA zones of a simulated machine as people write them: in the compact form, or in an annotation of a Node.

    numa:
      zones: 2                          or a list: what each zone has; the rest is divided evenly
      policy: single-numa-node          of the Topology Manager; none by default
      scope: pod                        container by default
      options: {prefer-closest-numa-nodes: true, max-allowable-numa-nodes: 16}
      cpuManager: static                or none
      memoryManager: static             or none
      reservedCPUs: 2                   for the system, besides the allocatable ones
      devices: nvidia.com/gpu           or a list; by default all resources with a / in their names
      distances: [[10, 20], [20, 10]]
      exporter: 2s                      from a change to its report, or never

A kubelet does not start with settings that contradict each other, so such a machine is refused, not corrected.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from ..model.nearest import did_you_mean
from ..model.numa import MAX_ZONES
from ..model.quantity import QuantityError
from ..model.resources import CPU, MEMORY, amount, show
from ..numa.admission import KubeletSettings
from ..numa.demand import HUGE_PAGES, MILLI
from ..numa.layout import CLOSEST
from ..numa.layout import MOST_ZONES as MOST_ALIGNED
from ..numa.managers import LARGEST_MAXIMUM, POLICIES, SCOPES
from ..numa.simulated import MAXIMUM, SimulatedZones, is_memory
from .durations import duration
from .field import Field, shown
from .own_marks import NUMA as NUMA

KEYS = (
    *("zones", "policy", "scope", "options", "cpuManager", "memoryManager"),
    *("reservedCPUs", "devices", "distances", "exporter"),
)
OPTIONS = (CLOSEST, MAXIMUM)
STATES: dict[str, bool] = {"static": True, "none": False}
NEVER = "never"
MOST, MOST_CPUS = 64, 8192

T = TypeVar("T")
Amounts = Mapping[str, int]


def read_zones(numa: Field, allocatable: Amounts, capacity: Amounts | None = None) -> SimulatedZones | None:
    """The zones of a machine with these amounts; None, with mistakes in the field's report, if they contradict."""
    before = numa.report.noted
    if not isinstance(numa.value, dict):
        numa.wrong(f"is {shown(numa.value)}, not a mapping", "write numa: {zones: 2, policy: single-numa-node}")
        return None
    _check_keys(numa, KEYS)
    reserved = _reserved(numa.at("reservedCPUs"), allocatable, capacity or allocatable)
    zones = _zones(numa, allocatable, reserved)
    options = _options(numa.at("options"))
    settings = KubeletSettings(
        _one_of(numa.at("policy"), POLICIES, "none"),
        _one_of(numa.at("scope"), SCOPES, "container"),
        options.get(CLOSEST) == "true",
        _one_of(numa.at("cpuManager"), STATES, "static"),
        _one_of(numa.at("memoryManager"), STATES, "static"),
    )
    distances = _distances(numa.at("distances"), len(zones))
    delay = _delay(numa.at("exporter"))
    if numa.report.noted == before:
        _check_machine(numa, zones, reserved, int(options.get(MAXIMUM, MAX_ZONES)))
    if numa.report.noted > before:
        return None
    return SimulatedZones(tuple(zones), settings, reserved, distances, tuple(sorted(options.items())), delay)


@lru_cache(maxsize=4096)
def zones_of_note(text: str, allocatable: tuple[tuple[str, int], ...], capacity: tuple[tuple[str, int], ...]) -> Any:
    """The zones by the annotation of a Node; ValueError if it is not valid."""
    try:
        raw = msgspec.yaml.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise ValueError("it is neither JSON nor YAML: write {zones: 2, policy: single-numa-node}") from None
    field = Field.root(raw)
    zones = read_zones(field, dict(allocatable), dict(capacity))
    if zones is None:
        raise ValueError("; ".join(str(one) for one in field.report.mistakes))
    return zones


def annotated_zones(text: str, allocatable: Amounts, capacity: Amounts | None = None) -> SimulatedZones:
    """`zones_of_note` for amounts as mappings. Equal machines share one value."""
    both = allocatable if capacity is None else capacity
    found: SimulatedZones = zones_of_note(text, tuple(sorted(allocatable.items())), tuple(sorted(both.items())))
    return found


# Zones


def _zones(numa: Field, allocatable: Amounts, reserved: int) -> list[dict[str, int]]:
    zones = numa.at("zones")
    devices = _devices(numa.at("devices"), allocatable)
    total = {name: value for name, value in allocatable.items() if name in devices or is_memory(name)}
    total[CPU] = allocatable.get(CPU, 0) // MILLI * MILLI + reserved * MILLI
    if isinstance(zones.value, list):
        return _given_zones(zones, total)
    count = zones.value
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
        text = "is missing" if count is None else f"is {shown(count)}"
        zones.wrong(text, f"write how many zones, from 1 to {MOST}, or a list with what each has")
        return []
    return _divided(total, count)


def _given_zones(zones: Field, total: Amounts) -> list[dict[str, int]]:
    """The zones of a list; what none of them names is divided evenly."""
    if not 1 <= len(zones.items()) <= MOST:
        zones.wrong(f"has {len(zones.items())} zones", f"write 1 to {MOST}")
        return []
    found = [_given_zone(one) for one in zones.items()]
    named = dict.fromkeys(name for zone in found for name in zone)
    for name in named:
        there = sum(zone.get(name, 0) for zone in found)
        if there != total.get(name, 0):
            text = f"have {show(name, there)} of {name} in all, but the node has {show(name, total.get(name, 0))}"
            zones.wrong(text, "make them agree; CPUs for the system count in the zones")
    rest = _divided({name: value for name, value in total.items() if name not in named}, len(found))
    return [{**zone, **more} for zone, more in zip(found, rest, strict=True)]


def _given_zone(zone: Field) -> dict[str, int]:
    found = {}
    for name, one in zone.fields().items():
        try:
            if not isinstance(one.value, str | int | float) or isinstance(one.value, bool):
                raise QuantityError(f"is {shown(one.value)}, not a quantity")
            found[name] = amount(name, one.value)
            if found[name] < 0:
                raise QuantityError("is negative")
            if name == CPU and found[name] % MILLI:
                raise QuantityError("is not a whole number of CPUs")
        except (QuantityError, ValueError) as error:
            one.wrong(str(error), "use a quantity such as 48 or 512Gi")
    return found


def _divided(total: Amounts, count: int) -> list[dict[str, int]]:
    """As even as whole CPUs, devices and pages allow, more in the first zones: 5 devices on 2 zones are 3 and 2."""
    zones: list[dict[str, int]] = [{} for _ in range(count)]
    for name, value in total.items():
        unit = MILLI if name == CPU else _page(name)
        share, more = divmod(value // unit, count)
        for number, zone in enumerate(zones):
            zone[name] = (share + (number < more)) * unit
    return zones


def _page(name: str) -> int:
    if not name.startswith(HUGE_PAGES):
        return 1
    try:
        return max(1, amount(MEMORY, name.removeprefix(HUGE_PAGES)))
    except (QuantityError, ValueError):
        return 1


def _devices(field: Field, allocatable: Amounts) -> Collection[str]:
    """The resources that have zones, besides CPUs and memory."""
    if not field.given:
        return [name for name in allocatable if "/" in name]
    given = [field] if isinstance(field.value, str) else field.items()
    for one in given:
        if one.text() not in allocatable:
            one.wrong(
                f"is {shown(one.value)}, which the node does not have", did_you_mean(one.text(), allocatable).strip()
            )
    return [one.text() for one in given]


def _reserved(field: Field, allocatable: Amounts, capacity: Amounts) -> int:
    """The CPUs for the system: as given, else those of the node that are not allocatable."""
    if field.given:
        return field.count(0)
    return max(0, -(-capacity.get(CPU, 0) // MILLI) - allocatable.get(CPU, 0) // MILLI)


# Settings


def _one_of(field: Field, known: Mapping[str, T], usual: str) -> T:
    value = field.text(usual)
    if value not in known:
        field.wrong(f"is {shown(value)}", f"{did_you_mean(value, known)}use one of: {', '.join(known)}")
    return known.get(value, known[usual])


def _options(options: Field) -> dict[str, str]:
    """The options of the Topology Manager as the kubelet spells them."""
    _check_keys(options, OPTIONS)
    found = {}
    for name, field in options.fields().items():
        text = str(field.value).lower()
        if name == CLOSEST and text not in ("true", "false"):
            field.wrong(f"is {shown(field.value)}", "use true or false")
        elif name == MAXIMUM and not (text.isascii() and text.isdigit() and MAX_ZONES <= int(text) <= LARGEST_MAXIMUM):
            field.wrong(f"is {shown(field.value)}", f"use a whole number from {MAX_ZONES} to {LARGEST_MAXIMUM}")
        elif name in OPTIONS:
            found[name] = text
    return found


def _distances(field: Field, count: int) -> tuple[tuple[int, ...], ...]:
    rows = [[one.value for one in row.items()] for row in field.items()]
    if not field.given or not count:
        return ()
    if len(rows) != count or any(len(row) != count for row in rows):
        field.wrong(f"are not {count} rows of {count} numbers", "write one row for each zone: [[10, 20], [20, 10]]")
        return ()
    if not all(isinstance(one, int) and not isinstance(one, bool) and 10 <= one <= 255 for row in rows for one in row):
        field.wrong("have a value that is not a distance", "use whole numbers from 10 to 255")
        return ()
    return tuple(map(tuple, rows))


def _delay(field: Field) -> float | None:
    text = field.text("1s")
    if text == NEVER:
        return None
    try:
        found = duration(text)
    except ValueError:
        field.wrong(f"is {shown(text)}, not a duration", f"write one such as 2s, or {NEVER}")
        return None
    return found.seconds


def _check_machine(numa: Field, zones: list[dict[str, int]], reserved: int, most: int) -> None:
    """What a kubelet would not start with, and what is too large to be simulated."""
    if len(zones) > most:
        text = f"are {len(zones)}, but a kubelet starts with at most {most}"
        numa.at("zones").wrong(text, f"set options: {{{MAXIMUM}: {len(zones)}}}")
    if sum(zone.get(CPU, 0) for zone in zones) > MOST_CPUS * MILLI:
        numa.at("zones").wrong(f"have more than {MOST_CPUS} CPUs", "simulate a smaller machine")
    if reserved * MILLI > zones[0].get(CPU, 0):
        numa.at("reservedCPUs").wrong(f"is {reserved}", "reserve no more CPUs than the first zone has")
    for name in dict.fromkeys(name for zone in zones for name in zone):
        count = sum(1 for zone in zones if zone.get(name))
        if count > MOST_ALIGNED:
            text = f"have {name} in {count} of them; at most {MOST_ALIGNED} can be simulated"
            numa.at("zones").wrong(text, f"list the zones, {name} in fewer of them")


def _check_keys(field: Field, known: Collection[str]) -> None:
    for key, one in field.fields().items():
        if key not in known:
            one.wrong("is not a key", f"{did_you_mean(key, known)}the keys are {', '.join(known)}")
