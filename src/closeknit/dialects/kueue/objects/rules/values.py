"""Rules that many fields share: names of objects, words of a closed set, quantities, numbers of entries."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from .....model.label_names import is_label_value, is_qualified_name
from .....model.quantity import QuantityError, nanos
from ....field import INT32_MAX, Field, shown
from ....node_choice import LABEL_NAME, check_label, one_of
from .limits import OBJECT, SELECTOR_OPERATORS, check_limit

INT32_MIN = -INT32_MAX - 1

_QUANTITY = "give a quantity such as 500m, 2 or 1.5Gi"


def check_reference(field: Field, what: str) -> None:
    """The name of another object, which must be given: `what` says whose."""
    if not field.given:
        field.wrong("is missing", f"give the name of {what}")


def check_optional_reference(field: Field) -> None:
    """A name where an empty one means none."""
    if field.text():
        check_limit(OBJECT, field)


def check_word(field: Field, allowed: Sequence[str], default: str) -> str:
    """A word of a closed set; the default if none is given. An empty word is one too many."""
    if not field.given:
        return default
    one_of(field, allowed)
    return field.text()


def check_given(field: Field) -> None:
    """A list that must be there; how long it may be is in the table of limits."""
    if not field.given:
        field.wrong("is missing", "give at least one entry")


def check_quantity(field: Field) -> int | None:
    """In nano-units; None, with the mistake noted, if it is no quantity or a negative one."""
    if isinstance(field.value, bool) or not isinstance(field.value, (str, int, float)):
        field.wrong(f"is {shown(field.value)}, not a quantity" if field.given else "is missing", _QUANTITY)
        return None
    try:
        exact = nanos(str(field.value))
    except QuantityError as error:
        field.wrong(str(error))
        return None
    except ValueError:  # more digits than Python reads
        field.wrong(f"is {shown(field.value)}, not a quantity", _QUANTITY)
        return None
    if exact < 0:
        field.wrong(f"is {field.value}", "give a quantity that is not negative")
        return None
    return exact


def check_weight(sharing: Field) -> None:
    """0 or more; what is smaller than anything that is counted would be taken for 0."""
    weight = sharing.at("weight")
    exact = check_quantity(weight) if weight.given else None
    if exact == 1:
        weight.wrong(f"is {weight.value}, too small to be told from 0", "give 0, or more than 1n")


def check_selector(selector: Field) -> None:
    """The rules of Kubernetes for selectors of labels."""
    for key, field in selector.at("matchLabels").fields().items():
        check_label(key, field)
    for expression in selector.at("matchExpressions").items():
        name = expression.at("key")
        if not is_qualified_name(name.text()):
            name.wrong(f"is {shown(name.text())}, not a label name", LABEL_NAME)
        one_of(expression.at("operator"), SELECTOR_OPERATORS)
        _check_values(expression.at("operator").text(), expression.at("values"))


def _check_values(operator: str, values: Field) -> None:
    if operator in ("In", "NotIn") and not values.items():
        values.wrong(f"is empty, but {operator} needs values", "give at least one, or use Exists")
    if operator in ("Exists", "DoesNotExist") and values.items():
        values.wrong(f"has no meaning with {operator}", "remove it, or use In or NotIn")
    for value in values.items():
        if not is_label_value(value.text()):
            value.wrong(f"is {shown(value.text())}, not a label value", "use at most 63 letters, digits, dashes, dots")


def check_spelling(field: Field, kind: type[msgspec.Struct], *more: str) -> None:
    """Warn of keys that look like a field of this struct but are none."""
    field.expect((*kind.__struct_encode_fields__, *more))


def check_repeats(fields: Sequence[Field], what: str) -> None:
    seen: set[str] = set()
    for field in fields:
        if field.text() and field.text() in seen:
            field.wrong(f"is {shown(field.text())} a second time", f"name each {what} once")
        seen.add(field.text())
