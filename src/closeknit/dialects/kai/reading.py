"""All of KAI's PodGroups in a set of files as gangs, with the Topologies that they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...model.gang import Gang
from ...model.mistake import Mistake
from ..gang_reading import GangReading
from . import keys
from .admin import POD_GROUP, known_topologies
from .gang import group_of, read_gang

KINDS = (POD_GROUP,)

Found = tuple[str, dict[str, Any]]


def read_gangs(
    groups: Sequence[Found],
    topologies: Sequence[Found],
    pods: Sequence[Found],
    priorities: Mapping[str, int] = keys.PRIORITIES,
) -> GangReading:
    """The gangs of these PodGroups; names of topologies are checked where there are some, KAI's or Kueue's."""
    if not groups:
        return GangReading()
    members: dict[str, list[Found]] = {}
    for pod in pods:
        if group_of(pod[1]):
            members.setdefault(group_of(pod[1]), []).append(pod)
    known = known_topologies(topologies)
    read = [read_gang(group, members.get(_name(group[1]), ()), known, priorities) for group in groups]
    gangs = tuple(one for one in read if isinstance(one, Gang))
    mistakes: tuple[Mistake, ...] = tuple(mistake for one in read if not isinstance(one, Gang) for mistake in one)
    return GangReading(gangs, dict(known or {}), mistakes)


def _name(raw: dict[str, Any]) -> str:
    metadata = raw.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
