"""Raw objects by namespace and name, with rarely used ones stored as JSON.

A finished workload may exist for days, and takes a third of the memory as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

import msgspec

from ..cluster.port import Raw

Place = tuple[str, str]


class RawObjects(MutableMapping[Place, Raw]):
    def __init__(self) -> None:
        self._objects: dict[Place, Raw | bytes] = {}

    def __getitem__(self, place: Place) -> Raw:
        return _unfolded(self._objects[place])

    def get(self, place: Place, default: Raw | None = None) -> Raw | None:  # type: ignore[override]
        """Like `Mapping.get`, but without the cost of an exception for a missing key."""
        found = self._objects.get(place)
        return default if found is None else _unfolded(found)

    def __setitem__(self, place: Place, raw: Raw) -> None:
        self._objects[place] = raw

    def __delitem__(self, place: Place) -> None:
        del self._objects[place]

    def __contains__(self, place: object) -> bool:
        return place in self._objects

    def __iter__(self) -> Iterator[Place]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    def fold(self, place: Place) -> None:
        """Store the object as JSON, because it is not expected to be read soon."""
        found = self._objects.get(place)
        if isinstance(found, dict):
            self._objects[place] = msgspec.json.encode(found)


def _unfolded(found: Raw | bytes) -> Raw:
    raw: Raw = msgspec.json.decode(found) if isinstance(found, bytes) else found
    return raw
