"""Merge changes into a raw object and keep the fields that we do not know.

What we decode of an object is a projection: it leaves out fields that others have set. So an object is never rebuilt
from the projection. Instead the projection of the old object is compared with the wanted one, and only the differences
are written:

    raw     {"spec": {"stopPolicy": "None", "news": 1}}
    before  {"spec": {"stopPolicy": "None"}}
    after   {"spec": {"stopPolicy": "Hold"}}
    merged  {"spec": {"stopPolicy": "Hold", "news": 1}}

Items of lists are matched by name if they have one, as in Kubernetes; other items are kept if an equal one is wanted.
Nothing is changed in place; unchanged parts are shared with the raw object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from .wire import Raw, convert

KEYS = (("name",), ("type",), ("coveredResources",), ("reason", "underlyingCause"))
"""The merge keys of list items: of pod sets and flavors, conditions, resource groups, and eviction counts."""

_ABSENT: Any = object()


def written(raw: Raw, wanted: msgspec.Struct) -> Raw:
    """The raw object with the fields of `wanted`, which is of the struct that the raw object decodes to."""
    changed: Raw = merged(raw, form(convert(raw, type(wanted))), form(wanted))
    return changed


def form(value: Any) -> Any:
    """A struct as plain values. None and empty lists, maps and strings are left out; an empty nested struct is kept.

    An empty selector matches everything, an absent one nothing.
    """
    if isinstance(value, msgspec.Struct):
        fields = ((field.encode_name, getattr(value, field.name)) for field in msgspec.structs.fields(value))
        return {name: form(item) for name, item in fields if item is not None and item != () and item != {}}
    if isinstance(value, (list, tuple)):
        return [form(item) for item in value]
    return value


def merged(raw: Any, before: Any, after: Any) -> Any:
    """`raw` with the changes from `before` to `after`, all three plain values."""
    if before == after:
        return raw
    if isinstance(raw, dict) and isinstance(after, dict):
        return _mappings(raw, before if isinstance(before, dict) else {}, after)
    if isinstance(raw, list) and isinstance(after, list):
        return _lists(raw, before if isinstance(before, list) else [], after)
    return after


def _mappings(raw: Raw, before: Raw, after: Raw) -> Raw:
    """Merge mappings; a key that `before` does not have is kept, and so is a list item without a match in it."""
    kept = {}
    for key, value in raw.items():
        if key in after:
            kept[key] = merged(value, before.get(key, _ABSENT), after[key])
        elif key not in before:
            kept[key] = value
        elif isinstance(value, list) and (rest := merged(value, before[key], [])):
            kept[key] = rest
    added = {key: value for key, value in after.items() if key not in raw and before.get(key, _ABSENT) != value}
    return {**kept, **added}


def _lists(raw: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    if all(isinstance(item, dict) for item in (*raw, *before, *after)):
        for keys in KEYS:
            if all(_tells(items, keys) for items in (raw, before, after)):
                return _by_key(*(_keyed(items, keys) for items in (raw, before, after)))
    return _by_equality(raw, before, after)


def _tells(items: Sequence[Raw], keys: tuple[str, ...]) -> bool:
    return all(keys[0] in item for item in items) and len(_keyed(items, keys)) == len(items)


def _keyed(items: Sequence[Raw], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Raw]:
    return {tuple(str(item.get(key) or "") for key in keys): item for item in items}


def _by_key(raw: dict[Any, Raw], before: dict[Any, Raw], after: dict[Any, Raw]) -> list[Raw]:
    """Merge lists by key, in the order of `after`; other items come last."""
    wanted = [merged(raw[key], before.get(key, {}), item) if key in raw else item for key, item in after.items()]
    return wanted + [item for key, item in raw.items() if key not in after and key not in before]


def _by_equality(raw: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    pairs = list(zip(before, raw, strict=True)) if len(raw) == len(before) else []
    items = []
    for wanted in after:
        place = next((i for i, (old, _) in enumerate(pairs) if old == wanted), None)
        items.append(wanted if place is None else pairs.pop(place)[1])
    return items
