"""Pod sets that do not fit one after the other, searched for together (our gate BacktrackPodSets).

An earlier pod set may take the only nodes that a later one can use. So they are first placed again, those with least
choice first, and then given to the search of `groups`, which comes back to an earlier pod set where a later one finds
no room. A replica, and a slice inside it, is a group there. A bound on its steps keeps a decision fast. That no
placement was found within it is no proof, so the reason stays the one of the first try. Trees that cannot be placed in
order at all, with groups inside groups or constraints inside constraints, are searched for at once.

    any ×8, special ×8 (selector)       hosts: s (special) 8, h 9
    in order: any takes s, special has no host; together: special takes s, any takes h

The search needs one node per leaf. Where a leaf is a rack, only the other order is tried. Pods with rules about one
another are placed in order only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from ..model.assignment import Assignment
from ..model.reason import Reason, Why
from ..model.request import Apart, Constraint, Group, PodSet, Request
from ..state.node_tree import NodeTree, tree_of
from ..state.snapshot import Snapshot
from ..state.table import IntArray
from .fit import fit_of
from .gang import merged, summed
from .groups.counts import DomainFree
from .groups.parts import Batch, GroupPart, RequestReader
from .groups.search import OutOfSteps, Search
from .groups.trial import GroupTrial
from .policy import Policy
from .replicas import Part, listed, replicas_in
from .slicing import search

STEPS = 1_000
"""How many alternatives one decision tries."""
MOST_PARTS = 256
"""The most replicas and slices that are searched for as groups."""


class Steps:
    """The steps that are left to several searches of one decision."""

    def __init__(self, left: int = STEPS) -> None:
        self.left = left


Found = dict[str, Assignment]
"""Places by the name of the pod set."""

SHORT = frozenset({Why.NO_ROOM, Why.NO_ROOM_FOR_LAYERS, Why.NO_ROOM_FOR_REPLICAS})
NESTED = frozenset({Why.DEEP_GROUP, Why.NO_PAIR, Why.NESTED_CONSTRAINT})


def may_help(request: Request, why: Reason, policy: Policy) -> bool:
    """Whether pod sets could fit together that did not fit in order."""
    if "BacktrackPodSets" not in policy.gates or why.why not in SHORT | NESTED:
        return False
    sets = [one for one in request.pod_sets if one.count]
    if any(one.previous is not None or policy.seen(one.shape).rules is not None for one in sets):
        return False
    return why.why in NESTED or len(sets) > 1 or any(map(_is_apart, request.groups))


def _is_apart(group: Group) -> bool:
    constraints = [one for _, found in group.walk() for one in found]
    return any(one.replicas is not None and one.replicas.apart is not None for one in constraints)


def scarcest_first(snapshot: Snapshot, request: Request, policy: Policy) -> Request:
    """The groups by how many times their pods fit, each alone: those with least choice first."""
    return Request(tuple(sorted(request.groups, key=lambda group: _ease(snapshot, group, policy))))


def _ease(snapshot: Snapshot, group: Group, policy: Policy) -> float:
    each = (fit_of(snapshot, one.shape, None, policy).pods.sum() / one.count for one in group.pod_sets if one.count)
    return float(min(each, default=0.0))


def place_together(snapshot: Snapshot, request: Request, policy: Policy, steps: Steps) -> Found | None:
    """Places for all pod sets, found with backtracking; None if there are none, or none were found."""
    if not steps.left or not snapshot.tree.one_node_a_leaf:
        return None
    parts = _Parts(snapshot, policy)
    asked = parts.request(request)
    if asked is None or parts.count > MOST_PARTS:
        return None
    trees = {"": tree_of(snapshot)}
    top = RequestReader(snapshot, trees).read(asked)
    if isinstance(top, Reason):
        return None
    trial = _Trial(snapshot, policy)
    if not _holds(trial, trees[""], top):
        return None
    found = Search(trial, trees, top, steps=min(steps.left, STEPS))
    start = trial.mark()
    try:
        return parts.places(found) if found.run() else None
    except OutOfSteps:
        return None
    finally:
        trial.undo(start)
        steps.left = max(0, steps.left - found.taken)


def _holds(trial: GroupTrial, tree: NodeTree, top: GroupPart) -> bool:
    """Whether all nodes together have room for everything, by counts; otherwise there is nothing to search for."""
    if any(int(trial.fit(shape).pods.sum()) < count for shape, count in top.wants.items()):
        return False
    return bool((trial.free(tree).nodes.sum(axis=1) >= top.need).all())


class _Parts:
    """Translates pod sets into groups, one for each replica and slice, and the places of these back."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.snapshot, self.policy = snapshot, policy
        self.count = 0
        self.sources: dict[str, tuple[PodSet, int]] = {}
        """By the name of a part: its pod set, and the number of its replica."""
        self.constraints: dict[str, Constraint | None] = {}

    def request(self, request: Request) -> Request | None:
        groups = [self._group(group) for group in request.groups]
        return None if None in groups else Request(tuple(group for group in groups if group is not None))

    def _group(self, group: Group) -> Group | None:
        """A group with its constraint for the search; None if that is not possible."""
        members: list[PodSet | Group] = []
        shared = group.constraint
        is_pair = shared is None and len(group.members) > 1 and not group.groups
        bounds = self._bounds(_of_workers(group) if is_pair else shared)
        if isinstance(bounds, Reason):
            return None
        for member in group.members:
            if isinstance(member, Group):
                inner = self._group(member)
                if inner is None:
                    return None
                members.append(inner)
            elif member.count:
                own = member.constraint if member.constraint is not None else shared
                found = self._pod_set(member, own, bounded=member.constraint is not None)
                if found is None:
                    return None
                members += found
        return replace(group, members=tuple(members), constraint=bounds)

    def _pod_set(self, pod_set: PodSet, constraint: Constraint | None, bounded: bool) -> list[PodSet | Group] | None:
        """The pods of a pod set, in groups where they have to be; `bounded` if the constraint is its own."""
        self.constraints[pod_set.name] = constraint
        replicas = replicas_in(constraint, self.policy.gates)
        alone = None if constraint is None else constraint.of_each
        wanted = search(self.snapshot.topology, alone, self.policy.gates)
        bounds = self._bounds(alone)
        if isinstance(wanted, Reason) or isinstance(bounds, Reason):
            return None
        sizes = [pod_set.count] if replicas is None else replicas.sizes(pod_set.count)
        if any(size % wanted.slicing.size for size in sizes):
            return None
        parts = [tuple(self._sliced(pod_set, number, size, wanted.layers)) for number, size in enumerate(sizes)]
        if replicas is None:
            return [Group(parts[0], pod_set.name, bounds)] if bounded and bounds is not None else list(parts[0])
        each = tuple(Group(part, f"replica {number}", bounds) for number, part in enumerate(parts))
        apart = None if replicas.apart is None else Apart(replicas.apart)
        self.count += len(each)
        return [Group(each, pod_set.name, apart=apart)]

    def _sliced(
        self, pod_set: PodSet, replica: int, count: int, layers: tuple[tuple[int, int], ...]
    ) -> Iterator[PodSet | Group]:
        """Pods in slices of the outermost layer, and in each of these of the next."""
        if not layers or self.count > MOST_PARTS:
            name = f"{pod_set.name}/{len(self.sources)}"
            self.sources[name] = pod_set, replica
            yield replace(pod_set, name=name, count=count, constraint=None)
            return
        (level, size), *inner = layers
        bounds = Constraint(required=self.snapshot.topology.levels[level])
        for _ in range(count // size):
            self.count += 1
            yield Group(tuple(self._sliced(pod_set, replica, size, tuple(inner))), constraint=bounds)

    def _bounds(self, constraint: Constraint | None) -> Constraint | Reason | None:
        """The levels between which a constraint is searched for; None if it bounds nothing."""
        if constraint is None or constraint.spreads:
            return None
        wanted = search(self.snapshot.topology, constraint, self.policy.gates)
        if isinstance(wanted, Reason):
            return wanted
        levels = self.snapshot.topology.levels
        return Constraint(levels[wanted.ceiling] if wanted.bound else None, levels[wanted.level])

    def places(self, found: Search) -> Found:
        """The places of each pod set, its replicas in order."""
        taken: dict[str, dict[int, list[tuple[IntArray, IntArray]]]] = {}
        for batch, share in found.placed.items():
            pod_set, replica = self.sources[batch.pod_set.name]
            taken.setdefault(pod_set.name, {}).setdefault(replica, []).append(share)
        return {name: self._assignment(name, replicas) for name, replicas in taken.items()}

    def _assignment(self, name: str, replicas: dict[int, list[tuple[IntArray, IntArray]]]) -> Assignment:
        constraint = self.constraints[name]
        of_each = replicas_in(constraint, self.policy.gates)
        if of_each is None or constraint is None:
            return merged(self.snapshot, [share for shares in replicas.values() for share in shares])
        parts: list[Part] = [_summed(shares) for _, shares in sorted(replicas.items())]
        return listed(self.snapshot, constraint, of_each, parts)


def _of_workers(group: Group) -> Constraint | None:
    """The constraint that a leader shares with its workers."""
    sets = sorted(group.own_pod_sets, key=lambda one: -one.count)
    return sets[0].constraint if sets else None


def _summed(shares: list[tuple[IntArray, IntArray]]) -> Part:
    return summed(*(np.concatenate(column) for column in zip(*shares, strict=True)))


class _Trial(GroupTrial):
    """A trial that reserves what it takes, so that it also counts as if no workload were admitted."""

    def take(self, batch: Batch, rows: IntArray, counts: IntArray) -> None:
        self.columns.assume(rows, counts, batch.shape.charge)

    def free(self, tree: NodeTree) -> DomainFree:
        if not self.policy.empty:
            return super().free(tree)
        known = DomainFree(tree, cast(Snapshot, _Emptied(self.columns)))
        known.refresh()
        return known


class _Emptied:
    """The columns of a snapshot as if no workload were admitted."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    @property
    def remaining(self) -> IntArray:
        return self._snapshot.room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)
