"""A pod as reconcilers see it: whose it is, where it is or has to go, and how far it got.

Which annotation, label or gate says so is the dialect's business: `workload`, `family`, `pod_set`, `index_offset` and
`gated` hold the answers. What a pod asks for is not here; that is its shape.
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
    """`gated` says that it waits for its place, `gates` what else it waits for, by name and its place included.

    `family` is the name that all slices of an elastic workload share; for any other, the workload's own.
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

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def ended(self) -> bool:
        return self.phase in ("Succeeded", "Failed")
