"""A gang as a pod group of Kueue: labels and annotations on its pods, and a Topology.

Kueue starts a group as a whole and knows one constraint for it, with slices of equal size inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...model.gang import Gang
from ...model.request import Constraint, Group
from ...model.topology import Topology
from ..minimums import least_pods
from ..written_gang import PodMarks, Topologies, WrittenGang, by_labels, count, least, leaves, plain_name, short
from . import keys

TARGET = "Kueue"
DEFAULT_QUEUE = "default"


def write_gang(gang: Gang, topologies: Topologies) -> WrittenGang:
    written = WrittenGang(gang)
    [root] = gang.request.groups
    written.lose_beyond_minimums(root, TARGET)
    written.lose_standing(TARGET)
    _lose_minimums(written, root)
    bounds, slices = _constraint(written, root, topologies), _slices(written, root, topologies)
    labels = {keys.POD_GROUP: short(plain_name(gang.name)), keys.QUEUE: gang.queue or DEFAULT_QUEUE}
    own = {"priorityClassName": gang.priority_class} if gang.priority_class else {}
    notes = {keys.POD_GROUP_COUNT: str(_size(root)), **bounds, **slices}
    for pod, number in _numbered(root):
        index = {keys.POD_GROUP_INDEX: str(number)} if slices else {}  # slices are of consecutive pods
        written.marks[pod] = PodMarks({**labels, **index}, notes, own)
    used = [root.constraint if bounds else None, next(leaves(root)).constraint if slices else None]
    _write_topology(written, [found for one in used if (found := by_labels(one, topologies)) is not None], topologies)
    return written


def _size(group: Group) -> int:
    """All pods of the group, with those that its minimums count and that do not exist yet."""
    return max(count(group), least_pods(group))


def _numbered(root: Group) -> Iterator[tuple[str, int]]:
    """The pods with their places in the group; those that run come first in their sub-group."""
    start = 0
    for part in _parts(root):
        number = start + sum(len(one.running) for one in part.own_pod_sets)
        for pod in (pod for one in part.own_pod_sets for pod in one.pods):
            yield pod, number
            number += 1
        start += max(least(part), number - start)


def _parts(group: Group) -> Iterator[Group]:
    """The group and all groups below it."""
    yield group
    for child in group.groups:
        yield from _parts(child)


def _lose_minimums(written: WrittenGang, group: Group) -> None:
    """Add every minimum that leaves something out: the whole group starts together."""
    pods = sum(one.count + len(one.running) for one in group.own_pod_sets)
    if group.own_pod_sets and group.min_pods is not None and group.min_pods < pods:
        written.lose(group, f"{group.min_pods} of {pods} pods", f"{TARGET} starts all pods of a group or none")
    if group.groups and group.min_groups is not None and group.min_groups < len(group.groups):
        said = f"{group.min_groups} of {len(group.groups)} groups"
        written.lose(group, said, f"{TARGET} starts all pods of a group or none")
    if group.min_total is not None and group.min_total < count(group):
        said = f"{group.min_total} of {count(group)} pods"
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
    below = [one for one in _parts(root) if one is not root and one.constraint is not None]
    if not below:
        return {}
    said = f"constraints of {len(below)} of its groups"
    if any(by_labels(one.constraint, topologies) is None for one in below):
        written.lose(root, said, f"tiers of HyperNodes are not node labels, which {TARGET} needs")
        return {}
    only = below[0].constraint
    if only is None or not only.required or not _are_alike(root):
        written.lose(root, said, f"{TARGET} has required slices of one size and shape only")
        return {}
    if not _can_join(root.constraint, only, topologies):
        written.lose(root, said, f"{TARGET} reads the levels of a job from one Topology")
        return {}
    return {keys.SLICE_LEVEL: only.required, keys.SLICE_SIZE: str(_size(root.groups[0]))}


def _are_alike(root: Group) -> bool:
    """Whether all pods are in groups of one size, shape and constraint, directly in it."""
    shapes = {pod_set.shape for pod_set in root.pod_sets}
    alike = {(_size(one), one.constraint) for one in root.groups}
    return len(alike) == 1 and len(shapes) <= 1 and not root.own_pod_sets and root.depth == 2


def _can_join(outer: Constraint | None, inner: Constraint, topologies: Topologies) -> bool:
    """Whether one Topology can have the levels of both: that of one of them, or a single label above another."""
    first, second = by_labels(outer, topologies), by_labels(inner, topologies)
    if first is None or second is None or first.name == second.name:
        return True
    return len(first.levels) == len(second.levels) == 1


def _write_topology(written: WrittenGang, used: Sequence[Topology], topologies: Topologies) -> None:
    """Add one Topology with the levels of all of these, the first the coarsest; none without any."""
    for one in used:
        if one.name not in topologies:
            written.note(f"Topology {plain_name(one.name)}", "is not in the files; it has to exist")
            return
    levels = list(dict.fromkeys(level for one in used for level in one.levels))
    if levels:
        topology = {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": plain_name(*dict.fromkeys(one.name for one in used))},
            "spec": {"levels": [{"nodeLabel": level} for level in levels]},
        }
        written.objects.append(topology)
