"""YAML read object by object, each handed on as JSON: documents, and the items of a list one by one.

PyYAML's C parser is fast; constructing values from its events in Python is not: that takes six sevenths of a plain
load, and keeps the whole document in memory. So values are constructed here. Scalars are resolved as PyYAML does,
except that dates and numbers in base 60 (1:30) stay strings, since everything in Kubernetes is JSON in the end. A
duplicate key is an error, as with kubectl, and so are aliases that expand to more than a document can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from .json_pieces import ByteSource

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MOST_ALIASED = 16 << 20
"""How much the aliases of one document may add to it, in bytes."""
LONGEST_NUMBER = 400
"""A longer scalar is text: no number of JSON is as long, and reading it as one takes quadratic time."""

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE = "<<"


class YamlPieces:
    """The objects of a YAML text, one by one. `kind`, `line`, `column` and `size` as in JsonPieces."""

    form = "YAML"

    def __init__(self, stream: ByteSource) -> None:
        self.kind: str | None = None
        self.documents = 0
        self._stream = _Counted(stream)
        self._event: Any = None
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._weight = self._aliased = 0

    @property
    def size(self) -> int:
        return self._stream.size

    @property
    def line(self) -> int:
        return 1 if self._event is None else int(self._event.start_mark.line) + 1

    @property
    def column(self) -> int:
        return 1 if self._event is None else int(self._event.start_mark.column) + 1

    def __iter__(self) -> Iterator[bytes]:
        parser = Loader(self._stream)
        self._next = parser.get_event
        try:
            while parser.check_event():
                event = self._next()
                if type(event) is DocumentStartEvent:
                    self._anchors.clear()
                    self._weight = self._aliased = 0
                    for value in self._document(self._next()):
                        yield msgspec.json.encode(value)
                    self.kind = None
        finally:
            parser.dispose()

    def _document(self, event: Any) -> Iterator[Any]:
        self._event = event
        if type(event) is ScalarEvent and not event.value and event.implicit[0]:
            return  # nothing between two `---`
        self.documents += 1
        if type(event) is SequenceStartEvent:
            yield from self._elements()
        elif type(event) is MappingStartEvent:
            yield from self._mapping_or_items(event)
        else:
            yield self._value(event)

    def _mapping_or_items(self, start: Any) -> Iterator[Any]:
        """The items, if this is a list, as they come; else the whole mapping."""
        head: dict[str, Any] = {}
        is_list = False
        while type(event := self._next()) is not MappingEndEvent:
            key, first = self._key(event, head), self._next()
            if key == "items" and type(first) is SequenceStartEvent:
                is_list = True
                self.kind = str(head.get("kind") or "").removesuffix("List")
                yield from self._elements()
            else:
                head[key] = self._value(first)
        if not is_list:
            self._event = start
            yield _merged(head)

    def _elements(self) -> Iterator[Any]:
        while type(event := self._next()) is not SequenceEndEvent:
            self._event = event
            yield self._value(event)

    def _value(self, event: Any) -> Any:
        kind, before = type(event), self._weight
        self._weight += 2
        if kind is ScalarEvent:
            self._weight += len(event.value)
            value = _scalar(event)
        elif kind is MappingStartEvent:
            value = self._mapping()
        elif kind is SequenceStartEvent:
            value = []
            while type(inner := self._next()) is not SequenceEndEvent:
                value.append(self._value(inner))
        else:
            return self._alias(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = value, self._weight - before
        return value

    def _mapping(self) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while type(event := self._next()) is not MappingEndEvent:
            key = self._key(event, mapping)
            mapping[key] = self._value(self._next())
        return _merged(mapping) if _MERGE in mapping else mapping

    def _key(self, event: Any, mapping: dict[str, Any]) -> str:
        key = self._alias(event) if type(event) is AliasEvent else getattr(event, "value", None)
        if not isinstance(key, str):
            raise _problem("a key must be a plain string", event)
        self._weight += len(key)
        if key in mapping:
            raise _problem(f'the key "{key}" appears twice', event)
        return key

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise _problem(f'no anchor "{event.anchor}" before this alias', event)
        value, weight = self._anchors[event.anchor]
        self._weight += weight
        self._aliased += weight
        if self._aliased > MOST_ALIASED:
            raise _problem(f"the aliases expand to more than {MOST_ALIASED >> 20} MiB", event)
        return value


def _scalar(event: Any) -> Any:
    if event.tag is None or event.tag == "!":
        return _plain(event.value) if event.implicit[0] else event.value
    try:
        return _tagged(event.tag, event.value)
    except (yaml.YAMLError, ValueError, IndexError) as error:
        raise _problem(f"cannot be read as {event.tag}", event) from error


@lru_cache(maxsize=1 << 16)
def _plain(text: str) -> Any:
    """What an unquoted scalar stands for: _plain("110") == 110, _plain("yes") is True, _plain("1Gi") == "1Gi"."""
    if len(text) > LONGEST_NUMBER:
        return text
    resolver: Any = yaml.SafeLoader("")
    tag = resolver.resolve(yaml.ScalarNode, text, (True, False))
    if tag == _TIMESTAMP or (tag in _NUMBERS and ":" in text):
        return text
    try:
        return _tagged(tag, text)
    except ValueError:  # such as 0x_
        return text


def _tagged(tag: str, text: str) -> Any:
    if tag in _NUMBERS and (":" in text or len(text) > LONGEST_NUMBER):
        raise ValueError(text[:LONGEST_NUMBER])
    return yaml.SafeLoader("").construct_object(yaml.ScalarNode(tag, text))


def _merged(mapping: dict[str, Any]) -> dict[str, Any]:
    """The mapping with the keys merged in by `<<`, which never override its own."""
    if _MERGE not in mapping:
        return mapping
    own = dict(mapping)
    sources = own.pop(_MERGE)
    result: dict[str, Any] = {}
    for source in reversed(sources if isinstance(sources, list) else [sources]):
        result |= source if isinstance(source, dict) else {}
    return result | own


def _problem(text: str, event: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=text, problem_mark=event.start_mark)


class _Counted:
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: ByteSource) -> None:
        self._stream = stream
        self.size = 0

    def read(self, size: int, /) -> bytes:
        data = self._stream.read(size)
        self.size += len(data)
        return data
