"""The fields of each kind, and how they are merged: the tables in `schemas` as a graph.

One file holds the built-in kinds with all their types, and one file each the API groups of custom kinds; these refer to
types of the first, such as PodSpec, or redefine a type of the same name. `tests/servers/schemas.py` writes the files
from what the real servers publish. A file is read when one of its kinds is first used. Job kinds without such a file
have a schema in their descriptor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from ...dialects.kueue.jobs.kinds import JOB_KINDS
from ..kinds import Kind

SHARED = "kubernetes"
CONTAINERS = ("object", "map", "list")


@dataclass(slots=True, eq=False)
class Schema:
    """One field, or the object itself.

    `type` is object, map, list, any, or a scalar: string, boolean, int32, int64, integer, number, quantity,
    int-or-string, time, micro-time, bytes. `atomic`: it has one owner and is replaced as a whole. The items of a list
    that is not atomic are identified by `keys`, or, if there are none, by their value. `strategy` and `merge_key`
    control strategic patches. `open`: unknown fields are preserved.
    """

    type: str
    atomic: bool = False
    fields: dict[str, Schema] = field(default_factory=dict)
    inner: Schema | None = None
    keys: tuple[str, ...] = ()
    strategy: tuple[str, ...] = ()
    merge_key: str = ""
    need: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    nullable: bool = False
    open: bool = False
    part: str = ""

    def field(self, name: str) -> Schema | None:
        """The schema of a key of an object or a map; None if there is no such field."""
        if self.type == "object":
            return self.fields.get(name) or (ANY if self.open else None)
        return self.inner if self.type == "map" else ANY if self.type == "any" else None

    def item(self) -> Schema:
        """The schema of the entries of a list or map."""
        return self.inner or ANY


ANY = Schema("any", open=True)
_SCALARS = {
    word: Schema(word)
    for word in (
        *("string", "boolean", "int32", "int64", "integer", "number"),
        *("quantity", "int-or-string", "time", "micro-time", "bytes"),
    )
}


@lru_cache(maxsize=256)
def schema_of(kind: Kind) -> Schema | None:
    """The schema of a kind; None if there is no table for it."""
    file = _file(kind)
    return _part(file, kind.kind) if kind.kind in _table(file)["blanks"] else None


def blank_of(kind: Kind) -> dict[str, Any]:
    """The fields that every object of the kind has: Go serializes some fields even of an empty object."""
    blank: dict[str, Any] = _table(_file(kind))["blanks"].get(kind.kind, {})
    return blank


def _file(kind: Kind) -> str:
    return SHARED if kind.is_built_in else kind.group


@lru_cache(maxsize=32)
def _table(file: str) -> dict[str, Any]:
    path = files(__package__) / "schemas" / f"{file}.json"
    if not path.is_file():
        return _described(file)
    table: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return table


def _described(group: str) -> dict[str, Any]:
    """The table of a group without a recorded schema: the spec as in its descriptor, any status."""
    object = {"apiVersion": "string", "kind": "string", "metadata": "#ObjectMeta", "status": "any"}
    specs = {one.kind: one.schema for one in JOB_KINDS if one.group == group and one.schema}
    parts = {kind: {"fields": {**object, "spec": spec}} for kind, spec in specs.items()}
    return {"blanks": {kind: {"metadata": {}} for kind in parts}, "parts": parts}


@lru_cache(maxsize=1024)
def _part(file: str, name: str) -> Schema:
    entry = _table(file)["parts"].get(name) or _table(SHARED)["parts"][name]
    return replace(_read(file, entry), part=name)


def _read(file: str, entry: str | dict[str, Any]) -> Schema:
    """One entry of a table: "string", "#PodSpec", {"list": …}, {"map": …}, {"fields": …}, or {"of": …} and more."""
    if isinstance(entry, str):
        return _part(file, entry[1:]) if entry.startswith("#") else ANY if entry == "any" else _SCALARS[entry]
    if "open" in entry:
        return _opened(_read(file, {key: value for key, value in entry.items() if key != "open"}))
    if "of" in entry:
        return replace(_read(file, entry["of"]), **_manner(entry))
    if "list" in entry:
        keys, is_set = tuple(entry.get("keys", ())), "set" in entry
        inner = _read(file, entry["list"])
        return Schema("list", inner=inner, keys=keys, **{**_manner(entry), "atomic": not keys and not is_set})
    if "map" in entry:
        return Schema("map", inner=_read(file, entry["map"]), **_manner(entry))
    fields = {name: _read(file, one) for name, one in entry["fields"].items()}
    need, defaults = tuple(entry.get("need", ())), entry.get("default", {})
    return Schema("object", fields=fields, need=need, defaults=defaults, **_manner(entry))


def _opened(schema: Schema) -> Schema:
    """The same schema, with unknown fields preserved here and below."""
    fields = {name: _opened(one) for name, one in schema.fields.items()}
    inner = _opened(schema.inner) if schema.inner is not None else None
    return replace(schema, open=True, fields=fields, inner=inner) if schema.type in CONTAINERS else schema


def _manner(entry: dict[str, Any]) -> dict[str, Any]:
    """How a field is merged and which values it may have, as far as the entry defines it."""
    found: dict[str, Any] = {}
    for word, name in (("atomic", "atomic"), ("null", "nullable"), ("key", "merge_key")):
        if word in entry:
            found[name] = entry[word]
    if "enum" in entry:
        found["enum"] = tuple(entry["enum"])
    if "strategy" in entry:
        found["strategy"] = tuple(entry["strategy"].split(","))
    return found
