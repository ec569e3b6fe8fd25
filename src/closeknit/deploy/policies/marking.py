"""Mutations of an object as an expression for a list of JSONPatch.

A patch can only add to an existing map, so a map of labels is created where there is none. JSONPatch is used
throughout: an ApplyConfiguration cannot change atomic lists and maps, and most of those in custom kinds are atomic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...dialects.cel import text

Path = tuple[str, ...]

NOTHING = "[]"


def pointer(*path: str) -> str:
    """pointer("metadata", "labels", "a/b") == "/metadata/labels/a~1b"."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def put(path: Path, value: str) -> str:
    return f'[JSONPatch{{op: "add", path: {text(pointer(*path))}, value: {value}}}]'


def within(path: Path, of: str = "object") -> str:
    """Whether there is a map at this path, and at every step to it: a step into a list is an error, even with `?`.

    If one condition is false, an error in another is ignored.
    """
    paths = [path[:length] for length in range(1, len(path) + 1) if path[:length] != ("metadata",)]
    found = ["".join(f"[?{text(step)}]" for step in one) for one in paths]
    return " && ".join(f"type({of}{one}.orValue(0)) == map" for one in found)


def put_all(path: Path, entries: Mapping[str, str]) -> str:
    """Patches that set entries of a map, with expressions as values. A missing map is created, but not its parent."""
    return " + ".join([_made(path), *(put((*path, key), value) for key, value in entries.items())])


def put_on(template: Path, labels: Sequence[str] = (), notes: Sequence[str] = ()) -> str:
    """Patches of the labels and annotations of a template, if there is one.

    All patches are computed from the original object and then applied in turn: a map that is created twice would lose
    the entries added in between. So all patches of one template are made in one call.
    """
    meta = (*template, "metadata")
    parts = [_made((*meta, key)) for key, some in (("labels", labels), ("annotations", notes)) if some]
    return only_if(within(template), _made(meta), *parts, *labels, *notes)


def label_on(template: Path, key: str, value: str) -> str:
    return put((*template, "metadata", "labels", key), value)


def note_on(template: Path, key: str, value: str) -> str:
    return put((*template, "metadata", "annotations", key), value)


def _made(path: Path) -> str:
    return f"({within(path)} ? {NOTHING} : {put(path, '{}')})"


def only_if(condition: str, *patches: str) -> str:
    return f"({condition} ? {' + '.join(patches)} : {NOTHING})"
