"""Field ownership: `metadata.managedFields`, and server-side apply.

A create, update or patch makes its manager the only owner of the fields that it changed. The body of an apply is all
that its manager wants: it is merged into the object, fields that the manager alone owned and no longer sends are
removed, and a field that another manager owns with another value is a conflict, unless the apply is forced. Fields that
the server fills in have no owner. Sets of fields are in `fieldsets`, merging in `merging`, and the entries in
`holders`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects import timestamps
from ..errors import BadRequest
from ..kinds import DEPLOYMENT, JOB, NAMESPACE, NODE, POD, SERVICE, Kind
from ..port import Raw
from .fields import ANY, Schema, blank_of, schema_of
from .fieldsets import Changes, Fields, FieldsError, claimed, compare, minus, union
from .holders import Holder, capped, given_entries, held_by, refuse_conflicts, taken, with_entries
from .last_applied import noted, without_forgiven
from .merging import merged, without_dropped, without_nulls
from .schema import prune

BEFORE = "before-first-apply"
"""The manager of fields that had no owner when the first apply came."""

_UNTRACKED = frozenset(
    {
        *("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"),
        "managedFields",
    }
)
_UNTRACKED_IN_STATUS = {POD: _UNTRACKED | {"ownerReferences"}, DEPLOYMENT: _UNTRACKED | {"labels"}}
_NAMED: Fields = {"f:metadata": {"f:name": {}}}
"""The fields that every apply contains, but that are not listed as owned."""
_NEVER = frozenset({"apiVersion", "kind"})
_FILLED_IN: dict[Kind, tuple[tuple[str, ...], ...]] = {
    POD: tuple(
        ("spec", name)
        for name in ("tolerations", "priority", "preemptionPolicy", "serviceAccountName", "serviceAccount")
    ),
    NODE: (("spec", "taints"),),
    NAMESPACE: (("spec", "finalizers"),),
    JOB: (("metadata", "labels"), ("spec", "selector"), ("spec", "template", "metadata", "labels")),
    SERVICE: tuple(("spec", name) for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")),
}
"""Fields that the server adds to a new object: owned only if its creator sent them."""


def updated(
    kind: Kind, old: Raw | None, new: Raw, manager: str, now: float, subresource: str, body: Raw | None = None
) -> Raw:
    """The object after a create, update or patch: the manager now owns what changed.

    `body` is what the creator sent, for a new object. An object without managedFields is left as it is.
    """
    schema = schema_of(kind)
    if schema is None:
        return new
    entries = given_entries(old, new, subresource)
    if old is not None and not entries:
        return with_entries(new, [])
    try:
        touched, removed = _changes(kind, schema, old if old is not None else blank_of(kind), new, subresource)
    except FieldsError:
        return with_entries(new, entries)
    if old is None and body is not None and touched is not None:
        touched = _as_given(kind, touched, body)
    entries = taken(entries, touched, removed)
    if touched is not None:
        owner = Holder(manager, "Update", kind.api_version, subresource)
        mine = next((entry for entry in entries if owner.is_of(entry)), None)
        fields = touched if mine is None else union(mine["fieldsV1"], touched)
        entries = [entry for entry in entries if entry is not mine]
        entries = capped([*entries, owner.entry(fields, timestamps.stamp(now))])
    return with_entries(new, entries)


def created(kind: Kind, body: Raw, new: Raw, manager: str, now: float) -> Raw:
    """The object that an apply created: the manager owns what it sent, not what defaults added."""
    schema = schema_of(kind)
    if schema is None:
        return new
    try:
        sent = _settable(kind, body, "")
        fields = claimed(schema, sent) if sent else None
    except FieldsError as error:
        raise _unreadable(kind, body, error) from error
    owner = Holder(manager, "Apply", kind.api_version, "")
    new = _settled(kind, new)
    return with_entries(new, [owner.entry(fields, timestamps.stamp(now))] if fields is not None else [])


def applied(kind: Kind, old: Raw, body: Raw, manager: str, force: bool, now: float, subresource: str) -> Raw:
    """The object after an apply: what the manager sent is merged in, what it no longer sends is removed.

    If no manager owns anything, `managedFields` is present but empty.
    """
    schema = schema_of(kind)
    if schema is None:
        result: Raw = merged(ANY, old, body)
        return result
    try:
        return _applied(kind, schema, old, body, Holder(manager, "Apply", kind.api_version, subresource), force, now)
    except FieldsError as error:
        raise _unreadable(kind, body, error) from error


def _applied(kind: Kind, schema: Schema, old: Raw, body: Raw, owner: Holder, force: bool, now: float) -> Raw:
    stamp, sent = timestamps.stamp(now), _settable(kind, body, owner.subresource)
    fields = claimed(schema, sent) if sent else None
    entries = _tracked(kind, schema, old, owner.subresource, stamp)
    mine = next((entry for entry in entries if owner.is_of(entry)), None)
    others = [entry for entry in entries if entry is not mine]
    new: Raw = merged(schema, old, sent)
    if mine is not None and (fields is None or minus(mine["fieldsV1"], fields) is not None):
        new = without_dropped(schema, new, mine["fieldsV1"], union(held_by(fields, others), _NAMED))
    touched, removed = _changes(kind, schema, old, new, owner.subresource) if new is not old else (None, None)
    if mine is not None and removed is not None:
        new = without_nulls(schema, new, mine["fieldsV1"])
    if touched is not None and not force:
        refuse_conflicts(others, without_forgiven(schema, old, owner.manager, touched))
    others = taken(others, touched, removed)
    if fields is not None:
        last = mine.get("time") if mine is not None else None
        others.append(owner.entry(fields, stamp if touched is not None or removed is not None else last))
    new = noted(_settled(kind, new) if new is not old else old, body, owner.manager)
    return with_entries(new, others) if others else {**new, "metadata": {**new["metadata"], "managedFields": []}}


def _settled(kind: Kind, new: Raw) -> Raw:
    """The object as stored: an empty field that a manager claims is owned, but not stored."""
    return prune(kind, new)[0] if kind.is_built_in else new


def _unreadable(kind: Kind, body: Raw, error: FieldsError) -> BadRequest:
    name = (body.get("metadata") or {}).get("name", "")
    return BadRequest(f"failed to create typed patch object ({name}; {kind.api_version}, Kind={kind.kind}): {error}")


def alike(before: Sequence[Raw], after: Sequence[Raw]) -> bool:
    """Whether two lists of entries are equal apart from their times."""
    return [{**one, "time": None} for one in before] == [{**one, "time": None} for one in after]


def _tracked(kind: Kind, schema: Schema, old: Raw, subresource: str, stamp: str) -> list[Raw]:
    """The entries before an apply; fields without an owner go to the manager BEFORE."""
    entries: list[Raw] = old["metadata"].get("managedFields") or []
    if entries:
        return entries
    there, _ = _changes(kind, schema, blank_of(kind), old, subresource)
    return [Holder(BEFORE, "Update", kind.api_version, subresource).entry(there, stamp)] if there is not None else []


# What is tracked


def _is_hidden(kind: Kind, part: str, subresource: str) -> bool:
    """Whether a write through this subresource does not reach the top-level field."""
    if part in _NEVER:
        return True
    if subresource != "status":
        return part == "status" and kind.status
    return part != "status" and (part != "metadata" or not kind.is_built_in)


def _seen(kind: Kind, tree: Raw, subresource: str) -> Raw:
    """The top-level fields that a write through the subresource reaches."""
    seen = {part: value for part, value in tree.items() if not _is_hidden(kind, part, subresource)}
    if isinstance(meta := seen.get("metadata"), dict):
        hidden = _UNTRACKED if subresource != "status" else _UNTRACKED_IN_STATUS.get(kind, _UNTRACKED)
        seen["metadata"] = {key: value for key, value in meta.items() if key not in hidden}
    return seen


def _settable(kind: Kind, body: Raw, subresource: str) -> Raw:
    """The fields of a body that an apply may set."""
    meta = body.get("metadata") or {}
    if not isinstance(meta, dict):
        raise BadRequest("metadata has to be an object")
    if meta.get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    sent = _seen(kind, body, subresource)
    if not sent.get("metadata"):
        sent.pop("metadata", None)
    return sent


def _changes(kind: Kind, schema: Schema, old: Raw, new: Raw, subresource: str) -> Changes:
    """The sets that a write changed and removed, without top-level fields that every object has, such as a status."""
    before, after = _seen(kind, old, subresource), _seen(kind, new, subresource)
    for part, blank in blank_of(kind).items():
        if isinstance(blank, dict) and not _is_hidden(kind, part, subresource):
            before.setdefault(part, {})
            after.setdefault(part, {})
    return compare(schema, before, after) if before != after else (None, None)


def _as_given(kind: Kind, touched: Fields, body: Raw) -> Fields | None:
    """The set without fields that the server filled in and the body does not have."""
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
