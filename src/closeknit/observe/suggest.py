"""Proposes a topology from the labels of nodes.

Labels form a topology when each finer one splits the groups of the coarser one and never joins them: then they are a
tree. Within a family of labels (`dialects.cloud_labels`) the order is known, and a domain is named by its path from the
top, so a value may recur. Between families the nodes decide the order. If the labels form no tree, nothing is guessed:
the suggestion is empty and names the nodes that contradict.

    nodes ─▶ candidates ─▶ in order ─▶ contradictions? ─▶ without redundant labels ─▶ levels
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..dialects.cloud_labels import FAMILIES, HOST, OUR_POOL, ZONES, Label, known, pool_keys, recognise
from ..model.topology import HOSTNAME
from ..state.table import MISSING, BoolArray, IntArray, LabelColumn, NodeTable

API_VERSION = "kueue.x-k8s.io/v1beta2"
KAI_VERSION = "kai.scheduler/v1alpha1"
SHOWN = 3
ANY_NODE = "kubernetes.io/os"
ACCELERATORS = ("gpu", "tpu", "neuron", "accelerator")
"""Words in the names of accelerator resources, for which topologies are made."""


@dataclass(frozen=True, slots=True)
class SuggestedLevel:
    """One proposed level over the nodes that have all levels; a domain has `smallest` to `largest` nodes.

    There are more domains than values if values recur: rack "r1" of block "b1" and of block "b2".
    """

    key: str
    domains: int
    values: int
    smallest: int
    largest: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The proposal. `picture` is empty if the labels allow none.

    `problems` are for the user to fix; `remarks` explain what was left out and why. `choice` says how the flavor
    selects its nodes.
    """

    text: str
    picture: tuple[SuggestedLevel, ...] = ()
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    node_labels: dict[str, str] = field(default_factory=dict)
    choice: str = ""

    @property
    def told(self) -> str:
        return f"{self.text} {self.choice}".rstrip()

    def without_flavor(self) -> Suggestion:
        """The proposal for KAI, which has no flavors."""
        return replace(self, node_labels={}, choice="")

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(level.key for level in self.picture)

    def manifests(self, name: str, is_for_kai: bool = False) -> list[dict[str, Any]]:
        """A Topology and a ResourceFlavor that uses it, both of this name; none if nothing is proposed.

        For KAI a Topology alone: its PodGroups name it themselves.
        """
        if not self.levels:
            return []
        topology = {
            "apiVersion": KAI_VERSION if is_for_kai else API_VERSION,
            "kind": "Topology",
            "metadata": {"name": name},
            "spec": {"levels": [{"nodeLabel": key} for key in self.levels]},
        }
        if is_for_kai:
            return [topology]
        return [
            topology,
            {
                "apiVersion": API_VERSION,
                "kind": "ResourceFlavor",
                "metadata": {"name": name},
                "spec": {"nodeLabels": dict(self.node_labels), "topologyName": name},
            },
        ]


@dataclass(slots=True, eq=False)
class _Candidate:
    """A label with the group of each node, MISSING for nodes without it.

    `path` are the labels whose values together name a group: this one alone, unless its values recur under
    coarser ones of the family.
    """

    label: Label
    path: tuple[str, ...]
    groups: IntArray

    @property
    def key(self) -> str:
        return self.label.key

    def name(self, table: NodeTable, row: int) -> str:
        return "/".join(filter(None, (table.label(row, key) for key in self.path)))


def suggest(table: NodeTable, wanted: Collection[str] = (), selector: Mapping[str, str] | None = None) -> Suggestion:
    """Propose levels for these nodes, or explain why none can be proposed.

    `wanted` are keys that the user asks for: if some nodes have them all, these nodes decide, and the keys become
    levels in any case. `selector` are the labels by which the nodes were selected.
    """
    wanted, table = _with_all(table, wanted)
    labels = sorted({*known(table.labels), *_named(wanted)})
    if not len(table):
        return Suggestion("There are no nodes to learn from.", problems=("no nodes were given",))
    if not labels:
        return _nothing_known(table)
    remarks: list[str] = []
    ordered = sorted(_candidates(table, labels, wanted, remarks), key=functools.cmp_to_key(_coarse_first))
    seen = _seen(table, labels)
    if not ordered:
        text = f"{seen} None of them is on most nodes, so nothing is proposed."
        return Suggestion(text, problems=tuple(remarks))
    if contradictions := _contradictions(table, ordered):
        return Suggestion(f"{seen} {_no_tree(ordered)}", problems=contradictions, remarks=tuple(remarks))
    keys = [candidate.key for candidate in _telling(table, ordered, wanted, remarks)]
    return _proposal(table, keys, seen, remarks, selector or {})


