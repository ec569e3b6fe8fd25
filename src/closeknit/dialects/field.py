"""A cursor over a raw object: the current value, the path to it, and the mistakes found so far.

Objects are written by people, so every value is checked. A step to a missing key gives an empty field; a value of the
wrong type is reported once and read as if it were absent. So a reader always runs to the end, and its caller checks
the report afterwards: if there are mistakes, it discards the result. Warnings do not invalidate the result.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from ..model.mistake import Mistake

INT32_MAX = 2**31 - 1
CLOSE = 0.8
"""Minimum similarity at which a key counts as a misspelling of a known one."""

LONG = 64
"""Longer keys are not compared: no known key is that long."""
REMEMBERED = 4096
"""Size of the cache of compared keys: most objects have the same keys."""

T = TypeVar("T")

_MISFIT = re.compile(r"(?P<text>.*?)(?: - at .*`\$(?P<path>.*)`)?", re.DOTALL)


class Report:
    """The mistakes and warnings of one object, each once, in the order in which they were found.

    `noted` counts repeats too, so that a reader can tell whether it has found mistakes itself.
    """

    def __init__(self, where: str = "", what: str = "") -> None:
        self.where = where
        self.what = what
        self.noted = 0
        self._found: dict[Mistake, None] = {}
        self._warned: dict[Mistake, None] = {}

    def add(self, mistakes: Iterable[Mistake]) -> None:
        """Add mistakes that do not name their file and object yet."""
        for mistake in mistakes:
            self.noted += 1
            self._found[replace(mistake, where=self.where, what=self.what)] = None

    def warn(self, warning: Mistake) -> None:
        self._warned[replace(warning, where=self.where, what=self.what)] = None

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        return tuple(self._found)

    @property
    def warnings(self) -> tuple[Mistake, ...]:
        return tuple(self._warned)

    def __len__(self) -> int:
        return len(self._found)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A value and its path. None means absent or null, which Kubernetes treats alike."""

    value: Any
    path: str
    report: Report

    @classmethod
    def root(cls, raw: Any, where: str = "", what: str = "") -> Field:
        return cls(raw, "", Report(where, what))

    @property
    def given(self) -> bool:
        return self.value is not None

    def at(self, *keys: str) -> Field:
        """The nested field: `at("spec", "template")`."""
        field = self
        for key in keys:
            field = Field(field.mapping().get(key), step(field.path, key), field.report)
        return field

    def mapping(self) -> dict[str, Any]:
        if isinstance(self.value, dict):
            return self.value
        return self._misfit("a mapping", {}) if self.given else {}

    def fields(self) -> dict[str, Field]:
        """The entries of a mapping, by key."""
        return {str(key): Field(value, step(self.path, str(key)), self.report) for key, value in self.mapping().items()}

    def items(self) -> list[Field]:
        """The elements of a list."""
        if isinstance(self.value, list):
            return [Field(item, f"{self.path}[{i}]", self.report) for i, item in enumerate(self.value)]
        return self._misfit("a list", []) if self.given else []

    def text(self, default: str = "") -> str:
        if isinstance(self.value, str):
            return self.value
        return self._misfit("a string", default) if self.given else default

    def strings(self) -> dict[str, str]:
        """A mapping from text to text: labels, annotations."""
        return {key: field.text() for key, field in self.fields().items()}

    def count(self, default: int = 1, least: int = 0) -> int:
        """A whole number in the int32 range."""
        if not self.given:
            return default
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            return self._misfit("a whole number", default)
        if not least <= self.value <= INT32_MAX:
            self.wrong(f"is {self.value}", f"use a whole number from {least} to {INT32_MAX}")
            return default
        return self.value

    def decode(self, kind: type[T]) -> T | None:
        """The value as a wire struct; reports a mistake and returns None if it does not decode."""
        try:
            return msgspec.convert({} if self.value is None else self.value, kind)
        except msgspec.ValidationError as error:
            match = _MISFIT.fullmatch(str(error))
            assert match is not None  # the pattern accepts any text
            text = match["text"].replace("`", "").replace(" | null", "")
            quote = text.startswith("Expected str, got") and text.endswith(("int", "bool", "float"))
            field = Field(None, (self.path + (match["path"] or "")).lstrip("."), self.report)
            field.wrong(text[:1].lower() + text[1:], "put the value in quotes" if quote else "")
            return None

    def wrong(self, text: str, remedy: str = "") -> None:
        self.report.add([Mistake(text, remedy, field=self.path)])

    def warn(self, text: str, remedy: str = "") -> None:
        self.report.warn(Mistake(text, remedy, field=self.path))

    def expect(self, known: Collection[str]) -> None:
        """Warn of keys that are close to a known one: `paralelism`. Other unknown keys may be of a newer version."""
        for key in map(str, self.mapping()):
            meant = "" if key in known or len(key) > LONG else _closest(key, tuple(known))
            if meant:
                self.at(key).warn("is not a known field", f"did you mean {meant}?")

    def _misfit(self, wanted: str, instead: T) -> T:
        remedy = f"use {wanted}"
        if wanted == "a string" and isinstance(self.value, (bool, int, float)):
            remedy = f'put it in quotes: "{shown(self.value)}"'
        self.wrong(f"is {shown(self.value)}, not {wanted}", remedy)
        return instead


def step(path: str, key: str) -> str:
    """Append a key to a path: step("metadata", "name") == "metadata.name"; other keys go into brackets."""
    if not (key.isascii() and key.replace("-", "0").replace("_", "0").isalnum()):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


@lru_cache(REMEMBERED)
def _closest(key: str, known: tuple[str, ...]) -> str:
    return next(iter(difflib.get_close_matches(key, known, n=1, cutoff=CLOSE)), "")


def shown(value: Any) -> str:
    """A value for use in a message; lists and mappings are named by their type."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str) and len(value) > 60:
        value = value[:57] + "..."
    return json.dumps(value, ensure_ascii=False, default=str)
