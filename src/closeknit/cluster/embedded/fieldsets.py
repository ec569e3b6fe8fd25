"""Sets of fields of an object, in the format of `managedFields` (FieldsV1).

A set is a tree of dicts: `f:name` is a field or the key of a map, `k:{"name":"c"}` the item of a list with that key,
`v:"x"` an item of a set. A node belongs to the set if it is empty or holds a `.`; otherwise only what is below it does.

    {"f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}
    is the container c and its image, but neither spec nor containers as such.

Like objects, sets are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from .fields import ANY, Schema

Fields = dict[str, Any]

LEAF: Fields = {}
SELF = "."

_encoded = msgspec.json.Encoder().encode


class FieldsError(ValueError):
    """Items of a list that cannot be told apart, or a field that is not in the schema."""


class Several(list[Any]):
    """Items of a list that have the same key."""


def child(schema: Schema, name: str) -> Schema:
    if schema.type == "object":
        return schema.fields.get(name) or ANY
    return schema.inner or ANY


def item_name(schema: Schema, item: Any) -> str:
    """The name of a list item in a set."""
    if not schema.keys:
        return f"v:{_encoded(item).decode()}"
    if not isinstance(item, dict):
        raise FieldsError("an item of a list with keys has to be an object")
    if len(schema.keys) == 1:
        key = schema.keys[0]
        if key in item:
            return f'k:{{"{key}":{_encoded(item[key]).decode()}}}'
    return f"k:{_encoded({key: _key_value(schema, item, key) for key in sorted(schema.keys)}).decode()}"


def _key_value(schema: Schema, item: Fields, key: str) -> Any:
    if key in item:
        return item[key]
    inner = schema.inner or ANY
    if key in inner.defaults:
        return inner.defaults[key]
    if inner.part:
        return 0 if child(inner, key).type == "int32" else ""
    raise FieldsError(f"an item of the list lacks its key {key}")


def by_name(schema: Schema, items: list[Any]) -> dict[str, Any]:
    """The items of a list by their names; those with the same name as `Several`."""
    found: dict[str, Any] = {}
    for item in items:
        name = item_name(schema, item)
        if name not in found:
            found[name] = item
        elif isinstance(found[name], Several):
            found[name].append(item)
        else:
            found[name] = Several((found[name], item))
    return found


# Objects to sets


def everything(schema: Schema, value: Any) -> Fields:
    """The set of the value and everything in it: what is added or removed together with it."""
    if schema.atomic or not value or isinstance(value, Several):
        return LEAF
    if isinstance(value, dict):
        if schema.type == "object":
            known = schema.fields
            return {SELF: LEAF, **{f"f:{key}": everything(known.get(key) or ANY, one) for key, one in value.items()}}
        inner = schema.inner or ANY
        return {SELF: LEAF, **{f"f:{key}": everything(inner, one) for key, one in value.items()}}
    if isinstance(value, list) and schema.type == "list":
        inner = schema.inner or ANY
        return {SELF: LEAF, **{name: everything(inner, one) for name, one in by_name(schema, value).items()}}
    return LEAF


def claimed(schema: Schema, value: Any) -> Fields | None:
    """The set that an apply with this value claims: its leaves and items, not the objects and lists that hold them."""
    if isinstance(value, dict) and value and not schema.atomic:
        found: Fields = {}
        known = schema.fields if schema.type == "object" else {}
        inner = schema.inner or ANY
        for key, one in value.items():
            declared = known.get(key)
            if declared is None and known and not schema.open:
                raise FieldsError(f".{key}: field not declared in schema")
            below = claimed(declared or inner, one)
            if declared is None:
                found[f"f:{key}"] = {SELF: LEAF, **below} if below else LEAF
            elif below is not None:
                found[f"f:{key}"] = below
        return found or None
    if isinstance(value, list) and schema.type == "list" and not schema.atomic:
        inner = schema.inner or ANY
        found = {}
        for name, one in by_name(schema, value).items():
            if isinstance(one, Several):
                raise FieldsError(f"duplicate entries for key {_step(name)}")
            below = claimed(inner, one)
            found[name] = {SELF: LEAF, **below} if below else LEAF
        return found or None
    return LEAF


Changes = tuple[Fields | None, Fields | None]


def compare(schema: Schema, old: Any, new: Any) -> Changes:
    """The sets of fields that were added or changed, and that were removed, between two different values."""
    if (old or new) and not schema.atomic:
        if schema.type == "list":
            if isinstance(old, list | None) and isinstance(new, list | None):
                return _compare(schema, by_name(schema, old or []), by_name(schema, new or []), "", schema.inner or ANY)
        elif isinstance(old, dict | None) and isinstance(new, dict | None):
            return _compare(schema, old or {}, new or {}, "f:", None)
        elif schema.type == "any":
            return everything(schema, new), {key: one for key, one in everything(schema, old).items() if key != SELF}
    return LEAF, None


def _compare(schema: Schema, old: Fields, new: Fields, prefix: str, inner: Schema | None) -> Changes:
    touched: Fields = {}
    removed: Fields = {}
    for key, value in new.items():
        if key not in old:
            touched[prefix + key] = everything(inner or child(schema, key), value)
        elif (was := old[key]) is not value and was != value:
            more, less = compare(inner or child(schema, key), was, value)
            if more is not None:
                touched[prefix + key] = more
            if less is not None:
                removed[prefix + key] = less
    for key, was in old.items():
        if key not in new:
            removed[prefix + key] = everything(inner or child(schema, key), was)
    return touched or None, removed or None


# Sets among each other


def has_itself(fields: Fields | None) -> bool:
    """Whether the node itself belongs to the set."""
    return fields is not None and (not fields or SELF in fields)


def is_set(fields: object) -> bool:
    """Whether this value has the form of a set."""
    return isinstance(fields, dict) and all(
        (key == SELF and one == {}) or (key[:2] in ("f:", "k:", "v:", "i:") and is_set(one))
        for key, one in fields.items()
    )


def minus(fields: Fields, others: Fields) -> Fields | None:
    """The fields in the first set and not in the second; None if there are none."""
    stays = (not fields or SELF in fields) and not (not others or SELF in others)
    found: Fields = {SELF: LEAF} if stays else {}
    is_same = stays == (not fields or SELF in fields)
    for key, below in fields.items():
        if key == SELF:
            continue
        if key in others:
            left = minus(below, others[key])
            is_same = is_same and left is below
            if left is not None:
                found[key] = left
        else:
            found[key] = below
    if is_same:
        return fields
    if stays and len(found) == 1:
        return LEAF
    return found or None


def union(fields: Fields, others: Fields) -> Fields:
    if fields == others:
        return fields
    found: Fields = {SELF: LEAF} if has_itself(fields) or has_itself(others) else {}
    for key, below in fields.items():
        if key != SELF:
            found[key] = union(below, others[key]) if key in others else below
    for key, below in others.items():
        if key not in fields and key != SELF:
            found[key] = below
    return found if len(found) > 1 or SELF not in found else LEAF


def overlap(fields: Fields, others: Fields) -> Fields | None:
    """The fields in both sets; None if there are none."""
    both = has_itself(fields) and has_itself(others)
    found: Fields = {SELF: LEAF} if both else {}
    for key, below in fields.items():
        if key in others and key != SELF:
            common = overlap(below, others[key])
            if common is not None:
                found[key] = common
    if both and len(found) == 1:
        return LEAF
    return found or None


def paths(fields: Fields, prefix: str = "") -> Iterator[str]:
    """The paths of a set as messages write them: .spec.containers[name="c"].image."""
    if prefix and has_itself(fields):
        yield prefix
    for key in sorted(fields):
        if key != SELF:
            yield from paths(fields[key], prefix + _step(key))


def _step(key: str) -> str:
    match key[:2]:
        case "f:":
            return f".{key[2:]}"
        case "k:":
            entries = msgspec.json.decode(key[2:]).items()
            return f"[{','.join(f'{name}={_encoded(value).decode()}' for name, value in entries)}]"
    return f"[={key[2:]}]"
