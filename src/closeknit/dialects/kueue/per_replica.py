"""Annotations of ours on a pod template: the constraint for each replica by itself, replicas apart, and the order.

    closeknit.dev/podset-per-replica: "true"            each replica of a replicated job has the constraint by itself
    closeknit.dev/podset-spread-topology: LEVEL         no two replicas share a domain of the level
    closeknit.dev/placement-order: binpack | spread     the fullest domain that fits, or the emptiest; also on the job

Kueue's `topologyRequest` has no fields for them, so they are read from the template that a Workload carries. A value
that cannot be read counts as absent there: a job with one is refused before it has a Workload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast, get_args

from ...model.gates import Gates
from ...model.label_names import is_qualified_name
from ...model.mistake import Mistake
from ...model.request import AUTO, Constraint, Order, Ranks, Replicas
from ..numa_policy import policy_mistakes
from ..own_marks import ORDER, PER_REPLICA, SPREAD
from . import keys
from .topology_request import AnnotationError
from .validation import MAX_LEVEL, slice_size

Annotations = Mapping[str, str]
ORDERS = get_args(Order)


def with_own_keys(
    constraint: Constraint | None,
    notes: Annotations,
    count: int,
    ranks: Ranks,
    order: str = "",
    gates: Gates | None = None,
) -> Constraint | None:
    """The constraint with what the annotations add to it; `order` is that of the job."""
    if constraint is None or (gates is not None and "PlacementPerReplica" not in gates):
        return constraint
    wanted = notes.get(ORDER, order)
    if wanted in ORDERS:
        constraint = replace(constraint, order=cast(Order, wanted))
    size = _size(count, ranks)
    if notes.get(PER_REPLICA) == "true" and size:
        constraint = replace(constraint, replicas=Replicas(size, notes.get(SPREAD) or None))
    return constraint


def _size(count: int, ranks: Ranks) -> int:
    """The pods of one replica; 0 if the pod set does not consist of replicas of equal size."""
    groups = ranks.group_count or 0
    return count // groups if groups > 0 and count % groups == 0 else 0


def own_mistakes(notes: Annotations, count: int, ranks: Ranks, gates: Gates, at: str = "") -> list[Mistake]:
    """What is wrong with annotations of ours; nothing while their gates are off, since they are not read then."""
    found = policy_mistakes(notes, gates, at)
    if "PlacementPerReplica" not in gates:
        return found
    return [
        *found,
        *order_mistakes(notes, gates, at),
        *_values(notes, at),
        *_replicas(notes, count, ranks, at),
        *_combined(notes, count, ranks, gates, at),
    ]


def order_mistakes(notes: Annotations, gates: Gates, at: str = "") -> list[Mistake]:
    """What is wrong with the order, on a job or on a template."""
    if "PlacementPerReplica" not in gates or notes.get(ORDER, ORDERS[0]) in ORDERS:
        return []
    return [Mistake(f'is "{notes[ORDER]}"', f"use {' or '.join(ORDERS)}", field=_field(at, ORDER))]


def _values(notes: Annotations, at: str) -> Iterator[Mistake]:
    if notes.get(PER_REPLICA, "true") not in ("true", "false"):
        yield Mistake(f'is "{notes[PER_REPLICA]}"', 'use "true" or "false"', field=_field(at, PER_REPLICA))
    level = notes.get(SPREAD)
    if level is None:
        return
    if level == AUTO or not is_qualified_name(level) or len(level) > MAX_LEVEL:
        text = 'name a level such as "cloud.provider.com/topology-rack"'
        yield Mistake(f'is "{level}", not the name of a level', text, field=_field(at, SPREAD))
    if notes.get(PER_REPLICA) != "true":
        remedy = f'add {PER_REPLICA}: "true", or remove it'
        yield Mistake("keeps replicas apart, but pods are not placed by replica", remedy, field=_field(at, SPREAD))


def _replicas(notes: Annotations, count: int, ranks: Ranks, at: str) -> Iterator[Mistake]:
    if notes.get(PER_REPLICA) != "true":
        return
    field = _field(at, PER_REPLICA)
    if ranks.group_count is None:
        remedy = "remove it; only the replicated jobs of a JobSet have replicas in one pod set"
        yield Mistake("is for pods in replicas, and these have none", remedy, field=field)
    elif count and not _size(count, ranks):
        text = f"is set, but {count} pods are not {ranks.group_count} replicas of equal size"
        yield Mistake(text, "make the number of pods a multiple of the replicas", field=field)


def _combined(notes: Annotations, count: int, ranks: Ranks, gates: Gates, at: str) -> Iterator[Mistake]:
    """Rules for what stands beside these annotations."""
    used = [key for key in (PER_REPLICA, ORDER) if key in notes and notes[key] != "false"]
    if used and not any(key in notes for key in keys.TOPOLOGY_ANNOTATIONS):
        remedy = f'add {keys.REQUIRED}, {keys.PREFERRED}, or {keys.UNCONSTRAINED}: "true"'
        yield Mistake("has no effect without a topology request", remedy, field=_field(at, used[0]))
    if notes.get(PER_REPLICA) != "true":
        return
    if keys.GROUP in notes:
        text = f"cannot be combined with {keys.GROUP}"
        yield Mistake(text, "keep one of them", field=_field(at, PER_REPLICA))
    yield from _slices(notes, _size(count, ranks), gates, at)


def _slices(notes: Annotations, size: int, gates: Gates, at: str) -> Iterator[Mistake]:
    try:
        each = slice_size(notes, gates)
    except AnnotationError:
        return  # reported by the rules of slices
    if size and each and size % each:
        text = f"replicas of {size} pods do not divide into slices of {each}"
        key = keys.LAYERS if keys.LAYERS in notes else keys.SLICE_SIZE
        yield Mistake(text, f"use a divisor of {size}", field=_field(at, key))


def _field(at: str, key: str) -> str:
    return f"{at}[{key}]" if at else key
