"""A CEL validation rule as a value, and the few phrases that rules are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]


@dataclass(frozen=True, slots=True)
class CelRule:
    """A validation rule. `at` is the path of the invalid field, relative to the object of the rule.

    The reason FieldValueDuplicate is not used, because a server then omits the message.
    """

    text: str
    message: str
    at: str = ""
    reason: Reason = "FieldValueInvalid"

    def raw(self) -> dict[str, Any]:
        at = {"fieldPath": self.at} if self.at else {}
        return {"rule": self.text, "message": self.message, **at, "reason": self.reason}


def stays(path: str, name: str = "self", old: str = "oldSelf") -> str:
    """An expression: the field was neither added, removed nor changed."""
    here, before = f"{name}.{path}", f"{old}.{path}"
    return f"has({here}) == has({before}) && (!has({here}) || {here} == {before})"


def when(condition: str, then: str) -> str:
    return f"!({condition}) || ({then})"


TOLERATION = (
    CelRule(
        "has(self.key) && self.key != '' || has(self.operator) && self.operator == 'Exists'",
        "must be Exists when key is empty, which tolerates every taint",
        ".operator",
    ),
    CelRule(
        when("has(self.operator) && self.operator == 'Exists'", "!has(self.value) || self.value == ''"),
        "must be empty when operator is Exists",
        ".value",
    ),
    CelRule(
        "!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'",
        "requires the effect NoExecute",
        ".tolerationSeconds",
    ),
)
WEIGHT = CelRule(
    "type(self) == int || !isQuantity(self) || quantity(self).compareTo(quantity('0')) == 0"
    " || quantity(self).isGreaterThan(quantity('1n'))",
    "must be 0 or greater than 1n",
)
