"""Validation of label selectors by the rules of Kubernetes."""

from __future__ import annotations

from ..model.label_names import is_label_value, is_qualified_name
from .field import Field, shown
from .node_choice import LABEL_NAME, check_label, one_of

SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def check_selector(selector: Field) -> None:
    """Check a label selector by the rules of Kubernetes."""
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
        values.wrong(f"is empty, but {operator} requires values", "add at least one, or use Exists")
    if operator in ("Exists", "DoesNotExist") and values.items():
        values.wrong(f"is not allowed with {operator}", "remove it, or use In or NotIn")
    for value in values.items():
        if not is_label_value(value.text()):
            value.wrong(f"is {shown(value.text())}, not a label value", "use at most 63 letters, digits, dashes, dots")
