"""`networkTopology` of a PodGroup, a Job or a part of them, as a constraint on tiers.

Volcano tries low tiers first in either mode, so the lowest tier is preferred in both; `hard` bounds that by a tier.
Where Volcano drops a bound without a word (a tier name that no HyperNode has, a hard mode without a tier), it is
refused here.
"""

from __future__ import annotations

from ...model.nearest import did_you_mean
from ...model.request import Constraint
from ...model.topology import ListedTopology
from ..field import Field, shown
from ..strictness import READ, Tree
from .hyper_nodes import TOPOLOGY, level, tier_of

FIELDS: Tree = {"mode": READ, "highestTierAllowed": READ, "highestTierName": READ}
MODES = ("hard", "soft")


def read_constraint(spec: Field, tiers: ListedTopology | None) -> Constraint | None:
    """The constraint; None without one. While the HyperNodes are not known (None), tiers are taken as written."""
    mode = spec.at("mode").text("hard")
    if not spec.given or mode == "":
        return None
    if mode not in MODES:
        spec.at("mode").wrong(f"is {shown(mode)}", f"use one of: {', '.join(MODES)}")
        return None
    lowest = tiers.levels[-1] if tiers is not None else level(1)
    if mode == "soft":
        return Constraint(preferred=lowest, topology=TOPOLOGY)
    required = _bound(spec, tiers)
    if required is None:
        return None
    return Constraint(required, lowest if lowest != required else None, topology=TOPOLOGY)


def _bound(spec: Field, tiers: ListedTopology | None) -> str | None:
    """The level that bounds the pods; reports a mistake and returns None if there is no such level."""
    allowed, name = spec.at("highestTierAllowed"), spec.at("highestTierName")
    if allowed.given and name.text():
        name.wrong("is given beside highestTierAllowed", "remove one of the two")
    elif allowed.given:
        return _by_number(allowed, tiers)
    elif name.text():
        return _by_name(name, tiers)
    else:
        spec.wrong("has mode hard without a tier", "give highestTierAllowed or highestTierName, or use mode soft")
    return None


def _by_number(allowed: Field, tiers: ListedTopology | None) -> str | None:
    """The highest tier of at most this number."""
    number = allowed.count(0)
    if tiers is None:
        return level(number)
    known = [tier_of(one) for one in tiers.levels]
    if number < known[-1]:
        allowed.wrong(f"is {number}, but no HyperNode has a tier below {known[-1]}", f"use {known[-1]} or more")
        return None
    if len(known) == 1:
        allowed.warn("has no effect: there are no HyperNodes, so the pods may be anywhere", "add the HyperNodes")
    elif number > known[0]:
        allowed.warn(f"is {number}, above all HyperNodes: the pods may be anywhere", f"use {known[0]} to say so")
    return level(next(tier for tier in known if tier <= number))


def _by_name(name: Field, tiers: ListedTopology | None) -> str | None:
    if tiers is None:
        return name.text()
    found = tiers.names.get(name.text())
    if found is None:
        without = "give HyperNodes this tierName, or use highestTierAllowed"
        known = f"the tier names are {', '.join(tiers.names)}" if tiers.names else without
        name.wrong(f"no HyperNode has the tier name {name.text()}", did_you_mean(name.text(), tiers.names) + known)
    return found
