"""Placing a gang whose pods have rules about one another: affinity, anti-affinity wider than a node, spread.

Pods that attract one another have to share a domain of each affinity key. Where the key is a level of the topology this
is one more required level; otherwise the values of the label are tried one after the other, the tightest that holds
the gang first. Pods that limit one another beyond their node are placed one by one, with backtracking, as a tree of
groups: the gang is a group, a slice is a group in it. What has been placed counts for the next pod like a running pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..model.reason import Reason, Why, reason
from ..model.request import Constraint, Group, Layer, PodSet, Request
from ..model.shape import Requirement, Term
from ..state.node_tree import tree_of
from ..state.snapshot import Snapshot
from ..state.table import MISSING, IntArray
from .filters.limits import most_by_rules
from .filters.spread import SPREAD
from .find import Spread
from .fit import Fit, fit_of
from .gang_request import GangRequest
from .groups.place import GroupResult, place_groups
from .policy import Policy

LEADER, WORKERS = "leader", "workers"


def is_ruled(shape_fit: Fit, leader: Fit | None) -> bool:
    """Whether pods have to be placed one by one."""
    if leader is not None and (leader.rules is not None or shape_fit.rules is not None):
        return True
    return shape_fit.is_relational


def homes(fit: Fit, constraint: Constraint | None, count: int) -> Iterator[tuple[Constraint | None, list[Term]]]:
    """Constraints, each with terms for nodes, under which pods that attract one another share their domains.

    Without such affinity, and while pods run that decide the domain, this is the constraint itself.
    """
    rules = fit.rules
    if rules is None or count < 2 or not rules.is_first or not rules.attracts_itself:
        yield constraint, []
        return
    topology = fit.snapshot.topology
    keys = list(dict.fromkeys(term.key for term in rules.rules.affinity))
    levels = [level for key in keys if (level := topology.level(key)) is not None]
    bound = _bound(topology.levels[max(levels)], constraint, fit) if levels else constraint
    others = [key for key in keys if topology.level(key) is None]
    if not others:
        yield bound, []
        return
    for values in _values(fit, others, count):
        yield bound, [Term((Requirement(key, "In", (value,)),)) for key, value in zip(others, values, strict=True)]


def _bound(key: str, constraint: Constraint | None, fit: Fit) -> Constraint:
    """The constraint with `key` as its required level, unless a required level below it says more."""
    topology, given = fit.snapshot.topology, constraint or Constraint()
    required = None if given.required is None else topology.level(given.required)
    level = topology.level(key)
    assert level is not None
    if required is not None and required >= level:
        return given
    wish = given.preferred if given.required is None or required is not None else given.required
    below = None if wish is None else topology.level(wish)
    if below is not None and below <= level:
        wish = None
    return replace(given, required=key, preferred=wish, unconstrained=None)


def _values(fit: Fit, keys: list[str], count: int) -> list[list[str]]:
    """Values of some labels that the nodes which hold the gang share, the tightest first; the roomiest alone if none.

    Pods that attract one another by two labels share a value of both.
    """
    columns = [column for key in keys if (column := fit.snapshot.table.labels.get(key)) is not None]
    if len(columns) < len(keys) or not fit.snapshot.tree.one_node_a_leaf:
        return []
    codes = np.stack([column.codes[fit.snapshot.rows] for column in columns])
    keyed = (codes != MISSING).all(axis=0)
    combined, inverse = np.unique(codes[:, keyed], axis=1, return_inverse=True)
    holds = np.zeros(combined.shape[1], dtype=np.int64)
    np.add.at(holds, inverse.reshape(-1), fit.pods[keyed])
    able = np.flatnonzero(holds >= count)
    chosen = able[np.argsort(holds[able], kind="stable")] if len(able) else np.argsort(-holds, kind="stable")[:1]
    listed = combined[:, chosen].T.tolist()
    return [[column.values[code] for column, code in zip(columns, each, strict=True)] for each in listed]


def place_ruled(asked: GangRequest) -> Spread | Reason:
    """Find leaves for pods one by one; the snapshot is left as it was."""
    snapshot = asked.snapshot
    if not snapshot.tree.one_node_a_leaf:
        return reason(Why.NEEDS_HOSTS, topology=snapshot.topology.name)
    found = _found(asked)
    if not found.fits:
        return _refusal(asked, found)
    rows, counts = _rows(found, WORKERS)
    at = -1
    if asked.leader is not None:
        at = int(_rows(found, LEADER)[0][0])
        if at not in rows:
            rows, counts = np.append(rows, at), np.append(counts, 0)
    order = np.argsort(rows)
    return Spread(snapshot.topology.lowest, rows[order], counts[order], at)


def _found(asked: GangRequest) -> GroupResult:
    snapshot, given = asked.snapshot, asked.constraint or Constraint()
    name = snapshot.topology.name
    around = None if given.spreads else Constraint(given.required, given.preferred, topology=name)
    pods = replace(asked.workers, name=WORKERS, count=asked.count, constraint=None)
    members = _sliced(pods, given.slices, name)
    if asked.leader is not None:
        members += (replace(asked.leader, name=LEADER, count=1, constraint=None),)
    request = Request((Group(members, constraint=around),))
    return place_groups(snapshot, {name: tree_of(snapshot)}, request, asked.policy, surplus=False)


def _sliced(pods: PodSet, layers: tuple[Layer, ...], topology: str) -> tuple[PodSet | Group, ...]:
    """The pods, or a group for every slice of them."""
    if not layers or not layers[0].size:
        return (pods,)
    size, inner = layers[0].size, layers[1:]
    within = Constraint(required=layers[0].level, topology=topology)
    parts = (
        replace(pods, name=f"{pods.name}.{at}", count=min(size, pods.count - at)) for at in range(0, pods.count, size)
    )
    return tuple(Group(_sliced(part, inner, topology), part.name, within) for part in parts)


def _rows(found: GroupResult, name: str) -> tuple[IntArray, IntArray]:
    placed = [one for key, one in found.placed.items() if key == name or key.startswith(f"{name}.")]
    rows, inverse = np.unique(np.concatenate([one.rows for one in placed]), return_inverse=True)
    counts = np.zeros(len(rows), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([one.counts for one in placed]))
    return rows, counts


def _refusal(asked: GangRequest, found: GroupResult) -> Reason:
    """How many pods would fit, and with those in their places, what excludes the other nodes."""
    assert found.reason is not None
    if found.reason.why not in (Why.GROUP_DOES_NOT_FIT, Why.NOT_FOUND):
        return found.reason
    layers = () if asked.constraint is None else asked.constraint.slices
    size = layers[0].size or 1 if layers else 1
    low, high, best = 0, asked.count // size, None
    while high - low > 1:
        middle = (low + high) // 2
        tried = _found(replace(asked, count=middle * size))
        low, high, best = (middle, high, tried) if tried.fits else (low, middle, best)
    excluded = _excluded(asked.snapshot, asked.workers, asked.policy, best)
    unit = "pod" if size == 1 else "slice"
    values = {"topology": asked.snapshot.topology.name, "fits": low, "need": asked.count // size, "unit": unit}
    why = Reason(Why.NO_ROOM, values, asked.snapshot.usable_leaves(), excluded)
    if found.is_proof:
        return why
    return Reason(Why.NOT_FOUND_BY_RULES, {"steps": found.reason.values["steps"], "why": str(why)})


def _excluded(snapshot: Snapshot, pods: PodSet, policy: Policy, best: GroupResult | None) -> dict[str, int]:
    mark = snapshot.checkpoint()
    try:
        if best is not None:
            snapshot.assume(*_rows(best, WORKERS), pods.shape.charge)
        fit = fit_of(snapshot, pods.shape, None, policy)
        excluded = dict(fit.excluded())
        if fit.spread is not None:
            rows = snapshot.first_rows(np.flatnonzero(fit.pods))
            full = int(np.count_nonzero(fit.spread.room(rows) <= 0))
            excluded |= {SPREAD: excluded.get(SPREAD, 0) + full} if full else {}
        return excluded
    finally:
        snapshot.rollback(mark)


def fits_at_most(fit: Fit) -> int:
    """No more pods of the shape than this fit anywhere together."""
    return most_by_rules(fit, np.arange(fit.snapshot.tree.leaves)) if fit.snapshot.tree.one_node_a_leaf else 2**53
