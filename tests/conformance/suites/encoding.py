"""Assignments and their wire form."""

from __future__ import annotations

from typing import Any

from closeknit.model.assignment import Assignment
from closeknit.model.encoding import decode, encode

from .case import Case, Prepared, tidy


def internal(value: dict[str, Any] | None) -> Assignment:
    fields = value or {}
    domains = ((tuple(d["Values"]), d["Count"]) for d in fields.get("Domains") or ())
    return Assignment.of(fields.get("Levels") or (), domains)


def plain(assignment: Assignment) -> dict[str, Any]:
    domains = [{"Values": list(path), "Count": count} for path, count in assignment.domains]
    return {"Levels": list(assignment.levels), "Domains": domains}


def encoding(case: Case) -> Prepared:
    """Both directions, as one answer."""
    assignment, wire = internal(case["internal"]), case["v1beta2"]
    both = {"wire": wire, "internal": plain(assignment), "podCounts": case["podCounts"]}

    def decide() -> tuple[Any, Assignment]:
        return encode(assignment, by_prefix=False), decode(wire)

    def show(answer: tuple[Any, Assignment]) -> Any:
        encoded, decoded = answer
        return tidy({"wire": encoded, "internal": plain(decoded), "podCounts": list(decoded.counts)})

    return Prepared(decide, show, tidy(both))


def prefix_encoding(case: Case) -> Prepared:
    assignment = internal(case["internal"])
    return Prepared(lambda: encode(assignment), tidy, tidy(case["want"]))
