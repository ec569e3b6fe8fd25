"""The tree, kept up to date step by step, says what the specification says for what queues hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.model.cluster_queue import ClusterQueue
from closeknit.model.quota import Cohort, FlavorResource, Quota
from closeknit.quota.tree import QuotaTree
from decide.objects import ON_DEFAULT as FR
from decide.objects import cohort, queue

from .reference import Reference

EXAMPLES = settings(max_examples=150)
COHORTS = (("r", ""), ("m", "r"), ("n", "r"), ("d", "m"))
QUEUES = ("q0", "q1", "q2", "q3")

limits = st.sampled_from([None, None, 0, 1, 4])
quotas = st.builds(Quota, st.integers(0, 6), limits, limits)
changes = st.lists(st.tuples(st.sampled_from(QUEUES), st.integers(-6, 8)), max_size=12)


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[ClusterQueue], list[Cohort]]:
    """Up to three deep; a cohort may exist by name alone, a queue may stand by itself."""
    cohorts = [cohort(name, parent, {"default": draw(quotas)}) for name, parent in COHORTS if draw(st.booleans())]
    names = st.sampled_from(["", "r", "m", "n", "d"])
    return [queue(name, {"default": draw(quotas)}, draw(names)) for name in QUEUES], cohorts


Held = dict[str, dict[FlavorResource, int]]


def replay(tree: QuotaTree, steps: list[tuple[str, int]]) -> Held:
    """Add and take away, never more than a queue holds; what each holds in the end."""
    held: Held = {name: {FR: 0} for name in QUEUES}
    for name, amount in steps:
        change = max(amount, -held[name][FR])
        held[name][FR] += change
        if change > 0:
            tree.add(name, {FR: change})
        else:
            tree.remove(name, {FR: -change})
    return held


@EXAMPLES
@given(objects=trees(), steps=changes)
def test_usage_and_what_is_left_follow_from_what_queues_hold(
    objects: tuple[list[ClusterQueue], list[Cohort]], steps: list[tuple[str, int]]
) -> None:
    tree, reference = QuotaTree(*objects), Reference(*objects)
    held = replay(tree, steps)
    for sign, nodes in (("q", tree.queues), ("c", tree.cohorts)):
        for name, node in nodes.items():
            at = f"{sign}:{name}"
            assert node.subtree.get(FR, 0) == reference.subtree(at, FR)
            assert node.local.get(FR, 0) == reference.local(at, FR)
            assert node.usage.get(FR, 0) == reference.used(at, FR, held)
            assert node.available(FR) == reference.available(at, FR, held)
            assert node.potentially_available(FR) == reference.potential(at, FR)


@EXAMPLES
@given(objects=trees(), before=changes, after=changes)
def test_a_rollback_undoes_any_steps(
    objects: tuple[list[ClusterQueue], list[Cohort]], before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    tree = QuotaTree(*objects)
    replay(tree, before)
    nodes = [*tree.queues.values(), *tree.cohorts.values()]
    was = [dict(node.usage) for node in nodes]
    mark = tree.checkpoint()
    for name, amount in after:
        (tree.add if amount > 0 else tree.remove)(name, {FR: abs(amount)})
    tree.rollback(mark)
    assert [dict(node.usage) for node in nodes] == was


@EXAMPLES
@given(objects=trees(), steps=changes, name=st.sampled_from(QUEUES), data=st.data())
def test_taking_no_more_than_is_available_breaks_no_limit(
    objects: tuple[list[ClusterQueue], list[Cohort]], steps: list[tuple[str, int]], name: str, data: st.DataObject
) -> None:
    tree, reference = QuotaTree(*objects), Reference(*objects)
    held: Held = {one: {FR: 0} for one in QUEUES}
    for taker, _ in [*steps, (name, 0)]:
        most = max(0, tree.queues[taker].available(FR))
        amount = data.draw(st.integers(0, most))
        tree.add(taker, {FR: amount})
        held[taker][FR] += amount
    assert reference.broken(held) == []


@EXAMPLES
@given(objects=trees(), name=st.sampled_from(QUEUES))
def test_what_is_available_in_an_empty_tree_is_what_could_ever_be(
    objects: tuple[list[ClusterQueue], list[Cohort]], name: str
) -> None:
    node = QuotaTree(*objects).queues[name]
    assert node.available(FR) == node.potentially_available(FR)
