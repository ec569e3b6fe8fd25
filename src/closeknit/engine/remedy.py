"""Remedies: the smallest changes that would make a group fit, each tried before it is offered.

A remedy is found by arithmetic on the columns (which domain lacks least, which nodes would add most) and then tested:
the same group is placed with the change applied. A change that does not help is not offered. More than room may be
missing, so the caller's `admits` decides whether the changed group would be admitted, and what else it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from ..model.number import number_of
from ..model.request import Group, PodSet, Request
from ..model.resources import PODS, show
from ..model.shape import HARD_EFFECTS, MAINTENANCE, Toleration
from ..model.topology import HOSTNAME, NODE, Path
from ..state.snapshot import Snapshot
from ..state.table import BoolArray, IntArray
from .count import on_all_leaves, on_leaves
from .fit import fit_of
from .match import PASSES, NodeMatch
from .place import place
from .policy import Policy
from .slicing import LevelSearch
from .smaller import cut_to, less_in_a_zone

MOST_NODES = 1_000
"""A change of more nodes than this is not offered."""


MOST_TRIES = 9
"""How many sets of nodes are tried per kind of remedy."""


CORDONED = Toleration("node.kubernetes.io/unschedulable", "Exists", "", "NoSchedule")
"""Tolerates the taint that Kubernetes gives to a cordoned node."""


Admits = Callable[[Group, bool], str | None]
"""For a changed group that has room: None if it would not be admitted, else what it also needs, empty if nothing.

The flag says whether that room is in the snapshot itself or in a copy of it.
"""


def nothing_else(_: Group, __: bool) -> str | None:
    """For callers that care about room only."""
    return ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One change: `kind` is tolerate, maintenance, deselect, uncordon, relax, fewer, smaller, zone, free, add,
    quota, priority, preemption, gate, groups or steps.

    Fields that a kind does not use are empty; `windows` names maintenance windows. `also` is what has to be done in
    addition. `group` is the group of a tree that the change is for.
    """

    kind: str
    level: str = ""
    mode: str = ""
    pods: int = 0
    nodes: tuple[str, ...] = ()
    count: int = 0
    domain: Path = ()
    also: str = ""
    windows: tuple[str, ...] = ()
    group: str = ""

    def __str__(self) -> str:
        change = f"group {self.group}: {self._change}" if self.group else self._change
        return f"{change}, and {self.also}" if self.also else change

    @property
    def _change(self) -> str:
        match self.kind:
            case "quota" | "priority" | "preemption" | "gate":
                return self.mode
            case "tolerate":
                return f"tolerate the taint {self.mode}"
            case "maintenance":
                return (
                    f"wait until maintenance {self.mode} is over; or, before it begins, limit the job by the label "
                    "kueue.x-k8s.io/max-exec-time-seconds so that it ends in time; or cancel the maintenance"
                )
            case "deselect":
                return f"drop {self.mode}"
            case "relax" if self.mode == "unsliced":
                return "drop the slice constraint"
            case "relax":
                return f'relax to {self.mode} "{self.level}"' if self.level else f"relax to {self.mode}"
            case "fewer":
                return f"ask for {number_of(self.pods, 'pod')} instead of {self.count}"
            case "smaller":
                return f"request {self.mode} per pod, which is all that a node has"
            case "zone":
                return f"request {self.mode} per container, which is the most that one NUMA zone has free"
            case "groups":
                return f"need {self.pods} of its groups instead of {self.count}"
            case "steps":
                return f"search longer: --steps {self.count}"
            case "uncordon":
                return f"uncordon {_names(self.nodes)}"
            case "free":
                return f"free {_names(self.nodes)} ({number_of(self.pods, 'pod')} would have to move)"
            case _:
                where = f" in {'/'.join(self.domain)}" if self.domain else ""
                return f"add {number_of(self.count, 'node')} like {self.nodes[0]}{where}"


def _names(nodes: tuple[str, ...]) -> str:
    more = f" and {len(nodes) - 5} more" if len(nodes) > 5 else ""
    return f"{', '.join(nodes[:5])}{more}"


