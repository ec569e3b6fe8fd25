"""Pods as the group dialects see them: the group they name, their shape, and their node once they are bound.

Pods of one group that have the same shape and the same labels become one pod set, in the natural order of their names,
so that the index in a pod's name is its place in the pod set. Labels count because rules of other pods select by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from ..model.natural import natural
from ..model.pod_rules import PodKind
from ..model.request import PodSet
from ..model.shape import Shape
from .field import Field
from .numa_policy import read_policy
from .pod_rules import with_rules
from .pod_template import read_shape

ENDED = ("Succeeded", "Failed")


class GroupPod(NamedTuple):
    """`key` is namespace/name; `node` is empty until the pod is bound. A pod `leaves` that is being deleted."""

    key: str
    labels: Mapping[str, str]
    shape: Shape
    node: str = ""
    leaves: bool = False


def key_of(field: Field) -> str:
    """namespace/name of an object."""
    meta = field.at("metadata")
    return f"{meta.at('namespace').text() or 'default'}/{meta.at('name').text() or meta.at('generateName').text()}"


def read_pods(pods: Iterable[Field]) -> list[GroupPod]:
    """The pods that run or wait for a node; those that have ended or are being deleted unbound are left out."""
    found = (_read_pod(pod) for pod in pods)
    return [pod for pod in found if pod is not None]


def _read_pod(pod: Field) -> GroupPod | None:
    node = pod.at("spec", "nodeName").text()
    leaves = pod.at("metadata", "deletionTimestamp").given
    if (leaves and not node) or pod.at("status", "phase").text() in ENDED:
        return None
    shape, key, labels = read_shape(pod.at("spec")), key_of(pod), pod.at("metadata", "labels").strings()
    if shape is None:
        return None
    return GroupPod(key, labels, _ruled(read_policy(shape, pod), key, labels, pod), node, leaves)


def _ruled(shape: Shape, key: str, labels: Mapping[str, str], pod: Field) -> Shape:
    """The shape with the rules about other pods; they cannot be read in a pod that has mistakes.

    The node of a bound pod is no rule: its equals may go elsewhere.
    """
    spec = {name: value for name, value in pod.at("spec").mapping().items() if name != "nodeName"}
    try:
        return with_rules(shape, key.partition("/")[0], labels, spec)
    except (msgspec.ValidationError, AttributeError, TypeError):
        return shape


def pod_sets(name: str, pods: Sequence[GroupPod]) -> tuple[PodSet, ...]:
    """One pod set for each shape and kind of pods: `name`, or name:0, name:1, … where there are several."""
    alike: dict[tuple[Shape, PodKind | None], list[GroupPod]] = {}
    for pod in sorted(pods, key=lambda one: natural(one.key)):
        alike.setdefault((pod.shape, pod.shape.kind), []).append(pod)
    several = len(alike) > 1
    return tuple(
        _pod_set(f"{name}:{number}" if several else name, shape, members)
        for number, ((shape, _), members) in enumerate(alike.items())
    )


def _pod_set(name: str, shape: Shape, members: Sequence[GroupPod]) -> PodSet:
    waiting = tuple(pod.key for pod in members if not pod.node)
    running = tuple(pod.node for pod in members if pod.node)
    return PodSet(name, len(waiting), shape, running=running, pods=waiting)