def suggest_from_keys(table: NodeTable, keys: Sequence[str], selector: Mapping[str, str] | None = None) -> Suggestion:
    """Propose the given levels in the given order; missing labels are reported and no level is left out."""
    return _proposal(table, keys, f"The levels of {_count(len(table), 'node')} were given.", [], selector or {})


# Candidates, and how they group the nodes


def _with_all(table: NodeTable, wanted: Collection[str]) -> tuple[list[str], NodeTable]:
    """The keys that exist, with the nodes that have them all; no keys and all nodes if no node has them all."""
    keys = [key for key in wanted if key in table.labels]
    have = np.ones(len(table), dtype=np.bool_)
    for key in keys:
        have &= _values(table, key) != MISSING
    if not have.any():
        return [], table
    return keys, table if have.all() else table.take(np.flatnonzero(have))


def _named(wanted: Iterable[str]) -> Iterator[Label]:
    """Labels that are candidates only because the user asks for them, each a family of its own."""
    for key in wanted:
        if recognise(key) is None:
            yield Label(len(FAMILIES), 0, key, key)


def _candidates(
    table: NodeTable, labels: Sequence[Label], wanted: Collection[str], remarks: list[str]
) -> list[_Candidate]:
    """The labels that most nodes carry, each with the coarser ones of its family that its values recur under.

    If only some nodes have accelerators, only these count, because topologies are made for them.
    """
    candidates: list[_Candidate] = []
    counted = _accelerated(table)
    for label in labels:
        values = _values(table, label.key)
        above = [other for other in candidates if _recurs(label, values, other)]
        groups = functools.reduce(_under, (other.groups for other in above), values)
        holders = int(np.count_nonzero(groups[counted] != MISSING))
        if 2 * holders > np.count_nonzero(counted) or label.key in wanted:
            candidates.append(_Candidate(label, (*(other.key for other in above), label.key), groups))
        else:
            remarks.append(_left_out(table, label.key, groups != MISSING, counted))
    return candidates


def _accelerated(table: NodeTable) -> BoolArray:
    """The nodes with accelerators; all nodes if none has any."""
    columns = [
        column > 0
        for resource, column in table.allocatable.items()
        if "/" in resource and any(word in resource.lower() for word in ACCELERATORS)
    ]
    found: BoolArray = np.any(columns, axis=0) if columns else np.zeros(len(table), dtype=np.bool_)
    return found if found.any() else ~found


def _recurs(label: Label, values: IntArray, above: _Candidate) -> bool:
    """Whether values of a label may, and do, occur in several groups of a coarser one."""
    related = label.family == above.label.family and label.depth > above.label.depth
    return related and not label.own_name and not _nests(values, above.groups)


def _values(table: NodeTable, key: str) -> IntArray:
    """The codes of a label; an empty value counts as a missing label."""
    column = table.labels[key]
    codes = column.codes.astype(np.int64)
    return np.where(codes == column.code(""), MISSING, codes)


def _under(groups: IntArray, above: IntArray) -> IntArray:
    """Groups split by the coarser groups that contain them.

    _under([0, 1, 0, 1], above=[0, 0, 1, 1]) == [0, 1, 2, 3]
    """
    both = (above != MISSING) & (groups != MISSING)
    if _nests(groups, above):
        return np.where(both, groups, MISSING)
    paths = np.full(len(groups), MISSING, dtype=np.int64)
    pairs = above[both] * (groups.max() + 1) + groups[both]
    paths[both] = np.unique(pairs, return_inverse=True)[1]
    return paths


def _nests(fine: IntArray, coarse: IntArray) -> bool:
    """Whether each group of `fine` lies in one group of `coarse`, as far as nodes have both."""
    return not _strays(fine, coarse).any()


