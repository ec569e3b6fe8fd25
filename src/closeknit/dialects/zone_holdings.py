"""What a simulated kubelet writes on a pod that it has admitted: `closeknit.dev/numa-held`, as JSON.

    {"cpus": "0-3,16", "memory": [{"kind": "app", "resource": "memory", "size": 1073741824, "zones": "0"}],
     "devices": {"nvidia.com/gpu": {"0": 2}}, "containers": {"main": 0}}

It takes the place of the checkpoint files of a kubelet. `containers` names the zone of each pinned container, null for
one that spans several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from ..model.container import Kind
from ..model.numa import MAX_ZONE_ID
from ..numa.holding import PodHolding
from ..numa.masks import mask_of, zones_of
from ..numa.memory import MemoryBlock

HELD = "closeknit.dev/numa-held"
MOST_CPUS = 2**16


class HeldZones(NamedTuple):
    """The holding of a pod, and the zone of each pinned container by its name."""

    holding: PodHolding = PodHolding()
    containers: Mapping[str, int | None] = {}


class _Block(msgspec.Struct):
    kind: Kind
    resource: str
    size: int
    zones: str


class _Held(msgspec.Struct, omit_defaults=True):
    cpus: str = ""
    memory: list[_Block] = []
    devices: dict[str, dict[str, int]] = {}
    containers: dict[str, int | None] = {}


_decode = msgspec.json.Decoder(_Held).decode


def written(held: HeldZones) -> str:
    holding = held.holding
    wire = _Held(
        numbers(holding.cpus),
        [_Block(kind, one.resource, one.size, numbers(one.mask)) for kind, one in holding.memory],
        {
            name: {numbers(mask): count for mask, count in sorted(counts.items())}
            for name, counts in sorted(holding.devices.items())
        },
        dict(held.containers),
    )
    return msgspec.json.encode(wire).decode()


def read(annotations: Mapping[str, Any]) -> HeldZones:
    """What the annotation says; nothing if it is missing or was changed by others."""
    try:
        wire = _decode(annotations[HELD])
        memory = tuple((one.kind, MemoryBlock(one.resource, _zones(one.zones), one.size)) for one in wire.memory)
        devices = {
            name: {_zones(zones): count for zones, count in counts.items()} for name, counts in wire.devices.items()
        }
        return HeldZones(PodHolding(bits(wire.cpus, MOST_CPUS), memory, devices), wire.containers)
    except (KeyError, ValueError, TypeError, msgspec.DecodeError):
        return HeldZones()


def _zones(text: str) -> int:
    return bits(text, MAX_ZONE_ID + 1)


def numbers(mask: int) -> str:
    """A set of numbers as the kubelet writes it: numbers(0b10111) == "0-2,4"."""
    parts: list[list[int]] = []
    for number in zones_of(mask):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


def bits(text: str, most: int) -> int:
    """The reverse; ValueError for anything else, and for numbers that are not below `most`."""
    mask = 0
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        begin, end = int(first), int(last) if dash else int(first)
        if not 0 <= begin <= end < most:
            raise ValueError(f"{part} is not a range of numbers below {most}")
        mask |= mask_of([end + 1]) - mask_of([begin])
    return mask
