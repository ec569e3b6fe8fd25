"""Builders of CEL expressions for admission policies.

Every field access is optional (`?`): a step into a missing field, a string or a number gives none instead of an error,
and an error would reject the object. Literals are written as JSON, which is valid CEL. Lists and maps hold values of
one type only, so a map of mixed values uses `dyn(…)`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

ANNOTATIONS = ".metadata.annotations"
IS_UPDATE = "oldObject != null"
YES = ("1", "t", "T", "true", "TRUE", "True")
NO = ("0", "f", "F", "false", "FALSE", "False")
"""Strings that Go's ParseBool accepts."""


def text(value: str) -> str:
    return json.dumps(value)


def texts(values: Iterable[str]) -> str:
    return f"[{', '.join(text(one) for one in values)}]"


def record(**values: str) -> str:
    """A CEL map of mixed types; each value is an expression."""
    return f"{{{', '.join(f'{text(key)}: dyn({value})' for key, value in values.items())}}}"


def deep(path: str, of: str = "object") -> str:
    """The optional value at a path: deep("spec.suspend") == "object.?spec.?suspend"."""
    return f"{of}.?{path.replace('.', '.?')}"


def at(path: str, default: str, of: str = "object") -> str:
    """The value at a path: at("spec.suspend", "false") == "object.?spec.?suspend.orValue(false)"."""
    return f"{deep(path, of)}.orValue({default})"


def given(path: str, of: str = "object") -> str:
    return f"{deep(path, of)}.hasValue()"


def label(key: str, of: str = "object") -> str:
    """The value of a label, empty if there is none."""
    return f'{of}.metadata.?labels[?{text(key)}].orValue("")'


def note(key: str, of: str = "object") -> str:
    """The value of an annotation, empty if there is none."""
    return f'{of}.metadata.?annotations[?{text(key)}].orValue("")'


def has_label(key: str, of: str = "object") -> str:
    return f"{of}.metadata.?labels[?{text(key)}].hasValue()"


def has_note(key: str, of: str = "object") -> str:
    return f"{of}.metadata.?annotations[?{text(key)}].hasValue()"


def all_of(*conditions: str) -> str:
    return " && ".join(f"({one})" for one in conditions)


def any_of(*conditions: str) -> str:
    return " || ".join(f"({one})" for one in conditions)


def negated(condition: str) -> str:
    return f"!({condition})"


def when(condition: str, then: str) -> str:
    """An implication: if the condition holds, `then` must hold."""
    return f"!({condition}) || ({then})"


def same(path: str) -> str:
    """Whether a field is unchanged, or absent before and after."""
    return f"{deep(path)} == {deep(path, 'oldObject')}"


def is_name(value: str) -> str:
    """Whether a string can be the name of an object."""
    return f"!format.dns1123Subdomain().validate({value}).hasValue()"


def is_label_name(value: str) -> str:
    return f"!format.qualifiedName().validate({value}).hasValue()"


def is_integer(value: str) -> str:
    """Whether `int()` can parse a string, since its error would reject the object; ten digits are enough."""
    return f'{value}.matches("^[+-]?0*[0-9]{{1,10}}$")'


def is_count(value: str) -> str:
    """Whether a string is a whole number above 0 that fits into 32 bits."""
    return f'{value}.matches("^0*[1-9][0-9]{{0,9}}$") && int({value}) <= {2**31 - 1}'


def smaller(one: str, other: str) -> str:
    return f"({one} < {other} ? {one} : {other})"


def suspended(path: str) -> str:
    return f"{at(path, 'false')} == true"


def one_set(template: str, at: str, count: str = "1") -> str:
    """The record of one pod template. All arguments are expressions; `at` yields the path to its annotations."""
    return record(at=at, count=count, notes=f"{template}.?metadata.?annotations.orValue({{}})")


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """One validation: `ok` is true for a valid object. `field` is a path, or with `computed` an expression for one."""

    ok: str
    field: str
    text: str
    computed: bool = False

    def raw(self) -> dict[str, Any]:
        rule: dict[str, Any] = {"expression": self.ok, "reason": "Invalid"}
        if self.computed:
            return {**rule, "messageExpression": f"{self.field} + {text(': ' + self.text)}", "message": self.text}
        return {**rule, "message": f"{self.field}: {self.text}"}
