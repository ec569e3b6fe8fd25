r"""Control and bidirectional characters in text from objects and files, shown as escapes instead of taking effect.

An object's message may contain characters that move the cursor, set the terminal's title, or let a line read
backwards. Whatever people read shows them in the form that JSON has for them, as in \u001b, so that escaped JSON still
means the same.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_UNSAFE_IN_LINE = re.compile(f"[\n\t{_UNSAFE.pattern[1:]}")


def escaped(text: str) -> str:
    r"""Text of several lines: escaped("a\x1b[2J\n") == "a\\u001b[2J\n"."""
    return _UNSAFE.sub(_escape, text)


def in_one_line(text: str) -> str:
    r"""The same for text that must not begin a new line, such as a name: in_one_line("a\nb") == "a\\u000ab"."""
    return _UNSAFE_IN_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
