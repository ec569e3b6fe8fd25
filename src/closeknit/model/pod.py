"""A pod as reconcilers see it: its owner and workload, where it runs or has to go, and its phase.

The dialect reads annotations, labels and gates; `workload`, `family`, `pod_set`, `index_offset` and `gated` hold the
result. What a pod requests is in its shape, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .shape import Toleration
from .workload import LONG_AGO


class Owner(NamedTuple):
    """The object that controls a pod."""

    kind: str
    name: str
    uid: str
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class Pod:
    """`gated` means that it has the topology scheduling gate; `gates` are the names of all its scheduling gates.

    `unschedulable` is the scheduler's message if it could not bind the pod. `accepted`: its kubelet has admitted it.

    `family` is the name that all slices of an elastic workload share; for any other workload, its own name.
    """

    namespace: str
    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    workload: str = ""
    family: str = ""
    pod_set: str = ""
    index_offset: str = ""
    node: str = ""
    phase: str = ""
    gates: tuple[str, ...] = ()
    gated: bool = False
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Toleration, ...] = ()
    deleting: bool = False
    ready: bool = False
    created: float = LONG_AGO
    owner: Owner | None = None
    unschedulable: str = ""
    accepted: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")
