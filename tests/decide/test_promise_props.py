"""No cycle promises a node beyond what it has, less what still runs there and what is promised already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.model.workload import Workload
from closeknit.queue.wake import WakeEvent
from closeknit.state.placed import PlacedPod

from .clusters import Cluster, Story, clusters

EXAMPLES = settings(max_examples=40)
victims_may_stay = pytest.mark.parametrize("victims_stop", [True, False], ids=["victims-stop", "victims-stay"])


def slots(one: Workload) -> Iterator[tuple[str, tuple[str, ...], dict[str, int]]]:
    """For each pod of a workload that holds places: its pod set, its leaf, and what it takes."""
    admission = one.status.admission
    assert admission is not None
    for mine in admission.pod_sets:
        pod_set = one.pod_set(mine.name)
        assert pod_set is not None
        for path in mine.topology.slots() if mine.topology is not None else ():
            yield mine.name, path, {**dict(pod_set.shape.requests), "pods": 1}


def check(cluster: Cluster, taken: dict[str, Counter[str]]) -> None:
    for node in cluster.nodes:
        for resource, amount in taken.get(node.name, {}).items():
            assert amount <= node.allocatable.get(resource, 0), (node.name, resource)


@victims_may_stay
@EXAMPLES
@given(cluster=clusters(overlap=True))
def test_flavors_that_share_hosts_do_not_promise_them_twice(victims_stop: bool, cluster: Cluster) -> None:
    story = Story(cluster, victims_stop)
    while story.step() is not None:
        taken: dict[str, Counter[str]] = {}
        for one in story.holding:
            for _, path, takes in slots(one):
                taken.setdefault(path[0], Counter()).update(takes)
        check(cluster, taken)


class Slow(Story):
    """Pods start when their workload is admitted, and go some cycles after it gave back its place."""

    def __init__(self, cluster: Cluster, cycles_to_go: int) -> None:
        super().__init__(cluster, victims_stop=True)
        self.cycles_to_go = cycles_to_go
        self.running: dict[str, tuple[str, list[str]]] = {}
        """By workload: which admission its pods are of, and their keys."""
        self.going: list[tuple[int, str]] = []
        self.pods: dict[str, tuple[PlacedPod, dict[str, int]]] = {}
        self.made = 0

    def look(self) -> None:
        """What happens between two cycles: pods start, terminate, or are gone."""
        self.going = [(left - 1, key) for left, key in self.going]
        for _, key in [one for one in self.going if one[0] <= 0]:
            self.scheduler.world.drop_placed_pod(key)
            del self.pods[key]
        if any(left <= 0 for left, _ in self.going):
            self.scheduler.wake_queues(WakeEvent.OTHER_POD_GONE, list(self.scheduler.world.cluster_queues), self.at)
        self.going = [one for one in self.going if one[0] > 0]
        for key in self._lost():
            self._stop_pods(key)
        for one in self.holding:
            if one.key not in self.running and one.admitted:
                self._start_pods(one)

    def _lost(self) -> list[str]:
        """Workloads with pods on places that they no longer hold."""
        holding = {one.key: repr(one.status.admission) for one in self.holding}
        return [key for key, (admission, _) in self.running.items() if holding.get(key) != admission]

    def lingering(self) -> Iterator[tuple[PlacedPod, dict[str, int]]]:
        keys = [key for _, key in self.going]
        for workload in self._lost():
            keys += self.running[workload][1]
        return (self.pods[key] for key in keys)

    def _start_pods(self, one: Workload) -> None:
        keys = []
        for name, path, takes in slots(one):
            self.made += 1
            key = f"default/pod-{self.made}"
            requests = {resource: amount for resource, amount in takes.items() if resource != "pods"}
            self.pods[key] = PlacedPod(one.key, name, path[0], requests), takes
            self.scheduler.world.put_placed_pod(key, self.pods[key][0])
            keys.append(key)
        self.running[one.key] = repr(one.status.admission), keys

    def _stop_pods(self, workload: str) -> None:
        for key in self.running.pop(workload)[1]:
            pod, takes = self.pods[key]
            self.pods[key] = pod._replace(terminating=True), takes
            self.scheduler.world.put_placed_pod(key, self.pods[key][0])
            self.going.append((self.cycles_to_go, key))


@EXAMPLES
@given(cluster=clusters(overlap=True), cycles_to_go=st.integers(1, 3))
def test_no_workload_is_promised_room_that_draining_pods_hold(cluster: Cluster, cycles_to_go: int) -> None:
    story = Slow(cluster, cycles_to_go)
    while story.step() is not None:
        taken: dict[str, Counter[str]] = {}
        for one in story.holding:
            for _, path, takes in slots(one):
                taken.setdefault(path[0], Counter()).update(takes)
        for pod, takes in story.lingering():
            taken.setdefault(pod.node, Counter()).update(takes)
        check(cluster, taken)
        story.look()
