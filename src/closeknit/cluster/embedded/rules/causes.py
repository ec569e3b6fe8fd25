"""The causes of an Invalid error, field by field, in the words of Kubernetes.

A check reports which rule is broken and where; the wording of the causes, and the one sentence that sums them up, are
defined here only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ....dialects.field import Field
from ....model.mistake import Mistake
from ...errors import Cause, Invalid
from ...kinds import Kind

LONGEST = 300
"""How many characters of a value a message quotes."""


class Causes:
    """Everything found so far, in order."""

    def __init__(self) -> None:
        self.found: list[Cause] = []

    def required(self, field: Field | str, text: str = "") -> None:
        self._add(field, "Required value", text, "FieldValueRequired")

    def invalid(self, field: Field | str, text: str, value: Any = ...) -> None:
        """Report an invalid value; `value` is the one to show, if it is not the field's own."""
        shown = field.value if value is ... and isinstance(field, Field) else value
        self._add(field, f"Invalid value: {_quoted(shown)}", text, "FieldValueInvalid")

    def forbidden(self, field: Field | str, text: str = "") -> None:
        self._add(field, "Forbidden", text, "FieldValueForbidden")

    def unsupported(self, field: Field, allowed: Iterable[str]) -> None:
        words = ", ".join(_quoted(word) for word in sorted(allowed))
        self._add(field, f"Unsupported value: {_quoted(field.value)}", f"supported values: {words}", _NOT_SUPPORTED)

    def duplicate(self, field: Field, value: Any = ...) -> None:
        self._add(
            field, f"Duplicate value: {_quoted(field.value if value is ... else value)}", "", "FieldValueDuplicate"
        )

    def not_found(self, field: Field) -> None:
        self._add(field, f"Not found: {_quoted(field.value)}", "", "FieldValueNotFound")

    def too_long(self, field: Field | str, most: int) -> None:
        self._add(field, "Too long", f"may not be more than {most} bytes", "FieldValueTooLong")

    def too_many(self, field: Field, number: int, most: int) -> None:
        self._add(field, f"Too many: {number}", f"must have at most {most} items", "FieldValueTooMany")

    def one_of(self, field: Field, allowed: Sequence[str], needed: bool = True) -> bool:
        """Check that the field is one of the allowed words."""
        if not field.text():
            if needed:
                self.required(field)
            return False
        if field.text() not in allowed:
            self.unsupported(field, allowed)
            return False
        return True

    def at_least(self, field: Field, least: int, needed: bool = False) -> None:
        """Check that the field is a whole number not below a bound."""
        if not field.given:
            if needed:
                self.required(field)
        elif not isinstance(field.value, int) or isinstance(field.value, bool):
            field.count()
        elif field.value < least:
            self.invalid(field, f"must be at least {least}")

    def take(self, mistakes: Iterable[Mistake]) -> None:
        """Add mistakes found by the dialect's readers, which do not classify them as Kubernetes does."""
        for one in mistakes:
            text = f"{one.text}; {one.remedy}" if one.remedy else one.text
            self.found.append(Cause(one.field, text, _reason(one)))

    def refuse(self, kind: Kind, name: str) -> None:
        """Raise Invalid, if there are any causes."""
        if self.found:
            raise invalid(kind, name, list(dict.fromkeys(self.found)))

    def _add(self, field: Field | str, head: str, text: str, reason: str) -> None:
        path = field if isinstance(field, str) else field.path
        self.found.append(Cause(path, f"{head}: {text}" if text else head, reason))


def entries(field: Field) -> dict[str, Field]:
    """The entries of a mapping with free keys, with their paths as in causes: limits[cpu]."""
    return {key: Field(value, f"{field.path}[{key}]", field.report) for key, value in field.mapping().items()}


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> Invalid:
    sentences = [f"{one.field}: {one.message}" if one.field else one.message for one in causes]
    told = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    what = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    return Invalid(f'{what} "{name}" is invalid: {told}', group=kind.group, kind=kind.kind, name=name, causes=causes)


_NOT_SUPPORTED = "FieldValueNotSupported"


def _reason(mistake: Mistake) -> str:
    if mistake.text.startswith(("is missing", "is required")):
        return "FieldValueRequired"
    if mistake.remedy.startswith("use one of:"):
        return _NOT_SUPPORTED
    return "FieldValueDuplicate" if mistake.text.endswith("a second time") else "FieldValueInvalid"


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
