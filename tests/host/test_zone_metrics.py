"""What metrics and views tell of nodes whose kubelets refuse what reports promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from closeknit.cluster import kinds
from closeknit.cluster.port import Key
from closeknit.host.metrics import Metrics
from closeknit.observe.zone_views import zones_view
from host.lab import Lab
from host.test_zones import job, zoned


def numa_metrics(lab: Lab) -> dict[str, float]:
    lines = Metrics(lab.cluster).text().decode().splitlines()
    found: Iterator[tuple[str, str]] = (line.rsplit(" ", 1) for line in lines if line.startswith("closeknit_numa"))  # type: ignore[misc]
    return {name: float(value) for name, value in found}


def refusing(lab: Lab) -> Lab:
    """A job of one pod, which the kubelet refuses when it has been bound."""
    lab.apply(job("one", 1, "2"))
    for _ in range(100):
        if any(pod["spec"].get("nodeName") for pod in lab.pods()):
            break
        lab.advance(0.1)
    [pod] = lab.pods()
    status = {"phase": "Failed", "reason": "TopologyAffinityError", "message": "Pod was rejected"}
    key = Key(kinds.POD, "default", pod["metadata"]["name"])
    lab.cluster.store.patch(key, {"status": status}, subresource="status")
    lab.advance(1)
    return lab


def view(lab: Lab) -> Any:
    world = lab.cluster.control_plane.cache.world
    return msgspec.to_builtins(zones_view(world, lab.cluster.now()))


def test_reports_without_a_fingerprint_are_in_doubt() -> None:
    lab = zoned("h00", "h01")
    assert numa_metrics(lab) == {
        "closeknit_numa_reported_nodes": 2.0,
        "closeknit_numa_doubtful_nodes": 2.0,
        "closeknit_numa_paused_nodes": 0.0,
    }


def test_a_refusal_is_counted_by_its_reason_and_pauses_the_node() -> None:
    lab = refusing(zoned(*(f"h{number:02d}" for number in range(12))))
    found = numa_metrics(lab)
    assert found['closeknit_numa_refusals_total{reason="TopologyAffinityError"}'] == 1.0
    assert found["closeknit_numa_paused_nodes"] == 1.0
    [paused] = [one for one in view(lab)["nodes"] if one["pauses"]]
    [pause] = paused["pauses"]
    assert pause["asks"] == "cpu 2, memory 1Gi"
    assert 0 < pause["seconds"] <= 10


def test_pods_are_seen_where_they_are_expected() -> None:
    lab = zoned(*(f"h{number:02d}" for number in range(12)))
    lab.apply(job("one", 1, "2"))
    lab.advance(3)
    [pod] = lab.pods()
    [node] = [one for one in view(lab)["nodes"] if one["name"] == pod["spec"]["nodeName"]]
    [seat] = node["pods"]
    assert (seat["told"], seat["zones"]) == ("expected", {"node-0": {"cpu": 2000, "memory": 2**30}})
    assert seat["pod"] == f"default/{pod['metadata']['name']}"
    assert node["zones"][0]["resources"]["cpu"] == {"allocatable": 2000, "reported": 2000, "free": 0}
