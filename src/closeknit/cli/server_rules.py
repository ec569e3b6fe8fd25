"""Validates a single object as an API server would: unknown and missing fields, wrong types and values.

It applies the rules of the embedded host on an empty cluster. References to other objects, such as a class or a
namespace, are not checked; neither are Nodes, which are read as other clusters wrote them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..cluster.errors import BadRequest, Invalid, Refused
from ..cluster.files import identity
from ..cluster.kinds import BY_NAME, KINDS, NODE, Kind
from ..model.gates import Gates
from ..model.mistake import Mistake

if TYPE_CHECKING:
    from ..cluster.embedded.store import Store

Raw = dict[str, Any]

MISSPELT = 0.85
"""The similarity above which an unknown kind is a typo of a known one; below it, it may be a kind of its own."""


class ServerRules:
    def __init__(self, gates: Gates) -> None:
        from ..cluster.embedded.ids import RandomIds
        from ..cluster.embedded.rules import AdmissionSettings, HostRules
        from ..cluster.embedded.store import Store, WriteOptions

        self.rules, self.options = HostRules(AdmissionSettings(gates)), WriteOptions(trusted=False)
        self.store: Store = Store(lambda: 0.0, RandomIds(0))

    def mistakes(self, where: str, raw: Raw) -> Iterator[Mistake]:
        group = str(raw.get("apiVersion", "")).rpartition("/")[0]
        kind = BY_NAME.get((group, str(raw.get("kind", ""))))
        what = identity(raw)
        if kind is None:
            meant = _meant(group, str(raw.get("kind", "")))
            if meant:
                yield Mistake(f'unknown kind "{raw["kind"]}"', f"did you mean {meant}?", where, what, "kind")
        elif raw.get("apiVersion") == kind.api_version and kind is not NODE:
            yield from self._of_kind(kind, where, what, deepcopy(raw))

    def _of_kind(self, kind: Kind, where: str, what: str, raw: Raw) -> Iterator[Mistake]:
        from ..cluster.embedded.schema import check_types, prune

        found = check_types(kind, raw, "", not kind.is_built_in)
        kept, unknown = prune(kind, raw)
        for field in unknown:
            yield Mistake(f"is not a field of {kind.kind}", "correct its name, or remove it", where, what, field)
        for cause in found or self._refused(kind, kept):
            yield Mistake(cause[1], "", where, what, cause[0])

    def _refused(self, kind: Kind, raw: Raw) -> list[tuple[str, str]]:
        """The rejected fields, each with its error."""
        meta = {"name": "x", "uid": "u", **(raw.get("metadata") or {})}
        if kind.namespaced:
            meta.setdefault("namespace", "default")
        try:
            self.rules.admit(self.store, kind, None, {**raw, "metadata": meta}, "", self.options)
        except Invalid as refused:
            return [(cause.field, cause.message) for cause in refused.causes]
        except BadRequest as refused:
            return [("", str(refused))]
        except Refused:
            return []
        return []


def _meant(group: str, given: str) -> str:
    known = [kind.kind for kind in KINDS if kind.group == group]
    swapped = [name for name in known if sorted(name.lower()) == sorted(given.lower())]
    close = difflib.get_close_matches(given, known, n=1, cutoff=MISSPELT)
    return next(iter((*swapped, *close)), "")
