"""The kubelet's memory manager with the static policy: memory and huge pages of Guaranteed containers, by zone.

Zones that serve one container together form a group, and a zone is in one group at a time: a zone of its own serves no
container that spans several, and the other way round. What an ended init container had is reusable for the next
containers of its pod, if they get exactly the same zones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .hints import Hint, preferring_least
from .masks import mask_of, subsets, zones_of

Amounts = Mapping[str, int]

NO_DEFAULT = "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available"
NO_EXTENSION = "failed to find NUMA nodes to extend the current topology hint"
BREAKS_GROUP = "preferred hint violates NUMA node allocation"


@dataclass
class ZoneMemory:
    """`group` are the zones that this one is used with, itself included; `assignments` how often."""

    group: int
    assignments: int = 0
    allocatable: dict[str, int] = field(default_factory=dict)
    free: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class MemoryBlock:
    """What a container holds of one resource in a set of zones."""

    resource: str
    mask: int
    size: int


Zones = dict[int, ZoneMemory]
Reusable = Mapping[int, Amounts]
"""What ended init containers of a pod leave to it, by set of zones and resource."""


def memory_hints(zones: Zones, request: Amounts, reusable: Reusable) -> list[Hint]:
    """The sets of zones that can give all of the request, by size; the smallest that ever could are preferred."""
    least, found = len(zones), []
    for mask in subsets(list(zones)):
        members = [zones[zone] for zone in zones_of(mask)]
        if not _covers([one.allocatable for one in members], request):
            continue
        least = min(least, mask.bit_count())
        is_legal = not breaks_group(zones, mask) and not _is_bound(zones, mask)
        if is_legal and _covers([*(one.free for one in members), reusable.get(mask, {})], request):
            found.append(mask)
    return preferring_least(found, least)


def _covers(parts: Sequence[Amounts], request: Amounts) -> bool:
    """Whether the parts together have all of the request."""
    return all(sum(part.get(name, 0) for part in parts) >= size for name, size in request.items())


def kept_memory_hints(blocks: Sequence[MemoryBlock], request: Amounts) -> dict[str, list[Hint]] | None:
    """Hints for a container that has its memory already, as after a restart; None if it has something else."""
    held = {block.resource: block for block in blocks}
    if {name: block.size for name, block in held.items()} != dict(request):
        return None
    return {name: [Hint(block.mask, True)] for name, block in held.items()}


def breaks_group(zones: Zones, mask: int) -> bool:
    """Whether a set of several zones has one that serves others by itself, or with other zones."""
    if mask.bit_count() == 1:
        return False
    used = (zones[zone] for zone in zones_of(mask))
    return any(one.assignments > 0 and (one.group.bit_count() == 1 or one.group != mask) for one in used)


def _is_bound(zones: Zones, mask: int) -> bool:
    """Whether the set is a single zone that serves others with more zones."""
    return mask.bit_count() == 1 and zones[zones_of(mask)[0]].group.bit_count() > 1


def choose(zones: Zones, request: Amounts, reusable: Reusable, hint: Hint) -> int | str:
    """The zones of a container: those of its hint, or more where these have too little; or why it gets none."""
    mask, preferred = None if hint.mask is None else hint.mask & mask_of(zones), hint.preferred
    for needed, none, no_preferred in (
        (mask is None, NO_DEFAULT, "failed to find the default preferred hint"),
        (True, NO_EXTENSION, "failed to find the extended preferred hint"),
    ):
        if not needed or (mask is not None and _covers([zones[zone].free for zone in zones_of(mask)], request)):
            continue
        found = _best(memory_hints(zones, request, reusable), mask or 0)
        if found is None:
            return none
        if preferred and not found.preferred:
            return no_preferred
        mask, preferred = found.mask, found.preferred
    assert mask is not None
    return BREAKS_GROUP if breaks_group(zones, mask) else mask


def _best(hints: list[Hint], within: int) -> Hint | None:
    """The narrowest preferred hint with at least these zones, the first of equals; else the narrowest of all."""
    wide = [hint for hint in hints if (hint.mask or 0) & within == within]
    return min(wide, key=lambda hint: (not hint.preferred, (hint.mask or 0).bit_count()), default=None)


def reserve(zones: Zones, block: MemoryBlock) -> None:
    """Take a block from its zones, the lowest first; all of them become one group."""
    left = block.size
    for zone in zones_of(block.mask):
        one = zones[zone]
        one.assignments += 1
        one.group = block.mask
        part = min(left, one.free.get(block.resource, 0))
        _move(one, block.resource, part)
        left -= part


def give_back(zones: Zones, block: MemoryBlock) -> None:
    """Return a block to its zones, the lowest first; a zone that serves no container is in no group any more."""
    left = block.size
    for zone in zones_of(block.mask):
        one = zones[zone]
        one.assignments -= 1
        if one.assignments == 0:
            one.group = mask_of([zone])
        part = min(left, one.reserved.get(block.resource, 0))
        _move(one, block.resource, -part)
        left -= part


def _move(zone: ZoneMemory, resource: str, size: int) -> None:
    zone.free[resource] = zone.free.get(resource, 0) - size
    zone.reserved[resource] = zone.reserved.get(resource, 0) + size
