"""`topologyRequest` of a Workload's pod set, and how it is built from annotations on a pod template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from ...model.gates import Gates
from ...model.request import Constraint, Group, Layer, PodSet, Ranks, Request
from ..core import Struct
from . import keys

MAX_LAYERS = 3
INT32_MAX = 2**31 - 1

_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,10})", re.ASCII)


class WireLayer(Struct):
    topology: str = ""
    size: int = 0


class TopologyRequest(Struct):
    required: str | None = None
    preferred: str | None = None
    unconstrained: bool | None = None
    pod_index_label: str | None = None
    sub_group_index_label: str | None = None
    sub_group_count: int | None = None
    pod_set_group_name: str | None = None
    pod_set_slice_required_topology: str | None = None
    pod_set_slice_size: int | None = None
    layers: list[WireLayer] | None = msgspec.field(default=None, name="podsetSliceRequiredTopologyConstraints")

    def constraint(self) -> Constraint | None:
        """The constraint for the engine; None if the request does not constrain placement."""
        if self.layers:
            slices = tuple(Layer(layer.topology, layer.size) for layer in self.layers)
        elif self.pod_set_slice_required_topology is not None:
            slices = (Layer(self.pod_set_slice_required_topology, self.pod_set_slice_size),)
        else:
            slices = ()
        if not slices and (self.required, self.preferred, self.unconstrained) == (None, None, None):
            return None
        return Constraint(self.required, self.preferred, self.unconstrained, slices)

    def ranks(self) -> Ranks:
        return Ranks(self.pod_index_label, self.sub_group_index_label, self.sub_group_count)


Grouped = tuple[PodSet, str | None]
"""A pod set, and the name of its pod set group."""


def grouped(pod_sets: Iterable[Grouped]) -> Request:
    """Pod sets in order, with the members of a group together at the position of the first of them.

    Kueue numbers the pods of a leader and its workers consecutively, and those of larger groups per pod set.
    """
    found: dict[str, tuple[str | None, list[PodSet]]] = {}
    for index, (pod_set, group) in enumerate(pod_sets):
        key = f"group {group}" if group else f"set {index}"
        found.setdefault(key, (group, []))[1].append(pod_set)
    return Request(tuple(Group(tuple(sets), name, numbered_through=len(sets) <= 2) for name, sets in found.values()))


class AnnotationError(ValueError):
    """An annotation cannot be parsed."""

    def __init__(self, key: str, text: str, remedy: str) -> None:
        self.key, self.text, self.remedy = key, text, remedy
        super().__init__(f"{key} {text}; {remedy}")


def with_current_keys(annotations: Mapping[str, str], gates: Gates) -> Mapping[str, str]:
    """The annotations, and for each of the KEP's keys the key that became of it, unless that is there too."""
    if "ReadFormerKeys" not in gates or keys.FORMER.keys().isdisjoint(annotations):
        return annotations
    return {**{new: annotations[old] for old, new in keys.FORMER.items() if old in annotations}, **annotations}


def is_by_topology(annotations: Mapping[str, str], gates: Gates) -> bool:
    """Whether pods with these annotations are placed by topology."""
    return any(key in annotations for key in keys.TOPOLOGY_ANNOTATIONS) or (
        "ReadFormerKeys" in gates and not keys.FORMER.keys().isdisjoint(annotations)
    )


def build(
    annotations: Mapping[str, str],
    gates: Gates,
    ranks: Ranks = Ranks(),  # noqa: B008 - a frozen value
) -> TopologyRequest | None:
    """The topology request of a pod template's annotations; None if there are none.

    The first of required, preferred and unconstrained wins, unless required and preferred may be combined.
    `validation` has the rules; this refuses only what it cannot parse.
    """
    annotations = with_current_keys(annotations, gates)
    request = TopologyRequest(
        pod_index_label=ranks.index_label,
        sub_group_index_label=ranks.group_label,
        sub_group_count=ranks.group_count,
    )
    hinted = (ranks.index_label, ranks.group_label, ranks.group_count) != (None, None, None)
    sliced = _read_slices(annotations, gates, request)
    if keys.REQUIRED in annotations or keys.PREFERRED in annotations:
        request.required = annotations.get(keys.REQUIRED)
        if request.required is None or "RequiredAndPreferred" in gates:
            request.preferred = annotations.get(keys.PREFERRED)
        request.pod_set_group_name = annotations.get(keys.GROUP)
    elif keys.UNCONSTRAINED in annotations:
        request.unconstrained = parse_bool(annotations[keys.UNCONSTRAINED])
    elif not sliced and not hinted:
        return None
    return request


def _read_slices(annotations: Mapping[str, str], gates: Gates, request: TopologyRequest) -> bool:
    """Set the slices of the request; a slice level without a size, or the reverse, is ignored."""
    if keys.LAYERS in annotations and "TASMultiLayerTopology" in gates:
        request.layers = parse_layers(annotations[keys.LAYERS])
        return True
    if keys.SLICE_LEVEL in annotations and keys.SLICE_SIZE in annotations:
        request.pod_set_slice_required_topology = annotations[keys.SLICE_LEVEL]
        request.pod_set_slice_size = parse_int32(annotations[keys.SLICE_SIZE])
        return True
    return False


def parse_layers(text: str) -> list[WireLayer]:
    try:
        layers = msgspec.json.decode(text, type=list[WireLayer])
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise AnnotationError(
            keys.LAYERS,
            f"is not a JSON list of layers: {error}",
            'use a list such as [{"topology": "example.com/rack", "size": 8}]',
        ) from error
    if not 1 <= len(layers) <= MAX_LAYERS:
        raise AnnotationError(keys.LAYERS, f"has {len(layers)} entries", f"use one to {MAX_LAYERS}")
    if any(abs(layer.size) > INT32_MAX for layer in layers):
        raise AnnotationError(keys.LAYERS, "has a size beyond 32 bits", "use the number of pods in a slice")
    return layers


def parse_int32(text: str) -> int:
    """A whole number as Go parses it: digits with an optional sign, nothing else."""
    match = _INTEGER.fullmatch(text)
    number = int(match[1] + match[2]) if match else INT32_MAX + 1
    if not -INT32_MAX - 1 <= number <= INT32_MAX:
        raise AnnotationError(keys.SLICE_SIZE, f'is "{text}", not a whole number', 'use a number such as "4"')
    return number


def parse_bool(text: str) -> bool:
    """A boolean in a spelling that Go's ParseBool accepts."""
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise AnnotationError(keys.UNCONSTRAINED, f'is "{text}"', 'use "true" or "false"')
