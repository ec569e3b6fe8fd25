"""Whatever labels pods carry: no pod gets a taken place, and a second pass has nothing more to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from closeknit.lifecycle.action import Ungate
from closeknit.lifecycle.ungate import UngateView, ungate
from closeknit.model.assignment import Assignment
from closeknit.model.pod import Pod
from closeknit.model.request import PodSet, Ranks, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME
from closeknit.model.workload import Admission, PodSetAssignment, Status, Workload, WorkloadPodSet

HOSTS = "abcd"


def workload(counts: list[int]) -> Workload:
    topology = Assignment.of((HOSTNAME,), (((host,), n) for host, n in zip(HOSTS, counts, strict=False)))
    request = Request.of([PodSet("main", topology.pods, Shape.of({}), ranks=Ranks("index"))])
    status = Status(admission=Admission("q", (PodSetAssignment("main", {}, {}, topology.pods, topology),)))
    return Workload(
        "ns", "w", request, (WorkloadPodSet("main", {}),), status=status.condition("Admitted", True, "", "", 0.0)
    )


def pod(number: int, index: int | None, on: str | None) -> Pod:
    return Pod(
        "ns",
        f"p{number}",
        uid=str(number),
        labels={} if index is None else {"index": str(index)},
        family="w",
        pod_set="main",
        gated=on is None,
        selector={} if on is None else {HOSTNAME: on},
    )


def let_go(one: Workload, pods: list[Pod]) -> dict[str, str]:
    actions = ungate(UngateView(one, pods), 0.0)
    found = [(each.pod.name, each.selector[HOSTNAME]) for each in actions if isinstance(each, Ungate)]
    assert len(dict(found)) == len(found) == len(actions)
    return dict(found)


COUNTS = st.lists(st.integers(0, 3), min_size=1, max_size=4)
PODS = st.lists(
    st.tuples(st.none() | st.integers(0, 8), st.none() | st.sampled_from("abcdx")), max_size=8
)  # fmt: skip


@given(COUNTS, PODS)
def test_no_domain_gets_more_than_it_has_room_for(
    counts: list[int], described: list[tuple[int | None, str | None]]
) -> None:
    one = workload(counts)
    pods = [pod(number, *each) for number, each in enumerate(described)]
    placed = let_go(one, pods)
    before = Counter(each.selector[HOSTNAME] for each in pods if not each.gated)
    after = before + Counter(placed.values())
    room = dict(zip(HOSTS, counts, strict=False))
    assert all(number <= max(room.get(host, 0), before[host]) for host, number in after.items())
    gated = {each.name for each in pods if each.gated}
    assert placed.keys() <= gated
    later = [
        replace(each, gated=False, selector={HOSTNAME: placed[each.name]}) if each.name in placed else each
        for each in pods
    ]
    assert let_go(one, later) == {}


@given(COUNTS, PODS)
def test_free_places_and_waiting_pods_are_not_both_left(
    counts: list[int], described: list[tuple[int | None, str | None]]
) -> None:
    one = workload(counts)
    pods = [pod(number, *each) for number, each in enumerate(described)]
    placed = let_go(one, pods)
    there = Counter([*placed.values(), *(each.selector[HOSTNAME] for each in pods if not each.gated)])
    free = sum(max(0, n - there[host]) for host, n in zip(HOSTS, counts, strict=False))
    waiting = sum(each.gated for each in pods) - len(placed)
    assert not (free and waiting)


@given(COUNTS, st.data())
def test_different_ranks_in_range_go_to_their_slots_in_any_order(counts: list[int], data: st.DataObject) -> None:
    slots = [host for host, n in zip(HOSTS, counts, strict=False) for _ in range(n)]
    ranks = data.draw(st.permutations(range(len(slots))))
    shown = ranks[: data.draw(st.integers(0, len(ranks)))]
    pods = [pod(rank, rank, None) for rank in shown]
    assert let_go(workload(counts), pods) == {f"p{rank}": slots[rank] for rank in shown}
