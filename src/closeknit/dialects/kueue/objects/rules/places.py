"""The rules of `topologyAssignment`: a value for every level and a count for every domain, each said in one way."""

from __future__ import annotations

from ....field import Field

ONE = "give either universal or individual"


def check_places(places: Field) -> None:
    levels = len(places.at("levels").items())
    slices = places.at("slices")
    if any(len(one.at("valuesPerLevel").items()) != levels for one in slices.items()):
        slices.wrong(f"has not values for {levels} levels everywhere", "give one entry a level in every slice")
    for one in slices.items():
        _check_slice(one, one.at("domainCount").count())


def _check_slice(one: Field, domains: int) -> None:
    counts, values = one.at("podCounts"), one.at("valuesPerLevel")
    for either in (counts, *values.items()):
        if either.at("universal").given == either.at("individual").given:
            either.wrong("says it in two ways" if either.at("universal").given else "says nothing", ONE)
    if counts.at("individual").given and len(counts.at("individual").items()) != domains:
        counts.at("individual").wrong("has another number of entries than there are domains", f"give {domains}")
    rooted = [value.at("individual", "roots") for value in values.items() if value.at("individual").given]
    if any(len(roots.items()) != domains for roots in rooted):
        values.wrong("has another number of roots than there are domains", f"give {domains}")
