"""A Workload's pod sets as the request and the pod sets of the model's workload.

There are many Workloads with few distinct pod templates: the result for a template is cached, so that equal pods also
share one shape object. Nothing is validated here; see `rules`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec

from ....model.numa import TopologyPolicy
from ....model.request import PodSet, Request
from ....model.resources import amounts
from ....model.shape import Shape
from ....model.workload import WorkloadPodSet
from ... import core
from ...numa_policy import own_policy
from ...pod_rules import with_rules
from ..keys import MAIN
from ..per_replica import with_own_keys
from ..topology_request import Grouped, TopologyRequest, grouped
from .wire import Unreadable, Wire, WireMeta, convert, without_nulls

KEPT = 4096
"""Size of the cache of pod templates."""

_POD_FIELDS = ("runtimeClassName", "priority", "topologySpreadConstraints", "resourceClaims")
_AFFINITIES = ("podAffinity", "podAntiAffinity")

_encode = msgspec.json.Encoder().encode


class WirePodSet(Wire, frozen=True):
    """A pod set on the wire. The template stays raw; a count of 0 is not the same as an absent one."""

    name: str = ""
    count: int | None = None
    min_count: int | None = None
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    topology_request: TopologyRequest | None = None


@dataclass(frozen=True, slots=True)
class TemplatePod:
    """What scheduling needs of one pod of a template."""

    shape: Shape
    requests: dict[str, int]
    template_digest: str


def asked(
    wire: Sequence[WirePodSet], is_old: bool, namespace: str = "", order: str = ""
) -> tuple[Request, tuple[WorkloadPodSet, ...]]:
    """The topology request, without slice layers for v1beta1, whose API server drops them silently.

    `order` is the order of placement that the annotations of the Workload ask for.
    """
    pods = [_template_pod(one.template, namespace) for one in wire]
    request = grouped(_grouped(one, pod, is_old, order) for one, pod in zip(wire, pods, strict=True))
    return request, tuple(_part(one, pod) for one, pod in zip(wire, pods, strict=True))


def with_template(
    pod_set: PodSet, template: dict[str, Any], least: int | None, namespace: str = ""
) -> tuple[PodSet, WorkloadPodSet]:
    """A pod set with the shape of its template, and the amounts that count against quota."""
    pod = _template_pod(template, namespace)
    part = WorkloadPodSet(pod_set.name, dict(pod.requests), least, pod.template_digest)
    return replace(pod_set, shape=pod.shape), part


def _grouped(wire: WirePodSet, pod: TemplatePod, is_old: bool, order: str) -> Grouped:
    request = wire.topology_request or TopologyRequest()
    if is_old:
        request.layers = None
    count = 1 if wire.count is None else wire.count
    ranks = request.ranks()
    constraint = with_own_keys(request.constraint(), _meta(wire.template).annotations, count, ranks, order)
    pod_set = PodSet(wire.name or MAIN, count, pod.shape, constraint, ranks)
    return pod_set, request.pod_set_group_name


def _part(wire: WirePodSet, pod: TemplatePod) -> WorkloadPodSet:
    return WorkloadPodSet(wire.name or MAIN, dict(pod.requests), wire.min_count, pod.template_digest)


def _template_pod(template: dict[str, Any], namespace: str) -> TemplatePod:
    """One pod of a template. Its labels and policy are its own; the rest is shared with templates of equal spec."""
    meta = _meta(template)
    labels, policy = tuple(sorted(meta.labels.items())), own_policy(meta.annotations)
    return _labelled_pod(_encode(template.get("spec") or {}), namespace, labels, policy)


def _meta(template: dict[str, Any]) -> WireMeta:
    return convert(template.get("metadata") or {}, WireMeta)


@lru_cache(maxsize=KEPT)
def _labelled_pod(
    text: bytes, namespace: str, labels: tuple[tuple[str, str], ...], policy: TopologyPolicy | None
) -> TemplatePod:
    pod = _pod(text)
    shape = pod.shape if policy is None else replace(pod.shape, numa_policy=policy)
    try:
        return replace(pod, shape=with_rules(shape, namespace, dict(labels), without_nulls(msgspec.json.decode(text))))
    except msgspec.ValidationError as error:
        raise Unreadable(str(error)) from error


@lru_cache(maxsize=KEPT)
def _pod(text: bytes) -> TemplatePod:
    raw = msgspec.json.decode(text)
    spec = convert(raw, core.PodSpec)
    shape = core.shape(spec)
    return TemplatePod(shape, dict(shape.requests), template_digest(raw))


def template_digest(spec: dict[str, Any]) -> str:
    """A digest of the scheduling-relevant fields that are not in the shape; "" if the template has none.

    The requests of each container are part of it only if there are several containers, or if the pod adds requests of
    its own: those of a single container equal the shape's.
    """
    spec = without_nulls(spec)
    told = {key: spec[key] for key in _POD_FIELDS if spec.get(key)}
    affinity = spec.get("affinity") or {}
    told |= {key: affinity[key] for key in _AFFINITIES if affinity.get(key)}
    if spec.get("overhead"):
        told["overhead"] = sorted(amounts(spec["overhead"]).items())
    if spec.get("resources"):
        told["resources"] = _asks(spec)
    patience = [one.get("tolerationSeconds") for one in spec.get("tolerations") or ()]
    if any(seconds is not None for seconds in patience):
        told["tolerationSeconds"] = patience
    containers = [spec.get("containers") or [], spec.get("initContainers") or []]
    if any(one.get("ports") for several in containers for one in several):
        told["ports"] = [[one.get("ports") or [] for one in several] for several in containers]
    if containers[1] or len(containers[0]) > 1 or "overhead" in told or "resources" in told:
        told["containers"] = [[[_asks(one), one.get("restartPolicy")] for one in several] for several in containers]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16] if told else ""


def _asks(owner: dict[str, Any]) -> list[tuple[str, int]]:
    """The requests of a container, or those at pod level."""
    needs = owner.get("resources") or {}
    return sorted(amounts(needs.get("requests") or {}).items())
