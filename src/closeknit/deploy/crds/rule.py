"""One rule in CEL, as a value, and the few phrases that rules are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"]


@dataclass(frozen=True, slots=True)
class Rule:
    """`at` is the field that is wrong, below the object that the rule is about.

    Of the reasons that there are, FieldValueDuplicate is not used: a server then leaves out the message.
    """

    text: str
    message: str
    at: str = ""
    reason: Reason = "FieldValueInvalid"

    def raw(self) -> dict[str, Any]:
        at = {"fieldPath": self.at} if self.at else {}
        return {"rule": self.text, "message": self.message, **at, "reason": self.reason}


def stays(path: str, name: str = "self", old: str = "oldSelf") -> str:
    """A field of an object that is neither given, taken away nor changed."""
    here, before = f"{name}.{path}", f"{old}.{path}"
    return f"has({here}) == has({before}) && (!has({here}) || {here} == {before})"


def when(condition: str, then: str) -> str:
    return f"!({condition}) || ({then})"


TOLERATION = (
    Rule(
        "has(self.key) && self.key != '' || has(self.operator) && self.operator == 'Exists'",
        "without a key the operator is Exists: every taint is tolerated",
        ".operator",
    ),
    Rule(
        when("has(self.operator) && self.operator == 'Exists'", "!has(self.value) || self.value == ''"),
        "Exists takes any value: remove this one",
        ".value",
    ),
    Rule(
        "!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'",
        "a time to stay has a meaning only with the effect NoExecute",
        ".tolerationSeconds",
    ),
)
WEIGHT = Rule(
    "type(self) == int || !isQuantity(self) || quantity(self).compareTo(quantity('0')) == 0"
    " || quantity(self).isGreaterThan(quantity('1n'))",
    "a weight is 0 or more than 1n",
)
