"""The simpler two caches: always the last report, and the last report unless a pod is on its way to the node.

Without a cache, a node gets pods faster than its agent reports them, and takes too many. DiscardReserved lets a node
take one pod at a time:

          reserve()                    bound(), unreserve()
    free ───────────▶ in use: rejected ────────────────────▶ free

Between the binding and the next report it knows no more than Passthrough does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...model.numa import NodeZones
from ...numa.placement_vector import ContainerName
from .zoned_pod import ZonedPod


class ZonesView(NamedTuple):
    """The zones to decide with. None: the node has no report and takes any pod. Not fresh: it takes none."""

    zones: NodeZones | None
    is_fresh: bool = True


class PassthroughCache:
    """The last report of each node, as it is."""

    def __init__(self) -> None:
        self._reports: dict[str, NodeZones] = {}

    def put(self, report: NodeZones) -> None:
        self._reports[report.node] = report

    def drop(self, node: str) -> None:
        self._reports.pop(node, None)

    def view(self, node: str) -> ZonesView:
        return ZonesView(self._reports.get(node))

    def placement(self, node: str) -> Mapping[ContainerName, int] | None:
        """The zones of containers; None if the cache does not know them."""
        return None

    def reserve(self, node: str, pod: ZonedPod) -> None:
        """The pod was placed on the node and is about to be bound."""

    def unreserve(self, node: str, pod: ZonedPod) -> None:
        """The pod will not be bound."""

    def bound(self, node: str, pod: ZonedPod) -> None:
        """The pod was bound."""

    def refused(self, node: str) -> None:
        """The filter rejected a pod on the node."""

    def pod_changed(self, pod: ZonedPod) -> None:
        """A pod was added, changed or deleted."""


class DiscardReservedCache(PassthroughCache):
    def __init__(self) -> None:
        super().__init__()
        self._reserved: dict[str, set[str]] = {}

    def view(self, node: str) -> ZonesView:
        return ZonesView(None, False) if self._reserved.get(node) else super().view(node)

    def reserve(self, node: str, pod: ZonedPod) -> None:
        self._reserved.setdefault(node, set()).add(pod.uid)

    def unreserve(self, node: str, pod: ZonedPod) -> None:
        held = self._reserved.get(node, set())
        held.discard(pod.uid)
        if not held:
            self._reserved.pop(node, None)

    def bound(self, node: str, pod: ZonedPod) -> None:
        self.unreserve(node, pod)
