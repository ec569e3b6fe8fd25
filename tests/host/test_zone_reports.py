"""NodeResourceTopologies on the embedded host: they come, change and go, and mistakes in them are told once."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.errors import Invalid
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, Raw, condition
from host.node_topologies import topology, zone

CPU = {"cpu": ("4", "4", "3")}


def warnings(lab: Lab) -> list[tuple[str, str]]:
    events = [one for one in lab.all(kinds.EVENT) if one["involvedObject"]["kind"] == "NodeResourceTopology"]
    return [(one["involvedObject"]["name"], one["message"]) for one in events]


def free_cpus(lab: Lab, node: str) -> list[int]:
    """What the control plane has cached as available, zone by zone."""
    return [one.resources["cpu"].available for one in lab.cluster.control_plane.cache.world.zones[node].zones]


def test_zones_are_known_as_soon_as_they_are_reported_and_until_the_report_goes() -> None:
    lab = centre()
    lab.create(topology("h00", zone(0, CPU), zone(1, CPU), topologyManagerPolicy="single-numa-node"))
    lab.settle()
    assert free_cpus(lab, "h00") == [3000, 3000]
    assert lab.cluster.control_plane.cache.world.zones["h00"].manager.policy == "single-numa-node"
    lab.patch(kinds.NODE_TOPOLOGY, "", "h00", {"zones": [zone(0, {"cpu": ("4", "4", "1")})]})
    lab.settle()
    assert free_cpus(lab, "h00") == [1000]
    lab.delete(kinds.NODE_TOPOLOGY, "", "h00")
    lab.settle()
    assert lab.cluster.control_plane.cache.world.zones == {}
    assert warnings(lab) == []


def test_a_mistake_is_told_once_however_often_the_agent_repeats_it() -> None:
    lab = centre()
    lab.create(topology("h00", zone(0, {"cpu": ("4", "4", "9")}), zone(70, CPU)))
    lab.settle()
    text = "zones[0].resources[0].available: is 9, but only 4 of cpu is allocatable; correct the agent that reports it"
    [(name, message)] = warnings(lab)
    assert name == "h00"
    assert text in message
    assert "zones[1].name: has id 70" in message
    for number in range(3):
        lab.patch(kinds.NODE_TOPOLOGY, "", "h00", {"metadata": {"annotations": {"n": str(number)}}})
        lab.advance(120)
    [event] = lab.all(kinds.EVENT)
    assert event["count"] == 1
    lab.patch(kinds.NODE_TOPOLOGY, "", "h00", {"zones": [zone(0, {"cpu": ("4", "4", "8")})]})
    lab.advance(120)
    assert lab.get(kinds.EVENT, event["metadata"]["name"])["count"] == 2


def with_no_node() -> Raw:
    return topology("nobody", zone(0, CPU))


def of_one_and_a_half_megabytes() -> Raw:
    many = {f"example.com/resource-{number:05d}": ("1", "1", "1") for number in range(8000)}
    return topology("h00", zone(0, many), zone(1, many))


@pytest.mark.parametrize("make", [with_no_node, of_one_and_a_half_megabytes])
def test_an_odd_report_does_not_stop_a_job(make: object) -> None:
    lab = centre()
    lab.create(make())  # type: ignore[operator]
    lab.apply(JOB.manifest)
    lab.advance(5)
    assert condition(lab.workloads()[0], "Admitted")
    assert warnings(lab) == []


def test_a_report_has_to_have_the_form_of_its_definition() -> None:
    lab = Lab()
    report = topology("h00", zone(0, {"cpu": ("4", "four", "4")}))
    with pytest.raises(Invalid, match=r"zones\[0\]\.resources\[0\]\.allocatable"):
        lab.create(report)
    del report["zones"]
    with pytest.raises(Invalid, match="zones: Required value"):
        lab.create(report)
