"""Properties of a kubelet's admission over random sequences of pods.

With the policy best-effort a container may get memory of zones that are bound to others. When it is given back, the
kubelet takes it from the lowest zone, whatever is reserved there, so the zones drift, as they do on a real machine.
"""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closeknit.numa.admission import NodeAdmission
from closeknit.numa.demand import PodDemand

from .sequences import random_sequence

seeds = st.integers(0, 10**6)
EXAMPLES = settings(max_examples=60, deadline=None)


def by_zone(kubelet: NodeAdmission) -> object:
    """What each zone has left. Groups of zones are left out: giving memory back does not restore the group before."""
    memory = {zone: (one.assignments, dict(one.free)) for zone, one in kubelet.memory.zones.items()}
    return kubelet.cpus.free, memory


def in_all(kubelet: NodeAdmission) -> object:
    """What the machine has left: memory of a group of zones is given back to the lowest one first."""
    zones = kubelet.memory.zones.values()
    memory = {name: sum(zone.free[name] for zone in zones) for zone in zones for name in zone.free}
    return kubelet.cpus.free, memory, sum(zone.assignments for zone in zones)


@EXAMPLES
@given(seed=seeds)
def test_a_refused_pod_leaves_nothing_behind(seed: int) -> None:
    sequence = random_sequence(seed)
    assume(sequence.settings.policy != "best-effort")
    kubelet = sequence.kubelet()
    for uid, containers in sequence.steps:
        before = in_all(kubelet)
        if containers is None:
            kubelet.remove(uid)
        elif not kubelet.admit(uid, PodDemand.of(containers)).admitted:
            assert in_all(kubelet) == before


@EXAMPLES
@given(seed=seeds)
def test_a_machine_is_as_it_was_once_all_pods_are_gone(seed: int) -> None:
    sequence = random_sequence(seed)
    assume(sequence.settings.policy != "best-effort")
    kubelet, empty = sequence.kubelet(), by_zone(sequence.kubelet())
    for uid, containers in sequence.steps:
        if containers is not None:
            kubelet.admit(uid, PodDemand.of(containers))
    for uid, _ in sequence.steps:
        kubelet.remove(uid)
    assert by_zone(kubelet) == empty
    assert all(one.group == 1 << zone for zone, one in kubelet.memory.zones.items())


@EXAMPLES
@given(seed=seeds)
def test_no_zone_gives_more_than_it_has_and_no_cpu_has_two_pods(seed: int) -> None:
    sequence = random_sequence(seed)
    kubelet = sequence.kubelet()
    for uid, containers in sequence.steps:
        if containers is None:
            kubelet.remove(uid)
        else:
            kubelet.admit(uid, PodDemand.of(containers))
        held = [kubelet.cpus.free, kubelet.cpus.reserved, *kubelet.cpus.held.values()]
        assert sum(held) == kubelet.cpus.places.everything
        for zone in kubelet.memory.zones.values():
            assert all(left >= 0 for left in zone.free.values())
            assert all(zone.free[name] + zone.reserved.get(name, 0) == size for name, size in zone.allocatable.items())
