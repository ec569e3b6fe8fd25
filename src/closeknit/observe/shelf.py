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
        return _unfolded(self._objects[place])

    def get(self, place: Place, default: Raw | None = None) -> Raw | None:  # type: ignore[override]
        """Without the exception that a mapping of Python's makes its way through for whatever is not there."""
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
        """It is not expected to be looked at soon."""
        found = self._objects.get(place)
        if isinstance(found, dict):
            self._objects[place] = msgspec.json.encode(found)


def _unfolded(found: Raw | bytes) -> Raw:
    raw: Raw = msgspec.json.decode(found) if isinstance(found, bytes) else found
    return raw
