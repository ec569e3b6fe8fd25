"""A flavor: a kind of node, given by labels, taints and tolerations, with a topology if pods are placed on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .shape import Taint, Toleration


@dataclass(frozen=True, slots=True)
class Flavor:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""
