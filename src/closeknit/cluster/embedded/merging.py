"""The merge of server-side apply: fields in the applied body are merged in, those it no longer has are removed.

The schema determines how a field is merged: objects and maps key by key, lists with keys and sets item by item,
everything atomic as a whole. Unchanged parts are not copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .fields import ANY, Schema
from .fieldsets import SELF, Fields, Several, by_name, child, has_itself, item_name


def merged(schema: Schema, live: Any, body: Any) -> Any:
    """The live value with the body merged in."""
    if schema.atomic:
        return body
    if isinstance(body, dict):
        return _merged_map(schema, live, body) if isinstance(live, dict) else body
    if isinstance(body, list) and schema.type == "list":
        return _merged_list(schema, live, body) if isinstance(live, list) else body
    if body is None and schema.type in ("object", "map", "list", "any") and live:
        return live
    return body


def _merged_map(schema: Schema, live: Fields, body: Fields) -> Fields:
    result = live
    for key, value in body.items():
        was = live.get(key)
        if was == value:
            continue
        new = value if was is None else merged(child(schema, key), was, value)
        if new is was:
            continue
        if result is live:
            result = dict(live)
        if new is None and not child(schema, key).nullable:
            del result[key]
        else:
            result[key] = new
    return result


def _merged_list(schema: Schema, live: list[Any], body: list[Any]) -> list[Any]:
    """Items only in the live list keep their position; items in the body follow the body's order.

    live a b c, body c x b: a c x b. The body has c before b, so b comes after c.
    """
    inner = schema.inner or ANY
    there, wanted = by_name(schema, live), by_name(schema, body)

    def both(name: str) -> Any:
        was, value = there.get(name), wanted[name]
        return value if was is None or isinstance(was, Several) else merged(inner, was, value)

    result: list[Any] = []
    coming = iter(wanted)
    due = iter([name for name in wanted if name in there])
    next_due = next(due, None)
    for name, item in _named(schema, live, there):
        if name not in wanted:
            result.append(item)
        elif name == next_due:
            for said in coming:
                result.append(both(said))
                if said == name:
                    break
            next_due = next(due, None)
    result += [both(name) for name in coming]
    return live if result == live else result


def _named(schema: Schema, items: list[Any], found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The items with their names, in order; items that share a name each keep their place."""
    if len(found) == len(items):
        yield from found.items()
    else:
        for item in items:
            yield item_name(schema, item), item


def without_dropped(schema: Schema, value: Any, last: Fields, owned: Fields) -> Any:
    """The value without the fields that a manager claimed before (`last`), claims no longer, and no other owns.

    `owned` is what all managers, the dropping one included, own now. An object or list with a part that is still owned
    stays with that part, and a field that was never claimed stays with its parent. A value that becomes empty is null
    until `without_nulls`, since the owner of a list or map as such keeps it.
    """
    return _without(schema, value, last, owned, False, False)


def _without(schema: Schema, value: Any, last: Fields, owned: Fields, lost: bool, dead: bool) -> Any:
    """`lost`: a parent was claimed before. `dead`: and no manager owns it now."""
    if schema.atomic:
        return value
    if schema.type == "list":
        if not isinstance(value, list):
            return value
        items = by_name(schema, value)
        left = _left(schema, items, "", last, owned, lost, dead)
        return value if left is items else _listed(schema, value, items, left)
    return _left(schema, value, "f:", last, owned, lost, dead) if isinstance(value, dict) else value


def _left(
    schema: Schema, there: dict[str, Any], prefix: str, last: Fields, owned: Fields, lost: bool, dead: bool
) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    for name, below in last.items():
        key = name.removeprefix(prefix)
        if name == SELF or key not in there or isinstance(there[key], Several):
            continue
        inner = child(schema, key)
        is_declared = key in schema.fields
        mine = owned.get(name)
        claimed = is_declared or has_itself(below)
        now_lost = lost or claimed
        now_dead = dead or (now_lost and not (mine is not None and (is_declared or has_itself(mine))))
        if claimed and now_dead:
            changed[key] = _GONE
            continue
        new = _without(inner, there[key], below, mine or {}, now_lost, now_dead)
        if new is not there[key]:
            changed[key] = (new if _says(inner, new) else _GONE) if new or not prefix else None
    if not changed:
        return there
    return {key: changed.get(key, one) for key, one in there.items() if changed.get(key, one) is not _GONE}


def _says(schema: Schema, value: Any) -> bool:
    """Whether the value contains anything that can have an owner: an empty list does not."""
    if schema.atomic or not isinstance(value, dict | list):
        return True
    if isinstance(value, list):
        return bool(value) or schema.type != "list"
    return not value or schema.type != "object" or any(_says(child(schema, key), one) for key, one in value.items())


def without_nulls(schema: Schema, value: Any, last: Fields) -> Any:
    """The value without the nulls that `without_dropped` left."""
    if schema.type == "list":
        if not isinstance(value, list):
            return value
        items = by_name(schema, value)
        left = {
            name: without_nulls(schema.item(), item, last[name]) if last.get(name) else item
            for name, item in items.items()
        }
        return _listed(schema, value, items, left)
    if not isinstance(value, dict):
        return value
    result = dict(value)
    for name, below in last.items():
        key = name[2:]
        if name != SELF and key in result:
            inner = child(schema, key)
            result[key] = without_nulls(inner, result[key], below) if below else result[key]
            if result[key] is None and not inner.nullable:
                del result[key]
    return result


def _listed(schema: Schema, items: list[Any], found: dict[str, Any], left: dict[str, Any]) -> list[Any]:
    """The remaining items of a list, in its order."""
    return [
        item if isinstance(left[name], Several) else left[name]
        for name, item in _named(schema, items, found)
        if name in left
    ]


_GONE = object()
