"""What a pod asks of other pods, of its volumes and of claims, read from its spec and labels; see `model.pod_rules`.

Preferred terms and ScheduleAnyway do not exclude a node and are not read. Nothing is validated here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from ..model.pod_rules import (
    ANY_ADDRESS,
    NUMBERING_LABELS,
    HostPort,
    Labels,
    PodKind,
    PodRules,
    PodTerm,
    Selector,
    SpreadRule,
)
from ..model.shape import Requirement, Shape, Term
from ..model.volumes import Claim
from .core import Struct
from .volumes import ClaimTemplate, claim_of
from .wire_selectors import LabelSelector, selector_of

Raw = Mapping[str, Any]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class WirePort(Struct):
    container_port: int | None = None
    host_port: int | None = None
    protocol: str | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


class PortedContainer(Struct):
    ports: list[WirePort] | None = None
    restart_policy: str | None = None


class WirePodTerm(Struct):
    topology_key: str | None = None
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodTerms(Struct):
    required: list[WirePodTerm] | None = msgspec.field(default=None, name=_REQUIRED)


class PodAffinities(Struct):
    pod_affinity: PodTerms | None = None
    pod_anti_affinity: PodTerms | None = None


class SpreadConstraint(Struct):
    topology_key: str | None = None
    max_skew: int | None = None
    when_unsatisfiable: str | None = None
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class ClaimSource(Struct):
    claim_name: str | None = None


class EphemeralSource(Struct):
    volume_claim_template: ClaimTemplate | None = None


class PodVolume(Struct):
    name: str | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class WireResourceClaim(Struct):
    name: str | None = None


class RuledSpec(Struct):
    """The fields of a pod spec that rules are read from."""

    node_name: str | None = None
    host_network: bool | None = None
    containers: list[PortedContainer] | None = None
    init_containers: list[PortedContainer] | None = None
    affinity: PodAffinities | None = None
    topology_spread_constraints: list[SpreadConstraint] | None = None
    volumes: list[PodVolume] | None = None
    resource_claims: list[WireResourceClaim] | None = None


def with_rules(shape: Shape, namespace: str, labels: Mapping[str, str], spec: Raw) -> Shape:
    """The shape of pods with these labels in this namespace."""
    rules = read_rules(namespace, labels, spec)
    return shape.ruled(rules if rules.asks else None, rules.kind)


def read_kind(namespace: str, labels: Mapping[str, str], spec: Raw, leaves: bool = False) -> PodKind:
    """What other pods have to know of a pod, which `leaves` if it is being deleted."""
    kind = read_rules(namespace, labels, spec).kind
    return replace(kind, leaves=True) if leaves else kind


def read_rules(namespace: str, labels: Mapping[str, str], spec: Raw) -> PodRules:
    if not _has_rules(spec):
        return PodRules(PodKind(namespace, _labels(labels)))
    wire = msgspec.convert(spec, RuledSpec)
    affinity = wire.affinity or PodAffinities()
    kind = PodKind(
        namespace,
        _labels(labels),
        _ports(wire),
        _terms(affinity.pod_anti_affinity, namespace, labels),
        _volumes(wire),
    )
    return PodRules(
        kind,
        _terms(affinity.pod_affinity, namespace, labels),
        tuple(
            _spread(one, labels)
            for one in wire.topology_spread_constraints or ()
            if one.when_unsatisfiable != "ScheduleAnyway"
        ),
        _where(wire),
        _refused(wire),
        ephemeral=tuple(_ephemeral(wire, namespace)),
    )


def _has_rules(spec: Raw) -> bool:
    """Whether there is anything to read: most pods have none of it."""
    if any(spec.get(key) for key in ("affinity", "nodeName", "topologySpreadConstraints", "resourceClaims", "volumes")):
        return True
    several = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    return any(one.get("ports") for one in several)


def _labels(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(item for item in labels.items() if item[0] not in NUMBERING_LABELS))


def _ports(wire: RuledSpec) -> tuple[HostPort, ...]:
    """Host ports of containers and of sidecars; on the host's network every port is one."""
    stays = [one for one in wire.init_containers or () if one.restart_policy == "Always"]
    ports = (port for one in (*(wire.containers or ()), *stays) for port in one.ports or ())
    numbered = ((port, port.host_port or (port.container_port if wire.host_network else None)) for port in ports)
    found = (
        HostPort(port.protocol or "TCP", number, port.host_ip or ANY_ADDRESS) for port, number in numbered if number
    )
    return tuple(sorted(set(found)))


def _terms(terms: PodTerms | None, namespace: str, labels: Mapping[str, str]) -> tuple[PodTerm, ...]:
    return tuple(_term(one, namespace, labels) for one in (terms.required if terms is not None else None) or ())


def _term(wire: WirePodTerm, namespace: str, labels: Mapping[str, str]) -> PodTerm:
    selector = _with_keys(selector_of(wire.label_selector), labels, wire.match_label_keys or (), "In")
    selector = _with_keys(selector, labels, wire.mismatch_label_keys or (), "NotIn")
    among = selector_of(wire.namespace_selector)
    named = tuple(sorted(wire.namespaces or ()))
    return PodTerm(wire.topology_key or "", selector, named if named or among is not None else (namespace,), among)


def _spread(wire: SpreadConstraint, labels: Mapping[str, str]) -> SpreadRule:
    return SpreadRule(
        wire.topology_key or "",
        wire.max_skew or 1,
        _with_keys(selector_of(wire.label_selector), labels, wire.match_label_keys or (), "In"),
        wire.min_domains or 1,
        wire.node_affinity_policy != "Ignore",
        wire.node_taints_policy == "Honor",
    )


def _with_keys(
    selector: Selector | None, labels: Mapping[str, str], keys: Sequence[str], operator: str
) -> Selector | None:
    """The selector with the pod's own value of each key; keys that the pod does not have are ignored."""
    if selector is None:
        return None
    own = (Requirement(key, operator, (labels[key],)) for key in keys if key in labels)
    return tuple(dict.fromkeys([*selector, *own]))


def _volumes(wire: RuledSpec) -> tuple[str, ...]:
    claims = (one.persistent_volume_claim for one in wire.volumes or ())
    return tuple(sorted({one.claim_name for one in claims if one is not None and one.claim_name}))


def _ephemeral(wire: RuledSpec, namespace: str) -> Iterator[Claim]:
    """The claims that are created with each pod, by the name of the volume."""
    for one in wire.volumes or ():
        if one.ephemeral is not None and one.ephemeral.volume_claim_template is not None:
            yield claim_of(one.ephemeral.volume_claim_template.spec, namespace, one.name or "")


def _where(wire: RuledSpec) -> tuple[tuple[str, tuple[Term, ...]], ...]:
    if not wire.node_name:
        return ()
    return (("nodeName", (Term(fields=(Requirement("metadata.name", "In", (wire.node_name,)),)),)),)


def _refused(wire: RuledSpec) -> str:
    claim = next(iter(wire.resource_claims or ()), None)
    return "" if claim is None else f'resourceClaim "{claim.name or ""}" is not allocated'
