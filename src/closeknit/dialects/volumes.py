"""PersistentVolumeClaims, PersistentVolumes and StorageClasses, read from decoded JSON; see `model.volumes`.

Only what decides where a pod can run is read: not how a volume is mounted, and not how full its storage is.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..model.resources import amount
from ..model.shape import Requirement, Term
from ..model.volumes import Claim, StorageClass, Terms, Volume
from .core import Meta, Quantities, RequiredTerms, Struct, node_term
from .wire_selectors import LabelSelector, selector_of

GROUP = "storage.k8s.io"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
"""Where older objects name their class; it goes before the field."""
IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
STORAGE = "storage"


class StorageNeeds(Struct):
    requests: Quantities | None = None


class ClaimSpec(Struct):
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    resources: StorageNeeds | None = None
    selector: LabelSelector | None = None
    volume_name: str | None = None


class Phase(Struct):
    phase: str | None = None


class WireClaim(Struct):
    metadata: Meta
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)
    status: Phase = msgspec.field(default_factory=Phase)


class ClaimTemplate(Struct):
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)


class VolumeAffinity(Struct):
    required: RequiredTerms | None = None


class ClaimReference(Struct):
    namespace: str | None = None
    name: str | None = None


class VolumeSpec(Struct):
    access_modes: list[str] | None = None
    capacity: Quantities | None = None
    storage_class_name: str | None = None
    node_affinity: VolumeAffinity | None = None
    claim_ref: ClaimReference | None = None


class WireVolume(Struct):
    metadata: Meta
    spec: VolumeSpec = msgspec.field(default_factory=VolumeSpec)
    status: Phase = msgspec.field(default_factory=Phase)


class TopologyExpression(Struct):
    key: str = ""
    values: list[str] | None = None


class AllowedTopology(Struct):
    match_label_expressions: list[TopologyExpression] | None = None


class WireStorageClass(Struct):
    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[AllowedTopology] | None = None


def claim(raw: dict[str, Any]) -> Claim:
    """A file that states no phase was written by hand: a claim that names a volume is taken to be bound to it."""
    wire = msgspec.convert(raw, WireClaim)
    meta, phase = wire.metadata, wire.status.phase
    notes = meta.annotations or {}
    found = claim_of(wire.spec, meta.namespace or "default", meta.name or "", notes.get(CLASS_ANNOTATION))
    bound = bool(found.volume) and (phase in (None, "Bound") or BIND_COMPLETED in notes)
    return found._replace(is_bound=bound, is_lost=phase == "Lost", leaves=meta.deletion_timestamp is not None)


def claim_of(spec: ClaimSpec, namespace: str, name: str, storage_class: str | None = None) -> Claim:
    needs = (spec.resources or StorageNeeds()).requests or {}
    return Claim(
        namespace,
        name,
        spec.storage_class_name if storage_class is None else storage_class,
        tuple(sorted(spec.access_modes or ())),
        amount(STORAGE, needs.get(STORAGE, 0)),
        selector_of(spec.selector),
        spec.volume_name or "",
    )


def volume(raw: dict[str, Any]) -> Volume:
    wire = msgspec.convert(raw, WireVolume)
    meta, spec = wire.metadata, wire.spec
    affinity, owner = spec.node_affinity, spec.claim_ref
    return Volume(
        meta.name or "",
        None if affinity is None or affinity.required is None else _terms(affinity.required),
        tuple(sorted((meta.labels or {}).items())),
        (meta.annotations or {}).get(CLASS_ANNOTATION) or spec.storage_class_name or "",
        tuple(sorted(spec.access_modes or ())),
        amount(STORAGE, (spec.capacity or {}).get(STORAGE, 0)),
        "" if owner is None else f"{owner.namespace or 'default'}/{owner.name or ''}",
        wire.status.phase in (None, "Available", "Pending") and meta.deletion_timestamp is None,
    )


def storage_class(raw: dict[str, Any]) -> StorageClass:
    wire = msgspec.convert(raw, WireStorageClass)
    allowed = tuple(map(_allowed, wire.allowed_topologies or ()))
    return StorageClass(
        wire.metadata.name or "",
        wire.volume_binding_mode == "WaitForFirstConsumer",
        wire.provisioner not in ("", NO_PROVISIONER),
        allowed or None,
        any((wire.metadata.annotations or {}).get(key) == "true" for key in IS_DEFAULT),
    )


def _terms(required: RequiredTerms) -> Terms:
    return tuple(map(node_term, required.node_selector_terms or ()))


def _allowed(wire: AllowedTopology) -> Term:
    return Term(
        tuple(Requirement(one.key, "In", tuple(one.values or ())) for one in wire.match_label_expressions or ())
    )