def _strays(fine: IntArray, coarse: IntArray) -> BoolArray:
    """Nodes in another `coarse` group than the last node of their `fine` group."""
    both = (fine != MISSING) & (coarse != MISSING)
    where = np.full(int(fine.max(initial=0)) + 1, MISSING, dtype=np.int64)
    where[fine[both]] = coarse[both]
    strays: BoolArray = both & (where[fine] != coarse)
    return strays


# Their order


def _coarse_first(a: _Candidate, b: _Candidate) -> int:
    """Compare by known order first, then by how the nodes nest, then by the table of families."""
    if known_order := _known_order(a.label, b.label):
        return known_order
    b_in_a, a_in_b = _nests(b.groups, a.groups), _nests(a.groups, b.groups)
    if b_in_a != a_in_b:
        return -1 if b_in_a else 1
    return -1 if a.label < b.label else 1


def _known_order(a: Label, b: Label) -> int:
    """Negative if `a` is known to be coarser, positive if `b` is, 0 if the nodes decide."""
    if HOSTNAME in (a.key, b.key):
        return -1 if b.key == HOSTNAME else 1
    return a.depth - b.depth if a.family == b.family else 0


def _contradictions(table: NodeTable, ordered: Sequence[_Candidate]) -> tuple[str, ...]:
    """One contradiction for each two families that cross, at the coarsest labels that do."""
    pairs = itertools.combinations(ordered, 2)
    astray = [(coarse, fine) for coarse, fine in pairs if not _nests(fine.groups, coarse.groups)]
    # Crossing labels have no order, and may misplace other labels, which are not reported.
    crossing = [
        (coarse, fine)
        for coarse, fine in astray
        if _known_order(coarse.label, fine.label) or not _nests(coarse.groups, fine.groups)
    ]
    found: dict[tuple[str, str], str] = {}
    for coarse, fine in crossing or astray:
        families = (coarse.label.family, fine.label.family)
        if families not in found:
            found[families] = _contradiction(table, coarse, fine)
    return tuple(found.values())


def _contradiction(table: NodeTable, coarse: _Candidate, fine: _Candidate) -> str:
    """The first value, by name, that lies in several groups, with one node in each."""
    split = np.unique(fine.groups[_strays(fine.groups, coarse.groups)])
    rows = np.flatnonzero(np.isin(fine.groups, split) & (coarse.groups != MISSING)).tolist()
    value, _, group = min((fine.name(table, row), table.names[row], fine.groups[row]) for row in rows)
    places: dict[int, int] = {}
    for row in sorted((row for row in rows if fine.groups[row] == group), key=table.names.__getitem__):
        places.setdefault(int(coarse.groups[row]), row)
    where = [f'"{coarse.name(table, row)}" (node {table.names[row]})' for row in places.values()]
    text = f'{fine.key} "{value}" lies in more than one {coarse.key}: {", ".join(where[:SHOWN])}'
    reason = "a host is in one place" if fine.label.own_name else "neither label lies inside the other"
    return f"{text}; {reason}"


# Redundant labels


def _telling(
    table: NodeTable, ordered: Sequence[_Candidate], wanted: Collection[str], remarks: list[str]
) -> list[_Candidate]:
    """The candidates without those that do not split the nodes, or split them as a neighbour does; wanted ones stay."""
    kept: list[_Candidate] = []
    for candidate in _without_lone_zone(table, ordered, wanted, remarks):
        while kept and _nests(kept[-1].groups, candidate.groups):
            spared = _spared(kept[-1], candidate, wanted)
            if spared is None:
                kept.append(candidate)
                break
            other = candidate if spared is kept[-1] else kept[-1]
            remarks.append(f"{spared.key} is left out: it groups the nodes just as {other.key} does")
            if spared is candidate:
                break
            kept.pop()
        else:
            kept.append(candidate)
    return kept


