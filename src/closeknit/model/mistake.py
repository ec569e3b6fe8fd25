"""Errors in input, with what is needed to fix them: which object, which field, what is wrong, what to do.

Readers collect mistakes instead of stopping at the first, raise them together, and discard what they read. A warning
has the same form but stops nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .escaping import in_one_line


@dataclass(frozen=True, slots=True)
class Mistake:
    """`where` is the file, `what` the object ("Node b01-r01-n01"), `field` the path in it; any may be empty."""

    text: str
    remedy: str = ""
    where: str = ""
    what: str = ""
    field: str = ""

    def __str__(self) -> str:
        place = in_one_line(": ".join(part for part in (self.where, self.what, self.field) if part))
        text = f"{place}: {self.text}" if place else self.text
        return f"{text}; {self.remedy}" if self.remedy else text


class InputError(Exception):
    """Input that cannot be used."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(map(str, self.mistakes)))


class NotThere(InputError):  # noqa: N818 - a result for the user, not a failure
    """A named object does not exist; the command itself was correct."""


def refuse(text: str, remedy: str = "", where: str = "", what: str = "", field: str = "") -> InputError:
    """One mistake as an error to raise."""
    return InputError([Mistake(text, remedy, where, what, field)])


def not_there(text: str, remedy: str = "", what: str = "") -> NotThere:
    return NotThere([Mistake(text, remedy, what=what)])
