"""Warnings about keys of KAI that nothing reads: misspelt ones, and annotations among the labels or the reverse.

KAI ignores them silently: a job with `kai.scheduler/topology-require-placement` is placed anywhere.
"""

from __future__ import annotations

from collections.abc import Collection

from ...model.nearest import nearest
from ..field import Field
from . import keys


def check_keys(metadata: Field) -> None:
    _check(metadata.at("annotations"), keys.ANNOTATIONS, keys.LABELS, "make it a label")
    _check(metadata.at("labels"), keys.LABELS, keys.ANNOTATIONS, "make it an annotation")


def _check(place: Field, known: Collection[str], elsewhere: Collection[str], remedy: str) -> None:
    names = [key.removeprefix(keys.PREFIX) for key in known if key.startswith(keys.PREFIX)]
    for key, field in place.fields().items():
        if not key.startswith(keys.PREFIX) or key in known:
            continue
        meant = nearest(key.removeprefix(keys.PREFIX), names)
        if key in elsewhere:
            field.warn("is not read there", remedy)
        elif meant is not None:
            field.warn("is not a key that is read", f"did you mean {keys.PREFIX}{meant}?")
