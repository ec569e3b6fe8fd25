"""Parses object names on the command line: `KIND NAME…`, `KIND/NAME…`, or a bare name where the kind is clear.

Any name of a kind is accepted, as in kubectl: Job, jobs, jobs.batch, a short name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..cluster.kinds import KINDS, WORKLOAD, Kind
from ..model.mistake import InputError, refuse
from ..model.nearest import did_you_mean

MANIFESTS = (".yaml", ".yml", ".json")
ALL = "all"
"""Stands for every kind that runs or waits."""


class Named(NamedTuple):
    """An object given on the command line; without a name, all objects of the kind."""

    kind: Kind
    name: str = ""


@cache
def kinds_by_name() -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for kind in KINDS:
        for name in (kind.singular, kind.plural, *kind.short, kind.resource, f"{kind.singular}.{kind.group}"):
            found.setdefault(name, kind)
    return found


def kind_named(text: str) -> Kind:
    found = kinds_by_name().get(text.lower())
    if found is None:
        plurals = [kind.plural for kind in KINDS]
        remedy = did_you_mean(text.lower(), list(kinds_by_name())).strip() or f"known kinds: {', '.join(plurals)}"
        raise refuse(f'unknown kind "{text}"', remedy, what="KIND")
    return found


def objects_named(words: Sequence[str]) -> list[Named]:
    """objects_named(["job", "a", "b"]) are two Jobs; so are objects_named(["job/a", "jobs/b"])."""
    if any("/" in word for word in words):
        return [_pair(word) for word in words]
    kinds, names = [kind for one in words[0].split(",") for kind in _kinds_named(one)], words[1:]
    if ALL in words[0].split(",") and names:
        raise refuse("stands for many kinds", f"remove the names: {' '.join(names)}", what=ALL)
    if not names:
        return [Named(kind) for kind in kinds]
    return [Named(kind, name) for kind in kinds for name in names]


def _kinds_named(text: str) -> list[Kind]:
    return kinds_of_all() if text == ALL else [kind_named(text)]


def kinds_of_all() -> list[Kind]:
    """The kinds of `kubectl get all`, all kinds of jobs, and workloads."""
    from .columns import JOBS

    return [kind for kind in KINDS if ALL in kind.categories or kind in JOBS or kind is WORKLOAD]


def _pair(word: str) -> Named:
    kind, _, name = word.partition("/")
    if not name or not kind:
        raise refuse(f'"{word}" does not name an object', "write KIND NAME, or KIND/NAME for each", what="NAME")
    return Named(kind_named(kind), name)


def is_manifest(word: str) -> bool:
    """Whether an argument is a file rather than the name of an object."""
    return word == "-" or word.endswith(MANIFESTS) or os.path.exists(word)


class Meant(NamedTuple):
    """A workload or job given as `[KIND/]NAME` or `NAMESPACE/NAME`; without a kind, any object of that name."""

    kind: Kind | None
    namespace: str
    name: str


def meant(word: str, namespace: str) -> Meant:
    first, slash, name = word.partition("/")
    if not slash:
        return Meant(None, namespace, word)
    kind = kinds_by_name().get(first.lower())
    return Meant(kind, namespace, name) if kind is not None else Meant(None, first, name)


def lacks_namespace(kind: Kind) -> InputError:
    return refuse(f"{kind.plural} are not namespaced", "omit -n and -A", what="--namespace")
