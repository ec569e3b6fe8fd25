"""Validation of a pod's node selector, node affinity and tolerations.

The rules are those of the Kubernetes API. A requirement that breaks one of them would match nothing, or everything,
and the pod would wait without a visible reason; so it is refused here, where the message can name the field.
Pod affinity and topology spread are in `pod_choice`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..model.label_names import is_label_value, is_qualified_name
from ..model.shape import whole_number
from .field import Field, shown

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TOLERATION_OPERATORS = ("Equal", "Exists", "Gt", "Lt")
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")
NODE_NAME = "metadata.name"
"""The only node field that node affinity supports."""

LABEL_NAME = 'use a label name such as "example.com/rack"'
_NUMBER = 'use one whole number in quotes, such as "4"'


def check_choice(spec: Field) -> None:
    """Check the node selector, node affinity and tolerations of a pod spec."""
    for key, field in spec.at("nodeSelector").fields().items():
        check_label(key, field)
    affinity = spec.at("affinity", "nodeAffinity")
    for term in affinity.at("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").items():
        _check_term(term)
    for weighted in affinity.at("preferredDuringSchedulingIgnoredDuringExecution").items():
        _check_term(weighted.at("preference"))
    for toleration in spec.at("tolerations").items():
        check_toleration(toleration)


def check_label(key: str, field: Field) -> None:
    if not is_qualified_name(key):
        field.wrong(f"{shown(key)} is not a label name", LABEL_NAME)
    if not is_label_value(field.text()):
        field.wrong(f"is {shown(field.text())}, not a label value", "use at most 63 letters, digits, dashes, dots")


def check_toleration(toleration: Field, operators: Sequence[str] = TOLERATION_OPERATORS) -> None:
    key, operator = toleration.at("key").text(), toleration.at("operator").text() or "Equal"
    if toleration.at("operator").text():
        one_of(toleration.at("operator"), operators)
    if toleration.at("effect").text():
        one_of(toleration.at("effect"), EFFECTS)
    if key and not is_qualified_name(key):
        toleration.at("key").wrong(f"is {shown(key)}, not a label name", LABEL_NAME)
    if not key and operator != "Exists":
        toleration.at("operator").wrong(f"is {operator} without a key", "use Exists, or set a key")
    value = toleration.at("value")
    if operator == "Exists" and value.text():
        value.wrong("is not allowed with Exists", "remove it")
    if operator in ("Gt", "Lt") and whole_number(value.text()) is None:
        value.wrong(f"is {shown(value.text())}, but {operator} compares numbers", _NUMBER)
    if toleration.at("tolerationSeconds").given and toleration.at("effect").text() != "NoExecute":
        toleration.at("tolerationSeconds").wrong("requires the effect NoExecute", "remove it")


def one_of(field: Field, allowed: Sequence[str]) -> None:
    if field.text() not in allowed:
        text = f"is {shown(field.text())}" if field.text() else "is missing"
        field.wrong(text, f"use one of: {', '.join(allowed)}")


def _check_term(term: Field) -> None:
    for expression in term.at("matchExpressions").items():
        key = expression.at("key")
        if not is_qualified_name(key.text()):
            key.wrong(f"is {shown(key.text())}, not a label name", LABEL_NAME)
        one_of(expression.at("operator"), LABEL_OPERATORS)
        _check_values(expression)
    for expression in term.at("matchFields").items():
        one_of(expression.at("key"), (NODE_NAME,))
        one_of(expression.at("operator"), FIELD_OPERATORS)
        if len(expression.at("values").items()) != 1:
            expression.at("values").wrong(_number_of(expression), "use the name of one node")


def _check_values(expression: Field) -> None:
    operator, field = expression.at("operator").text(), expression.at("values")
    values = [value.text() for value in field.items()]
    match operator:
        case "In" | "NotIn":
            if not values:
                field.wrong(f"is empty, but {operator} requires values", "add at least one, or use Exists")
        case "Exists" | "DoesNotExist":
            if values:
                field.wrong(f"is not allowed with {operator}", "remove it, or use In or NotIn")
        case "Gt" | "Lt":
            if len(values) != 1:
                field.wrong(f"{_number_of(expression)}, but {operator} compares with one", _NUMBER)
            elif whole_number(values[0]) is None:
                field.wrong(f"is {shown(values[0])}, but {operator} compares numbers", _NUMBER)


def _number_of(expression: Field) -> str:
    values = len(expression.at("values").items())
    return f"has {values} entries" if values else "is empty"
