"""The entries of `managedFields`: which manager holds which set of fields.

A holder is a manager together with its operation, Apply or Update, and its subresource; it has one entry. Entries are
immutable values: removing fields from one makes another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..errors import Cause, Conflict
from ..port import Raw
from .fieldsets import Fields, is_set, minus, overlap, paths, union

ANCIENT = "ancient-changes"
"""The manager that takes over the fields of the oldest updaters when there are too many."""
MOST_UPDATERS = 10


class Holder(NamedTuple):
    """The holder of a set of fields. For an apply the version of the kind does not matter."""

    manager: str
    operation: str
    version: str
    subresource: str

    def entry(self, fields: Fields, time: str | None) -> Raw:
        return {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.version,
            **({"time": time} if time else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
            **({"subresource": self.subresource} if self.subresource else {}),
        }

    def is_of(self, entry: Raw) -> bool:
        return (
            entry["manager"] == self.manager
            and entry["operation"] == self.operation
            and entry.get("subresource", "") == self.subresource
            and (self.operation == "Apply" or entry["apiVersion"] == self.version)
        )


def given_entries(old: Raw | None, new: Raw, subresource: str) -> list[Raw]:
    """The entries before a write: those that the writer sent, if it may set them, otherwise the stored ones."""
    before: list[Raw] = (old["metadata"].get("managedFields") or []) if old is not None else []
    given = new["metadata"].get("managedFields") if old is not None else None
    if given is None or subresource or given == before:
        return before
    if given in ([], [{}]):
        return []
    if not isinstance(given, list) or not all(map(_is_entry, given)):
        return before
    return [entry for entry in given if entry["apiVersion"] == new["apiVersion"]]


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("operation") in ("Apply", "Update")
        and all(isinstance(entry.get(key, ""), str) for key in ("manager", "apiVersion", "time", "subresource"))
        and "manager" in entry
        and "apiVersion" in entry
        and is_set(entry.get("fieldsV1"))
    )


def held_by(fields: Fields | None, entries: Iterable[Raw]) -> Fields:
    """The union of all entries and the given fields."""
    found = fields if fields is not None else {}
    for entry in entries:
        found = union(found, entry["fieldsV1"]) if found else entry["fieldsV1"]
    return found


def taken(entries: Iterable[Raw], touched: Fields | None, removed: Fields | None) -> list[Raw]:
    """The entries without the fields that another manager changed or removed; those left empty are dropped."""
    found: list[Raw] = []
    for entry in entries:
        fields: Fields | None = entry["fieldsV1"]
        if touched is not None and fields is not None:
            fields = minus(fields, touched)
        if removed is not None and fields is not None:
            fields = minus(fields, removed)
        if fields is entry["fieldsV1"]:
            found.append(entry)
        elif fields is not None:
            found.append({**entry, "fieldsV1": fields})
    return found


def capped(entries: list[Raw]) -> list[Raw]:
    """The entries with at most MOST_UPDATERS updaters; the oldest share one entry."""
    updates = sorted((entry for entry in entries if entry["operation"] == "Update"), key=_order)
    if len(updates) <= MOST_UPDATERS:
        return entries
    ancient, surplus = Holder(ANCIENT, "Update", updates[0]["apiVersion"], ""), len(updates) - MOST_UPDATERS + 1
    oldest = updates[:surplus]
    fields = held_by(None, oldest)
    kept = [entry for entry in entries if entry not in oldest]
    return [*kept, ancient.entry(fields, max(entry.get("time", "") for entry in oldest))]


def with_entries(new: Raw, entries: list[Raw]) -> Raw:
    """The object with these entries in their order: applies first, then by time and name."""
    meta = new["metadata"]
    if not entries:
        if "managedFields" not in meta:
            return new
        return {**new, "metadata": {key: value for key, value in meta.items() if key != "managedFields"}}
    entries = sorted(entries, key=_order) if len(entries) > 1 else entries
    return {**new, "metadata": {**meta, "managedFields": entries}}


def _order(entry: Raw) -> tuple[str, str, str, str, str]:
    subresource = entry.get("subresource", "")
    return entry["operation"], entry.get("time", ""), entry["manager"], entry["apiVersion"], subresource


def refuse_conflicts(entries: Iterable[Raw], touched: Fields | None) -> None:
    """Raise Conflict if other managers hold fields that an apply changes."""
    causes: list[Cause] = []
    if touched is None:
        return
    for entry in sorted(entries, key=lambda one: str(one["manager"])):
        common = overlap(entry["fieldsV1"], touched)
        if common is not None:
            text = f"conflict with {_called(entry)}"
            causes += [Cause(path, text, "FieldManagerConflict") for path in paths(common)]
    if causes:
        raise Conflict(_conflict_text(causes), causes=causes)


def _called(entry: Raw) -> str:
    part = f' with subresource "{entry["subresource"]}"' if entry.get("subresource") else ""
    using = f" using {entry['apiVersion']}" if entry["operation"] == "Update" else ""
    return f'"{entry["manager"]}"{part}{using}'


def _conflict_text(causes: Sequence[Cause]) -> str:
    if len(causes) == 1:
        return f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}"
    lines: list[str] = []
    for message in dict.fromkeys(cause.message for cause in causes):
        lines.append(f"{message.replace('conflict', 'conflicts', 1)}:")
        lines += [f"- {cause.field}" for cause in causes if cause.message == message]
    return f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
