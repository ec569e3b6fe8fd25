"""The validation rules of Kueue's webhooks for topology requests, and the rules that gates of ours add.

Rules 1 to 6 check the annotations of one pod template, rule 7 also its number of pods, rule 8 all pod sets of a job,
rule 9 the job itself; each job kind's descriptor names the rules that apply to it. A request in a Workload has rules of
its own. `at` is the path to the annotations or to the request; the caller adds file and object to the mistakes.

Whether layers go from coarse to fine is not checked here, since that depends on the topology.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ...model.gates import Gates
from ...model.label_names import is_qualified_name
from ...model.mistake import Mistake
from ...model.request import AUTO
from . import keys
from .topology_request import (
    MAX_LAYERS,
    AnnotationError,
    TopologyRequest,
    WireLayer,
    parse_bool,
    parse_int32,
    parse_layers,
    with_current_keys,
)

Annotations = Mapping[str, str]

MAX_LEVEL = 63
MAX_GROUP = 256
MAX_INDEX_LABEL = 317


def template_mistakes(annotations: Annotations, gates: Gates, at: str = "") -> list[Mistake]:
    """Rules 1 to 6: one pod template by itself."""
    annotations = with_current_keys(annotations, gates)
    found = [
        *_former(annotations, gates, at),
        *_modes(annotations, gates, at),
        *_levels(annotations, gates, at),
        *_group_name(annotations, at),
        *_unconstrained(annotations, at),
        *_slices(annotations, at),
        *_layers(annotations, gates, at),
    ]
    return [_as_written(one, annotations, at) for one in found]


def count_mistakes(
    annotations: Annotations, count: int, gates: Gates, at: str = "", bounded: bool = True
) -> list[Mistake]:
    """Rule 7 and RefuseUnevenSlices: slices and the number of pods; `bounded` says whether rule 7 applies."""
    key = keys.LAYERS if keys.LAYERS in annotations and "TASMultiLayerTopology" in gates else keys.SLICE_SIZE
    try:
        size = slice_size(annotations, gates)
    except AnnotationError:
        return []  # reported by rules 5 and 6
    return list(_size(size, count, gates, _field(at, key), bounded))


def slice_size(annotations: Annotations, gates: Gates) -> int | None:
    """The slice size, with layers that of the outermost one; None without slices."""
    if keys.LAYERS in annotations and "TASMultiLayerTopology" in gates:
        return parse_layers(annotations[keys.LAYERS])[0].size
    return parse_int32(annotations[keys.SLICE_SIZE]) if keys.SLICE_SIZE in annotations else None


@dataclass(frozen=True, slots=True)
class Member:
    """A pod set as rule 8 sees it."""

    name: str
    count: int
    annotations: Annotations
    at: str = ""

    @property
    def levels(self) -> tuple[str | None, str | None]:
        return self.annotations.get(keys.REQUIRED), self.annotations.get(keys.PREFERRED)


def group_mistakes(pod_sets: Sequence[Member]) -> list[Mistake]:
    """Rule 8: a group is two pod sets that request the same level, one of them with a single pod."""
    groups: dict[str, list[Member]] = {}
    for member in pod_sets:
        if keys.GROUP in member.annotations and member.levels != (None, None):
            groups.setdefault(member.annotations[keys.GROUP], []).append(member)
    return [mistake for name, members in groups.items() for mistake in _group(name, members)]


def elastic_mistakes(job: Annotations, template: Annotations, gates: Gates, at: str = "") -> list[Mistake]:
    """Rule 9: an elastic Job must not have a required or preferred level."""
    if not is_elastic(job, gates):
        return []
    return [
        Mistake(
            "is not allowed in an elastic job",
            f"remove it, or the annotation {keys.ELASTIC} of the job",
            field=_field(at, key),
        )
        for key in (keys.REQUIRED, keys.PREFERRED)
        if key in template
    ]


def is_elastic(job: Annotations, gates: Gates) -> bool:
    return job.get(keys.ELASTIC) == "true" and "ElasticJobsViaWorkloadSlices" in gates


def request_mistakes(request: TopologyRequest, count: int, gates: Gates, at: str = "") -> list[Mistake]:
    """The rules for a topology request in a Workload."""
    return [*_request_lengths(request, at), *_request_slices(request, count, gates, at)]


def _former(annotations: Annotations, gates: Gates, at: str) -> Iterator[Mistake]:
    """ReadFormerKeys: a key of the KEP and the key that became of it must agree."""
    for old, new in keys.FORMER.items() if "ReadFormerKeys" in gates else ():
        if old in annotations and annotations[old] != annotations[new]:
            yield Mistake(
                f'contradicts {new}, which is "{annotations[new]}"', "keep one of them", field=_field(at, old)
            )


def _as_written(mistake: Mistake, annotations: Annotations, at: str) -> Mistake:
    """The mistake at the key of the KEP, if the annotations have that one."""
    for old, new in keys.FORMER.items():
        if mistake.field == _field(at, new) and annotations.get(old) == annotations.get(new):
            return replace(mistake, field=_field(at, old))
    return mistake


def _modes(annotations: Annotations, gates: Gates, at: str) -> Iterator[Mistake]:
    """Rule 1."""
    given = [key for key in (keys.REQUIRED, keys.PREFERRED, keys.UNCONSTRAINED) if key in annotations]
    if given == [keys.REQUIRED, keys.PREFERRED]:
        if "RequiredAndPreferred" in gates:
            return
        remedy = "keep one of them, or enable the feature gate RequiredAndPreferred"
    else:
        remedy = "keep one of them"
    if len(given) > 1:
        yield Mistake(f"cannot be combined with {' and '.join(given[:-1])}", remedy, field=_field(at, given[-1]))


def _levels(annotations: Annotations, gates: Gates, at: str) -> Iterator[Mistake]:
    """Rule 2."""
    for key in (keys.REQUIRED, keys.PREFERRED, keys.SLICE_LEVEL):
        if key in annotations:
            yield from _level(annotations[key], gates, _field(at, key), of_slice=key == keys.SLICE_LEVEL)


def _level(level: str, gates: Gates, field: str, of_slice: bool) -> Iterator[Mistake]:
    if not is_qualified_name(level):
        yield Mistake(f'is "{level}", not a label name', 'name a level such as "kubernetes.io/hostname"', field=field)
    elif of_slice and level == AUTO and "AutoLevel" in gates:
        yield Mistake(
            f'is "{AUTO}", which is not allowed for slices', "name the level that holds one slice", field=field
        )
    yield from _length(level, MAX_LEVEL, field)


def _length(text: str | None, limit: int, field: str) -> Iterator[Mistake]:
    if text is not None and len(text) > limit:
        yield Mistake(f"has {len(text)} characters", f"a Workload allows at most {limit}", field=field)


def _group_name(annotations: Annotations, at: str) -> Iterator[Mistake]:
    """Rule 3."""
    if keys.GROUP not in annotations:
        return
    name, field = annotations[keys.GROUP], _field(at, keys.GROUP)
    if name.isascii() and name.isdigit() and len(name) <= MAX_GROUP and int(name) < 2**64:
        yield Mistake(f'is "{name}", a number', "use a name that is not a number", field=field)
    for key in (keys.SLICE_SIZE, keys.SLICE_LEVEL, keys.LAYERS):
        if key in annotations:
            yield Mistake(f"cannot be combined with {key}", "keep one of them", field=field)
    if keys.REQUIRED not in annotations and keys.PREFERRED not in annotations:
        yield Mistake("requires a level", f"add {keys.REQUIRED} or {keys.PREFERRED}", field=field)
    yield from _length(name, MAX_GROUP, field)


def _unconstrained(annotations: Annotations, at: str) -> Iterator[Mistake]:
    """Rule 4."""
    if keys.UNCONSTRAINED in annotations:
        try:
            parse_bool(annotations[keys.UNCONSTRAINED])
        except AnnotationError as error:
            yield _unreadable(error, at)


def _slices(annotations: Annotations, at: str) -> Iterator[Mistake]:
    """Rule 5."""
    if keys.SLICE_SIZE in annotations:
        try:
            size = parse_int32(annotations[keys.SLICE_SIZE])
        except AnnotationError as error:
            yield _unreadable(error, at)
        else:
            yield from _at_least_one(size, _field(at, keys.SLICE_SIZE))
    if (keys.SLICE_SIZE in annotations) != (keys.SLICE_LEVEL in annotations):
        given, missing = keys.SLICE_SIZE, keys.SLICE_LEVEL
        if keys.SLICE_LEVEL in annotations:
            given, missing = missing, given
        yield Mistake(f"requires {missing}", "add it", field=_field(at, given))


def _layers(annotations: Annotations, gates: Gates, at: str) -> Iterator[Mistake]:
    """Rule 6."""
    if keys.LAYERS not in annotations:
        return
    field = _field(at, keys.LAYERS)
    if "TASMultiLayerTopology" not in gates:
        yield Mistake("requires the feature gate TASMultiLayerTopology", "enable it", field=field)
        return
    for key in (keys.SLICE_LEVEL, keys.SLICE_SIZE):
        if key in annotations:
            yield Mistake(f"cannot be combined with {key}", "keep one of them", field=field)
    try:
        layers = parse_layers(annotations[keys.LAYERS])
    except AnnotationError as error:
        yield _unreadable(error, at)
        return
    yield from _layer_entries(layers, gates, field)
    for index, (above, below) in enumerate(pairwise(layers), 1):
        if below.size > 0 and above.size % below.size:
            yield Mistake(
                f"is {below.size}, which does not divide the {above.size} of the layer above",
                "use a divisor of it",
                field=f"{field}[{index}].size",
            )


def _layer_entries(layers: Sequence[WireLayer], gates: Gates, field: str) -> Iterator[Mistake]:
    seen = set()
    for index, layer in enumerate(layers):
        entry = f"{field}[{index}]"
        yield from _level(layer.topology, gates, f"{entry}.topology", of_slice=True)
        yield from _at_least_one(layer.size, f"{entry}.size")
        if layer.topology in seen:
            yield Mistake(f'is "{layer.topology}" a second time', "name each level once", field=f"{entry}.topology")
        seen.add(layer.topology)


def _at_least_one(size: int, field: str) -> Iterator[Mistake]:
    if size < 1:
        yield Mistake(f"is {size}", "a slice has at least 1 pod", field=field)


def _size(size: int | None, count: int, gates: Gates, field: str, bounded: bool) -> Iterator[Mistake]:
    if size is None or size < 1:
        return
    if bounded and size > count:
        yield Mistake(
            f"is {size}, but there {'is' if count == 1 else 'are'} only {_pods(count)}",
            f"use slices of at most {count}, or at least {_pods(size)}" if count else f"use at least {_pods(size)}",
            field=field,
        )
    elif count % size and "RefuseUnevenSlices" in gates:
        below = count - count % size
        nearest = f"{below} or {below + size}" if below else f"{size}"
        text = f"{_pods(count)} {'does' if count == 1 else 'do'} not divide into slices of {size}"
        yield Mistake(text, f"use {nearest} pods", field=field)


def _group(name: str, members: Sequence[Member]) -> Iterator[Mistake]:
    field = _field(members[-1].at, keys.GROUP)
    if len(members) != 2:
        number = "1 pod set" if len(members) == 1 else f"{len(members)} pod sets"
        yield Mistake(f'group "{name}" has {number}', "a group is a leader and its workers", field=field)
        return
    one, other = members
    if one.count != 1 and other.count != 1:
        yield Mistake(
            f'group "{name}" has {_pods(one.count)} in {one.name} and {_pods(other.count)} in {other.name}',
            "one of the two must have 1 pod",
            field=field,
        )
    if one.levels != other.levels:
        yield Mistake(
            f'group "{name}" requests different levels in {one.name} and {other.name}',
            "give both the same required or the same preferred level",
            field=field,
        )


def _request_lengths(request: TopologyRequest, at: str) -> Iterator[Mistake]:
    yield from _length(request.required, MAX_LEVEL, _below(at, "required"))
    yield from _length(request.preferred, MAX_LEVEL, _below(at, "preferred"))
    yield from _length(request.pod_index_label, MAX_INDEX_LABEL, _below(at, "podIndexLabel"))
    yield from _length(request.sub_group_index_label, MAX_INDEX_LABEL, _below(at, "subGroupIndexLabel"))
    yield from _length(request.pod_set_group_name, MAX_GROUP, _below(at, "podSetGroupName"))
    if (request.sub_group_count or 0) < 0:
        yield Mistake(f"is {request.sub_group_count}", "use 0 or more", field=_below(at, "subGroupCount"))


def _request_slices(request: TopologyRequest, count: int, gates: Gates, at: str) -> Iterator[Mistake]:
    level, size, layers = request.pod_set_slice_required_topology, request.pod_set_slice_size, request.layers or []
    level_field, size_field = _below(at, "podSetSliceRequiredTopology"), _below(at, "podSetSliceSize")
    layers_field = _below(at, "podsetSliceRequiredTopologyConstraints")
    if "TASValidateWorkloadSliceSize" in gates and (level is None) != (size is None):
        given, missing = (
            (level_field, "podSetSliceSize") if size is None else (size_field, "podSetSliceRequiredTopology")
        )
        yield Mistake(f"requires {missing}", "add it", field=given)
    if size is not None:
        yield from _at_least_one(size, size_field)
    if level is not None:
        yield from _named_level(level, gates, level_field)
    if len(layers) > MAX_LAYERS:
        yield Mistake(f"has {len(layers)} entries", f"use at most {MAX_LAYERS}", field=layers_field)
    for index, layer in enumerate(layers):
        yield from _named_level(layer.topology, gates, f"{layers_field}[{index}].topology")
        yield from _at_least_one(layer.size, f"{layers_field}[{index}].size")
    outermost, field = (layers[0].size, f"{layers_field}[0].size") if layers else (size, size_field)
    yield from _size(outermost, count, gates, field, bounded=False)


def _named_level(level: str, gates: Gates, field: str) -> Iterator[Mistake]:
    """Check a slice level of a Workload: it must not be empty; only placement finds out whether the label exists."""
    if not level or (level == AUTO and "AutoLevel" in gates):
        yield Mistake(
            f'is "{level}", which is not allowed for slices', "name the level that holds one slice", field=field
        )
    yield from _length(level, MAX_LEVEL, field)


def _unreadable(error: AnnotationError, at: str) -> Mistake:
    return Mistake(error.text, error.remedy, field=_field(at, error.key))


def _field(at: str, key: str) -> str:
    return f"{at}[{key}]" if at else key


def _below(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _pods(count: int) -> str:
    return f"{count} pod" if count == 1 else f"{count} pods"
