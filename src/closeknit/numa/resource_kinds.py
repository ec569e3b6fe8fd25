"""What kind of resource a name stands for, as NodeResourceTopologyMatch tells them apart.

The kubelet pins cpu, memory and huge pages only for Guaranteed pods, so these float for others. A device may have no
NUMA zone at all, in which case no zone lists it; a resource of Kubernetes itself must be listed.
"""

from __future__ import annotations

from ..model.container import QoS
from ..model.resources import CPU, MEMORY

HUGE_PAGES = "hugepages-"
OF_EVERY_NODE = frozenset({CPU, MEMORY, "pods", "ephemeral-storage"})
"""Resources that a scheduler assumes on every node, listed or not."""
_COUNTED = (HUGE_PAGES, "attachable-volumes-")
_HOST_STORAGE = ("ephemeral-storage", "storage")


def is_native(name: str) -> bool:
    """Whether the resource is Kubernetes' own, and no device or extended resource."""
    return "/" not in name or "kubernetes.io/" in name


def is_counted(name: str) -> bool:
    """Whether a scheduler keeps the resource when it reads a node; it drops others, such as storage."""
    return name in OF_EVERY_NODE or "/" in name or name.startswith(_COUNTED)


def is_affine(name: str) -> bool:
    """Whether the kubelet's cpu and memory managers pin the resource."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def is_host_level(name: str) -> bool:
    """Whether a node may offer the resource without any zone listing it."""
    return name in _HOST_STORAGE or not is_native(name)


def floats(name: str, qos: QoS) -> bool:
    """Whether containers of such a pod share the resource across zones, so that no amount in a zone counts."""
    return qos != "Guaranteed" and is_affine(name)
