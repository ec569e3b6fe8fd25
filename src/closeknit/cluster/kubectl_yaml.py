"""A YAML list as kubectl prints it, item by item, without parsing each: most items differ only in plain scalars.

An item is cut out at `- ` in column 0, and every short scalar that ends a line is taken out of it. What is left, its
skeleton, is parsed once, with placeholders in the holes; any other item with that skeleton is the same JSON with its
own scalars in those places:

    - kind: Pod            - kind: ▢                {"kind":"▢","metadata":{"name":"▢"}}
      metadata:       ──▶    metadata:        ──▶   {"kind":"Pod","metadata":{"name":"a-0"}}
        name: a-0              name: ▢

This is correct wherever the placeholders come out of the parser as whole values and in order. Where they do not (a
script that looks like YAML), the item is parsed alone; where an item cannot stand alone (mistakes, anchors, the end of
the list), or where most items turn out to need parsing, `YamlPieces` reads from there to the end, so that every error
about the file comes from one parser.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from itertools import islice

import yaml

from .json_pieces import ByteSource
from .yaml_pieces import YamlPieces

CHUNK = 1 << 20
KEPT = 1 << 12
"""How many skeletons are cached."""
PATIENCE = 1000
"""How many items are parsed before giving up because more than half of them need parsing."""

_HEAD = re.compile(rb"apiVersion: v1\r?\n(?:kind: ((?:[A-Z]\w*)?List)\r?\n)?items:\r?\n- ")
_CUT = b"\n- "
_TEXT = rb"[\w./@+=%-]+(?:[: ][\w./@+=%-]+)*"
_NO_TEXT = rb"[0-9][0-9_:]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?$|0[xb][0-9a-fA-F_]+$|(?i:yes|no|true|false|on|off|null)$"
_HOLE = re.compile(rb": ([\"']|(?=[A-Za-z0-9/])(?!" + _NO_TEXT + rb"))(" + _TEXT + rb")\1(?:\n|\Z)", re.MULTILINE)
_SEAL = b"hole:" + secrets.token_hex(8).encode()  # random, so that no file contains it
_MARK = re.compile(rb'(?<=[:,\[]")' + _SEAL + rb'-([0-9]+)(?="[,}\]])')
_STRANGE = re.compile(rb"\A(?:[\s#]|\Z)|\n[^ \n]|\r|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""An item that does not begin right after its dash, a line that begins in column 0, or YAML's own line breaks."""

Template = list[bytes]


def is_list(head: bytes) -> bool:
    """Whether the text begins like a list from kubectl."""
    return _HEAD.match(head) is not None


class KubectlYaml:
    """The items of a list from kubectl; only for text for which `is_list` holds. Attributes as in JsonPieces."""

    form = "YAML"

    def __init__(self, stream: ByteSource) -> None:
        self.size = 0
        self._stream = stream
        self._kind: str | None = None
        self._line = 1
        self._rest: YamlPieces | None = None
        self._templates: dict[bytes, Template | None] = {}
        self._begun = 0
        self._parsed = 0

    @property
    def kind(self) -> str | None:
        return self._kind if self._rest is None else self._rest.kind

    @property
    def documents(self) -> int:
        return 1 if self._rest is None else self._rest.documents

    @property
    def line(self) -> int:
        return self._line if self._rest is None else self._rest.line

    @property
    def column(self) -> int:
        return len("- ") + 1 if self._rest is None else self._rest.column

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self.size += len(data)
        return data

    def __iter__(self) -> Iterator[bytes]:
        text = self.read(CHUNK)
        head = _HEAD.match(text)
        assert head is not None  # or `is_list` would not hold
        self._kind = (head[1] or b"").decode().removesuffix("List")
        opening, text = head[0].removesuffix(b"- "), text[head.end() :]
        first = next_line = opening.count(b"\n") + 1
        fresh, size = text, CHUNK
        while fresh:
            *items, last = text.split(_CUT)
            for number, item in enumerate(items):
                self._line = next_line
                piece = self._piece(item if b"\r" not in item else _unix(item))
                if piece is None:
                    last = _CUT.join([*items[number:], last])
                    yield from self._from_here(opening, next_line - first, last)
                    return
                yield piece
                next_line += item.count(b"\n") + 1
            size = CHUNK if items else 2 * size
            fresh = self.read(size)
            text = last + fresh
        yield from self._from_here(opening, next_line - first, text)

    def _from_here(self, opening: bytes, lines: int, text: bytes) -> Iterator[bytes]:
        """Read the rest with YamlPieces, with blank lines and one dummy item before it to keep line numbers right."""
        before = b"\n" * (lines - 1) + b"- 0\n" if lines else b""
        self._rest = YamlPieces(_Ahead(opening + before + b"- " + text, self))
        yield from islice(self._rest, 1 if lines else 0, None)

    def _piece(self, item: bytes) -> bytes | None:
        """An item, without its dash, as JSON; None if YamlPieces should read from here on."""
        self._begun += 1
        parts = _HOLE.split(item)
        around, texts = parts[::3], parts[2::3]
        skeleton = b"\0".join(around)
        template = self._templates.get(skeleton)
        if template is not None and len(template) == len(around):
            return _filled(template, texts)
        self._parsed += 1
        if self._parsed > max(PATIENCE, self._begun // 2):
            return None
        if skeleton not in self._templates and not self._learn(skeleton, around):
            return None
        template = self._templates[skeleton]
        return _alone(item) if template is None or len(template) != len(around) else _filled(template, texts)

    def _learn(self, skeleton: bytes, around: list[bytes]) -> bool:
        """Cache the JSON of a skeleton; False if it cannot be parsed by itself."""
        holes = len(around) - 1
        alone = _alone(_filled(around, [b": %b-%d\n" % (_SEAL, number) for number in range(holes)]))
        if alone is None:
            return False
        if len(self._templates) >= KEPT:
            self._templates.clear()
        self._templates[skeleton] = _template(alone, holes)
        return True


def _unix(item: bytes) -> bytes:
    """Normalize CRLF to LF; the item's last CRLF was cut in two."""
    return item.removesuffix(b"\r").replace(b"\r\n", b"\n")


def _filled(around: list[bytes], between: list[bytes]) -> bytes:
    """_filled([b"a", b"c", b"e"], [b"b", b"d"]) == b"abcde"."""
    result = [b""] * (len(around) + len(between))
    result[::2] = around
    result[1::2] = between
    return b"".join(result)


def _template(marked: bytes, holes: int) -> Template | None:
    """The JSON around the placeholders; None unless each occurs once, as a whole value, in order."""
    parts = _MARK.split(marked)
    if parts[1::2] != [b"%d" % number for number in range(holes)]:
        return None
    return parts[::2]


def _alone(item: bytes) -> bytes | None:
    """The JSON of one item; None if it is not valid YAML by itself, or refers to the text around it."""
    if _STRANGE.search(item):
        return None
    pieces = _One(_Ahead(b"- " + item + b"\n", None))
    try:
        found = list(pieces)
    except yaml.YAMLError:
        return None
    return found[0] if len(found) == 1 and not pieces.anchored else None


class _One(YamlPieces):
    @property
    def anchored(self) -> bool:
        return bool(self._anchors)


class _Ahead:
    """Some text, followed by a stream."""

    def __init__(self, text: bytes, stream: ByteSource | None) -> None:
        self._text = text
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        if self._text:
            text, self._text = self._text, b""
            return text
        return self._stream.read(size) if self._stream is not None else b""
