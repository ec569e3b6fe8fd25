"""A gang that a dialect can express is read back from it as the same request."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects.gangs import WRITERS
from closeknit.dialects.pod_marks import remarked
from closeknit.model.gang import Gang
from closeknit.model.request import Constraint, Group, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import Topology
from dialects.objects import pod, read

ZONE, RACK = "example.com/zone", "example.com/rack"
NETWORK = Topology("network", (ZONE, RACK))
LABELS = {name: Topology(name, (name,)) for name in (ZONE, RACK)}
SHAPE = Shape.of({"cpu": 1000})
BOUNDS: dict[str, list[Constraint | None]] = {
    "kai": [
        None,
        Constraint(ZONE, topology="network"),
        Constraint(preferred=RACK, topology="network"),
        Constraint(ZONE, RACK, topology="network"),
    ],
    "upstream": [None, Constraint(ZONE, topology=ZONE), Constraint(RACK, topology=RACK)],
    "volcano": [
        None,
        Constraint("tier-1", topology="hypernodes"),
        Constraint("tier-2", "tier-1", topology="hypernodes"),
        Constraint(preferred="tier-1", topology="hypernodes"),
    ],
}


@st.composite
def leaf(draw: st.DrawFn, numbers: Any, bounds: list[Constraint | None], least: int | None = None) -> Group:
    name, size = f"g{next(numbers)}", draw(st.integers(1, 4))
    pods = tuple(f"default/{name}-{number}" for number in range(size))
    needed = draw(st.one_of(st.none(), st.integers(1, size))) if least is None else min(least, size)
    return Group((PodSet(name, size, SHAPE, pods=pods),), name, draw(st.sampled_from(bounds)), min_pods=needed)


@st.composite
def tree(draw: st.DrawFn, numbers: Any, bounds: list[Constraint | None], depth: int) -> Group:
    if depth == 0 or draw(st.booleans()):
        return draw(leaf(numbers, bounds))
    children = tuple(draw(tree(numbers, bounds, depth - 1)) for _ in range(draw(st.integers(1, 3))))
    needed = draw(st.one_of(st.none(), st.integers(1, len(children))))
    return Group(children, f"g{next(numbers)}", draw(st.sampled_from(bounds)), min_groups=needed)


@st.composite
def for_volcano(draw: st.DrawFn) -> Group:
    """Groups that are alike, of which some are needed; or any groups, all needed."""
    numbers, bounds = count(), BOUNDS["volcano"]
    number, alike = draw(st.integers(1, 3)), draw(st.booleans())
    own = [draw(st.sampled_from(bounds))] if alike else bounds
    children = tuple(draw(leaf(numbers, own, 1 if alike else None)) for _ in range(number))
    needed = draw(st.integers(1, number)) if alike else None
    return Group(children, "root", draw(st.sampled_from(bounds)), min_groups=needed)


def gangs(target: str) -> st.SearchStrategy[Group]:
    return for_volcano() if target == "volcano" else tree(count(), BOUNDS[target], 3)


def outline(group: Group) -> Any:
    """What the group asks for, without names and the order of its parts; a group around one other adds nothing."""
    pods = sum(one.count for one in group.own_pod_sets)
    needed = pods if group.min_pods is None else group.min_pods
    below = [outline(one) for one in group.groups]
    groups = len(below) if group.min_groups is None else group.min_groups
    if len(below) == groups == 1 and not pods and group.constraint is None:
        return below[0]
    levels = group.constraint and (group.constraint.required, group.constraint.preferred)
    return levels, pods, needed, groups, group.min_total, sorted(below, key=repr)


@pytest.mark.parametrize("target", ["kai", "upstream", "volcano"])
@given(st.data())
def test_what_a_dialect_can_express_comes_back_equal(target: str, data: st.DataObject) -> None:
    root = data.draw(gangs(target))
    gang = Gang("grove", "default", "root", Request((root,)))
    written = WRITERS[target](gang, {"network": NETWORK, **LABELS})
    assert written.losses == []
    members = [remarked(pod(key.partition("/")[2]), marks) for key, marks in written.marks.items()]
    found = read(*written.objects, *members, nodes=None)
    assert found.mistakes == ()
    [again] = found.gangs
    assert outline(again.request.groups[0]) == outline(root)
