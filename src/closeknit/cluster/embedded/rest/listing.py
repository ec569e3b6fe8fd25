"""Lists and their pages: the objects now, or at a version, in the order of names.

Pages need no state in the server. The first one puts its version into the continue token, and since objects are never
changed in place, the state at a version is the current one with the changes since then undone.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from itertools import islice
from typing import NamedTuple

import msgspec

from ...errors import BadRequest, Expired
from ...kinds import Kind
from ...port import Raw
from ..store import Store
from .queries import QueryString, invalid, not_supported
from .selectors import Selection

Objects = dict[tuple[str, str], Raw]
_TOO_LARGE = "Too large resource version: {}, current: {}"


class Page(NamedTuple):
    objects: list[Raw]
    meta: Raw


class _Token(NamedTuple):
    """Where the next page begins: after this name, at this version."""

    version: int
    namespace: str
    name: str


def page(store: Store, selection: Selection, query: QueryString) -> Page:
    """The page that a list request asks for; raises Expired if its version is no longer in the history."""
    check(query, is_watch=False)
    limit, token = max(0, query.number("limit") or 0), query.text("continue")
    after = _read(token) if token else None
    version = after.version if after else _wanted_version(store, query)
    objects = _at(store, selection.kind, version)
    keys = _keys(objects, selection)
    if after:
        keys = keys[bisect_right(keys, after[1:]) :]
    chosen = ((key, objects[key]) for key in keys if selection.matches(objects[key]))
    found = list(islice(chosen, limit or None))
    meta: Raw = {"resourceVersion": str(version)}
    if limit and len(found) == limit and (selection.is_all or next(chosen, None) is not None):
        left = len(keys) - len(found)
        if left:
            meta["continue"] = _written(_Token(version, *found[-1][0]))
            if selection.is_all:
                meta["remainingItemCount"] = left
    return Page([raw for _, raw in found], meta)


def present(store: Store, selection: Selection) -> list[Raw]:
    """The selected objects now, in the order of names."""
    objects = store.objects[selection.kind]
    return [objects[key] for key in _keys(objects, selection) if selection.matches(objects[key])]


def check(query: QueryString, is_watch: bool) -> None:
    """Check which parameters may be combined."""
    match, has_version = query.text("resourceVersionMatch"), bool(query.text("resourceVersion"))
    initial = query.has("sendInitialEvents")

    def forbidden(field: str, text: str) -> Exception:
        return invalid("ListOptions", field, f"Forbidden: {text}", "FieldValueForbidden")

    if initial and not is_watch:
        raise forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
    if match and is_watch and not initial:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        raise forbidden("resourceVersionMatch", text)
    if initial and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        raise forbidden("resourceVersionMatch", text)
    if match not in ("", "Exact", "NotOlderThan"):
        raise not_supported("ListOptions", "resourceVersionMatch", match, "Exact", "NotOlderThan", "")
    if match and not is_watch and not has_version:
        text = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise forbidden("resourceVersionMatch", text)
    query.number("timeoutSeconds")


def _wanted_version(store: Store, query: QueryString) -> int:
    asked = query.version()
    if asked is None or asked == 0:
        return store.version
    if asked > store.version:
        raise Expired(_TOO_LARGE.format(asked, store.version))
    return asked if query.text("resourceVersionMatch") == "Exact" else store.version


def _at(store: Store, kind: Kind, version: int) -> Objects:
    """The objects of a kind as they were at a version."""
    if version > store.version:
        raise Expired(_TOO_LARGE.format(version, store.version))
    objects = store.objects[kind]
    if version == store.version:
        return objects
    then = dict(objects)
    for change in reversed(store.changes(version)):
        if change.kind is not kind:
            continue
        if change.old is None:
            then.pop(change.key[1:], None)
        else:
            then[change.key[1:]] = change.old
    return then


def _keys(objects: Objects, selection: Selection) -> list[tuple[str, str]]:
    namespace, name = selection.namespace, selection.name
    if name and (namespace or not selection.kind.namespaced):
        return [(namespace, name)] if (namespace, name) in objects else []
    return sorted(key for key in objects if key[0] == namespace) if namespace else sorted(objects)


def _written(token: _Token) -> str:
    return urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _read(text: str) -> _Token:
    try:
        return msgspec.json.decode(urlsafe_b64decode(text.encode()), type=_Token)
    except (ValueError, msgspec.DecodeError):
        raise BadRequest("invalid continue token: this server did not give it") from None
