"""PodGroup of `scheduling.run.ai/v2alpha2`: a tree of sub-groups with minimums and topology constraints.

Two generations are read. Up to KAI 0.13 an entry with children has the sum of its children as `minMember`; from 0.14
it has `minSubGroup`, or nothing if it needs all of them. Whatever cannot be honoured as written is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.label_names import is_label_value
from ...model.request import MOST_GROUPS, Apart, Constraint
from ...model.topology import Topology
from ..field import Field, shown
from ..gang_reading import near, some
from ..known_fields import METADATA
from ..node_choice import one_of
from ..spans import seconds
from ..strictness import READ, Tree, check_fields, check_version
from . import keys
from .levels import check_level, read_constraint

DEEPEST = 200
"""The most levels of sub-groups."""

_CONSTRAINT: Tree = {"topology": READ, "requiredTopologyLevel": READ, "preferredTopologyLevel": READ}
_SUB_GROUP: Tree = {
    "name": READ,
    "parent": READ,
    "minMember": READ,
    "minSubGroup": READ,
    "topologyConstraint": _CONSTRAINT,
}
FIELDS: Tree = {
    "apiVersion": READ,
    "kind": READ,
    "metadata": dict.fromkeys(METADATA, READ),
    "spec": {
        "minMember": READ,
        "minSubGroup": READ,
        "queue": READ,
        "priorityClassName": READ,
        "preemptibility": READ,
        "topologyConstraint": _CONSTRAINT,
        "subGroups": [_SUB_GROUP],
        "markUnschedulable": READ,
        "schedulingBackoff": READ,
        "preemptionDelay": READ,
        "stalenessGracePeriod": READ,
    },
    "status": READ,
}
"""The fields of KAI 0.13 to 0.16."""

Topologies = Mapping[str, Topology]


@dataclass(frozen=True, slots=True)
class SubGroup:
    """An entry of the tree; the root has an empty name. `min_member` is None on an entry with children."""

    name: str
    min_member: int | None = None
    min_sub_group: int | None = None
    constraint: Constraint | None = None
    apart: Apart | None = None
    children: tuple[SubGroup, ...] = ()

    @property
    def least(self) -> int:
        """How many pods have to run at least."""
        if not self.children:
            return self.min_member or 0
        wanted = sorted(child.least for child in self.children)
        return sum(wanted[: self.min_sub_group])


@dataclass(frozen=True, slots=True)
class KaiPodGroup:
    """`min_member` is that of the whole group, also where it has sub-groups."""

    namespace: str
    name: str
    root: SubGroup
    min_member: int | None
    queue: str
    priority_class: str
    preemptibility: str


def read_pod_group(group: Field, topologies: Topologies | None) -> KaiPodGroup | None:
    """The group; reports mistakes and returns None. Without topologies, names of topologies and levels are not checked.

    A topology without a level is no constraint, but that of the entries below which name only levels.
    """
    before = group.report.noted
    check_version(group, keys.POD_GROUP_VERSION)
    check_fields(group, FIELDS)
    spec = group.at("spec")
    for span in ("preemptionDelay", "stalenessGracePeriod"):
        if spec.at(span).given:
            seconds(spec.at(span))
    if spec.at("preemptibility").text():
        one_of(spec.at("preemptibility"), keys.PREEMPTIBLE_WORDS)
    root = _Tree(group, topologies).read() if group.report.noted == before else None
    if root is None:
        return None
    read = KaiPodGroup(
        group.at("metadata", "namespace").text() or "default",
        group.at("metadata", "name").text(),
        root,
        _optional(spec.at("minMember"), 1),
        spec.at("queue").text(),
        spec.at("priorityClassName").text(),
        spec.at("preemptibility").text(),
    )
    return read if group.report.noted == before else None


class _Tree:
    """The entries of one group by name, and the names of their children."""

    def __init__(self, group: Field, topologies: Topologies | None) -> None:
        self.spec, self.topologies = group.at("spec"), topologies
        self.apart = group.at("metadata", "annotations", keys.APART)
        self.entries: dict[str, Field] = {}
        self.children: dict[str, list[str]] = {"": []}

    def read(self) -> SubGroup | None:
        listed = self.spec.at("subGroups")
        if len(listed.items()) > MOST_GROUPS:
            listed.wrong(f"has {len(listed.items())} entries", f"a group allows at most {MOST_GROUPS}")
            return None
        before = listed.report.noted
        for entry in listed.items():
            self._add(entry)
        self._check_parents()
        if listed.report.noted > before:
            return None
        return self._entry("", self.spec, "", self._read_apart())

    def _add(self, entry: Field) -> None:
        name = entry.at("name").text()
        if not name or not is_label_value(name):
            text = f"is {shown(name)}, not a label value" if name else "is missing"
            entry.at("name").wrong(text, f"use a name that fits into the label {keys.SUB_GROUP}")
        elif name in self.entries:
            entry.at("name").wrong(f'is "{name}" a second time', "name each sub-group once")
        else:
            self.entries[name] = entry
            self.children.setdefault(entry.at("parent").text(), []).append(name)

    def _parent(self, name: str) -> Field:
        return self.entries[name].at("parent")

    def _check_parents(self) -> None:
        """Check that parents exist, and lead to the root without a cycle and in a bounded number of steps."""
        depth = {"": 0}
        for start in self.entries:
            path: dict[str, None] = {}
            name = start
            while name in self.entries and name not in depth and name not in path:
                path[name] = None
                name = self._parent(name).text()
            if name in path:
                cycle = list(path)[list(path).index(name) :]
                text = f"closes a cycle: {' > '.join([*cycle, name])}"
                self._parent(cycle[-1]).wrong(text, "remove the parent of one of them")
            elif name not in depth:
                self._parent(list(path)[-1]).wrong(f'is "{name}", which is not a sub-group', _names(name, self.entries))
            depth |= {one: number for number, one in enumerate(reversed(path), depth.get(name, 0) + 1)}
        deepest = max(depth, key=depth.__getitem__)
        if depth[deepest] > DEEPEST:
            text = f"puts it {depth[deepest]} levels below the group"
            self._parent(deepest).wrong(text, f"use at most {DEEPEST} levels")

    def _read_apart(self) -> dict[str, Apart]:
        """The levels at which groups are apart, by the name of the entry that they are in: `LEVEL` or `NAME=LEVEL`."""
        found = {}
        for part in filter(None, (part.strip() for part in self.apart.text().split(","))):
            name, _, level = part.rpartition("=")
            if name and name not in self.entries:
                self.apart.wrong(f'names "{name}", which is not a sub-group', _names(name, self.entries))
            elif len(self.children.get(name, ())) < 2:
                self.apart.wrong(
                    f"keeps the groups in {name or 'the PodGroup'} apart, which has fewer than two",
                    "write LEVEL for the groups of the PodGroup, NAME=LEVEL for those of the sub-group NAME",
                )
            else:
                found[name] = Apart(level)
        return found

    def _entry(self, name: str, entry: Field, topology: str, apart: Mapping[str, Apart]) -> SubGroup:
        constraint, topology = read_constraint(entry.at("topologyConstraint"), topology, self.topologies)
        children = tuple(self._entry(one, self.entries[one], topology, apart) for one in self.children.get(name, ()))
        member, groups = entry.at("minMember"), entry.at("minSubGroup")
        if member.given and groups.given:
            groups.wrong("excludes minMember", f"keep {'minSubGroup' if children else 'minMember'} alone")
        return SubGroup(
            name,
            self._min_member(name, member, children, groups.given),
            _min_sub_group(groups, len(children)),
            constraint,
            self._apart(apart.get(name), topology),
            children,
        )

    def _min_member(self, name: str, field: Field, children: tuple[SubGroup, ...], excluded: bool) -> int | None:
        least = 0 if name else 1
        if not children:
            if not field.given and not excluded:
                field.wrong("is missing", "say how many of its pods have to run, or 0" if name else "say how many pods")
            return _optional(field, least)
        written, total = _optional(field, least), sum(child.least for child in children)
        if name and field.given and not excluded and written != total:
            field.wrong(
                f"is {written} on a sub-group with children, which need {total} {'pod' if total == 1 else 'pods'}",
                f"remove it, or use minSubGroup: {len(children)}",
            )
        return None

    def _apart(self, apart: Apart | None, topology: str) -> Apart | None:
        if apart is None:
            return None
        if not topology:
            self.apart.wrong("names a level, but the group names no topology", "set topologyConstraint.topology")
        elif self.topologies is not None and topology in self.topologies:
            check_level(self.apart, apart.level, self.topologies[topology])
        return Apart(apart.level, topology=topology)


def _min_sub_group(field: Field, children: int) -> int | None:
    wanted = _optional(field, 1)
    if field.given and not children:
        field.wrong("needs sub-groups below it, and there are none", "use minMember, which counts pods")
    elif wanted is not None and wanted > children:
        field.wrong(f"is {wanted}, but the number of sub-groups is {children}", f"use at most {children}")
    return wanted


def _optional(field: Field, least: int) -> int | None:
    return field.count(least, least) if field.given else None


def _names(given: str, known: Mapping[str, Field]) -> str:
    return near(given, known).strip() or f"the sub-groups are {some(known)}"
