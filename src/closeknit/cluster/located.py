"""Mistakes with the line and column of their field; see `positions`. Files are read again only if there are any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..model.mistake import Mistake
from .files import STDIN, identity, read_text, shown
from .positions import Position, place_of, positions

Places = dict[str, Position]


def located(mistakes: Iterable[Mistake], objects: Sequence[tuple[str, dict[str, Any]]]) -> list[Mistake]:
    """The mistakes in these objects, each with its position where it is known; `objects` are in the files' order.

    A mistake in something made for an object, `PodGroup a of Job b`, gets the position of that object. Standard input
    has to be kept (`stdin_kept`).
    """
    known: dict[str, dict[str, Places]] = {}
    found = []
    for mistake in mistakes:
        if mistake.where not in known:
            known[mistake.where] = _places(mistake.where, [raw for where, raw in objects if where == mistake.where])
        places, of = known[mistake.where], mistake.what.rpartition(" of ")[2]
        at = place_of(places.get(mistake.what, {}), mistake.field) or place_of(places.get(of, {}), "")
        found.append(mistake if at is None else replace(mistake, where=f"{mistake.where}:{at[0]}:{at[1]}"))
    return found


def _places(where: str, objects: Sequence[dict[str, Any]]) -> dict[str, Places]:
    """By object; empty if the text does not have as many documents as there are objects, as with a list."""
    documents = positions(read_text(STDIN if where == shown(STDIN) else where)) if objects else []
    if len(documents) != len(objects):
        return {}
    return {identity(raw): places for raw, places in reversed(list(zip(objects, documents, strict=True)))}
