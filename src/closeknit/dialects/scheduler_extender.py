"""The wire format between kube-scheduler and its HTTP extenders.

Names of fields are those of Go, since upstream gives them no tags; the objects inside are ordinary Kubernetes JSON. Of
a pod and a node only what decides is read. Nodes are kept as the bytes that came, because the answer repeats them.

    filter       {Pod, Nodes | NodeNames}         ▶ {Nodes | NodeNames, FailedNodes, FailedAndUnresolvableNodes, Error}
    prioritize   the same                         ▶ [{Host, Score}]
    bind         {PodName, PodNamespace, PodUID, Node}                ▶ {Error}
    preempt      {Pod, NodeNameToVictims | NodeNameToMetaVictims}     ▶ {NodeNameToMetaVictims}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from ..model.container import QoS
from ..model.quantity import QuantityError
from ..model.shape import Shape
from . import core
from .timestamps import parse

DEFAULT_SCHEDULER = "default-scheduler"

T = TypeVar("T")


class WireError(ValueError):
    """A request that cannot be read."""


class _Condition(core.Struct):
    type: str | None = None
    status: str | None = None
    last_transition_time: str | None = None


class _Spec(core.PodSpec):
    scheduler_name: str | None = None


class _Status(core.Struct):
    phase: str | None = None
    qos_class: QoS | None = None
    conditions: list[_Condition] | None = None


class ScheduledPod(core.Struct):
    """A pod as a scheduler sees it."""

    metadata: core.Meta | None = None
    spec: _Spec | None = None
    status: _Status | None = None

    @property
    def meta(self) -> core.Meta:
        return self.metadata or core.Meta()

    @property
    def node(self) -> str:
        return (self.spec or _Spec()).node_name or ""

    @property
    def scheduler(self) -> str:
        return (self.spec or _Spec()).scheduler_name or DEFAULT_SCHEDULER

    @property
    def phase(self) -> str:
        return (self.status or _Status()).phase or "Pending"

    @property
    def qos(self) -> QoS | None:
        return (self.status or _Status()).qos_class

    @property
    def bound_at(self) -> float:
        """When the pod was bound, in seconds since 1970; 0 if that is not known."""
        for one in (self.status or _Status()).conditions or ():
            if one.type == "PodScheduled" and one.status == "True" and one.last_transition_time:
                try:
                    return parse(one.last_transition_time)
                except ValueError:
                    return 0.0
        return 0.0

    @property
    def shape(self) -> Shape:
        """Raises WireError for a quantity that cannot be read."""
        try:
            return core.shape(self.spec or _Spec())
        except (QuantityError, ValueError) as error:
            raise WireError(f"pod {self.meta.namespace}/{self.meta.name}: {error}") from None

    @property
    def container_names(self) -> tuple[str, ...]:
        """In the order in which the kubelet starts them."""
        spec = self.spec or _Spec()
        return tuple(one.name or "" for one in (*(spec.init_containers or ()), *(spec.containers or ())))


class _Go(msgspec.Struct, rename="pascal"):
    pass


class _List(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class ExtenderArgs(_Go):
    pod: ScheduledPod | None = None
    nodes: _List | None = None
    node_names: list[str] | None = None


class ExtenderBinding(_Go):
    pod_name: str = ""
    pod_namespace: str = ""
    pod_uid: str = msgspec.field(name="PodUID", default="")
    node: str = ""


class _Uid(msgspec.Struct):
    uid: str = msgspec.field(name="UID", default="")


class _MetaVictims(msgspec.Struct):
    pods: list[_Uid] | None = msgspec.field(name="Pods", default=None)
    violations: int = msgspec.field(name="NumPDBViolations", default=0)


class _Victims(msgspec.Struct):
    pods: list[ScheduledPod] | None = msgspec.field(name="Pods", default=None)
    violations: int = msgspec.field(name="NumPDBViolations", default=0)


class ExtenderPreemption(_Go):
    pod: ScheduledPod | None = None
    node_name_to_victims: dict[str, _Victims] | None = None
    node_name_to_meta_victims: dict[str, _MetaVictims] | None = None

    def victims(self) -> dict[str, _MetaVictims]:
        """The candidates with the uids of their victims; those with whole pods are read where there are no uids."""
        if self.node_name_to_meta_victims:
            return self.node_name_to_meta_victims
        return {
            node: _MetaVictims([_Uid(pod.meta.uid or "") for pod in one.pods or ()], one.violations)
            for node, one in (self.node_name_to_victims or {}).items()
        }


class _FilterResult(_Go):
    nodes: _List | None
    node_names: list[str] | None
    failed_nodes: Mapping[str, str]
    failed_and_unresolvable_nodes: Mapping[str, str]
    error: str = ""


class _HostPriority(_Go):
    host: str
    score: int


class _BindingResult(_Go):
    error: str


class _PreemptionResult(_Go):
    node_name_to_meta_victims: Mapping[str, _MetaVictims]


class _Name(msgspec.Struct):
    metadata: core.Meta


_args = msgspec.json.Decoder(ExtenderArgs)
_binding = msgspec.json.Decoder(ExtenderBinding)
_preemption = msgspec.json.Decoder(ExtenderPreemption)
_name = msgspec.json.Decoder(_Name)
_encoder = msgspec.json.Encoder()


class Candidates:
    """The nodes of a request, as names or as whole objects."""

    def __init__(self, args: ExtenderArgs) -> None:
        items = args.nodes.items if args.nodes is not None else None
        self._items = items
        if items is None:
            self.names: Sequence[str] = args.node_names or []
        else:
            self.names = [_node_name(one) for one in items]

    def filtered(self, passing: Iterable[int], refused: Mapping[str, str]) -> bytes:
        """The answer of the filter, in the form of the request. `refused` no preemption can help."""
        if self._items is None:
            names = [self.names[at] for at in passing]
            return _encoder.encode(_FilterResult(None, names, {}, refused))
        return _encoder.encode(_FilterResult(_List([self._items[at] for at in passing]), None, {}, refused))


def _node_name(item: msgspec.Raw) -> str:
    try:
        return _name.decode(item).metadata.name or ""
    except msgspec.DecodeError as error:
        raise WireError(f"Nodes.items: {error}") from None


def read_args(body: bytes) -> tuple[ScheduledPod, Candidates]:
    args = _decoded(_args, body)
    return _pod_of(args.pod), Candidates(args)


def read_binding(body: bytes) -> ExtenderBinding:
    binding = _decoded(_binding, body)
    for name in ("pod_name", "pod_namespace", "pod_uid", "node"):
        if not getattr(binding, name):
            raise WireError(f"{name} is missing")
    return binding


def read_preemption(body: bytes) -> tuple[ScheduledPod, dict[str, _MetaVictims]]:
    args = _decoded(_preemption, body)
    return _pod_of(args.pod), args.victims()


def uids_of(victims: _MetaVictims) -> set[str]:
    return {one.uid for one in victims.pods or ()}


def filter_error(text: str) -> bytes:
    """An answer that fails the scheduling of the pod for now."""
    return _encoder.encode(_FilterResult(None, [], {}, {}, text))


def priorities(names: Sequence[str], scores: Sequence[int]) -> bytes:
    return _encoder.encode([_HostPriority(name, score) for name, score in zip(names, scores, strict=True)])


def binding_result(error: str) -> bytes:
    return _encoder.encode(_BindingResult(error))


def preemption_result(candidates: Mapping[str, _MetaVictims], left: Iterable[str]) -> bytes:
    return _encoder.encode(_PreemptionResult({name: candidates[name] for name in left}))


def _decoded(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"the body is not a request of kube-scheduler: {error}") from None


def _pod_of(pod: ScheduledPod | None) -> ScheduledPod:
    if pod is None or not pod.meta.uid:
        raise WireError("Pod is missing, or has no metadata.uid")
    return pod
