"""Smaller pods: shapes that ask for less of what a node, or one of its NUMA zones, cannot give.

The containers keep their order, and their limits follow their requests, because kubelets decide by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..model.container import Amounts, Container, sorted_amounts
from ..model.resources import CPU, Resources, show
from ..model.shape import Shape
from ..numa.admission import Shortage, Verdict
from ..numa.demand import MILLI
from ..state.numa.zone_states import NO_ZONES
from .fit import Fit
from .match import PASSES
from .zones import scarcest


def cut_to(shape: Shape, most: Resources, by_sum: bool) -> Shape | None:
    """The shape with at most so much of these resources.

    Several containers would have to share that: then `by_sum` gives a shape without containers, else there is none.
    """
    if len(shape.containers) == 1 and not shape.overhead and shape.pod_level is None:
        return _with_container(shape, 0, most)
    requests = sorted_amounts({**dict(shape.requests), **most})
    return replace(shape, requests=requests, containers=(), overhead=(), pod_level=None).plain if by_sum else None


def less_in_a_zone(columns: Fit) -> Iterator[tuple[Shape, str]]:
    """Shapes that fit one zone better than a shape that kubelets refuse, the largest first, each in words."""
    found: dict[tuple[str, int], int] = {}
    for verdict in _refusals(columns):
        short, at = scarcest(verdict), _container(verdict, columns.shape)
        if short is None or at is None:
            continue
        most = max((left for _, left in short.free), default=0)
        if 0 < most < short.asked:
            key = short.resource, at
            found[key] = max(found.get(key, 0), most * _unit(short))
    for (resource, at), amount in found.items():
        yield _with_container(columns.shape, at, {resource: amount}), f"{show(resource, amount)} {resource}"


def _refusals(columns: Fit) -> Iterator[Verdict]:
    """Why kubelets refuse the first pod where nothing else excludes it."""
    zones = columns.snapshot.zones
    if zones is None or not columns.snapshot.tree.one_node_a_leaf:
        return
    full = np.flatnonzero((columns.cause == PASSES) & (columns.pods == 0))
    states = columns.zones(columns.snapshot.first_rows(full))
    for number in np.unique(states).tolist() if states is not None else ():
        verdict = zones.refusal(number, columns.shape) if number != NO_ZONES else None
        if verdict is not None:
            yield verdict


def _container(verdict: Verdict, shape: Shape) -> int | None:
    """The container that has to become smaller; None if the pod was refused as a whole and has several."""
    if verdict.container is not None:
        return verdict.container
    return 0 if len(shape.containers) == 1 else None


def _unit(short: Shortage) -> int:
    return MILLI if short.resource == CPU else 1


def _with_container(shape: Shape, at: int, most: Resources) -> Shape:
    before = shape.containers[at]
    after = Container(_cut(before.requests, most), _cut(before.limits, most), before.kind)
    containers = (*shape.containers[:at], after, *shape.containers[at + 1 :])
    lost = {name: dict(before.requests).get(name, 0) - dict(after.requests).get(name, 0) for name in most}
    requests = sorted_amounts({name: amount - lost.get(name, 0) for name, amount in shape.requests})
    return replace(shape, requests=requests, containers=containers)


def _cut(amounts: Amounts, most: Mapping[str, int]) -> Amounts:
    return tuple((name, min(amount, most.get(name, amount))) for name, amount in amounts)
