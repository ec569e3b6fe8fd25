"""Kubernetes' own objects, with only the fields that placement reads.

Typed decoding of just these fields is several times faster, and far smaller, than decoding whole objects. Objects
written by Go may have `null` for anything that is empty, hence the optional types; the properties of a node or a pod
return an empty struct instead, so that callers need no None checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..model.container import Container, Kind, Needs, sorted_amounts
from ..model.daemon_set import DaemonSet
from ..model.node import Node
from ..model.resources import amounts, pod_requests
from ..model.shape import Requirement, Shape, Taint, Term, Toleration, WeightedTerm
from ..model.workload import LONG_AGO
from ..numa.demand import PodDemand
from .timestamps import parse

Quantity = str | int | float
Quantities = dict[str, Quantity]
Labels = dict[str, str]


class Struct(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    """The base of all wire structs: camelCase on the wire, unknown fields ignored."""


class Meta(Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    generate_name: str | None = None
    labels: Labels | None = None
    annotations: Labels | None = None
    deletion_timestamp: str | None = None


class WireTaint(Struct):
    key: str | None = None
    value: str | None = None
    effect: str | None = None


class NodeCondition(Struct):
    type: str | None = None
    status: str | None = None
    last_transition_time: str | None = None


class NodeSpec(Struct):
    unschedulable: bool | None = None
    taints: list[WireTaint] | None = None


class NodeStatus(Struct):
    allocatable: Quantities | None = None
    conditions: list[NodeCondition] | None = None


class WireNode(Struct):
    given_metadata: Meta | None = msgspec.field(default=None, name="metadata")
    given_spec: NodeSpec | None = msgspec.field(default=None, name="spec")
    given_status: NodeStatus | None = msgspec.field(default=None, name="status")

    @property
    def metadata(self) -> Meta:
        return self.given_metadata or Meta()

    @property
    def spec(self) -> NodeSpec:
        return self.given_spec or NodeSpec()

    @property
    def status(self) -> NodeStatus:
        return self.given_status or NodeStatus()


class ResourceNeeds(Struct):
    requests: Quantities | None = None
    limits: Quantities | None = None


class WireContainer(Struct):
    name: str | None = None
    resources: ResourceNeeds | None = None
    restart_policy: str | None = None


class WireToleration(Struct):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class Expression(Struct):
    key: str | None = None
    operator: str | None = None
    values: list[str] | None = None


class SelectorTerm(Struct):
    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class RequiredTerms(Struct):
    node_selector_terms: list[SelectorTerm] | None = None


class PreferredTerm(Struct):
    weight: int | None = None
    preference: SelectorTerm | None = None


class NodeAffinity(Struct):
    required: RequiredTerms | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredTerm] | None = msgspec.field(
        default=None, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct):
    node_affinity: NodeAffinity | None = None


class PodSpec(Struct):
    node_name: str | None = None
    containers: list[WireContainer] | None = None
    init_containers: list[WireContainer] | None = None
    overhead: Quantities | None = None
    resources: ResourceNeeds | None = None
    node_selector: Labels | None = None
    tolerations: list[WireToleration] | None = None
    affinity: Affinity | None = None


class PodStatus(Struct):
    phase: str | None = None
    start_time: str | None = None


class WirePod(Struct):
    given_metadata: Meta | None = msgspec.field(default=None, name="metadata")
    given_spec: PodSpec | None = msgspec.field(default=None, name="spec")
    given_status: PodStatus | None = msgspec.field(default=None, name="status")

    @property
    def metadata(self) -> Meta:
        return self.given_metadata or Meta()

    @property
    def spec(self) -> PodSpec:
        return self.given_spec or PodSpec()

    @property
    def status(self) -> PodStatus:
        return self.given_status or PodStatus()

    @property
    def runs(self) -> bool:
        """Whether the pod is bound to a node and has not ended, so that it uses capacity."""
        return bool(self.spec.node_name) and self.status.phase not in ("Succeeded", "Failed")


def node(wire: WireNode) -> Node:
    ready = next((one for one in wire.status.conditions or () if one.type == "Ready"), None)
    return Node(
        wire.metadata.name or "",
        wire.metadata.labels or {},
        amounts(wire.status.allocatable or {}),
        tuple(Taint(t.key or "", t.value or "", t.effect or "") for t in wire.spec.taints or ()),
        ready is not None and ready.status == "True",
        bool(wire.spec.unschedulable),
        None if ready is None else _since(ready.last_transition_time),
    )


def _since(text: str | None) -> float:
    """Treat an unparsable time as absent: placement does not depend on it."""
    try:
        return parse(text) if text else LONG_AGO
    except ValueError:
        return LONG_AGO


def requests(spec: PodSpec) -> dict[str, int]:
    """The requests of one pod of this spec; a limit without a request counts as the request."""
    return pod_requests(
        [_needs(container.resources) for container in spec.containers or ()],
        [(_needs(one.resources), _stays(one)) for one in spec.init_containers or ()],
        amounts(spec.overhead or {}),
        _needs(spec.resources),
    )


def _needs(needs: ResourceNeeds | None) -> dict[str, int]:
    return {} if needs is None else amounts({**(needs.limits or {}), **(needs.requests or {})})


def containers(spec: PodSpec) -> tuple[Container, ...]:
    """All containers, in the order in which the kubelet starts them."""
    first = tuple(_container(one, "sidecar" if _stays(one) else "init") for one in spec.init_containers or ())
    return first + tuple(_container(one, "app") for one in spec.containers or ())


def _container(wire: WireContainer, kind: Kind) -> Container:
    limits = wire.resources.limits if wire.resources is not None else None
    return Container.of(_needs(wire.resources), amounts(limits or {}), kind)


def _stays(init: WireContainer) -> bool:
    """Whether an init container is a sidecar."""
    return init.restart_policy == "Always"


def _pod_level(given: ResourceNeeds | None) -> Needs | None:
    if given is None or not (given.requests or given.limits):
        return None
    return Needs(sorted_amounts(_needs(given)), sorted_amounts(amounts(given.limits or {})))


def shape(spec: PodSpec) -> Shape:
    """The shape of pods of this spec."""
    overhead = amounts(spec.overhead or {})
    return Shape.of(requests(spec), *_choice_of(spec), containers(spec), overhead, _pod_level(spec.resources))


def container_names(spec: PodSpec) -> tuple[str, ...]:
    """The names of all containers, in the same order."""
    return tuple(one.name or "" for one in (*(spec.init_containers or ()), *(spec.containers or ())))


def demand(spec: PodSpec) -> PodDemand:
    """What the kubelet sees of pods of this spec."""
    return PodDemand.of(containers(spec), _pod_level(spec.resources))


def plain_shape(spec: PodSpec) -> Shape:
    """The shape by the pod's total requests, for callers that do not need the containers."""
    return Shape.of(requests(spec), *_choice_of(spec))


