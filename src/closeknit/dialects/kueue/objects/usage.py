"""Which objects use which: a finalizer keeps an object while another one uses it.

Topology ◀── ResourceFlavor ◀── ClusterQueue ◀── Workload with quota in it
"""

from __future__ import annotations

from typing import Any

from .wire import Raw


def has_quota(workload: Raw, queue: str) -> bool:
    """Whether a workload holds quota of the ClusterQueue; a finished one has released it."""
    status = _part(workload, "status")
    if _part(status, "admission").get("clusterQueue") != queue:
        return False
    return not any(one["type"] == "Finished" and one["status"] == "True" for one in status.get("conditions") or ())


def flavors(queue: Raw) -> dict[str, str]:
    """The flavors that a ClusterQueue refers to, each with the path of the field."""
    return {
        flavor["name"]: f"spec.resourceGroups[{i}].flavors[{j}].name"
        for i, group in enumerate(_part(queue, "spec").get("resourceGroups") or ())
        for j, flavor in enumerate(group.get("flavors") or ())
    }


def topology(flavor: Raw) -> str:
    """The Topology that a ResourceFlavor refers to."""
    return _part(flavor, "spec").get("topologyName") or ""


def _part(raw: Raw, name: str) -> dict[str, Any]:
    return raw.get(name) or {}
