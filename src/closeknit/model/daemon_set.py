"""A DaemonSet as placement sees it: which nodes get a pod of it, and what that pod takes.

Its controller makes a pod for every node that the template admits, so those pods are sure to come. It also adds
tolerations of its own, by which a daemon keeps running on nodes that others have to leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .shape import Shape, Toleration

_PREFIX = "node.kubernetes.io/"

ADDED = (
    *(Toleration(_PREFIX + key, "Exists", effect="NoExecute") for key in ("not-ready", "unreachable")),
    *(
        Toleration(_PREFIX + key, "Exists", effect="NoSchedule")
        for key in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
)
ADDED_ON_HOST_NETWORK = (Toleration(_PREFIX + "network-unavailable", "Exists", effect="NoSchedule"),)


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """`shape` is that of its pods, with the tolerations that its controller adds."""

    uid: str
    shape: Shape
    host_network: bool = False

    @classmethod
    def of(cls, uid: str, template: Shape, host_network: bool = False) -> DaemonSet:
        """From the shape as the template has it."""
        added = ADDED + ADDED_ON_HOST_NETWORK if host_network else ADDED
        return cls(uid, replace(template, tolerations=template.tolerations + added), host_network)
