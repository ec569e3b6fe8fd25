"""Manifests in files: a file, a directory of them, or standard input, in YAML or JSON.

Every form yields Kubernetes objects one by one; a list is split into its items. Big files are cut into pieces as they
are read, each piece one object in JSON; see `json_pieces`, `yaml_pieces` and, for lists from kubectl, `kubectl_yaml`.
Input that is not a Kubernetes object is rejected with the file, the line and the remedy.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, BinaryIO, Protocol

import msgspec
import yaml

from ..model.mistake import InputError, Mistake, refuse
from .json_pieces import JsonPieces
from .kubectl_yaml import KubectlYaml, is_list
from .mistakes import Mistakes
from .yaml_pieces import YamlPieces

STDIN = "-"
ENDINGS = (".yaml", ".yml", ".json")
MOST_MANIFEST = 100 << 20
"""The size of the largest manifest, in bytes. Lists of nodes and pods are read in pieces and have no limit."""

_HEAD = 1 << 16
_JSON = re.compile(rb'\s*[\[{][\s\[{]*["\]}]')
_UTF8_MARK = b"\xef\xbb\xbf"
_WRITE_UTF8 = "save it as UTF-8 text"
_kept: ContextVar[bytes | None] = ContextVar("standard input", default=None)
_LABEL_MAPS = ("nodeSelector", "matchLabels", "nodeLabels")


class Pieces(Protocol):
    """The objects of one file as JSON, and the position at which the latest of them begins."""

    form: str

    @property
    def kind(self) -> str | None: ...
    @property
    def documents(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    def __iter__(self) -> Iterator[bytes]: ...


def files(path: str) -> list[str]:
    """The files that a path on the command line stands for."""
    if path == STDIN or not os.path.isdir(path):
        return [path]
    found = sorted(entry.path for entry in os.scandir(path) if entry.name.endswith(ENDINGS) and entry.is_file())
    if not found:
        raise refuse("the directory holds no manifests", "put *.yaml, *.yml or *.json files into it", where=path)
    return found


def shown(file: str) -> str:
    """The name of a file in messages."""
    return "standard input" if file == STDIN else file


def read_text(path: str) -> str:
    """The text of one file; empty if it cannot be read as UTF-8. Its content is not checked here."""
    if path != STDIN and not os.path.isfile(path):
        return ""
    with _stream(path) as stream:
        return stream.read().removeprefix(_UTF8_MARK).decode(errors="replace")


@contextmanager
def opened(file: str) -> Iterator[Pieces]:
    """Open a file of any form as pieces; raises InputError if its text is malformed."""
    with _stream(file) as stream:
        source = _Source(file, stream)
        head = source.peek()
        _check_text(file, head)
        pieces = _pieces(head, source)
        try:
            yield pieces
        except yaml.YAMLError as error:
            raise _bad_yaml(file, error) from error
        except RecursionError as error:
            raise refuse("is nested too deeply", "flatten it", where=shown(file)) from error
        if not pieces.documents:
            raise _empty(file)


def _pieces(head: bytes, source: _Source) -> Pieces:
    if _JSON.match(head):
        return JsonPieces(source)
    return KubectlYaml(source) if is_list(head) else YamlPieces(source)


def documents(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every Kubernetes object under a path, with the name of its file."""
    mistakes = Mistakes()
    for file in files(path):
        check_size(file)
        with opened(file) as pieces:
            for data in pieces:
                _check_read(file, pieces.size)
                for raw in _flat(file, pieces, decoded(file, pieces, data)):
                    wrong = list(unquoted_labels(raw, shown(file)))
                    for mistake in wrong:
                        mistakes.add(mistake)
                    if not wrong:
                        yield shown(file), raw
    mistakes.check()


def check_size(file: str) -> None:
    """Raise for a manifest that is too large to be read."""
    if file != STDIN and os.path.isfile(file):
        _check_read(file, os.path.getsize(file))


def _check_read(file: str, size: int) -> None:
    if size > MOST_MANIFEST:
        text = f"has more than {MOST_MANIFEST >> 20} MiB, which is too large for a manifest"
        raise refuse(text, "split it into several files", where=shown(file))


