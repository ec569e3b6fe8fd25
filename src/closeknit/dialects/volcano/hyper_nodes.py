"""HyperNodes as one tree: each node's HyperNode at every tier.

A level is a tier, `tier-2` over `tier-1`, and the domain of a node at a tier is its highest HyperNode of at most that
tier: "inside one HyperNode of tier at most 2" is then "in one domain of tier-2". So a branch without a HyperNode of
tier 2 has its HyperNode of tier 1 there, but a node that hangs directly at tier 2 has no domain at tier 1. Above all is
an implicit HyperNode with every node.

A tree with a mistake is not used at all: half a tree would place jobs across the switches that it leaves out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...model.mistake import Mistake
from ...model.topology import ListedTopology
from ..field import Field
from ..gang_reading import Nodes, near
from ..go_pattern import GoPattern
from ..go_pattern_syntax import PatternError
from ..label_selectors import read_selector
from ..strictness import READ, Tree, check_fields

TOPOLOGY = "hypernodes"
"""The name of the topology that HyperNodes form."""
ROOT = "<cluster-top-hypernode>"
KINDS = ("Node", "HyperNode")
SELECTORS = ("exactMatch", "regexMatch", "labelMatch")
_INSIDE = {"exactMatch": "name", "regexMatch": "pattern"}
_SELECTOR: Tree = {"exactMatch": {"name": READ}, "regexMatch": {"pattern": READ}, "labelMatch": READ}
FIELDS: Tree = {"tier": READ, "tierName": READ, "members": [{"type": READ, "selector": _SELECTOR}]}


@dataclass(slots=True)
class HyperNode:
    """`members` are its HyperNodes and `nodes` its nodes, each with the field that names it first."""

    name: str
    tier: int
    field: Field
    members: dict[str, Field] = dataclasses.field(default_factory=dict)
    nodes: dict[str, Field] = dataclasses.field(default_factory=dict)


def level(tier: int) -> str:
    return f"tier-{tier}"


def tier_of(key: str) -> int:
    """tier_of("tier-2") == 2"""
    return int(key.removeprefix("tier-"))


def read_tiers(objects: Sequence[Field], nodes: Nodes | None) -> ListedTopology | tuple[Mistake, ...]:
    """The tree over these nodes, or every mistake in it. While the nodes are not known (None), it has none."""
    found = _by_name(objects)
    for one in found.values():
        _read_members(one, found, nodes)
    parents = _parents(found)
    _check_tiers(found, parents)
    homes = _homes(found)
    names = _tier_names(found.values())
    mistakes = tuple(mistake for one in objects for mistake in one.report.mistakes)
    return mistakes or _tree(found, parents, homes, names, nodes or {})


def _by_name(objects: Sequence[Field]) -> dict[str, HyperNode]:
    found: dict[str, HyperNode] = {}
    for one in objects:
        check_fields(one.at("spec"), FIELDS)
        name, tier = one.at("metadata", "name"), one.at("spec", "tier")
        if not tier.given:
            tier.wrong("is missing", "give its tier, a whole number: 1 is closest")
        found.setdefault(name.text(), HyperNode(name.text(), tier.count(0), one))
    return found


def _read_members(one: HyperNode, known: Mapping[str, HyperNode], nodes: Nodes | None) -> None:
    for member in one.field.at("spec", "members").items():
        kind = member.at("type").text()
        if kind not in KINDS:
            member.at("type").wrong(f"is {kind or 'missing'}", f"use one of: {', '.join(KINDS)}")
            continue
        among = nodes if kind == "Node" else {key: {} for key in known}
        target = one.nodes if kind == "Node" else one.members
        for name in _selected(member, kind, among):
            target.setdefault(name, member)


def _selected(member: Field, kind: str, among: Nodes | None) -> Iterable[str]:
    """The names of the members that a selector picks; only those that it lists if the others are not known."""
    selector = member.at("selector")
    given = [key for key in SELECTORS if selector.at(key).given]
    if len(given) != 1:
        said = f"has {' and '.join(given)}" if given else "is missing"
        selector.wrong(said, f"give one of: {', '.join(SELECTORS)}")
        return ()
    field = selector.at(given[0], _INSIDE[given[0]]) if given[0] in _INSIDE else selector
    if field.value in (None, ""):
        field.wrong("is missing", "name the member" if given[0] == "exactMatch" else "give a regular expression")
        return ()
    match given[0]:
        case "exactMatch":
            return _exactly(field, kind, among)
        case "regexMatch":
            return _matching(field, among or {})
    if kind != "Node":
        selector.at("labelMatch").wrong("selects nodes only", "select HyperNodes by exactMatch or regexMatch")
        return ()
    labels = read_selector(selector.at("labelMatch"))
    return [name for name, own in (among or {}).items() if labels.matches(own)]


def _exactly(name: Field, kind: str, among: Nodes | None) -> Iterable[str]:
    if among is not None and name.text() not in among:
        text = f"there is no {kind} {name.text()}"
        name.wrong(text, f"{near(name.text(), among)}correct the name, or remove the member")
        return ()
    return (name.text(),)


def _matching(pattern: Field, among: Nodes) -> Iterable[str]:
    try:
        expression = GoPattern(pattern.text())
    except PatternError as error:
        text = f"is not a regular expression that can be used: it {error}"
        pattern.wrong(text, "correct it, or list the members by exactMatch")
        return ()
    return [name for name in among if expression.search(name)]


def _parents(found: Mapping[str, HyperNode]) -> dict[str, HyperNode]:
    """The HyperNode above each; a second one is reported."""
    parents: dict[str, HyperNode] = {}
    for one in found.values():
        for name, member in one.members.items():
            first = parents.setdefault(name, one)
            if first is not one:
                text = f"HyperNode {name} is a member of {first.name} as well"
                member.wrong(text, "remove it from one of the two: a HyperNode has one above it")
    return parents


def _check_tiers(found: Mapping[str, HyperNode], parents: Mapping[str, HyperNode]) -> None:
    """Report cycles, and HyperNodes that are not above the tiers of their members."""
    for one in found.values():
        cycle = _cycle(one, parents)
        if cycle and one.name == min(cycle):
            text = f"HyperNode {one.name} is a member of itself: {' in '.join((*cycle, one.name))}"
            one.field.at("spec", "members").wrong(text, "remove one of these memberships")
        for name, member in one.members.items():
            below = found[name]
            if not cycle and below.tier >= one.tier:
                text = f"{name} of tier {below.tier} is a member of a HyperNode of tier {one.tier}"
                member.wrong(text, "a HyperNode needs a higher tier than its members")


def _cycle(one: HyperNode, parents: Mapping[str, HyperNode]) -> list[str]:
    """The HyperNodes on the way up from one back to itself; empty if that way ends elsewhere."""
    way, at = [one.name], parents.get(one.name)
    seen = {one.name}
    while at is not None and at.name not in seen:
        way.append(at.name)
        seen.add(at.name)
        at = parents.get(at.name)
    return way if at is one else []


def _homes(found: Mapping[str, HyperNode]) -> dict[str, HyperNode]:
    """The HyperNode that each node is directly in; a second one is reported."""
    homes: dict[str, HyperNode] = {}
    for one in found.values():
        for name, member in one.nodes.items():
            first = homes.setdefault(name, one)
            if first is not one:
                member.wrong(f"node {name} is in HyperNode {first.name} as well", "select it in one of the two")
    return homes


def _tier_names(found: Iterable[HyperNode]) -> dict[str, str]:
    names: dict[str, str] = {}
    for one in found:
        name = one.field.at("spec", "tierName")
        first = names.setdefault(name.text(), level(one.tier))
        if name.text() and first != level(one.tier):
            text = f"{name.text()} names tier {tier_of(first)} elsewhere, and tier {one.tier} here"
            name.wrong(text, "use one name for each tier")
    names.pop("", None)
    return names


def _tree(
    found: Mapping[str, HyperNode],
    parents: Mapping[str, HyperNode],
    homes: Mapping[str, HyperNode],
    names: Mapping[str, str],
    nodes: Nodes,
) -> ListedTopology:
    tiers = sorted({one.tier for one in found.values()}, reverse=True)
    root = max(tiers[0] + 1 if tiers else 1, 1)
    chains = {name: _chain(one, parents) for name, one in found.items()}
    paths = {name: (ROOT, *_path(chains[homes[name].name] if name in homes else (), tiers)) for name in nodes}
    return ListedTopology(TOPOLOGY, tuple(map(level, (root, *tiers))), paths, names)


def _chain(one: HyperNode, parents: Mapping[str, HyperNode]) -> list[HyperNode]:
    """The HyperNode and all above it, from the lowest tier up."""
    chain = [one]
    while (above := parents.get(chain[-1].name)) is not None:
        chain.append(above)
    return chain


def _path(chain: Sequence[HyperNode], tiers: Sequence[int]) -> Iterable[str | None]:
    """For each tier, the highest HyperNode of the chain that is not above it."""
    for tier in tiers:
        yield next((one.name for one in reversed(chain) if one.tier <= tier), None)