def _without_lone_zone(
    table: NodeTable, ordered: Sequence[_Candidate], wanted: Collection[str], remarks: list[str]
) -> Iterator[_Candidate]:
    """The candidates without a lone region or zone. A lone block stays: jobs name it, and more blocks may follow.

    Only nodes that have all other levels can take part, so only their zones count.
    """
    others = np.ones(len(table), dtype=np.bool_)
    for candidate in ordered:
        others &= (candidate.groups != MISSING) | (candidate.label.family == ZONES)
    for candidate in ordered:
        inside = np.where(others, candidate.groups, MISSING)
        may_go = candidate.label.family == ZONES and candidate is not ordered[-1] and candidate.key not in wanted
        if may_go and _distinct(inside) == 1:
            value = table.label(int(np.argmax(inside != MISSING)), candidate.key)
            everywhere = _distinct(candidate.groups) == 1
            whence = "wherever it is set" if everywhere else "on all nodes that have the other levels"
            remarks.append(f'{candidate.key} is left out: it is "{value}" {whence}')
        else:
            yield candidate


def _spared(coarse: _Candidate, fine: _Candidate, wanted: Collection[str]) -> _Candidate | None:
    """Of two equal levels the one to leave out: never the host, and a zone before a network level.

    None if both must stay.
    """
    zone_over_network = coarse.label.family == ZONES and fine.label.family != ZONES
    if (fine.key == HOSTNAME or zone_over_network or fine.key in wanted) and coarse.key not in wanted:
        return coarse
    return None if fine.key == HOSTNAME or fine.key in wanted else fine


# Texts


def _proposal(
    table: NodeTable, keys: Sequence[str], seen: str, remarks: Sequence[str], selector: Mapping[str, str]
) -> Suggestion:
    columns = [_values(table, key) for key in keys]
    whole = np.flatnonzero(np.all([column != MISSING for column in columns], axis=0))
    problems = _missing(table, keys, columns)
    if not len(whole):
        text = f"{seen} No node has all of {', '.join(keys)}, so nothing is proposed."
        return Suggestion(text, problems=tuple(problems), remarks=tuple(remarks))
    if HOSTNAME in keys:
        problems.append(_shared_hostnames(table))
    else:
        problems.append(f"{HOSTNAME} is no level: pods are placed in domains of {keys[-1]}, not on hosts")
    node_labels, choice = _flavor_labels(table, keys, whole, selector)
    return Suggestion(
        text=f"{seen} Proposed, coarse to fine: {' > '.join(keys)}.",
        picture=_picture(table, keys, [column[whole] for column in columns]),
        problems=tuple(filter(None, problems)),
        remarks=tuple(remarks),
        node_labels=node_labels,
        choice=choice,
    )


def _picture(table: NodeTable, keys: Sequence[str], columns: Sequence[IntArray]) -> tuple[SuggestedLevel, ...]:
    levels = []
    paths = np.zeros(len(columns[0]), dtype=np.int64)
    for key, column in zip(keys, columns, strict=True):
        paths = _under(column, paths)
        sizes = np.bincount(paths)
        sizes = sizes[sizes > 0]
        values = [table.labels[key].values[code] for code in np.flatnonzero(np.bincount(column)).tolist()]
        examples = tuple(heapq.nsmallest(SHOWN, values))
        levels.append(SuggestedLevel(key, len(sizes), len(values), int(sizes.min()), int(sizes.max()), examples))
    return tuple(levels)


def _flavor_labels(
    table: NodeTable, keys: Sequence[str], rows: IntArray, selector: Mapping[str, str]
) -> tuple[dict[str, str], str]:
    """A label that all these nodes share, which a flavor needs to select its nodes, and a sentence about it."""
    if selector:
        given = ", ".join(f"{key}={value}" for key, value in selector.items())
        return dict(selector), f"The flavor selects nodes by {given}."
    for key in pool_keys(table.labels):
        codes = table.labels[key].codes[rows]
        if len(codes) and codes[0] != MISSING and (codes == codes[0]).all():
            value = table.labels[key].values[codes[0]]
            advice = f"; to narrow it, label the nodes with {OUR_POOL}" if key == ANY_NODE else ""
            return {key: value}, f"The flavor selects nodes by {key}={value}{advice}."
    return (
        {OUR_POOL: "default"},
        "A flavor with a topology must select its nodes by a label, and the nodes share none that names a pool: "
        f"label them first, as `kubectl label nodes -l {','.join(keys)} {OUR_POOL}=default` does.",
    )


