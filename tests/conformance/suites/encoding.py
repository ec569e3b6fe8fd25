"""Assignments and their wire form."""

from __future__ import annotations

from typing import Any

from closeknit.model.assignment import Assignment
from closeknit.model.encoding import decode, encode

from .case import Case, Prepared, tidy


def internal(value: dict[str, Any] | None) -> Assignment:
    fields = value or {}
    domains = ((tuple(d.get("Values") or ()), d.get("Count") or 0) for d in fields.get("Domains") or ())
    return Assignment.of(fields.get("Levels") or (), domains)


def plain(assignment: Assignment) -> dict[str, Any]:
    domains = [{"Values": list(path), "Count": count} for path, count in assignment.domains]
    return {"Levels": list(assignment.levels), "Domains": domains}


def encoding(case: Case) -> Prepared:
    """Both directions, as one answer."""
    assignment, wire = internal(case.get("internal")), case.get("v1beta2") or {}
    both = {"wire": wire, "internal": plain(assignment), "podCounts": case.get("podCounts")}

    def decide() -> tuple[Any, Assignment]:
        return encode(assignment, by_prefix=False), decode(wire)

    def show(answer: tuple[Any, Assignment]) -> Any:
        encoded, decoded = answer
        return tidy({"wire": encoded, "internal": plain(decoded), "podCounts": list(decoded.counts)})

    return Prepared(decide, show, tidy(both))


def prefix_encoding(case: Case) -> Prepared:
    assignment = internal(case.get("internal"))
    return Prepared(lambda: encode(assignment), tidy, tidy(case.get("want") or {}))
