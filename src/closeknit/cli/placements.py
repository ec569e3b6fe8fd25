"""Where a workload runs, or what it waits for, read from the cluster's objects without running the scheduler.

An assignment by host names only hosts. The `Atlas` adds their racks and blocks, from the levels of each flavor's
topology and the labels of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..dialects.kueue.objects.state import GOING
from ..model.encoding import EncodingError, decode
from ..model.natural import natural
from ..model.reason import waits_for
from ..model.topology import HOSTNAME, Path
from ..report.placement import common

Raw = dict[str, Any]

UNSAID = ("Pending", "")
"""Reasons without information; the message is shown instead."""
NOT_YET = "The scheduler has not considered it yet"
SHORT = 60


class Atlas:
    """`levels` by flavor, and node labels by hostname."""

    def __init__(self, topologies: Iterable[Raw] = (), flavors: Iterable[Raw] = (), nodes: Iterable[Raw] = ()) -> None:
        named = {one["metadata"]["name"]: levels_of(one) for one in topologies}
        self.levels = {
            one["metadata"]["name"]: named.get((one.get("spec") or {}).get("topologyName", ""), ()) for one in flavors
        }
        self.topologies = named
        self._labels: dict[str, dict[str, str]] = {}
        for node in nodes:
            labels = node["metadata"].get("labels") or {}
            self._labels[labels.get(HOSTNAME, node["metadata"]["name"])] = labels

    def path(self, host: str, levels: tuple[str, ...]) -> Path:
        """The path from the top level down to the host; the host alone if it is unknown."""
        labels = self._labels.get(host)
        if labels is None or not levels:
            return (host,)
        return (*(labels.get(level, "") for level in levels[:-1]), host)


class PodSetPlaces(NamedTuple):
    """The pods of one pod set by full path; `levels` are the topology levels of the paths."""

    name: str
    number: int
    flavors: tuple[str, ...]
    levels: tuple[str, ...]
    pods: dict[Path, int]

    @property
    def together(self) -> Path:
        return common(list(self.pods))

    @property
    def level(self) -> str:
        """The lowest level at which one domain holds all pods; empty if none does."""
        depth = len(self.together)
        return self.levels[depth - 1] if 0 < depth <= len(self.levels) else ""

    @property
    def where(self) -> str:
        """The place in short form: b04/b04-r04, 5 hosts."""
        if not self.pods:
            return ""
        top = "/".join(self.together) or _several(sorted({path[0] for path in self.pods}, key=natural))
        what = "hosts" if self.levels and self.levels[-1] == HOSTNAME else "domains"
        return top if len(self.pods) == 1 else f"{top}, {len(self.pods)} {what}"


def _several(tops: list[str]) -> str:
    """The top-level domains in short form: b1, b2, b3 and 2 more."""
    return ", ".join(tops[:3]) + (f" and {len(tops) - 3} more" if len(tops) > 3 else "")


def levels_of(topology: Raw) -> tuple[str, ...]:
    return tuple(one.get("nodeLabel", "") for one in (topology.get("spec") or {}).get("levels") or ())


def groups_of(workload: Raw, atlas: Atlas) -> list[PodSetPlaces]:
    """The placement of each pod set; one without a topology assignment has no pods here."""
    admission = (workload.get("status") or {}).get("admission") or {}
    return [_group(one, atlas) for one in admission.get("podSetAssignments") or ()]


def _group(given: Raw, atlas: Atlas) -> PodSetPlaces:
    flavors = tuple(dict.fromkeys((given.get("flavors") or {}).values()))
    count = given.get("count") or 0
    wire = given.get("topologyAssignment")
    try:
        assignment = decode(wire) if wire else None
    except (EncodingError, LookupError, TypeError, ValueError):
        assignment = None
    if assignment is None:
        return PodSetPlaces(given.get("name", ""), count, flavors, (), {})
    if not assignment.by_host or len(assignment.levels) > 1:
        return PodSetPlaces(given.get("name", ""), count, flavors, assignment.levels, assignment.pods_by_domain)
    levels = next((found for flavor in flavors if (found := atlas.levels.get(flavor))), assignment.levels)
    pods = {atlas.path(path[-1], levels): number for path, number in assignment.pods_by_domain.items()}
    known = all(len(path) == len(levels) for path in pods)
    return PodSetPlaces(given.get("name", ""), count, flavors, levels if known else (HOSTNAME,), pods)


def condition(raw: Raw, kind: str) -> Raw | None:
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == kind), None)


def holds(raw: Raw, kind: str) -> bool:
    found = condition(raw, kind)
    return found is not None and found.get("status") == "True"


def is_going(raw: Raw) -> bool:
    return bool(raw["metadata"].get("deletionTimestamp"))


def state_of(workload: Raw) -> str:
    if holds(workload, "Finished"):
        reason = (condition(workload, "Finished") or {}).get("reason", "")
        return f"Finished ({reason})" if reason else "Finished"
    for kind in ("Admitted", "QuotaReserved"):
        if holds(workload, kind):
            return kind
    return "Evicted" if holds(workload, "Evicted") else "Pending"


def reason_of(workload: Raw) -> tuple[str, str]:
    """Why the workload is not admitted, as a reason and a message; both empty if it is admitted or finished."""
    if is_going(workload):
        return GOING, "It is being deleted"
    if holds(workload, "Finished") or holds(workload, "Admitted"):
        return "", ""
    if (workload.get("spec") or {}).get("active") is False:
        return "Deactivated", "The workload is deactivated: set spec.active to true"
    if holds(workload, "QuotaReserved"):
        checks = (workload.get("status") or {}).get("admissionChecks") or ()
        waiting = [one for one in checks if one.get("state") != "Ready"]
        names = ", ".join(f"{one.get('name')} ({one.get('message') or one.get('state')})" for one in waiting)
        if not waiting:
            return "", ""
        short = ", ".join(str(one.get("name")) for one in waiting)
        return f"admission checks ({short})", f"It holds its quota and waits for admission checks: {names}"
    found = condition(workload, "QuotaReserved") or condition(workload, "Evicted") or {}
    reason, message = found.get("reason", ""), found.get("message", "")
    if reason in UNSAID:
        reason = message if len(message) <= SHORT else f"{message[: SHORT - 1]}…"
    return waits_for(reason, message) or "a decision", message or NOT_YET


def short_level(key: str) -> str:
    """short_level("cloud.provider.com/topology-rack") == "rack"."""
    return key.rsplit("/", 1)[-1].removeprefix("topology-")
