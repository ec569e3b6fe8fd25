"""Amounts of one resource in a zone. What is available decides; capacity and allocatable only explain it."""

from __future__ import annotations

from typing import Any

from ...model.mistake import Mistake
from ...model.numa import ZoneAmounts
from ...model.quantity import QuantityError
from ...model.resources import ABSURD, amount, show
from ..field import Field, shown
from .wire import ZoneResource

_EXAMPLE = "use a quantity such as 4 or 16Gi"


def read_amounts(topology: Field, path: str, resource: ZoneResource) -> ZoneAmounts | None:
    """The amounts, each at least 0; None, with a mistake, if it is not known what is available."""
    name = resource.name or ""
    available = _amount(topology, f"{path}.available", name, resource.available)
    allocatable = _amount(topology, f"{path}.allocatable", name, resource.allocatable)
    capacity = _amount(topology, f"{path}.capacity", name, resource.capacity)
    if available is None:
        return None
    if allocatable is not None and available > allocatable:
        text = f"is {show(name, available)}, but only {show(name, allocatable)} of {name} is allocatable"
        _wrong(topology, f"{path}.available", text, "correct the agent that reports it")
    known = available if allocatable is None else allocatable
    return ZoneAmounts(known if capacity is None else capacity, known, available)


def _amount(topology: Field, path: str, name: str, quantity: Any) -> int | None:
    field = Field(quantity, path, topology.report)
    value = read_quantity(field, name)
    if value is None:
        return None
    if value < 0:
        field.wrong(f"is {shown(quantity)}", "use a quantity that is not negative; it is read as 0")
    elif value > ABSURD:
        field.wrong(f"is {shown(quantity)}, more than any machine has", _EXAMPLE)
    return max(0, min(value, ABSURD))


def read_quantity(field: Field, name: str) -> int | None:
    """A quantity of the named resource, in the units of the model; None, with a mistake, if it is none."""
    quantity = field.value
    if quantity is None:
        field.wrong("is missing", _EXAMPLE)
        return None
    try:
        if not isinstance(quantity, bool) and isinstance(quantity, str | int | float):
            return amount(name, quantity)
    except QuantityError as error:
        field.wrong(str(error))
        return None
    except ValueError:  # more digits than Python parses
        pass
    field.wrong(f"is {shown(quantity)}, not a quantity", _EXAMPLE)
    return None


def _wrong(topology: Field, path: str, text: str, remedy: str) -> None:
    topology.report.add([Mistake(text, remedy, field=path)])
