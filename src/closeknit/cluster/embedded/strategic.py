"""Strategic merge patches: like merge patches, but lists with a merge key are merged item by item.

The patch may carry directives: `$patch: delete|replace` on an object or an item of a list, `$retainKeys` with the
keys to retain, `$deleteFromPrimitiveList/LIST`, and `$setElementOrder/LIST` with the order of the items. Which lists
are merged, and by which key, is in the schema, which kubectl reads too.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..errors import BadRequest, Invalid
from .fields import ANY, Schema

PATCH, RETAIN = "$patch", "$retainKeys"
DELETE_FROM, ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def strategically(schema: Schema, old: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The object with the patch applied."""
    match patch.get(PATCH):
        case None:
            pass
        case "replace":
            replaced: dict[str, Any] = _literal(patch)
            return replaced
        case "delete":
            return {}
        case unknown:
            raise Invalid(f"unknown patch type: {unknown}")
    new = dict(_retained(old, patch))
    for key, value in patch.items():
        if key.startswith(ORDER):
            _ordered(schema, new, patch, key.removeprefix(ORDER), value)
        elif key != RETAIN and not key.startswith(DELETE_FROM) and ORDER + key not in patch:
            found = _patched(schema.field(key) or ANY, new.get(key), value)
            if found is None:
                new.pop(key, None)
            else:
                new[key] = found
    for key, value in patch.items():
        if key.startswith(DELETE_FROM):
            _delete_from(new, key.removeprefix(DELETE_FROM), value)
    return new


def _patched(schema: Schema, old: Any, value: Any) -> Any:
    if isinstance(value, dict) and isinstance(old, dict) and "replace" not in schema.strategy:
        return strategically(schema, old, value)
    if isinstance(value, list) and isinstance(old, list) and "merge" in schema.strategy:
        return _merged_list(schema, old, value)
    return _plain(value)


def _plain(value: Any) -> Any:
    """A patch as the value of a field that does not exist yet: without nulls and directives."""
    if isinstance(value, dict):
        if PATCH in value:
            return None
        plain = ((key, _plain(one)) for key, one in value.items() if not key.startswith("$"))
        return {key: one for key, one in plain if one is not None}
    if isinstance(value, list):
        return [one for one in map(_plain, value) if one is not None]
    return value


def _literal(value: Any) -> Any:
    """A patch taken as a plain value: its directives are dropped."""
    if isinstance(value, dict):
        return {key: _literal(one) for key, one in value.items() if one is not None and not key.startswith("$")}
    return [_literal(one) for one in value] if isinstance(value, list) else value


def _retained(old: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    if RETAIN not in patch:
        return old
    keys = patch[RETAIN]
    if not isinstance(keys, list) or any(key not in keys for key in patch if not key.startswith("$")):
        raise BadRequest("invalid patch format of retainKeys")
    return {key: value for key, value in old.items() if key in keys}


def _delete_from(new: dict[str, Any], key: str, values: Any) -> None:
    if isinstance(new.get(key), list) and isinstance(values, list):
        new[key] = [one for one in new[key] if one not in values]


# Lists


def _merged_list(schema: Schema, old: list[Any], patch: list[Any], order: list[Any] | None = None) -> list[Any]:
    """The items of both lists, in the order of the patch, with the old items in between as far as possible."""
    left, said = _directed(schema, old, patch) if schema.merge_key else (old, patch)
    new = _union(schema, left, said)
    wanted = [_name(schema, one) for one in (order if order is not None else said)]
    there = [_name(schema, one) for one in (old if order is not None else left)]
    return _arranged(schema, new, wanted, there)


def _directed(schema: Schema, old: list[Any], patch: list[Any]) -> tuple[list[Any], list[Any]]:
    """The old items that no directive removes, and the items of the patch that are not directives."""
    if not all(isinstance(one, dict) for one in patch):
        raise Invalid("list element types are not identical: a patch of a list of objects has to hold objects")
    said = [one for one in patch if PATCH not in one]
    gone: list[Any] = []
    for one in patch:
        match one.get(PATCH):
            case "replace":
                return [], said
            case "delete":
                gone.append(_name(schema, one))
            case None:
                pass
            case _:
                raise Invalid("merging lists cannot yet be specified in the patch")
    return [one for one in old if one.get(schema.merge_key) not in gone], said


def _union(schema: Schema, left: list[Any], said: list[Any]) -> list[Any]:
    if not schema.merge_key:
        return list(dict.fromkeys([*left, *said])) if _are_scalars(said) else said
    new = list(left)
    for one in said:
        name = _name(schema, one)
        place = next((index for index, was in enumerate(new) if was.get(schema.merge_key) == name), None)
        if place is None:
            new.append(_literal(one))
        else:
            new[place] = strategically(schema.item(), new[place], one)
    return new


def _are_scalars(items: list[Any]) -> bool:
    if any(isinstance(one, dict | list) for one in items):
        raise Invalid("list element types are not identical: a patch of a list of values has to hold values")
    return True


def _name(schema: Schema, item: Any) -> Any:
    """What identifies an item: its merge key, or the value itself."""
    if schema.merge_key and (not isinstance(item, dict) or schema.merge_key not in item):
        raise Invalid(f"an item does not contain declared merge key: {schema.merge_key}")
    name = item[schema.merge_key] if schema.merge_key else item
    if isinstance(name, dict | list):
        raise Invalid("the merge key of an item has to be a scalar")
    return name


def _ordered(schema: Schema, new: dict[str, Any], patch: dict[str, Any], key: str, order: Any) -> None:
    """Apply `$setElementOrder` for a list, together with the patch of its items."""
    field, said = schema.field(key) or ANY, patch.get(key)
    if not isinstance(order, list) or not isinstance(said, list | None):
        raise Invalid(f"{ORDER}{key} has to be a list, and so has {key}")
    wanted = [_name(field, one) for one in order]
    if said is not None:
        names = [_name(field, one) for one in said if not (isinstance(one, dict) and PATCH in one)]
        if names != [name for name in wanted if name in names]:
            raise Invalid(f"the order in {key} does not match {ORDER}{key}")
    if not isinstance(new.get(key), list):
        if said is not None:
            new[key] = _plain(said)
    elif said is None:
        new[key] = _arranged(field, new[key], wanted, [_name(field, one) for one in new[key]])
    else:
        new[key] = _merged_list(field, new[key], said, order)


def _arranged(schema: Schema, items: list[Any], wanted: list[Any], there: list[Any]) -> list[Any]:
    """The `wanted` items in that order; each other item goes before the first of these that followed it.

    there a b c d, wanted c x b: a was before c, and d after all of them, hence a c x b d.
    """
    by_name: dict[Any, list[Any]] = {}
    for one in items:
        by_name.setdefault(_name(schema, one), []).append(one)
    place = {name: index for index, name in reversed(list(enumerate(there)))}
    others = deque(name for name in dict.fromkeys(there) if name in by_name and name not in wanted)
    result: list[Any] = []
    for name in dict.fromkeys(wanted):
        if name in by_name:
            while others and name in place and place[others[0]] < place[name]:
                result += by_name[others.popleft()]
            result += by_name[name]
    for name in others:
        result += by_name[name]
    return result
