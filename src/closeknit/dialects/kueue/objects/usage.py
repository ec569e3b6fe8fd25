"""Who needs whom: what a finalizer keeps from going while the answer is somebody.

Topology ◀── ResourceFlavor ◀── ClusterQueue ◀── Workload with quota in it
"""

from __future__ import annotations

from typing import Any

from .wire import Raw


def has_quota(workload: Raw, queue: str) -> bool:
    """Whether it holds quota of the ClusterQueue; one that has finished gave it back."""
    status = _part(workload, "status")
    if _part(status, "admission").get("clusterQueue") != queue:
        return False
    return not any(one["type"] == "Finished" and one["status"] == "True" for one in status.get("conditions") or ())


def flavors(queue: Raw) -> dict[str, str]:
    """The flavors that a ClusterQueue names, each with the field that does."""
    return {
        flavor["name"]: f"spec.resourceGroups[{i}].flavors[{j}].name"
        for i, group in enumerate(_part(queue, "spec").get("resourceGroups") or ())
        for j, flavor in enumerate(group.get("flavors") or ())
    }


def topology(flavor: Raw) -> str:
    """The Topology that a ResourceFlavor names."""
    return _part(flavor, "spec").get("topologyName") or ""


def _part(raw: Raw, name: str) -> dict[str, Any]:
    return raw.get(name) or {}
