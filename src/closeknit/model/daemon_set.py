"""A DaemonSet as placement sees it: which nodes get one of its pods, and what that pod takes.

Its controller creates a pod for every node that the template admits, so placement can count those pods in advance. The
controller also adds tolerations, which keep daemons running on nodes that other pods have to leave.
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
    """`shape` is the shape of its pods, including the tolerations that the controller adds."""

    uid: str
    shape: Shape
    host_network: bool = False

    @classmethod
    def of(cls, uid: str, template: Shape, host_network: bool = False) -> DaemonSet:
        """Build it from the shape of the pod template, adding the controller's tolerations."""
        added = ADDED + ADDED_ON_HOST_NETWORK if host_network else ADDED
        return cls(uid, replace(template, tolerations=template.tolerations + added), host_network)
