"""The rules of `topologyAssignment`: a value for every level and a count for every domain, in one form each."""

from __future__ import annotations

from ....field import Field

ONE = "set either universal or individual"


def check_places(places: Field) -> None:
    levels = len(places.at("levels").items())
    slices = places.at("slices")
    if any(len(one.at("valuesPerLevel").items()) != levels for one in slices.items()):
        slices.wrong(f"must have values for {levels} levels in every slice", "use one entry per level")
    for one in slices.items():
        _check_slice(one, one.at("domainCount").count())


def _check_slice(one: Field, domains: int) -> None:
    counts, values = one.at("podCounts"), one.at("valuesPerLevel")
    for either in (counts, *values.items()):
        if either.at("universal").given == either.at("individual").given:
            either.wrong("has both forms" if either.at("universal").given else "is empty", ONE)
    if counts.at("individual").given and len(counts.at("individual").items()) != domains:
        counts.at("individual").wrong("must have one entry for every domain", f"use {domains}")
    rooted = [value.at("individual", "roots") for value in values.items() if value.at("individual").given]
    if any(len(roots.items()) != domains for roots in rooted):
        values.wrong("must have one root for every domain", f"use {domains}")
