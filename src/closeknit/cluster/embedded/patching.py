"""Patches of every type that Kubernetes has.

A merge patch (RFC 7386) replaces every list it names, a JSON patch (RFC 6902) is a list of operations, and a strategic
merge patch merges lists item by item, as the schema of the built-in kinds defines (`strategic`). No patch may change an
object's identity: name, namespace, uid and kind stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import BadRequest, Cause, Invalid, TooLarge, UnsupportedMediaType
from ..kinds import Kind
from ..port import PatchForm, Raw
from .depth import DEEPEST, is_too_deep
from .fields import schema_of
from .strategic import strategically

MOST_STEPS = 10_000
MOST_COPIED = 3 << 20
"""How many bytes the `copy` operations of a JSON patch may copy together, as on an API server."""

_ACCEPTED = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"


def patched(kind: Kind, form: PatchForm, old: Raw, body: object) -> Raw:
    """The object with the patch applied; `old` is not modified."""
    new = by_steps(old, body) if form == "json" else _by_object(kind, form, old, body)
    _refuse_another(kind, old, new)
    return new


def _by_object(kind: Kind, form: PatchForm, old: Raw, body: object) -> Raw:
    schema = schema_of(kind) if form == "strategic" else None
    if form == "strategic" and (schema is None or not kind.is_built_in):
        raise UnsupportedMediaType(
            f"the body of the request was in an unknown format - accepted media types include: {_ACCEPTED}"
        )
    if not isinstance(body, dict):
        raise BadRequest("error decoding patch: a patch of this form has to be an object")
    return strategically(schema, old, body) if schema is not None else merged(old, body)


def _refuse_another(kind: Kind, old: Raw, new: object) -> None:
    meta = new.get("metadata") if isinstance(new, dict) else None
    if not isinstance(new, dict) or not isinstance(meta, dict) or not meta.get("name"):
        name = old["metadata"]["name"]
        raise BadRequest(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    was = old["metadata"]
    if meta["name"] != was["name"]:
        raise BadRequest(f"the name of the object ({meta['name']}) does not match the name on the URL ({was['name']})")
    if meta.get("namespace", "") != was.get("namespace", ""):
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    for field in ("apiVersion", "kind"):
        if new.get(field, old.get(field)) != old.get(field):
            raise unusable(f"{field} cannot be changed to {new[field]!r}")
    if meta.get("uid") and meta["uid"] != was.get("uid"):
        cause = Cause("metadata.uid", f'Invalid value: "{meta["uid"]}": field is immutable')
        text = f'{kind.kind} "{was["name"]}" is invalid: {cause.field}: {cause.message}'
        raise Invalid(text, group=kind.group, kind=kind.kind, name=was["name"], causes=[cause])


def unusable(text: str) -> Invalid:
    """The error response for a patch with a result that cannot be decoded."""
    return Invalid(f' "" is invalid: patch: Invalid value: {text}', causes=[Cause("patch", f"Invalid value: {text}")])


# RFC 7386


def merged(old: Any, body: Any) -> Any:
    """RFC 7386: null removes, objects are merged, everything else is replaced."""
    if not isinstance(body, dict):
        return body
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in body.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


# RFC 6902


class StepError(Exception):
    """An operation that fails: its path does not exist, or its test fails."""


def by_steps(old: Any, steps: object) -> Any:
    """RFC 6902: apply all operations in order, or none. Indices may count from the end, as API servers allow."""
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise BadRequest("error decoding patch: a JSON patch has to be a list of operations")
    if len(steps) > MOST_STEPS:
        raise TooLarge(f"the allowed maximum operations in a JSON patch is {MOST_STEPS}, got {len(steps)}")
    for step in steps:
        if not isinstance(step, dict) or not all(isinstance(step.get(key, ""), str) for key in ("op", "path", "from")):
            raise BadRequest("error decoding patch: an operation has to be an object with strings in op, path and from")
    new, copied = old, 0
    try:
        for step in steps:
            if step.get("op") == "copy":
                copied += len(msgspec.json.encode(_found(new, _pointer(step.get("from", "")))))
                if copied > MOST_COPIED:
                    raise Invalid(f"the copy operations of a JSON patch may copy at most {MOST_COPIED} bytes together")
            new = _step(new, step)
    except StepError as error:
        raise Invalid("the server rejected our request due to an error in our request") from error
    except RecursionError:
        raise _too_deep() from None
    if is_too_deep(new):
        raise _too_deep()
    return new


def _too_deep() -> Invalid:
    return Invalid(f"the patched object is nested more than {DEEPEST} levels deep")


def _step(tree: Any, step: Mapping[str, Any]) -> Any:
    path, value = _pointer(step.get("path", "")), step.get("value")
    match step.get("op"):
        case "add":
            return _at(tree, path, lambda parent, key: _added(parent, key, value), value)
        case "replace":
            return _at(tree, path, lambda parent, key: _put(parent, key, value), value)
        case "remove":
            return _removed(tree, path)
        case "copy":
            found = _found(tree, _pointer(step.get("from", "")))
            return _at(tree, path, lambda parent, key: _added(parent, key, found), found)
        case "move":
            source = _pointer(step.get("from", ""))
            found = _found(tree, source)
            return _at(_removed(tree, source), path, lambda parent, key: _added(parent, key, found), found)
        case "test":
            if not _is_same(_found(tree, path), value):
                raise StepError
            return tree
    raise StepError


def _is_same(found: Any, value: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return bool(found == value) and isinstance(found, bool) == isinstance(value, bool)


def _pointer(text: str) -> list[str]:
    if not text:
        return []
    if not text.startswith("/"):
        raise StepError
    if text.count("/") > DEEPEST:
        raise StepError
    return [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]


def _found(tree: Any, path: Sequence[str]) -> Any:
    for key in path:
        if isinstance(tree, dict) and key in tree:
            tree = tree[key]
        elif isinstance(tree, list):
            tree = tree[_index(key, len(tree) - 1)]
        else:
            raise StepError
    return tree


def _at(tree: Any, path: Sequence[str], change: Callable[[Any, str], Any], whole: Any) -> Any:
    """The tree with the parent of the path changed, and everything else shared."""
    if not path:
        return whole
    if len(path) == 1:
        return change(tree, path[0])
    inner = _at(_found(tree, path[:1]), path[1:], change, whole)
    return _put(tree, path[0], inner)


def _removed(tree: Any, path: Sequence[str]) -> Any:
    if not path:
        raise StepError
    return _at(tree, path, _without, None)


def _added(parent: Any, key: str, value: Any) -> Any:
    if isinstance(parent, list):
        index = len(parent) if key == "-" else _index(key, len(parent))
        return [*parent[:index], value, *parent[index:]]
    return _put(parent, key, value)


def _put(parent: Any, key: str, value: Any) -> Any:
    if isinstance(parent, dict):
        return {**parent, key: value}
    if isinstance(parent, list):
        index = _index(key, len(parent) - 1)
        return [*parent[:index], value, *parent[index + 1 :]]
    raise StepError


def _without(parent: Any, key: str) -> Any:
    if isinstance(parent, dict) and key in parent:
        return {name: value for name, value in parent.items() if name != key}
    if isinstance(parent, list):
        index = _index(key, len(parent) - 1)
        return [*parent[:index], *parent[index + 1 :]]
    raise StepError


def _index(key: str, last: int) -> int:
    """The index in a list that a key stands for; -1 is the last."""
    if not re.fullmatch(r"-?[0-9]{1,9}", key, re.ASCII):
        raise StepError
    index = int(key)
    if index < 0:
        index += last + 1
    if not 0 <= index <= last:
        raise StepError
    return index