@dataclass(frozen=True, slots=True)
class Case:
    """A group that does not fit, with its roles, policy and search."""

    snapshot: Snapshot
    group: Group
    workers: PodSet
    leader: PodSet | None
    policy: Policy
    search: LevelSearch
    admits: Admits = nothing_else

    def tried(self, snapshot: Snapshot | None = None, **change: object) -> str | None:
        """Place it with some fields of its workers changed, or on another snapshot; None if that does not help.

        Otherwise the result is what is needed in addition, empty if nothing.
        """
        members = tuple(replace(self.workers, **change) if m is self.workers else m for m in self.group.members)  # type: ignore[arg-type]
        group = replace(self.group, members=members)
        if not place(snapshot or self.snapshot, Request((group,)), self.policy).fits:
            return None
        return self.admits(group, snapshot is None)


def remedies(case: Case) -> tuple[Remedy, ...]:
    """Every change that helps, the cheapest kind first."""
    offers: list[Callable[[Case], Remedy | None]] = [
        _tolerate,
        _outlast,
        _deselect,
        _uncordon,
        _relax,
        _unslice,
        _fewer,
        _smaller,
        _smaller_in_zone,
        _free,
        _add,
    ]
    return tuple(remedy for offer in offers if (remedy := offer(case)) is not None)


def _tolerate(case: Case) -> Remedy | None:
    """The first taint that helps if tolerated; all of them if no single one does."""
    shape = case.workers.shape
    hard = [taint for taint in case.snapshot.taints() if taint.effect in HARD_EFFECTS]
    missing = [taint for taint in hard if not any(t.tolerates(taint) for t in shape.tolerations)]
    for taints in [*([taint] for taint in missing), *([missing] if len(missing) > 1 else [])]:
        more = tuple(Toleration(taint.key, "Equal", taint.value, taint.effect) for taint in taints)
        also = case.tried(shape=replace(shape, tolerations=shape.tolerations + more))
        if also is not None:
            return Remedy("tolerate", mode=" and ".join(map(str, taints)), also=also)
    return None


def _outlast(case: Case) -> Remedy | None:
    """The first maintenance window that helps if it is over; all of them if no single one does."""
    shape = case.workers.shape
    windows = [taint for taint in case.snapshot.taints() if taint.effect == MAINTENANCE]
    missing = [taint for taint in windows if taint not in shape.clear_of]
    for taints in [*([taint] for taint in missing), *([missing] if len(missing) > 1 else [])]:
        also = case.tried(shape=replace(shape, clear_of=(*shape.clear_of, *taints)))
        if also is not None:
            names = " and ".join(f'"{taint.key}" {taint.value}' for taint in taints)
            return Remedy("maintenance", mode=names, also=also, windows=tuple(taint.key for taint in taints))
    return None


def _deselect(case: Case) -> Remedy | None:
    """The first part of the selector that helps if dropped, then required affinity, then both."""
    shape = case.workers.shape
    offers = [
        (f"nodeSelector {key}={value}", replace(shape, selector=tuple(one for one in shape.selector if one[0] != key)))
        for key, value in shape.selector
    ]
    if shape.required is not None:
        offers.append(("required node affinity", replace(shape, required=None)))
    if shape.selector:
        offers.append(("nodeSelector and required node affinity", replace(shape, selector=(), required=None)))
    for words, changed in offers:
        also = case.tried(shape=changed)
        if also is not None:
            return Remedy("deselect", mode=words, also=also)
    return None


def _relax(case: Case) -> Remedy | None:
    """Relax to the lowest level above the required one that helps, then to preferred."""
    wanted, levels, ceiling = case.workers.constraint, case.snapshot.topology.levels, case.search.ceiling
    if wanted is None or wanted.required is None:
        return None
    for level in range(ceiling - 1, -1, -1):
        also = case.tried(constraint=replace(wanted, required=levels[level]))
        if also is not None:
            return Remedy("relax", levels[level], "required", also=also)
    preferred = replace(wanted, required=None, preferred=wanted.preferred or levels[ceiling])
    also = case.tried(constraint=preferred)
    return None if also is None else Remedy("relax", preferred.preferred or "", "preferred", also=also)


def _unslice(case: Case) -> Remedy | None:
    """Drop the slice constraint."""
    wanted = case.workers.constraint
    if wanted is None or not wanted.slices:
        return None
    unsliced = replace(wanted, slices=(), unconstrained=True if wanted.spreads else wanted.unconstrained)
    also = case.tried(constraint=unsliced)
    return None if also is None else Remedy("relax", mode="unsliced", also=also)


