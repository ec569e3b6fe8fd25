"""Rules that many fields share: names of objects, enum values, quantities, required lists."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .....model.quantity import QuantityError, nanos
from ....field import INT32_MAX, Field, shown
from ....node_choice import one_of
from .limits import OBJECT, check_limit

INT32_MIN = -INT32_MAX - 1

_QUANTITY = "use a quantity such as 500m, 2 or 1.5Gi"


def check_reference(field: Field, what: str) -> None:
    """Check a required reference to another object, described by `what`."""
    if not field.given:
        field.wrong("is missing", f"set the name of {what}")


def check_optional_reference(field: Field) -> None:
    """Check an optional reference; an empty name means none."""
    if field.text():
        check_limit(OBJECT, field)


def check_word(field: Field, allowed: Sequence[str], default: str) -> str:
    """Check an enum value and return it, or the default if the field is absent. An empty string is not allowed."""
    if not field.given:
        return default
    one_of(field, allowed)
    return field.text()


def check_given(field: Field) -> None:
    """Check that a required list is present; the table of limits has its maximum length."""
    if not field.given:
        field.wrong("is missing", "add at least one entry")


def check_quantity(field: Field) -> int | None:
    """The quantity in nano-units; reports a mistake and returns None if it is not a quantity or negative."""
    if isinstance(field.value, bool) or not isinstance(field.value, (str, int, float)):
        field.wrong(f"is {shown(field.value)}, not a quantity" if field.given else "is missing", _QUANTITY)
        return None
    try:
        exact = nanos(str(field.value))
    except QuantityError as error:
        field.wrong(str(error))
        return None
    except ValueError:  # more digits than Python parses
        field.wrong(f"is {shown(field.value)}, not a quantity", _QUANTITY)
        return None
    if exact < 0:
        field.wrong(f"is {field.value}", "use a quantity that is not negative")
        return None
    return exact


def check_weight(sharing: Field) -> None:
    """Check that the weight is 0 or more, and not so small that it would count as 0."""
    weight = sharing.at("weight")
    exact = check_quantity(weight) if weight.given else None
    if exact == 1:
        weight.wrong(f"is {weight.value}, which is too small", "use 0, or more than 1n")


def check_spelling(field: Field, kind: type[msgspec.Struct], *more: str) -> None:
    """Warn of keys that are probably misspelt fields of this struct."""
    field.expect((*kind.__struct_encode_fields__, *more))


def check_repeats(fields: Sequence[Field], what: str) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.text() and field.text() in seen:
            field.wrong(f"is {shown(field.text())} a second time", f"name each {what} once")
        seen.add(field.text())
