"""Which nodes the volumes of pods leave them: the claims that a template names, resolved with the cluster as it is now.

A shape holds the names of its claims only. They are resolved each time a placement is planned, so that a pending
workload sees a claim that was created or bound since; the results are kept until one of the objects changes. Where
nothing of a pod's volumes excludes a node, no rule remains, and the pod is as cheap as one without volumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from .pod_rules import PodRules
from .shape import Shape
from .volumes import ONE_POD, Claim, StorageClass, Terms, Volume

KEPT = 4096
"""Shapes whose volumes are remembered."""

CONFLICT = 'volume node affinity conflict "{}"'
NO_ZONE = 'no available volume zone "{}"'
NOWHERE = 'no available persistent volume to bind "{}"'
NOT_ALLOWED = 'allowedTopologies of StorageClass "{}"'

Where = tuple[str, Terms]
T = TypeVar("T")


@dataclass(slots=True)
class ClaimAnswer:
    """What one claim asks of a node, or why it excludes all of them."""

    where: tuple[Where, ...] = ()
    refused: str = ""
    alone: bool = False


class Volumes:
    """`is_known` tells whether the cluster's claims, volumes and classes can be read; else nothing is excluded."""

    def __init__(self, is_known: Callable[[], bool] = lambda: True) -> None:
        self.is_known = is_known
        self.claims: dict[str, Claim] = {}
        self.volumes: dict[str, Volume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.matter = False
        """Whether a pod with claims was planned, so that a change of one of these objects may let it in."""
        self._kept: dict[tuple[Shape, bool], Shape] = {}

    def put(self, one: Claim | Volume | StorageClass) -> bool:
        """Whether anything changed."""
        if isinstance(one, Claim):
            return self._change(self.claims, one.key, one)
        if isinstance(one, Volume):
            return self._change(self.volumes, one.name, one)
        return self._change(self.classes, one.name, one)

    def drop(self, kind: type[Claim | Volume | StorageClass], key: str) -> bool:
        if kind is Claim:
            return self._change(self.claims, key, None)
        return self._change(self.volumes, key, None) if kind is Volume else self._change(self.classes, key, None)

    def _change(self, table: dict[str, T], key: str, value: T | None) -> bool:
        if table.get(key) == value:
            return False
        if value is None:
            del table[key]
        else:
            table[key] = value
        self._kept.clear()
        return True

    def ruled(self, shape: Shape) -> Shape:
        """The shape with what its volumes ask now."""
        if shape.rules is None or not shape.rules.has_volumes:
            return shape
        self.matter = True
        key = shape, self.is_known()
        known = self._kept.get(key)
        if known is None:
            if len(self._kept) > KEPT:
                self._kept.clear()
            known = self._kept[key] = self._ruled(shape, shape.rules, known=key[1])
        return known

    def _ruled(self, shape: Shape, rules: PodRules, known: bool) -> Shape:
        asks = self.resolved(rules) if known else replace(rules, ephemeral=())
        return shape.ruled(asks if asks.excludes else None, shape.kind)

    def resolved(self, rules: PodRules) -> PodRules:
        """The rules with what the volumes of the pod ask of its node."""
        found = {name: self._claimed(rules.kind.namespace, name) for name in rules.kind.volumes}
        every = [*found.values(), *(self._ephemeral(claim) for claim in rules.ephemeral)]
        return replace(
            rules,
            where=tuple(dict.fromkeys([*rules.where, *(one for each in every for one in each.where)])),
            refused=rules.refused or next((one.refused for one in every if one.refused), ""),
            alone=tuple(name for name, one in found.items() if one.alone),
            ephemeral=(),
        )

    def _claimed(self, namespace: str, name: str) -> ClaimAnswer:
        what, claim = f'PersistentVolumeClaim "{name}"', self.claims.get(f"{namespace}/{name}")
        if claim is None:
            return ClaimAnswer(refused=f"{what} does not exist")
        if claim.leaves:
            return ClaimAnswer(refused=f"{what} is being deleted")
        alone = ONE_POD in claim.modes
        if claim.is_lost or (claim.is_bound and claim.volume not in self.volumes):
            return ClaimAnswer(refused=f'{what}: PersistentVolume "{claim.volume}" does not exist')
        if claim.is_bound:
            return ClaimAnswer(tuple(_of_volume(name, self.volumes[claim.volume])), alone=alone)
        one = self._class_of(claim)
        if claim.volume or one is None or not one.waits:
            return ClaimAnswer(refused=f"{what} is not bound")
        return ClaimAnswer(self._unbound(claim, one), alone=alone)

    def _ephemeral(self, claim: Claim) -> ClaimAnswer:
        """A claim that is created with the pod; if its class does not wait, it may be bound anywhere."""
        one = self._class_of(claim)
        return ClaimAnswer(self._unbound(claim, one)) if one is not None and one.waits else ClaimAnswer()

    def _class_of(self, claim: Claim) -> StorageClass | None:
        if claim.storage_class is not None:
            return self.classes.get(claim.storage_class)
        return next((one for one in self.classes.values() if one.is_default), None)

    def _unbound(self, claim: Claim, one: StorageClass) -> tuple[Where, ...]:
        """Where a volume for the claim is free, or may be created."""
        able = [volume.terms for volume in self._available(claim, one)]
        if one.provisions:
            able.append(one.terms)
        if any(terms is None for terms in able):
            return ()
        cause = NOT_ALLOWED.format(one.name) if one.provisions else NOWHERE.format(claim.name)
        return ((cause, tuple(term for terms in able for term in terms or ())),)

    def _available(self, claim: Claim, one: StorageClass) -> Iterable[Volume]:
        return (volume for volume in self.volumes.values() if volume.serves(claim, one.name))


def _of_volume(claim: str, volume: Volume) -> Iterator[Where]:
    if volume.terms is not None:
        yield CONFLICT.format(claim), volume.terms
    for terms in volume.zones:
        yield NO_ZONE.format(claim), terms