def _fewer(case: Case) -> Remedy | None:
    """The largest number of pods that is admitted without further changes, in whole slices."""
    size = case.search.slicing.size
    most = largest((case.workers.count - 1) // size, lambda number: case.tried(count=number * size) == "")
    return Remedy("fewer", pods=most * size, count=case.workers.count) if most else None


def _smaller(case: Case) -> Remedy | None:
    """Smaller pods, where one pod requests more than any node has."""
    snapshot, shape = case.snapshot, case.workers.shape
    usable = snapshot.rows[snapshot.table.usable[snapshot.rows]]
    most = (snapshot.allocatable[:, usable] - snapshot.pinned[:, usable]).max(axis=1, initial=0)
    have = {name: int(most[at]) for name, at in snapshot.index.items()}
    cut = {name: have[name] for name, amount in shape.requests if 0 < have.get(name, 0) < amount}
    if not cut:
        return None
    small = cut_to(shape, cut, by_sum=snapshot.zones is None)
    also = None if small is None else case.tried(shape=small)
    words = " and ".join(f"{show(name, amount)} {name}" for name, amount in cut.items())
    return None if also is None else Remedy("smaller", mode=words, also=also)


def _smaller_in_zone(case: Case) -> Remedy | None:
    """Smaller pods, where one pod asks for more than any NUMA zone has free."""
    for shape, words in less_in_a_zone(fit_of(case.snapshot, case.workers.shape, None, case.policy)):
        also = case.tried(shape=shape)
        if also is not None:
            return Remedy("zone", mode=words, also=also)
    return None


def largest(high: int, works: Callable[[int], bool]) -> int:
    """The largest number up to `high` that works, by binary search; 0 if none does."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if works(middle):
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class Potential:
    """Per leaf: slices it holds now, slices it would hold if it were empty, and pods that would have to move."""

    now: IntArray
    empty: IntArray
    displaced: IntArray


def _potential(case: Case, usable: BoolArray) -> Potential:
    """Count the leaves that pass the node filter; `usable`: which nodes of the tree count as usable."""
    snapshot, size = case.snapshot, _leaf_size(case)
    passing = usable & ~_filtered(case)
    starts = snapshot.tree.nodes[:-1]
    named = (snapshot.allocatable, snapshot.other, snapshot.pinned)
    allocatable, other, pinned = (snapshot.of_nodes(column) for column in named)
    free = (allocatable - other) * passing
    left = np.add.reduceat(free, starts, axis=1) - snapshot.assumed - snapshot.admitted
    asked, leaves = (snapshot, case.policy, case.workers.shape), np.arange(snapshot.tree.leaves)
    now = on_leaves(*asked, leaves, left, free)
    empty = on_all_leaves(*asked, (allocatable - pinned) * passing)
    some = np.add.reduceat(passing.astype(np.int64), starts) > 0
    pods = snapshot.index[PODS]
    movable = np.add.reduceat(other[pods] - pinned[pods], starts)
    displaced = movable + snapshot.admitted[pods] + snapshot.assumed[pods]
    return Potential(now // size * some, empty // size * some, displaced)


def _leaf_size(case: Case) -> int:
    """The chunk of pods that a single leaf must hold as a whole."""
    slicing = case.search.slicing
    lowest = case.snapshot.topology.lowest
    return slicing.size if slicing.level == lowest else slicing.inner[lowest]


def _filtered(case: Case) -> BoolArray:
    """The nodes of the tree that taints, selectors or affinity exclude, usable or not."""
    snapshot = case.snapshot
    if not case.policy.filters(snapshot.topology):
        return np.zeros(len(snapshot.rows), dtype=np.bool_)
    everything = np.ones(len(snapshot.table), dtype=np.bool_)
    codes = NodeMatch(snapshot, case.workers.shape).codes(snapshot.rows, everything)
    return np.not_equal(codes, PASSES)


def _bounds(case: Case) -> IntArray:
    """The first leaf of each domain that must hold everything, and the end; one domain if pods may spread."""
    tree, leaves = case.snapshot.tree, case.snapshot.tree.leaves
    if not case.search.bound:
        return np.array([0, leaves])
    starts = np.arange(tree.size(case.search.ceiling) + 1)
    for first in tree.first[case.search.ceiling :]:
        starts = first[starts]
    return starts


def _uncordon(case: Case) -> Remedy | None:
    """The fewest cordoned nodes of one domain that help if uncordoned, which also removes their taint."""
    table, inside = case.snapshot.table, case.snapshot.rows
    if not table.cordoned[inside].any():
        return None
    shape = case.workers.shape
    shape = replace(shape, tolerations=(*shape.tolerations, CORDONED))
    untainted = replace(case, workers=replace(case.workers, shape=shape))
    potential = _potential(untainted, table.usable[inside] | table.cordoned[inside])
    before = _potential(untainted, table.usable[inside])
    rows = _cheapest(untainted, before.now, potential.now - before.now, potential.displaced)
    for leaves in rows:
        nodes = _rows_of(case, leaves)
        nodes = nodes[table.cordoned[nodes]]
        with _uncordoned(case.snapshot, nodes):
            also = case.tried(shape=shape)
        if also is not None:
            return Remedy("uncordon", nodes=tuple(table.names[row] for row in nodes.tolist()), also=also)
    return None


@contextmanager
def _uncordoned(snapshot: Snapshot, rows: IntArray) -> Iterator[None]:
    snapshot.set_usable(rows, True)
    try:
        yield
    finally:
        snapshot.set_usable(rows, False)


def _free(case: Case) -> Remedy | None:
    """The fewest nodes of one domain that help if emptied."""
    snapshot = case.snapshot
    potential = _potential(case, snapshot.table.usable[snapshot.rows])
    for leaves in _cheapest(case, potential.now, potential.empty - potential.now, potential.displaced):
        with _emptied(snapshot, leaves):
            also = case.tried()
        if also is not None:
            names = tuple(snapshot.table.names[row] for row in _rows_of(case, leaves).tolist())
            return Remedy("free", nodes=names, pods=int(potential.displaced[leaves].sum()), also=also)
    return None


@contextmanager
def _emptied(snapshot: Snapshot, leaves: IntArray) -> Iterator[None]:
    """Temporarily free everything on these leaves that can move."""
    checkpoint = snapshot.checkpoint()
    for leaf in leaves.tolist():
        rows = snapshot.rows_between(leaf, leaf + 1)
        whole = (snapshot.allocatable[:, rows] - snapshot.pinned[:, rows]) * snapshot.table.usable[rows]
        used = whole.sum(axis=1) - snapshot.remaining[:, leaf]
        charge = tuple(zip(snapshot.resources, used.tolist(), strict=True))
        snapshot.assume(np.array([leaf]), np.array([-1]), charge)
    snapshot.columns.vacate_zones(snapshot.rows_in(leaves)[0])
    try:
        yield
    finally:
        snapshot.rollback(checkpoint)


def _rows_of(case: Case, leaves: IntArray) -> IntArray:
    return case.snapshot.rows_in(leaves)[0]


def _cheapest(case: Case, now: IntArray, gain: IntArray, displaced: IntArray) -> Iterator[IntArray]:
    """Sets of leaves to change, by domain: fewest leaves first, then fewest displaced pods, then path.

    Slices that span several leaves may need one or two leaves more than the sum of gains suggests.
    """
    bounds = _bounds(case)
    need = case.workers.count // _leaf_size(case)
    domains = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    helpful = np.flatnonzero(gain > 0)
    order = helpful[np.lexsort((displaced[helpful], -gain[helpful], domains[helpful]))]
    held = np.add.reduceat(now, bounds[:-1]) if len(now) else now
    offers = []
    for domain in np.unique(domains[order]).tolist():
        low, high = np.searchsorted(domains[order], [domain, domain + 1])
        leaves = order[low:high]
        fewest = int(np.searchsorted(np.cumsum(gain[leaves]), max(1, need - int(held[domain])))) + 1
        for count in range(fewest, min(fewest + 2, len(leaves), MOST_NODES) + 1):
            chosen = leaves[:count]
            offers.append((count, int(displaced[chosen].sum()), domain, np.sort(chosen)))
    offers.sort(key=lambda offer: offer[:3])
    for offer in offers[:MOST_TRIES]:
        yield offer[3]


def _add(case: Case) -> Remedy | None:
    """The fewest nodes like the roomiest one, added to the domain that lacks least."""
    snapshot, search = case.snapshot, case.search
    potential = _potential(case, snapshot.table.usable[snapshot.rows])
    if not len(potential.empty):
        return None
    like = int(snapshot.first_rows(np.array([int(np.argmax(potential.empty))]))[0])
    each = int(potential.empty.max())
    bounds = _bounds(case)
    held = np.add.reduceat(potential.now, bounds[:-1])
    best = int(np.argmax(held))
    need = case.workers.count // _leaf_size(case)
    alone = search.bound and search.ceiling == snapshot.topology.lowest
    if each <= 0 or (alone and each < need):
        return None
    path = () if alone or not search.bound else snapshot.tree.path(search.ceiling, best)
    fewest = 1 if alone else max(1, -(-(need - int(held[best])) // each))
    for count in (fewest, fewest + 1, 2 * fewest):
        also = case.tried(grown(snapshot, like, path, count)) if count <= MOST_NODES else None
        if also is not None:
            return Remedy("add", nodes=(snapshot.table.names[like],), count=count, domain=path, also=also)
    return None


def grown(snapshot: Snapshot, like: int, path: Path, count: int) -> Snapshot:
    """The snapshot with `count` more nodes like row `like`, pinned usage included, in a new place below `path`."""
    table, topology = snapshot.table, snapshot.topology
    size = len(snapshot.rows)
    rows = np.concatenate((snapshot.rows, np.full(count, like)))
    bigger = table.take(rows)
    bigger.names[size:] = [f"new node {number}" for number in range(1, count + 1)]
    bigger.usable[size:] = True
    bigger.allocatable = {name: snapshot.allocatable[at][rows] for name, at in snapshot.index.items()}
    for level, key in enumerate(() if topology.levels == (NODE,) else topology.levels):
        column = bigger.labels[key]
        for row in range(size, size + count):
            below = f"new {row}" if level == topology.lowest else "new"
            column.codes[row] = column.intern(path[level] if level < len(path) else below)
    if HOSTNAME in bigger.labels and HOSTNAME not in topology.levels:
        hosts = bigger.labels[HOSTNAME]
        hosts.codes[size:] = [hosts.intern(f"new {row}") for row in range(size, size + count)]
    new = bigger.names[size:]
    after = Snapshot(topology, bigger, shapes=4)
    _take_zones(after, snapshot, bigger.names, rows, size)
    after.other[:, [after.row_of[name] for name in new]] = snapshot.pinned[:, [like]]
    return _with_usage(after, snapshot)


def vacated(snapshot: Snapshot, maintained: bool = True) -> Snapshot:
    """The same nodes with nothing on them but pinned usage; without `maintained`, after all maintenance windows."""
    rows = snapshot.rows
    table = snapshot.table.take(rows)
    if not maintained:
        table.taints = [tuple(one for one in taints if one.effect != MAINTENANCE) for taints in table.taints]
    table.allocatable = {name: snapshot.allocatable[at][rows] for name, at in snapshot.index.items()}
    after = Snapshot(snapshot.topology, table, shapes=4)
    _take_zones(after, snapshot, table.names, rows, 0)
    after.other[:, [after.row_of[name] for name in table.names]] = snapshot.of_nodes(snapshot.pinned)
    after.use_columns({})
    after.neighbours.nodes, after.neighbours.namespaces = snapshot.neighbours.nodes, snapshot.neighbours.namespaces
    return after


def _take_zones(after: Snapshot, before: Snapshot, names: list[str], rows: IntArray, kept: int) -> None:
    """Give the nodes the NUMA zones of these rows of the other snapshot: the first `kept` as they are, others empty."""
    if before.zones is not None:
        order = np.argsort([after.row_of[name] for name in names])
        after.columns.zones = before.zones.take(rows[order], order < kept)


def _with_usage(after: Snapshot, before: Snapshot) -> Snapshot:
    """Copy usage for the nodes and leaves that both snapshots have."""
    names = before.table.names
    after.other[:, [after.row_of[names[row]] for row in before.rows.tolist()]] = before.of_nodes(before.other)
    after.use_columns({})
    leaves = np.array([after.tree.leaf_of[name] for name in before.tree.names])
    after.neighbours.take_over(before.neighbours, before, after, leaves)
    after.take_over(leaves, before.admitted, before.assumed)
    return after
