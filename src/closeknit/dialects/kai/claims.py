"""Which jobs and pods of a set of objects KAI places: those that name its scheduler, or have its marks.

An object that has no mark itself belongs to KAI if one of its owners does, or if it owns one that does. A job with a
mark of Kueue is Kueue's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..kueue.jobs.identity import ObjectIdentity
from ..kueue.jobs.train_job import RUNTIMES
from . import keys
from .admin import POD_GROUP, QUEUE, TOPOLOGIES
from .grouper.kinds import CRON_JOB, GROUP_KINDS, POD_GANG_KEY, TRAIN_JOB
from .grouper.owners import Found, OwnerChains

SCHEDULER = "kai-scheduler"
MARKS = (keys.POD_GROUP, keys.LWS_EXCLUSIVE, keys.JOB_SET_EXCLUSIVE)
OF_KUEUE = "kueue.x-k8s.io/"
ADMIN = frozenset((*TOPOLOGIES, POD_GROUP, QUEUE))
JOBS = frozenset((*GROUP_KINDS, CRON_JOB, TRAIN_JOB)) - {POD_GANG_KEY}


def claimed(objects: Sequence[Found]) -> list[Found]:
    """The objects that KAI's grouper takes, in order: PodGroups, Topologies, Queues, and its jobs and pods."""
    found = [(one, ObjectIdentity.of(*one)) for one in objects]
    owners, claims = OwnerChains(found), set[int]()
    for one, identity in found:
        if (identity.group, identity.kind) in JOBS:
            line = [raw for _, raw in owners.chain(one[1], identity.namespace)] + [one[1]]
            if any(_is_marked(raw) for raw in line):
                claims |= {id(raw) for raw in line}
    return [one for one, identity in found if _is_taken(identity, id(one[1]) in claims)]


def _is_taken(identity: ObjectIdentity, is_claimed: bool) -> bool:
    return is_claimed or (identity.group, identity.kind) in ADMIN or identity.kind in RUNTIMES


def _is_marked(raw: Any) -> bool:
    marks = list(_marks(raw))
    return bool(marks) and not any(mark.startswith(OF_KUEUE) for mark in marks)


def _marks(raw: Any) -> Iterator[str]:
    """The marks of Kueue and KAI anywhere in an object: labels and annotations, also those of its templates."""
    left = [raw]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            for key, inside in value.items():
                left.append(inside)
                if (isinstance(key, str) and (key.startswith((keys.PREFIX, OF_KUEUE)) or key in MARKS)) or (
                    key == "schedulerName" and inside == SCHEDULER
                ):
                    yield key
