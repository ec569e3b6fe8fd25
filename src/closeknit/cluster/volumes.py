"""Which kinds are read into the volumes that pods' claims are resolved with, on every kind of host."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..dialects import volumes
from ..model.claims import Volumes
from ..model.volumes import Claim, StorageClass, Volume
from .kinds import STORAGE_CLASS, VOLUME, VOLUME_CLAIM, Kind
from .port import Change, Raw

READERS: Mapping[Kind, tuple[Callable[[Raw], Claim | Volume | StorageClass], type[Claim | Volume | StorageClass]]] = {
    STORAGE_CLASS: (volumes.storage_class, StorageClass),
    VOLUME: (volumes.volume, Volume),
    VOLUME_CLAIM: (volumes.claim, Claim),
}
VOLUME_KINDS = tuple(READERS)


def follow(known: Volumes, change: Change) -> bool:
    """Read a change of one of these kinds; returns whether it matters to pods."""
    read, of = READERS[change.kind]
    if change.type == "DELETED":
        return known.drop(of, "/".join(filter(None, (change.key.namespace, change.key.name))))
    return known.put(read(change.object))
