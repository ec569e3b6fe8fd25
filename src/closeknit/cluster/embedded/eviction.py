"""Evicting a pod: deleting it, unless a PodDisruptionBudget says that too few would be left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..kinds import POD
from ..port import Key, Raw

if TYPE_CHECKING:
    from .store import Options, Store


def evict(store: Store, namespace: str, pod: str, options: Options) -> Raw:
    return store.delete(Key(POD, namespace, pod), options=options)
