"""PersistentVolumeClaims, PersistentVolumes and StorageClasses, as far as they decide on which nodes a pod can run.

A bound claim leads to the nodes that reach its volume. An unbound one of a class that waits for the first pod leads to
the nodes where a volume is free, or where the class may create one. Terms are those of node affinity; None stands for
every node.
"""

from __future__ import annotations

from typing import NamedTuple

from .pod_rules import Labels, Selector, selects
from .shape import Requirement, Term

Terms = tuple[Term, ...]

ONE_POD = "ReadWriteOncePod"
ZONE_LABELS = {
    "topology.kubernetes.io/zone": "",
    "topology.kubernetes.io/region": "",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Labels of a PersistentVolume that name its zone; a node may have the newer name of an older label instead."""
SEVERAL_ZONES = "__"
"""Between the zones in a label of a volume."""


class Claim(NamedTuple):
    """`storage_class` is None where the default class applies. `volume` is the PersistentVolume that it is bound to,
    or is to be bound to unless `is_bound`."""

    namespace: str
    name: str
    storage_class: str | None = None
    modes: tuple[str, ...] = ()
    size: int = 0
    selector: Selector | None = None
    volume: str = ""
    is_bound: bool = False
    is_lost: bool = False
    leaves: bool = False

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Volume(NamedTuple):
    """A PersistentVolume. `claim` is the key of the claim that it is reserved for."""

    name: str
    terms: Terms | None = None
    labels: Labels = ()
    storage_class: str = ""
    modes: tuple[str, ...] = ()
    size: int = 0
    claim: str = ""
    is_available: bool = True

    def serves(self, claim: Claim, storage_class: str) -> bool:
        """Whether an unbound claim of this class may be bound to it."""
        return (
            self.is_available
            and self.claim in ("", claim.key)
            and self.storage_class == storage_class
            and set(claim.modes) <= set(self.modes)
            and claim.size <= self.size
            and (claim.selector is None or selects(claim.selector, dict(self.labels)))
        )

    @property
    def zones(self) -> list[Terms]:
        """For each zone label the terms that a node has to match; nodes without any such label match."""
        labels = dict(self.labels)
        return [_in_zone(key, newer, labels[key]) for key, newer in ZONE_LABELS.items() if key in labels]


class StorageClass(NamedTuple):
    """`waits`: a claim is bound when the first pod that uses it is placed. `provisions`: it creates volumes."""

    name: str
    waits: bool = False
    provisions: bool = True
    terms: Terms | None = None
    is_default: bool = False


def _in_zone(key: str, newer: str, value: str) -> Terms:
    zones = tuple(value.split(SEVERAL_ZONES))
    nowhere = Term(tuple(Requirement(one, "DoesNotExist") for one in ZONE_LABELS))
    found = [nowhere, Term((Requirement(key, "In", zones),))]
    if newer:
        found.append(Term((Requirement(key, "DoesNotExist"), Requirement(newer, "In", zones))))
    return tuple(found)
