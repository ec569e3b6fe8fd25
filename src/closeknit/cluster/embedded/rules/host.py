"""The rules of the embedded host: what an API server, its admission plugins and our own policies do with a write.

    write ──▶ fill defaults ──▶ hold jobs ──▶ begin (identity, status, classes) ──▶ check ──▶ the object to store
                                                            │ or, for an update: prepare ──▶ compare with the old
                                                            └─▶ Refused, with every cause; or warnings

The host's own writers are trusted: their objects get the same defaults and immutable fields are checked, but they are
not validated. Types were checked before; if a wrong one slips through, the error is that the object cannot be read.
"""

from __future__ import annotations

from ....dialects.field import Field
from ....dialects.kueue.admin import check_node
from ....dialects.kueue.jobs import odd
from ...errors import BadRequest
from ...kinds import NODE, Kind
from ...port import Raw
from ..form import check_types
from ..store import Store, WriteOptions
from . import leaving
from .causes import Causes
from .metadata import check_metadata, check_metadata_change, tidy
from .queueing import check_held, held
from .rule import Making
from .settings import AdmissionSettings
from .table import RULES

_ODD = {("", "Node"): check_node}
"""Kinds checked here for warnings only; the rules of Kueue's own kinds include their warnings."""
_APART = ("metadata", "status")


class HostRules:
    """Implements `store.Rules`."""

    def __init__(self, settings: AdmissionSettings | None = None) -> None:
        self.settings = settings or AdmissionSettings()

    def admit(
        self, store: Store, kind: Kind, old: Raw | None, new: Raw, subresource: str, options: WriteOptions
    ) -> Raw:
        if options.trusted:
            return self._admit(store, kind, old, new, subresource, options)
        try:
            return self._admit(store, kind, old, new, subresource, options)
        except (TypeError, AttributeError, KeyError, ValueError, RecursionError) as error:
            raise BadRequest(f"the object cannot be read as a {kind.kind}: {error}") from error

    def _admit(
        self, store: Store, kind: Kind, old: Raw | None, new: Raw, subresource: str, options: WriteOptions
    ) -> Raw:
        new["metadata"] = tidy(new["metadata"])
        if old is None:
            return self._created(store, kind, new, options)
        if subresource == "status":
            return self._with_status(store, kind, old, new, options)
        if subresource == "finalize":
            return new
        return self._changed(store, kind, old, new, options)

    def _created(self, store: Store, kind: Kind, new: Raw, options: WriteOptions) -> Raw:
        rule = RULES[kind]
        if kind.status and kind is not NODE:
            new.pop("status", None)
        new = rule.fill(new)
        new = held(store, self.settings, kind, None, new)
        new = rule.begin(Making(store, self.settings, options.trusted), new)
        if not options.trusted:
            causes, field = Causes(), Field.root(new)
            _check_form(kind, new, causes)
            check_metadata(kind, rule.name, field.at("metadata"), causes)
            rule.check(field, causes)
            check_held(store, self.settings, kind, None, field, causes)
            _refuse(kind, new, field, causes, options)
            self._warn(store, kind, None, new, options)
        return new

    def _changed(self, store: Store, kind: Kind, old: Raw, new: Raw, options: WriteOptions) -> Raw:
        rule = RULES[kind]
        if options.trusted and _says_the_same(old, new):
            return new
        new = rule.fill(new)
        if rule.prepare is not None:
            new = rule.prepare(self.settings, old, new)
        new = held(store, self.settings, kind, old, new)
        causes, before, after = Causes(), Field.root(old), Field.root(new)
        if not options.trusted:
            _check_form(kind, new, causes)
            check_metadata(kind, rule.name, after.at("metadata"), causes)
            check_metadata_change(before.at("metadata"), after.at("metadata"), causes)
            if not rule.change_validates_all:
                rule.check(after, causes)
            check_held(store, self.settings, kind, before, after, causes)
        if not (options.trusted and rule.change_validates_all):
            rule.change(before, after, causes)
        _refuse(kind, new, after, causes, options)
        if not options.trusted:
            self._warn(store, kind, old, new, options)
        return new

    def _warn(self, store: Store, kind: Kind, old: Raw | None, new: Raw, options: WriteOptions) -> None:
        """Add the warnings of `closeknit check` for what changed, and those about objects that are being deleted."""
        if old is None or not _says_the_same(old, new) or _notes(old) != _notes(new):
            options.warnings.extend(str(one) for one in odd(new, self.settings.gates, _ODD))
        options.warnings.extend(leaving.warnings(store, kind, new))

    def _with_status(self, store: Store, kind: Kind, old: Raw, new: Raw, options: WriteOptions) -> Raw:
        rule = RULES[kind]
        if rule.fill_status is not None:
            new = rule.fill_status(old, new)
        if rule.status is None or options.trusted:
            return new
        causes, after = Causes(), Field.root(new)
        rule.status(Field.root(old), after, causes)
        _refuse(kind, new, after, causes, options)
        return new


def _says_the_same(old: Raw, new: Raw) -> bool:
    """Whether the objects differ in metadata and status only."""
    return all(_same(new.get(part), old.get(part)) for part in new.keys() | old.keys() if part not in _APART)


def _same(one: object, other: object) -> bool:
    """Equality with a shortcut, since large trees are often the same object."""
    return one is other or one == other


def _notes(raw: Raw) -> Raw:
    return raw["metadata"].get("annotations") or {}


def _check_form(kind: Kind, raw: Raw, causes: Causes) -> None:
    """Raise Invalid for a custom kind with fields still missing after defaults; other checks rely on its form."""
    if not kind.is_built_in:
        causes.found.extend(check_types(kind, raw))
        causes.refuse(kind, raw["metadata"]["name"])


def _refuse(kind: Kind, raw: Raw, field: Field, causes: Causes, options: WriteOptions) -> None:
    causes.take(field.report.mistakes)
    options.warnings.extend(str(one) for one in field.report.warnings)
    causes.refuse(kind, raw["metadata"]["name"])
