"""Objects by namespace and name, those that are hardly looked at again folded up small.

A workload that has finished may be kept for days. As JSON it takes a third of the memory that it takes as a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping

import msgspec

from ..cluster.port import Raw

Place = tuple[str, str]


class Shelf(MutableMapping[Place, Raw]):
    def __init__(self) -> None:
        self._objects: dict[Place, Raw | bytes] = {}

    def __getitem__(self, place: Place) -> Raw:
        found = self._objects[place]
        if isinstance(found, bytes):
            raw: Raw = msgspec.json.decode(found)
            return raw
        return found

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
        """It is not expected to be looked at soon."""
        found = self._objects.get(place)
        if isinstance(found, dict):
            self._objects[place] = msgspec.json.encode(found)
