"""JSON cut into objects without decoding it: the items of a list, or one value after another.

A list of a million pods is a gigabyte, and decoded whole it is ten. So the text is read in chunks, and in each
chunk numpy finds the brackets outside strings and their depth; what closes at the depth of the list is one object,
handed on as bytes. Nothing is validated here: the decoder rejects a piece that is not JSON.

    {"kind": "List", "items": [ {...}, {...} ]}      depth of the items: 2
    [ {...}, {...} ]                                 1
    {...} {...}                                      0, also one object per line
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 20
MAX_PIECE = 1 << 28
"""A larger object is text that has lost a bracket or a quote."""

_DEEPEST_LIST = 2
_TAIL = -1
_SPACE = b" \t\r\n"
_ITEMS = re.compile(rb'"items"\s*:\s*\Z')
_KIND = re.compile(rb'"kind"\s*:\s*"(\w+)List"')
_QUOTE, _OPEN, _CLOSE, _BRACKET, _BACKSLASH = 0x22, 0x7B, 0x7D, 0x5B, 0x5C


class ByteSource(Protocol):
    def read(self, size: int, /) -> bytes: ...


class JsonPieces:
    """The objects of a JSON text, one by one.

    `kind` is None outside a list, the kind of the list's items inside one, "" if the list does not say.
    `line` and `column` are where the latest piece begins, from 1; `size` is how many bytes were read.

                       [ or "items": [                 ]
        between values ───────────────▶ inside a list ───▶ tail of the list's object
              ▲ ▲                             │ ]                  │ }
              │ └─────────────────────────────┘ (an array)         │
              └────────────────────────────────────────────────────┘
    """

    form = "JSON"

    def __init__(self, stream: ByteSource) -> None:
        self.kind: str | None = None
        self.documents = 0
        self.size = 0
        self._stream = stream
        self._text = b""
        self._at = 0
        self._lines = 0
        self._columns = 0

    @property
    def line(self) -> int:
        return self._lines + self._text.count(b"\n", 0, self._at) + 1

    @property
    def column(self) -> int:
        newline = self._text.rfind(b"\n", 0, self._at)
        return self._at - newline if newline >= 0 else self._columns + self._at + 1

    def __iter__(self) -> Iterator[bytes]:
        depth, size = 0, CHUNK
        while True:
            fresh = self._stream.read(size)
            self.size += len(fresh)
            if not fresh or len(self._text) > MAX_PIECE:
                break
            self._text += fresh
            start = 0
            for at, opens, after in _brackets(self._text, 1 if depth == _TAIL else depth):
                if opens:
                    entered = self._enter(start, at, after) if depth == 0 else 0
                    if entered:
                        depth, start = entered, at + 1
                elif depth == _TAIL:
                    if after == 0:
                        depth, start, self.kind = 0, at + 1, None
                elif after == depth or after < 0:
                    self.documents += depth == 0
                    yield self._piece(start, at + 1)
                    start = at + 1
                elif after < depth:
                    if self._text[start:at].strip(_SPACE):
                        yield b"[" + self._piece(start, at) + b"]"
                    depth, start = (_TAIL if after else 0), at + 1
            size = CHUNK if start else 2 * size
            self._drop(start)
        if self._text.strip(_SPACE) or depth != 0:
            self.documents += 1
            yield self._piece(0, len(self._text))

    def _enter(self, start: int, at: int, after: int) -> int:
        """The depth of the list that opens here, if it is to be cut: the whole document, or its `items`."""
        if after == 1:
            self.documents += 1
            return 1
        if not _ITEMS.search(self._text, max(start, at - 64), at):
            return 0
        named = _KIND.search(self._text, start, at)
        self.kind = named.group(1).decode() if named else ""
        self.documents += 1
        return 2

    def _piece(self, start: int, end: int) -> bytes:
        piece = self._text[start:end].lstrip(_SPACE + b",")
        self._at = end - len(piece)
        return piece

    def _drop(self, end: int) -> None:
        """Forget the text before `end`, but count its lines."""
        newlines = self._text.count(b"\n", 0, end)
        self._columns = end - self._text.rfind(b"\n", 0, end) - 1 if newlines else self._columns + end
        self._lines += newlines
        self._text = self._text[end:]
        self._at = 0


def _brackets(text: bytes, depth: int) -> Iterator[tuple[int, bool, int]]:
    """Brackets near the surface: where, whether it opens a list, the depth after it.

    The text begins outside strings, at the given depth. An escaped quote neither begins nor ends a string.
    """
    raw = np.frombuffer(text, dtype=np.uint8)
    folded = raw | 0x20  # folds [ into { and ] into }, and leaves quotes alone
    marks = np.flatnonzero((folded == _QUOTE) | (folded == _OPEN) | (folded == _CLOSE))
    chars = folded[marks]
    quotes = chars == _QUOTE
    if b"\\" in text:
        quotes[quotes] = ~_escaped(raw, marks[quotes])
    outside = (chars != _QUOTE) & ((np.cumsum(quotes) & 1) == 0)
    marks, opens = marks[outside], chars[outside] == _OPEN
    depths = depth + np.cumsum(np.where(opens, 1, -1))
    near = (depths <= _DEEPEST_LIST) & (~opens | (raw[marks] == _BRACKET))
    return zip(marks[near].tolist(), opens[near].tolist(), depths[near].tolist(), strict=True)


def _escaped(raw: NDArray[np.uint8], quotes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which quotes have an odd number of backslashes before them."""
    result = np.zeros(len(quotes), dtype=np.bool_)
    which, back = np.arange(len(quotes)), 1
    while len(which):
        which = which[raw[np.maximum(quotes[which] - back, 0)] == _BACKSLASH]
        result[which] ^= True
        back += 1
    return result
