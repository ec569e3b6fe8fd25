"""Objects of one kind, read from files straight into a struct with only the fields that are needed.

This is the fast path for clusters of a hundred thousand nodes and a million pods. Objects of other kinds are skipped.
A field of the wrong type is a mistake that names the object and the field; reading continues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from ..model.mistake import Mistake, refuse
from .files import Pieces, decoded, files, identity, malformed, not_kubernetes, opened, shown
from .mistakes import Mistakes

EVERY = 256

_PATH = re.compile(r"(.*?)(?: - at `(?:key` in `)?\$\.?(.*)`)?", re.DOTALL)
_STEP = re.compile(r"(\w+)|\[(\d+)\]|\[(\.\.\.)\]")


class Kinded(Protocol):
    @property
    def kind(self) -> str | None: ...


T = TypeVar("T", bound=Kinded)

Tick = Callable[[str, int, int, str], None]
"""Called periodically with the file, how many objects and bytes of it were read, and its form: JSON or YAML."""

Stray = Callable[[str, Any], bool]
"""Called with the file and an object without a kind; returns whether it could be used."""


def objects(
    path: str,
    form: type[T],
    kind: str,
    mistakes: Mistakes,
    tick: Tick | None = None,
    stray: Stray | None = None,
    beside: Mapping[str, Callable[[str, Any], None]] | None = None,
) -> Iterator[tuple[str, bytes, T]]:
    """Each object of the kind: its file, its JSON, and the struct. Raises InputError if all are of other kinds.

    `beside` takes objects of other kinds that belong to them, with their file.
    """
    decoder = msgspec.json.Decoder(form)
    others: dict[str, None] = {}
    found = is_beside = False
    for file in files(path):
        where = shown(file)
        with opened(file) as pieces:
            for number, data in enumerate(pieces):
                if tick is not None and number % EVERY == 0:
                    tick(where, number, pieces.size, pieces.form)
                try:
                    value = decoder.decode(data)
                except msgspec.ValidationError as error:
                    mistake = _wrong_type(file, pieces, data, kind, error)
                    if mistake is not None:
                        mistakes.add(mistake)
                    continue
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise malformed(file, pieces, data) from error
                named = value.kind or pieces.kind
                if named == kind or named == "":
                    found = True
                    yield where, data, value
                elif named is not None:
                    if beside is not None and named in beside:
                        beside[named](where, decoded(file, pieces, data))
                        is_beside = True
                    elif _is_empty_list(named, data):
                        found = True
                    else:
                        others[named] = None
                else:
                    raw = decoded(file, pieces, data)
                    used = stray is not None and stray(where, raw)
                    found |= used
                    if not used:
                        mistakes.add(not_kubernetes(file, pieces, raw))
    if others and not found and not is_beside and not mistakes:
        raise refuse(f"there is no {kind} in it, only {', '.join(others)}", f"give a file with {kind}s", shown(path))


def _is_empty_list(kind: str, data: bytes) -> bool:
    """Whether this is a list with null for items, as Go encodes an empty list."""
    if not kind.endswith("List"):
        return False
    raw = msgspec.json.decode(data)
    return "items" in raw and raw["items"] is None


def _wrong_type(file: str, pieces: Pieces, data: bytes, kind: str, error: msgspec.ValidationError) -> Mistake | None:
    """The mistake, unless the object is of another kind."""
    raw = decoded(file, pieces, data)
    if not isinstance(raw, dict):
        return not_kubernetes(file, pieces, raw)
    raw = {**raw, "kind": raw.get("kind") or pieces.kind or kind}
    return explain(raw, error, shown(file)) if raw["kind"] == kind else None


def explain(raw: dict[str, Any], error: msgspec.ValidationError, where: str = "") -> Mistake:
    """Convert a type error into a mistake; the decoder does not name the entry of a mapping, so look it up.

    Expected `str`, got `int` - at `$.metadata.labels[...]`  becomes
    metadata.labels[rack]: must be text, but is read as 7
    """
    match = _PATH.fullmatch(str(error))
    assert match is not None  # the pattern accepts any text
    said, path = match.group(1), match.group(2) or ""
    wants_text = said.startswith("Expected `str")
    field, value = _follow(raw, path, wants_text)
    got = msgspec.json.encode(value).decode()
    if wants_text:
        remedy = "write text there" if isinstance(value, dict | list) else "quote it"
        return Mistake(f"must be text, but is read as {_short(got)}", remedy, where, identity(raw), field)
    text = said.replace("`", "").replace(" | null", "").replace("Expected", "expected", 1)
    return Mistake(f"{text}: {_short(got)}", "write it as the Kubernetes API has it", where, identity(raw), field)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _follow(raw: Any, path: str, wants_text: bool) -> tuple[str, Any]:
    """The full path of the field and its value."""
    field, value = "", raw
    for name, index, some in _STEP.findall(path):
        if some:
            key = next((key for key, inner in value.items() if _is_wrong(inner, wants_text)), "")
            field, value = f"{field}[{key}]", value.get(key)
        elif index:
            field, value = f"{field}[{index}]", value[int(index)]
        else:
            field, value = f"{field}.{name}" if field else name, value.get(name)
    return field, value


def _is_wrong(value: Any, wants_text: bool) -> bool:
    return not isinstance(value, str if wants_text else str | int | float) or isinstance(value, bool)
