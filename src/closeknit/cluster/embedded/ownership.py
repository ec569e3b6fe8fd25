"""Who owns which field of an object: `metadata.managedFields`, and what server-side apply makes of it.

A create, update or patch makes its writer the owner of what it changed, and nobody else any more. An apply says all
that its manager wants: that is merged into the object, what it owned alone and no longer says is removed, and a field
that somebody else owns with another value is a conflict, unless it is forced. Fields that the server fills in belong to
nobody. Sets of fields are in `fieldsets`, merging is in `merging`; here is who holds which set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...dialects import timestamps
from ..errors import BadRequest, Cause, Conflict
from ..kinds import DEPLOYMENT, JOB, NAMESPACE, NODE, POD, SERVICE, Kind
from ..port import Raw
from .fields import Schema, blank_of, schema_of
from .fieldsets import Changes, Fields, Nameless, compare, minus, overlap, paths, said, union
from .merging import merged, without_dropped, without_nulls

BEFORE = "before-first-apply"
"""Owns what was there when nobody kept track and the first apply comes."""
ANCIENT = "ancient-changes"
"""Owns what the oldest of too many updaters did."""
MOST_UPDATERS = 10

_UNTRACKED = frozenset(
    {
        *("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"),
        "managedFields",
    }
)
_UNTRACKED_IN_STATUS = {POD: _UNTRACKED | {"ownerReferences"}, DEPLOYMENT: _UNTRACKED | {"labels"}}
_NAMED: Fields = {"f:metadata": {"f:name": {}}}
"""What every apply says, though nobody is listed as its owner."""
_NEVER = frozenset({"apiVersion", "kind"})
_FILLED_IN: dict[Kind, tuple[tuple[str, ...], ...]] = {
    POD: (("spec", "tolerations"), ("spec", "priority"), ("spec", "preemptionPolicy"), ("spec", "serviceAccountName")),
    NODE: (("spec", "taints"),),
    NAMESPACE: (("spec", "finalizers"),),
    JOB: (("metadata", "labels"), ("spec", "selector"), ("spec", "template", "metadata", "labels")),
    SERVICE: tuple(("spec", name) for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")),
}
"""What the server adds to a new object by itself: it is owned only as far as its maker gave it."""


class Entry(NamedTuple):
    """Who holds a set of fields, by what kind of write, through which part of the object."""

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


def updated(
    kind: Kind, old: Raw | None, new: Raw, manager: str, now: float, subresource: str, body: Raw | None = None
) -> Raw:
    """The object after a create, update or patch: what changed belongs to the manager now.

    `body` is what its maker gave, for a new object. An object of which nobody kept track is left alone.
    """
    schema = schema_of(kind)
    if schema is None:
        return new
    entries = _entries(old, new, subresource)
    if old is not None and not entries:
        return _with(new, [])
    touched, removed = _changes(kind, schema, old if old is not None else blank_of(kind), new, subresource)
    if old is None and body is not None and touched is not None:
        touched = _as_given(kind, touched, body)
    entries = _taken(entries, touched, removed)
    if touched is not None:
        owner = Entry(manager, "Update", kind.api_version, subresource)
        mine = next((entry for entry in entries if owner.is_of(entry)), None)
        fields = touched if mine is None else union(mine["fieldsV1"], touched)
        entries = [entry for entry in entries if entry is not mine]
        entries = _capped([*entries, owner.entry(fields, timestamps.stamp(now))])
    return _with(new, entries)


def created(kind: Kind, body: Raw, new: Raw, manager: str, now: float) -> Raw:
    """The object that an apply made: what the manager said is its own, not what defaults added."""
    schema = schema_of(kind)
    if schema is None:
        return new
    fields = _said(schema, _told(kind, body, ""))
    owner = Entry(manager, "Apply", kind.api_version, "")
    return _with(new, [owner.entry(fields, timestamps.stamp(now))] if fields is not None else [])


def applied(kind: Kind, old: Raw, body: Raw, manager: str, force: bool, now: float, subresource: str) -> Raw:
    """The object after an apply: what the manager says is there, what it no longer says is gone."""
    schema = schema_of(kind)
    if (body.get("metadata") or {}).get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    if schema is None:
        result: Raw = merged(Schema("any"), old, body)
        return result
    stamp, told = timestamps.stamp(now), _told(kind, body, subresource)
    owner = Entry(manager, "Apply", kind.api_version, subresource)
    fields = _said(schema, told)
    entries = _tracked(kind, schema, old, subresource, stamp)
    mine = next((entry for entry in entries if owner.is_of(entry)), None)
    others = [entry for entry in entries if entry is not mine]
    new: Raw = merged(schema, old, told)
    if mine is not None and mine["fieldsV1"] != fields:
        new = without_dropped(schema, new, mine["fieldsV1"], union(_all(fields, others), _NAMED))
    touched, removed = _changes(kind, schema, old, new, subresource) if new is not old else (None, None)
    if mine is not None and removed is not None:
        new = without_nulls(schema, new, mine["fieldsV1"])
    if touched is not None and not force:
        _refuse_conflicts(others, touched)
    others = _taken(others, touched, removed)
    if fields is not None:
        last = mine.get("time") if mine is not None else None
        others.append(owner.entry(fields, stamp if touched is not None or removed is not None else last))
    return _with(new, others)


def alike(before: Sequence[Raw], after: Sequence[Raw]) -> bool:
    """Whether two lists say the same, times aside."""
    return [{**one, "time": None} for one in before] == [{**one, "time": None} for one in after]


# What is tracked


def _is_hidden(kind: Kind, part: str, subresource: str) -> bool:
    """Whether a write through this subresource does not reach the part."""
    if part in _NEVER:
        return True
    if subresource != "status":
        return part == "status" and kind.status
    return part != "status" and (part != "metadata" or not kind.is_built_in)


def _seen(kind: Kind, tree: Raw, subresource: str) -> Raw:
    """The parts of an object that count for a write through the subresource."""
    seen = {part: value for part, value in tree.items() if not _is_hidden(kind, part, subresource)}
    if isinstance(meta := seen.get("metadata"), dict):
        hidden = _UNTRACKED if subresource != "status" else _UNTRACKED_IN_STATUS.get(kind, _UNTRACKED)
        seen["metadata"] = {key: value for key, value in meta.items() if key not in hidden}
    return seen


def _told(kind: Kind, body: Raw, subresource: str) -> Raw:
    """What an apply may say."""
    told = _seen(kind, body, subresource)
    if not told.get("metadata"):
        told.pop("metadata", None)
    return told


def _said(schema: Schema, told: Raw) -> Fields | None:
    try:
        return said(schema, told) if told else None
    except Nameless as error:
        raise BadRequest(str(error)) from error


def _changes(kind: Kind, schema: Schema, old: Raw, new: Raw, subresource: str) -> Changes:
    before, after = _seen(kind, old, subresource), _seen(kind, new, subresource)
    return compare(schema, before, after) if before != after else (None, None)


def _as_given(kind: Kind, touched: Fields, body: Raw) -> Fields | None:
    """The set without what the server filled in and the body does not have."""
    found: Fields | None = touched
    for path in _FILLED_IN.get(kind, ()):
        if found is not None:
            found = _given(found, path, body)
    return found


def _given(fields: Fields, path: tuple[str, ...], body: object) -> Fields | None:
    key = f"f:{path[0]}"
    if key not in fields:
        return fields
    inner = body.get(path[0]) if isinstance(body, dict) else None
    if len(path) > 1:
        below = _given(fields[key], path[1:], inner)
    elif isinstance(inner, dict):
        below = {name: one for name, one in fields[key].items() if name == "." or name[2:] in inner}
    else:
        below = fields[key] if inner is not None else None
    if below is not None:
        return {**fields, key: below}
    return {name: one for name, one in fields.items() if name != key} or None


# Who holds what


def _entries(old: Raw | None, new: Raw, subresource: str) -> list[Raw]:
    """Who held what before: as the writer says, if it says so and may, else as it was."""
    before: list[Raw] = (old["metadata"].get("managedFields") or []) if old is not None else []
    given = new["metadata"].get("managedFields") if old is not None else None
    if given is None or given is before or subresource:
        return before
    if given == [{}]:
        return []
    return given if given and all(map(_is_entry, given)) else before


def _is_entry(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and entry.get("operation") in ("Apply", "Update")
        and all(isinstance(entry.get(key), str) for key in ("manager", "apiVersion"))
        and isinstance(entry.get("fieldsV1"), dict)
    )


def _tracked(kind: Kind, schema: Schema, old: Raw, subresource: str, stamp: str) -> list[Raw]:
    """Who holds what before an apply; what nobody kept track of belongs to a manager of its own."""
    entries: list[Raw] = old["metadata"].get("managedFields") or []
    if entries:
        return entries
    there, _ = _changes(kind, schema, blank_of(kind), old, subresource)
    return [Entry(BEFORE, "Update", kind.api_version, subresource).entry(there, stamp)] if there is not None else []


def _all(fields: Fields | None, entries: Iterable[Raw]) -> Fields:
    found = fields if fields is not None else {}
    for entry in entries:
        found = union(found, entry["fieldsV1"]) if found else entry["fieldsV1"]
    return found


def _taken(entries: Iterable[Raw], touched: Fields | None, removed: Fields | None) -> list[Raw]:
    """The entries without what somebody else changed or removed; those who own nothing any more vanish."""
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


def _capped(entries: list[Raw]) -> list[Raw]:
    """At most so many updaters; the oldest share one entry."""
    updates = sorted((entry for entry in entries if entry["operation"] == "Update"), key=_order)
    if len(updates) <= MOST_UPDATERS:
        return entries
    ancient, surplus = Entry(ANCIENT, "Update", updates[0]["apiVersion"], ""), len(updates) - MOST_UPDATERS + 1
    oldest = updates[:surplus]
    fields = _all(None, oldest)
    kept = [entry for entry in entries if entry not in oldest]
    return [*kept, ancient.entry(fields, max(entry["time"] for entry in oldest))]


def _with(new: Raw, entries: list[Raw]) -> Raw:
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


# Conflicts


def _refuse_conflicts(entries: Iterable[Raw], touched: Fields) -> None:
    causes: list[Cause] = []
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
