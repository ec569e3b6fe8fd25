"""Checks quantities in files: the model saturates silently, which a reader of files must not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..model.mistake import Mistake
from ..model.quantity import milli, units
from ..model.resources import ABSURD, CPU

Quantity = str | int | float


def bad_quantities(quantities: Mapping[str, Quantity] | None, field: str, what: str, where: str) -> Iterator[Mistake]:
    """The mistakes in a resource list."""
    for resource, quantity in (quantities or {}).items():
        problem = bad_quantity(resource, quantity)
        if problem is not None:
            yield Mistake(*problem, where, what, f"{field}[{resource}]")


def bad_quantity(resource: str, quantity: Quantity) -> tuple[str, str] | None:
    """The mistake in one quantity and its remedy; None if it is valid."""
    text = str(quantity)
    try:
        value = milli(text) if resource == CPU else units(text)
    except ValueError:
        return (
            f'"{_short(text)}" is not a quantity',
            "write a number with an optional suffix, such as 500m, 2 or 1.5Gi",
        )
    if value < 0:
        return f"{_short(text)} is negative", "write zero or more"
    if value > ABSURD:
        return f"{_short(text)} is too large: more than any machine has", "check its suffix"
    return None


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