def shape_of(
    asks: dict[str, int],
    selector: Labels | None,
    wire_tolerations: Sequence[WireToleration] | None,
    affinity: NodeAffinity | None,
) -> Shape:
    """The shape of pods of which only the total requests are known."""
    return Shape.of(asks, *_choice(selector, wire_tolerations, affinity))


Choice = tuple[Labels | None, tuple[Toleration, ...], tuple[Term, ...] | None, tuple[WeightedTerm, ...]]
"""Node selector, tolerations and affinity as a shape holds them."""


def _choice_of(spec: PodSpec) -> Choice:
    affinity = None if spec.affinity is None else spec.affinity.node_affinity
    return _choice(spec.node_selector, spec.tolerations, affinity)


def _choice(
    selector: Labels | None, wire_tolerations: Sequence[WireToleration] | None, affinity: NodeAffinity | None
) -> Choice:
    required = None if affinity is None or affinity.required is None else affinity.required.node_selector_terms or []
    preferred = (affinity.preferred if affinity is not None else None) or ()
    return (
        selector,
        tolerations(wire_tolerations or ()),
        None if required is None else tuple(node_term(one) for one in required),
        tuple(WeightedTerm(one.weight or 0, node_term(one.preference or SelectorTerm())) for one in preferred),
    )


def tolerations(wire: Iterable[WireToleration]) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(t.key or "", t.operator or "Equal", t.value or "", t.effect or "", t.toleration_seconds)
        for t in wire
    )


def node_term(wire: SelectorTerm) -> Term:
    return Term(_requirements(wire.match_expressions), _requirements(wire.match_fields))


def _requirements(expressions: Sequence[Expression] | None) -> tuple[Requirement, ...]:
    return tuple(Requirement(one.key or "", one.operator or "", tuple(one.values or ())) for one in expressions or ())


def daemon_set(raw: dict[str, Any]) -> DaemonSet:
    """Read a DaemonSet from decoded JSON."""
    spec = raw["spec"]["template"]["spec"]
    template = shape(msgspec.convert(spec, PodSpec))
    return DaemonSet.of(raw["metadata"].get("uid") or "", template, bool(spec.get("hostNetwork")))