def decoded(file: str, pieces: Pieces, data: bytes) -> Any:
    """Decode a piece into plain values."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise malformed(file, pieces, data) from error


def malformed(file: str, pieces: Pieces, data: bytes) -> InputError:
    """The error for a piece that is not JSON, with the position at which it stops being so."""
    try:
        json.loads(data.decode())
    except UnicodeDecodeError:
        return refuse("is not UTF-8 text", _WRITE_UTF8, where=f"{shown(file)}:{pieces.line}")
    except json.JSONDecodeError as error:
        line = pieces.line + error.lineno - 1
        column = error.colno + (pieces.column - 1 if error.lineno == 1 else 0)
        where = f"{shown(file)}:{line}:{column}"
        if error.msg.startswith("Unterminated string"):
            remedy = "close it, or write the file again if it was truncated"
            return refuse("the JSON ends inside the string that begins here", remedy, where=where)
        if error.pos >= len(data.rstrip()):
            return refuse("the JSON ends too early", "the file was truncated: write it again", where=where)
        return refuse(f"is not JSON: {error.msg}", "fix the text there", where=where)
    return refuse("is not JSON", "fix the text there", where=f"{shown(file)}:{pieces.line}")


def not_kubernetes(file: str, pieces: Pieces, raw: Any) -> Mistake:
    """The mistake for a value that is not a Kubernetes object."""
    if isinstance(raw, dict):
        lacks = " and ".join(key for key in ("apiVersion", "kind") if not raw.get(key))
        text = f"is not a Kubernetes object: it has no {lacks}"
    else:
        text = f"is not a Kubernetes object but {_form(raw)}"
    return Mistake(text, "give a manifest, such as kubectl get -o yaml prints", f"{shown(file)}:{pieces.line}")


def identity(raw: Any) -> str:
    """The name of an object in messages: `Pod team-a/train-0`."""
    if not isinstance(raw, dict):
        return ""
    metadata = raw.get("metadata")
    meta = metadata if isinstance(metadata, dict) else {}
    name = meta.get("name") or meta.get("generateName") or "(without a name)"
    namespace = meta.get("namespace")
    return f"{raw.get('kind') or 'object'} {f'{namespace}/' if namespace else ''}{name}"


def unquoted_labels(raw: dict[str, Any], where: str) -> Iterator[Mistake]:
    """Labels, annotations and selectors with an unquoted value that YAML reads as a number, a boolean or null."""
    for field, key, value in _label_maps(raw, ""):
        if value is None or isinstance(value, bool | int | float):
            text = f"must be text, but is read as {json.dumps(value)}"
            yield Mistake(text, "quote it", where, identity(raw), f"{field}[{key}]")


def _label_maps(value: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _label_maps(inner, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            field = f"{path}.{name}" if path else name
            is_labels = name in _LABEL_MAPS or (name in ("labels", "annotations") and path.endswith("metadata"))
            if is_labels and isinstance(inner, dict):
                yield from ((field, key, one) for key, one in inner.items())
            else:
                yield from _label_maps(inner, field)


def _flat(file: str, pieces: Pieces, raw: Any) -> Iterator[dict[str, Any]]:
    """An object, or the items of a list inside a list."""
    if not isinstance(raw, dict):
        raise InputError([not_kubernetes(file, pieces, raw)])
    if pieces.kind and not raw.get("kind"):
        raw = {"apiVersion": "v1", "kind": pieces.kind, **raw}
    if not raw.get("kind") or not raw.get("apiVersion"):
        raise InputError([not_kubernetes(file, pieces, raw)])
    if str(raw["kind"]).endswith("List") and "items" in raw:
        for item in raw["items"] or ():
            yield from _flat(file, pieces, item)
    else:
        yield raw


def _form(value: Any) -> str:
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list"
    return "a mapping"


@contextmanager
def stdin_kept() -> Iterator[None]:
    """Within this context standard input can be read repeatedly: it is read once and kept in memory."""
    if _kept.get() is not None:
        yield
        return
    data = sys.stdin.buffer.read(MOST_MANIFEST + 1)
    _check_read(STDIN, len(data))
    token = _kept.set(data)
    try:
        yield
    finally:
        _kept.reset(token)


@contextmanager
def _stream(file: str) -> Iterator[BinaryIO]:
    if file == STDIN:
        kept = _kept.get()
        yield sys.stdin.buffer if kept is None else io.BytesIO(kept)
        return
    try:
        stream = open(file, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        raise refuse("there is no such file", "check the path", where=file) from None
    except OSError as error:
        raise _unreadable(file, error) from error
    with stream:
        yield stream


class _Source:
    """A file's bytes without their byte order mark; `peek` shows the first of them without consuming them."""

    def __init__(self, file: str, stream: BinaryIO) -> None:
        self._file = file
        self._stream = stream
        self._head = b""

    def peek(self) -> bytes:
        self._head = self.read(_HEAD).removeprefix(_UTF8_MARK)
        return self._head

    def read(self, size: int, /) -> bytes:
        head, self._head = self._head, b""
        try:
            return head or self._stream.read(size)
        except OSError as error:
            raise _unreadable(self._file, error) from error


def _check_text(file: str, head: bytes) -> None:
    if not head.strip():
        raise _empty(file)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in head:
        remedy = f"{_WRITE_UTF8} (in PowerShell: kubectl ... | Out-File -Encoding utf8 FILE)"
        raise refuse("is not UTF-8 text", remedy, where=shown(file))


def _unreadable(file: str, error: OSError) -> InputError:
    return refuse(f"cannot be read: {error.strerror}", "check the path and its permissions", where=shown(file))


def _empty(file: str) -> InputError:
    remedy = "pipe something into it, and use - only once" if file == STDIN else "give a file with Kubernetes objects"
    return refuse("holds nothing", remedy, where=shown(file))


def _bad_yaml(file: str, error: yaml.YAMLError) -> InputError:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:  # characters that YAML does not allow, or bytes that are not characters
        return refuse(f"is not UTF-8 text: {getattr(error, 'reason', error)}", _WRITE_UTF8, where=shown(file))
    where = f"{shown(file)}:{mark.line + 1}:{mark.column + 1}"
    problem = getattr(error, "problem", None) or "cannot be parsed"
    context = getattr(error, "context", None)
    said = f"{problem} ({context})" if context else problem
    return refuse(f"is not YAML: {said}", "fix the text there", where=where)