def _nothing_known(table: NodeTable) -> Suggestion:
    return Suggestion(
        f"No label that locates a node was recognised on {_count(len(table), 'node')}, not even {HOSTNAME}.",
        problems=("label the nodes, for example with example.com/rack, or name the levels with --levels",),
    )


def _seen(table: NodeTable, labels: Sequence[Label]) -> str:
    families = list(dict.fromkeys(label.family for label in labels))
    nodes = _count(len(table), "node")
    if families == [HOST]:
        return f"On {nodes} only {HOSTNAME} was recognised, and no label for their rack or block."
    return f"On {nodes} these labels were recognised: {', '.join(families)}."


def _no_tree(ordered: Sequence[_Candidate]) -> str:
    counts = [f"{candidate.key} ({_distinct(candidate.groups)})" for candidate in ordered]
    return (
        "They form no tree, so nothing is proposed. Fix the labels, or pass --levels with the label keys to use, "
        "coarse to fine: without one of each two that contradict, or with both if a value of the finer one is a "
        f"name only inside the coarser one. Found, with the number of groups each makes: {', '.join(counts)}."
    )


def _distinct(groups: IntArray) -> int:
    return int(np.count_nonzero(np.bincount(groups[groups != MISSING])))


def _left_out(table: NodeTable, key: str, holders: BoolArray, counted: BoolArray) -> str:
    total, found = int(np.count_nonzero(counted)), int(np.count_nonzero(holders & counted))
    nodes = _count(total, "node") + ("" if counted.all() else " with accelerators")
    text = f"{key} is left out: only {found} of {nodes} have it"
    if label := _selecting(table, holders):
        return f"{text}; to use it, select only nodes that have it: --selector {label}"
    return f"{text}; to use it, name the levels with --levels, or pass --selector with a label that only its nodes have"


def _selecting(table: NodeTable, holders: BoolArray) -> str:
    """A label as KEY=VALUE that selects just these nodes, or else a pool of them; "" if there is none."""
    pools = pool_keys(table.labels)
    rest = sorted(key for key in table.labels if key not in pools and recognise(key) is None)
    partial = ""
    for key in (*pools, *rest):
        column = table.labels[key]
        code = _commonest(column, holders)
        chosen = column.codes == code
        if code != MISSING and np.array_equal(chosen, holders):
            return f"{key}={column.values[code]}"
        if code != MISSING and key in pools and holders[chosen].all():
            partial = partial or f"{key}={column.values[code]}"
    return partial


def _commonest(column: LabelColumn, rows: BoolArray) -> int:
    """The most common code among these nodes, on a tie the first by value; MISSING if no node has the label."""
    codes = column.codes[rows]
    counts = np.bincount(codes[codes != MISSING])
    most = np.flatnonzero(counts == counts.max(initial=1)).tolist()
    return min(most, key=column.values.__getitem__, default=MISSING)


def _missing(table: NodeTable, keys: Sequence[str], columns: Sequence[IntArray]) -> list[str]:
    """One problem for all levels that the same nodes lack."""
    lacking: dict[bytes, list[str]] = {}
    for key, column in zip(keys, columns, strict=True):
        lacking.setdefault((column == MISSING).tobytes(), []).append(key)
    problems = []
    for mask, together in lacking.items():
        rows = np.flatnonzero(np.frombuffer(mask, dtype=np.bool_))
        if len(rows):
            nodes = f"{len(rows)} of {_count(len(table), 'node')}"
            are = f"{', '.join(together)} {'is' if len(together) == 1 else 'are'}"
            problems.append(f"{are} missing on {nodes}, where nothing will be placed: {_first_names(table, rows)}")
    return problems


def _shared_hostnames(table: NodeTable) -> str:
    codes = _values(table, HOSTNAME)
    counts = np.bincount(codes[codes != MISSING])
    if counts.max(initial=0) <= 1:
        return ""
    names = _first_names(table, np.flatnonzero(counts[codes] * (codes != MISSING) > 1))
    return f"several nodes share one {HOSTNAME} and would count as one host: {names}"


def _first_names(table: NodeTable, rows: Iterable[int]) -> str:
    rows = list(rows)
    names = heapq.nsmallest(SHOWN, (table.names[row] for row in rows))
    return ", ".join([*names, "…"] if len(rows) > SHOWN else names)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
