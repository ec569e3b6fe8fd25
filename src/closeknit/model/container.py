"""What each container of a pod requests, and the QoS class that Kubernetes derives from it.

The sum of a pod's requests says how much it takes from a node, not whether the node can provide it: the kubelet
aligns containers one by one, in start order, and pins CPUs and memory for Guaranteed pods only. Quantities are those
after defaulting: a limit without a request is also the request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from .resources import CPU, MEMORY, Resources

Amounts = tuple[tuple[str, int], ...]
"""Amounts by resource, sorted by name, so that equal ones compare equal."""

Kind = Literal["init", "sidecar", "app"]
"""An init container ends before the next one starts; a sidecar (restartPolicy Always) keeps running beside the rest."""

QoS = Literal["Guaranteed", "Burstable", "BestEffort"]


@dataclass(frozen=True, slots=True)
class Needs:
    """Requests and limits of a container, or the pod-level ones that cover all of its containers together."""

    requests: Amounts = ()
    limits: Amounts = ()

    @property
    def qos(self) -> QoS:
        """The QoS class. Only cpu and memory count: Guaranteed if both have a request equal to the limit."""
        requests, limits = dict(self.requests), dict(self.limits)
        pairs = [(requests.get(name, 0), limits.get(name, 0)) for name in (CPU, MEMORY)]
        if all(request == limit > 0 for request, limit in pairs):
            return "Guaranteed"
        return "Burstable" if any(map(any, pairs)) else "BestEffort"


@dataclass(frozen=True, slots=True)
class Container(Needs):
    kind: Kind = "app"

    @classmethod
    def of(cls, requests: Resources, limits: Resources | None = None, kind: Kind = "app") -> Container:
        """From plain mappings, in one canonical order."""
        return cls(sorted_amounts(requests), sorted_amounts(limits or {}), kind)


def sorted_amounts(resources: Resources) -> Amounts:
    return tuple(sorted(resources.items()))


def qos_class(containers: Iterable[Container], pod_level: Needs | None) -> QoS:
    """The class shared by all containers, else Burstable; pod-level requests and limits decide alone if set."""
    if pod_level is not None:
        return pod_level.qos
    classes = {one.qos for one in containers} or {"BestEffort"}
    return classes.pop() if len(classes) == 1 else "Burstable"
