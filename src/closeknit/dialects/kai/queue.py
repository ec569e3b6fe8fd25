"""Queue of `scheduling.run.ai/v2`: quota, limit and weight of CPU, memory and GPUs, in a tree by `parentQueue`.

The units are KAI's own: CPU in thousandths of a core, memory in 10^6 bytes, GPUs in devices, and -1 for no limit. The
object has no defaults, so that an absent quota or limit is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.resources import CPU, MEMORY
from ..field import Field, shown
from ..known_fields import METADATA
from ..spans import optional_seconds
from ..strictness import READ, Tree, check_fields, check_version
from .keys import QUEUE_VERSION

GPU = "nvidia.com/gpu"
MEGABYTE = 10**6
UNLIMITED = -1
DEFAULT_PRIORITY = 100
_UNITS = {"cpu": (CPU, 1), "memory": (MEMORY, MEGABYTE), "gpu": (GPU, 1)}
_SHARE: Tree = {"quota": READ, "limit": READ, "overQuotaWeight": READ}
FIELDS: Tree = {
    "apiVersion": READ,
    "kind": READ,
    "metadata": dict.fromkeys(METADATA, READ),
    "spec": {
        "displayName": READ,
        "parentQueue": READ,
        "priority": READ,
        "preemptMinRuntime": READ,
        "reclaimMinRuntime": READ,
        "resources": dict.fromkeys(_UNITS, _SHARE),
    },
    "status": READ,
}


@dataclass(frozen=True, slots=True)
class QueueShare:
    """Amounts in the units of the model (millicores, bytes, devices); None is unlimited."""

    quota: float | None = 0.0
    limit: float | None = 0.0
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class KaiQueue:
    """`shares` are by resource name. Only a queue that is no other queue's parent takes work."""

    name: str
    parent: str
    shares: Mapping[str, QueueShare]
    priority: int = DEFAULT_PRIORITY
    preempt_after: float | None = None
    reclaim_after: float | None = None


def check_queue(queue: Field) -> None:
    read_queue(queue)


def read_queue(queue: Field) -> KaiQueue | None:
    """The queue; reports mistakes and returns None if it is invalid."""
    before = queue.report.noted
    check_version(queue, QUEUE_VERSION)
    check_fields(queue, FIELDS)
    spec, name = queue.at("spec"), queue.at("metadata", "name").text()
    parent = spec.at("parentQueue").text()
    if parent and parent == name:
        spec.at("parentQueue").wrong("is the queue itself", "name another queue, or remove it")
    read = KaiQueue(
        name,
        parent,
        {resource: _share(spec.at("resources", key), unit) for key, (resource, unit) in _UNITS.items()},
        spec.at("priority").count(DEFAULT_PRIORITY),
        optional_seconds(spec.at("preemptMinRuntime")),
        optional_seconds(spec.at("reclaimMinRuntime")),
    )
    return read if queue.report.noted == before else None


def _share(field: Field, unit: int) -> QueueShare:
    quota, limit = (_amount(field.at(key), unit) for key in ("quota", "limit"))
    weight = _amount(field.at("overQuotaWeight"), 1)
    if weight is None:
        field.at("overQuotaWeight").wrong("is -1", "use a number, 0 or more")
    return QueueShare(quota, limit, weight or 0.0)


def _amount(field: Field, unit: int) -> float | None:
    value = field.value
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or (value < 0 and value != UNLIMITED):
        field.wrong(f"is {shown(value)}", "use a number, 0 or more, or -1 for no limit")
        return 0.0
    return None if value == UNLIMITED else float(value * unit)
