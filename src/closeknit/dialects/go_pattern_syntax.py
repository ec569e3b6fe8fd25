"""The syntax of Go's regular expressions, read into parts; `go_pattern` matches texts with them.

Word boundaries, Unicode classes and flags other than `i` and `s` are refused rather than read differently.
"""

from __future__ import annotations

import string
from typing import NamedTuple

MOST_REPEATS = 1000
"""The highest count in {n,m}, as in Go."""
MOST_NESTING = 100

_CLASSES = {"d": "0-9", "s": "\t\n\f\r ", "w": "0-9A-Za-z_"}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
    "punct": string.punctuation.replace("-", "") + "-",
    "space": "\t\n\v\f\r ",
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


class PatternError(ValueError):
    """The text is not an expression, or one that is not supported."""


class Chars(NamedTuple):
    """A set of characters, as ranges; `inverted`: all others."""

    ranges: tuple[tuple[str, str], ...]
    inverted: bool = False
    ignores_case: bool = False

    def has(self, char: str) -> bool:
        forms = (char, char.swapcase()) if self.ignores_case else (char,)
        return any(low <= form <= high for low, high in self.ranges for form in forms) is not self.inverted


class Sequence(NamedTuple):
    parts: tuple[Part, ...]


class Choice(NamedTuple):
    parts: tuple[Part, ...]


class Repeat(NamedTuple):
    """`most` None: without end."""

    part: Part
    least: int
    most: int | None


class Edge(NamedTuple):
    """The beginning or the end of the text."""

    at_end: bool


Part = Chars | Sequence | Choice | Repeat | Edge


class Parser:
    """Reads an expression from left to right: choices of sequences of repeated parts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._ignores_case = False
        self._dot_is_all = False

    def whole(self) -> Part:
        part = self._choice()
        if self._at < len(self._text):
            raise PatternError("has a closing parenthesis too many")
        return part

    def _choice(self) -> Part:
        flags = self._ignores_case, self._dot_is_all
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise PatternError(f"nests deeper than {MOST_NESTING} groups")
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        self._depth -= 1
        self._ignores_case, self._dot_is_all = flags
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _sequence(self) -> Part:
        parts = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._part()))
        return Sequence(tuple(parts))

    def _repeated(self, part: Part) -> Part:
        counts = self._counts()
        if counts is None:
            return part
        self._take("?")  # lazy: other parts of the text match, but the same texts
        if self._counts() is not None:
            raise PatternError("repeats a repetition")
        return Repeat(part, *counts)

    def _counts(self) -> tuple[int, int | None] | None:
        for mark, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(mark):
                return counts
        end = self._text.find("}", self._at)
        if not self._text.startswith("{", self._at) or end < 0:
            return None
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if not all(one.isdecimal() and one.isascii() for one in (low, high or "0")):
            return None  # as in Go, braces without counts are plain characters
        self._at = end + 1
        least, most = int(low), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise PatternError(f"has a repetition that is not one of 0 to {MOST_REPEATS}")
        return least, most

    def _part(self) -> Part:
        char = self._read()
        match char:
            case "(":
                return self._group()
            case "[":
                return self._class()
            case "^" | "$":
                return Edge(char == "$")
            case ".":
                return Chars(() if self._dot_is_all else (("\n", "\n"),), inverted=True)
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise PatternError(f"repeats nothing with {char}")
        return Chars(((char, char),), ignores_case=self._ignores_case)

    def _group(self) -> Part:
        flags = self._ignores_case, self._dot_is_all
        if self._take("?"):
            if self._take("P<") or self._take("<"):
                end = self._text.find(">", self._at)
                name = self._text[self._at : max(end, self._at)]
                if end < 0 or not name.isidentifier():
                    raise PatternError("uses (? for something that Go's expressions do not have")
                self._at = end + 1
            elif not self._flags():
                return Sequence(())
        part = self._choice()
        if not self._take(")"):
            raise PatternError("lacks a closing parenthesis")
        self._ignores_case, self._dot_is_all = flags
        return part

    def _flags(self) -> bool:
        """Read flags such as (?i: or (?i); False if no group follows them."""
        on = True
        while True:
            char = self._read()
            if char in ":)":
                return char == ":"
            if char == "-":
                on = False
            elif char == "i":
                self._ignores_case = on
            elif char == "s":
                self._dot_is_all = on
            else:
                raise PatternError(f"uses (?{char}, which is not supported")

    def _escape(self) -> Part:
        char = self._read()
        if char in "Az":
            return Edge(char == "z")
        if char.lower() in _CLASSES:
            return Chars(_ranges(_CLASSES[char.lower()]), inverted=char.isupper())
        literal = self._literal(char)
        return Chars(((literal, literal),), ignores_case=self._ignores_case)

    def _literal(self, char: str) -> str:
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isalnum() or not char.isascii():
            raise PatternError(f"uses \\{char}, which is not supported")
        return char

    def _class(self) -> Part:
        inverted = self._take("^")
        ranges: list[tuple[str, str]] = []
        first = True
        while first or not self._take("]"):
            first = False
            ranges += self._class_item()
        return Chars(tuple(ranges), inverted, self._ignores_case)

    def _class_item(self) -> list[tuple[str, str]]:
        if self._text.startswith("[:", self._at):
            name = self._text[self._at + 2 : max(self._text.find(":]", self._at), self._at)]
            if name not in _POSIX:
                raise PatternError(f"uses the class [:{name}:], which is not supported")
            self._at += len(name) + 4
            return list(_ranges(_POSIX[name]))
        low = self._read()
        if low == "\\":
            low = self._read()
            if low in _CLASSES:
                return list(_ranges(_CLASSES[low]))
            low = self._literal(low)
        high = low
        if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
            self._at += 1
            high = self._read()
            high = self._literal(self._read()) if high == "\\" else high
        if high < low:
            raise PatternError(f"has the range {low}-{high}, which is empty")
        return [(low, high)]

    def _take(self, mark: str) -> bool:
        taken = self._text.startswith(mark, self._at)
        self._at += len(mark) if taken else 0
        return taken

    def _read(self) -> str:
        if self._at >= len(self._text):
            raise PatternError("ends too early")
        self._at += 1
        return self._text[self._at - 1]


def _ranges(text: str) -> tuple[tuple[str, str], ...]:
    """_ranges("0-9_") == (("0", "9"), ("_", "_")); a dash at the end is itself."""
    found, at = [], 0
    while at < len(text):
        wide = text[at + 1 : at + 2] == "-" and at + 2 < len(text)
        found.append((text[at], text[at + 2] if wide else text[at]))
        at += 3 if wide else 1
    return tuple(found)
