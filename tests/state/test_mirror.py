from __future__ import annotations

from closeknit.model.assignment import Assignment
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.mirror import Mirror, Usage
from engine.clusters import BY_RACK, TOPOLOGY, host


def held(flavor: str, levels: tuple[str, ...], path: tuple[str, ...]) -> Usage:
    return Usage(Assignment.of(levels, [(path, 2)]), Shape.of({"cpu": 1000}), flavor)


def cpu_left(mirror: Mirror) -> int:
    snapshot = mirror.views["mine"].snapshot
    return int(snapshot.remaining[snapshot.index["cpu"], 0])


def mirror(topology: Topology = TOPOLOGY, share_hosts: bool = True) -> Mirror:
    made = Mirror(share_hosts)
    made.add_flavor("mine", topology)
    made.put_node(host("a", "x", "1", 9))
    return made


def test_flavors_over_the_same_hosts_see_each_others_usage() -> None:
    made = mirror()
    made.admit("w", held("other", (HOSTNAME,), ("a",)))
    assert cpu_left(made) == 7000


def test_without_sharing_a_flavor_sees_only_its_own() -> None:
    made = mirror(share_hosts=False)
    made.admit("w1", held("other", (HOSTNAME,), ("a",)))
    made.admit("w2", held("mine", (HOSTNAME,), ("a",)))
    assert cpu_left(made) == 7000


def test_a_flavor_that_ends_above_the_host_sees_only_its_own() -> None:
    made = mirror(BY_RACK)
    made.admit("w1", held("other", BY_RACK.levels, ("x", "x-1")))
    made.admit("w2", held("mine", BY_RACK.levels, ("x", "x-1")))
    assert cpu_left(made) == 7000


def test_usage_on_a_node_that_is_away_counts_again_when_it_is_back() -> None:
    made = mirror()
    assert cpu_left(made) == 9000
    made.drop_node("a")
    made.admit("w", held("mine", (HOSTNAME,), ("a",)))
    made.put_node(host("a", "x", "1", 9))
    assert cpu_left(made) == 7000
