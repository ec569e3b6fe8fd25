"""The zones of a pod in an annotation: `[{"zone":"node-0","amount":{"cpu":"4","memory":"8Gi"}}]`.

KAI's agent writes where it saw a pod run in this form, and Closeknit where it placed one, so that one reader serves
both and people learn one form. A value that cannot be read says nothing: it is reported and counts as absent, because
half a placement would charge or free the wrong zones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...model.numa import MAX_ZONE_ID, AmountsByZone
from ...model.resources import ABSURD, show
from ...numa.zone_names import zone_id, zone_name
from ..field import Field, shown
from .amounts import read_quantity
from .keys import EXPECTED_ZONES, OBSERVED_ZONES

EXAMPLE = '[{"zone":"node-0","amount":{"cpu":"4"}}]'
LONGEST = 1 << 16
"""Longer values are not parsed; 64 zones with a dozen resources each are shorter."""


def written_zones(zones: AmountsByZone) -> str:
    """The value of the annotation, zones by id and resources by name."""
    entries = [
        {"zone": zone_name(zone), "amount": {name: show(name, value) for name, value in sorted(amounts.items())}}
        for zone, amounts in sorted(zones.items())
    ]
    return json.dumps(entries, separators=(",", ":"))


def expected_zones(annotations: Field) -> dict[int, dict[str, int]] | None:
    """Where Closeknit placed a pod; None if its annotations do not tell."""
    return read_zones_of_pod(annotations.at(EXPECTED_ZONES))


def observed_zones(annotations: Field) -> dict[int, dict[str, int]] | None:
    """Where KAI's agent saw a pod run; None if its annotations do not tell."""
    return read_zones_of_pod(annotations.at(OBSERVED_ZONES))


def read_zones_of_pod(annotation: Field) -> dict[int, dict[str, int]] | None:
    """The amounts by zone id; None, with a mistake unless the annotation is absent, if they cannot be read."""
    before = annotation.report.noted
    entries = _parsed(annotation)
    if entries is None:
        return None
    found: dict[int, dict[str, int]] = {}
    for entry in entries.items():
        _read_entry(entry, found)
    return found if annotation.report.noted == before else None


def _parsed(annotation: Field) -> Field | None:
    text = annotation.text()
    if not text:
        return None
    if len(text) > LONGEST:
        annotation.wrong(f"has {len(text)} characters", f"use at most {LONGEST}, such as {EXAMPLE}")
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        annotation.wrong(f"is {shown(text)}, not JSON", f"use a list such as {EXAMPLE}")
        return None
    if not isinstance(value, list):
        annotation.wrong(f"is {shown(value)}, not a list", f"use a list such as {EXAMPLE}")
        return None
    return Field(value, annotation.path, annotation.report)


def _read_entry(entry: Field, found: dict[int, dict[str, int]]) -> None:
    name = entry.at("zone")
    number = zone_id(name.text())
    if number is None or number > MAX_ZONE_ID:
        name.wrong(f"is {shown(name.value)}, not the name of a NUMA zone", f"use node-0 to node-{MAX_ZONE_ID}")
    elif number in found:
        name.wrong(f"{name.text()} is listed twice", "list each zone once")
    else:
        found[number] = _amounts(entry.at("amount").fields())


def _amounts(fields: Mapping[str, Field]) -> dict[str, int]:
    found = {}
    for name, field in fields.items():
        value = _amount(name, field)
        if value is not None:
            found[name] = value
    return found


def _amount(name: str, field: Field) -> int | None:
    value = read_quantity(field, name)
    if value is not None and not 0 <= value <= ABSURD:
        field.wrong(f"is {shown(field.value)}, which no zone has", f"use a quantity from 0 to {show(name, ABSURD)}")
        return None
    return value
