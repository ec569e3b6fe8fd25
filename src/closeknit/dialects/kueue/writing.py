"""A gang as a pod group of Kueue: labels and annotations on its pods, and a Topology.

Kueue starts a group as a whole and knows one constraint for it, with slices of equal size inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.gang import Gang
from ...model.request import Group
from ...model.topology import Topology
from ..written_gang import PodMarks, Raw, Topologies, WrittenGang, by_labels, count, leaves, plain_name
from . import keys

TARGET = "Kueue"
DEFAULT_QUEUE = "default"


def write_gang(gang: Gang, topologies: Topologies) -> WrittenGang:
    written = WrittenGang(gang)
    [root] = gang.request.groups
    written.lose_beyond_minimums(root, TARGET)
    _lose_minimums(written, root)
    bounds, slices = _constraint(written, root, topologies), _slices(written, root, topologies)
    labels = {keys.POD_GROUP: plain_name(gang.name), keys.QUEUE: gang.queue or DEFAULT_QUEUE}
    own = {"priorityClassName": gang.priority_class} if gang.priority_class else {}
    notes = {keys.POD_GROUP_COUNT: str(count(root)), **bounds, **slices}
    for number, pod in enumerate(pod for one in root.pod_sets for pod in one.pods):
        index = {keys.POD_GROUP_INDEX: str(number)} if slices else {}  # slices are of consecutive pods
        written.marks[pod] = PodMarks({**labels, **index}, notes, own)
    used = [root.constraint if bounds else None, next(leaves(root)).constraint if slices else None]
    written.objects = list(_topology([found for one in used if (found := by_labels(one, topologies)) is not None]))
    return written


def _lose_minimums(written: WrittenGang, group: Group) -> None:
    """Add every minimum that leaves something out: the whole group starts together."""
    pods = sum(one.count + len(one.running) for one in group.own_pod_sets)
    if group.own_pod_sets and group.min_pods is not None and group.min_pods < pods:
        written.lose(group, f"{group.min_pods} of {pods} pods", f"{TARGET} starts all pods of a group or none")
    if group.groups and group.min_groups is not None and group.min_groups < len(group.groups):
        said = f"{group.min_groups} of {len(group.groups)} groups"
        written.lose(group, said, f"{TARGET} starts all pods of a group or none")
    for child in group.groups:
        _lose_minimums(written, child)


def _constraint(written: WrittenGang, group: Group, topologies: Topologies) -> dict[str, str]:
    bounds = group.constraint
    if bounds is None:
        return {}
    if by_labels(bounds, topologies) is None:
        said = f"required {bounds.required}" if bounds.required else f"preferred {bounds.preferred}"
        written.lose(group, said, f"tiers of HyperNodes are not node labels, which {TARGET} needs")
        return {}
    if bounds.required and bounds.preferred:
        text = f"{TARGET} allows one of the two; Closeknit reads both with the gate RequiredAndPreferred"
        written.lose(group, f"preferred {bounds.preferred} beside required {bounds.required}", text)
    found = ((keys.REQUIRED, bounds.required), (keys.PREFERRED, bounds.preferred))
    return {key: level for key, level in found if level}


def _slices(written: WrittenGang, root: Group, topologies: Topologies) -> dict[str, str]:
    """Groups that are alike, each required in one domain, are slices; others are left out."""
    if not root.groups:
        return {}
    parts = list(leaves(root))
    sizes, bounds = {count(one) for one in parts}, {one.constraint for one in parts}
    shapes = {pod_set.shape for pod_set in root.pod_sets}
    [only] = bounds if len(bounds) == 1 else [None]
    alike = len(sizes) == len(shapes) == 1 and not root.own_pod_sets and root.depth == 2
    if alike and only is not None and only.required and by_labels(only, topologies) is not None:
        return {keys.SLICE_LEVEL: only.required, keys.SLICE_SIZE: str(count(parts[0]))}
    if only is not None and by_labels(only, topologies) is None:
        said = f"constraints of its {len(parts)} groups"
        written.lose(root, said, f"tiers of HyperNodes are not node labels, which {TARGET} needs")
    elif any(bounds):
        written.lose(root, f"constraints of its {len(parts)} groups", f"{TARGET} has slices of one size and shape only")
    return {}


def _topology(used: Sequence[Topology]) -> Iterator[Raw]:
    """One Topology with the levels of all of these, the first the coarsest; none without any."""
    levels = list(dict.fromkeys(level for one in used for level in one.levels))
    if levels:
        yield {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": plain_name(*dict.fromkeys(one.name for one in used))},
            "spec": {"levels": [{"nodeLabel": level} for level in levels]},
        }
