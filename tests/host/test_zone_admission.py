"""Simulated nodes with NUMA zones: their kubelets admit or refuse pods, and their agents report what is free."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.numa.fingerprint import fingerprint
from host.lab import Lab, Raw
from host.zoned_nodes import GPU, SINGLE, available, fates, held, pod, zoned

REFUSED = "TopologyAffinityError"
LOCALITY = "Resources cannot be allocated with Topology locality"


def created(lab: Lab, *pods: Raw, wait: float = 1.0) -> Lab:
    for one in pods:
        lab.create(one)
    lab.advance(wait)
    return lab


def events(lab: Lab) -> list[tuple[str, str, str]]:
    return [(one["involvedObject"]["name"], one["reason"], one["message"]) for one in lab.all(kinds.EVENT)]


def attribute(lab: Lab, name: str, wanted: str) -> str:
    found = lab.get(kinds.NODE_TOPOLOGY, name)["attributes"]
    return next((one["value"] for one in found if one["name"] == wanted), "")


# Admission


def test_a_pod_that_no_zone_can_hold_fails_with_the_words_of_a_kubelet() -> None:
    lab = created(zoned("n1"), pod("a", 3), pod("b", 3), pod("c", 2))
    assert fates(lab) == {"a": "Running", "b": "Running", "c": REFUSED}
    status = lab.get(kinds.POD, "c")["status"]
    assert (status["phase"], status["message"]) == ("Failed", f"Pod was rejected: {LOCALITY}")
    assert "containerStatuses" not in status
    assert events(lab) == [("c", REFUSED, LOCALITY)]


def test_a_pod_is_admitted_before_it_starts() -> None:
    lab = created(zoned("n1"), pod("a", 3), wait=0.5)
    status = lab.get(kinds.POD, "a")["status"]
    assert status["phase"] == "Pending"
    assert "startTime" in status
    assert held(lab, "a")["cpus"] == "0-2"


@pytest.mark.parametrize(("first", "then"), [("c", {"a": REFUSED}), ("a", {"c": REFUSED})])
def test_pods_are_admitted_in_the_order_in_which_they_were_bound(first: str, then: dict[str, str]) -> None:
    """Both do not fit, whatever comes first; `a` and `c` need a zone of four CPUs, of which `b` takes one."""
    lab = zoned("n1")
    created(lab, pod("b", 2, nodeName="n1"), wait=0.3)
    created(lab, *(pod(name, 3, nodeName="n1") for name in (first, *then)))
    assert fates(lab) == {"b": "Running", first: "Running", **then}


def test_without_devices_the_kubelet_fails_in_allocation() -> None:
    lab = created(zoned("n1", numa={"zones": 2, "policy": "none"}), pod("a", 1, 4))
    created(lab, pod("b", 1, 3, nodeName="n1"))
    assert fates(lab) == {"a": "Running", "b": "UnexpectedAdmissionError"}
    message = f"requested number of devices unavailable for {GPU}. Requested: 3, Available: 0"
    status = lab.get(kinds.POD, "b")["status"]
    assert status["message"] == f"Pod was rejected: Allocate failed due to {message}, which is unexpected"


@pytest.mark.parametrize(
    ("numa", "fate"),
    [
        ({"policy": "restricted"}, REFUSED),
        ({"policy": "best-effort"}, "Running"),
        ({"policy": "none"}, "Running"),
        ({"policy": "single-numa-node", "cpuManager": "none", "memoryManager": "none"}, "Running"),
        ({"policy": "single-numa-node", "zones": 1}, "Running"),
        ({"policy": "single-numa-node", "reservedCPUs": 0, "zones": [{"cpu": 6}, {"cpu": 2}]}, "Running"),
        (None, "Running"),
    ],
)
def test_the_settings_of_the_kubelet_decide(numa: dict[str, Any] | None, fate: str) -> None:
    lab = zoned("n1", numa=None if numa is None else {"zones": 2, **numa})
    created(lab, pod("a", 3), pod("b", 3), pod("c", 2))
    assert fates(lab)["c"] == fate


def test_in_scope_pod_the_containers_go_to_one_zone_together() -> None:
    def two(name: str) -> Raw:
        raw = pod(name, 2)
        raw["spec"]["containers"].append({**raw["spec"]["containers"][0], "name": "second"})
        return raw

    by_scope = {}
    for scope in ("pod", "container"):
        lab = created(zoned("n1", numa={**SINGLE, "scope": scope}), pod("a", 1), pod("b", 1, nodeName="n1"), two("c"))
        by_scope[scope] = fates(lab)["c"], held(lab, "c")["containers"] if fates(lab)["c"] == "Running" else None
    assert by_scope["pod"] == ("Running", {"main": 1, "second": 1})
    assert by_scope["container"] == ("Running", {"main": 0, "second": 1})


def test_a_pod_that_ends_or_is_deleted_gives_back_what_it_had() -> None:
    lab = created(zoned("n1"), pod("a", 3, runs="5s"), pod("b", 3))
    created(lab, pod("c", 4))
    assert fates(lab)["c"] == "Pending"
    lab.advance(5)
    assert fates(lab) == {"a": "Succeeded", "b": "Running", "c": "Running"}
    assert held(lab, "c")["cpus"] == "0-3"
    lab.delete(kinds.POD, "default", "b")
    lab.advance(40)
    created(lab, pod("d", 4))
    assert held(lab, "d")["cpus"] == "4-7"


def test_a_controller_replaces_what_the_kubelet_refuses_again_and_again() -> None:
    lab = created(zoned("n1"), pod("a", 3), pod("b", 3))
    container = pod("x", 2)["spec"]["containers"]
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": container}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    lab.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec})
    lab.advance(3)
    refused = [name for name, fate in fates(lab).items() if fate == REFUSED]
    assert len(refused) >= 10
    assert "Running" not in {fates(lab)[name] for name in refused}


@pytest.mark.parametrize(("more", "refused"), [({}, 3), ({"backoffLimitPerIndex": 5}, 3), ({"backoffLimit": 1}, 2)])
def test_a_job_replaces_what_the_kubelet_refuses_with_backoff(more: dict[str, Any], refused: int) -> None:
    """After 10 s, then 20 s, as far as its limits allow."""
    lab = created(zoned("n1"), pod("a", 3), pod("b", 3))
    template = {"metadata": {}, "spec": pod("x", 2)["spec"]}
    spec = {"parallelism": 1, "completions": 1, "completionMode": "Indexed", "template": template, **more}
    lab.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec})
    lab.advance(40)
    assert [fate for name, fate in fates(lab).items() if name.startswith("x-")] == [REFUSED] * refused


# Reports


def test_a_report_follows_after_its_delay_and_accounts_for_the_pods_that_were_there() -> None:
    lab = zoned("n1", numa={**SINGLE, "exporter": "30s", "distances": [[10, 12], [12, 10]]})
    lab.advance(31)
    assert available(lab, "n1") == ["4", "4"]
    created(lab, pod("a", 3), wait=5)
    assert available(lab, "n1") == ["4", "4"]
    assert attribute(lab, "n1", "nodeTopologyPodsFingerprint") == fingerprint([])
    lab.advance(27)
    assert available(lab, "n1") == ["1", "4"]
    assert available(lab, "n1", "memory") == ["15Gi", "16Gi"]
    assert attribute(lab, "n1", "nodeTopologyPodsFingerprint") == fingerprint([("default", "a")])
    assert attribute(lab, "n1", "topologyManagerPolicy") == "single-numa-node"
    assert lab.get(kinds.NODE_TOPOLOGY, "n1")["zones"][1]["costs"][0] == {"name": "node-0", "value": 12}


def test_a_report_is_written_only_when_it_differs() -> None:
    lab = created(zoned("n1"), pod("a", 3), wait=20)
    before = lab.get(kinds.NODE_TOPOLOGY, "n1")["metadata"]["resourceVersion"]
    lab.patch(kinds.POD, "default", "a", {"metadata": {"labels": {"x": "y"}}})
    lab.advance(120)
    assert lab.get(kinds.NODE_TOPOLOGY, "n1")["metadata"]["resourceVersion"] == before


def test_an_agent_that_never_reports_changes_nothing_else() -> None:
    lab = created(zoned("n1", numa={**SINGLE, "exporter": "never"}), pod("a", 3), pod("b", 3), pod("c", 2), wait=60)
    assert fates(lab)["c"] == REFUSED
    assert lab.all(kinds.NODE_TOPOLOGY) == []


def test_a_machine_that_is_cut_off_reports_when_it_is_back() -> None:
    lab = created(zoned("n1"), pod("a", 3, runs="20s"), wait=10)
    lab.patch(kinds.NODE, "", "n1", {"metadata": {"annotations": {"closeknit.dev/cut-off": "true"}}})
    created(lab, pod("b", 1, nodeName="n1"), wait=30)
    assert available(lab, "n1") == ["1", "4"]
    assert fates(lab)["b"] == "Pending"
    lab.patch(kinds.NODE, "", "n1", {"metadata": {"annotations": {"closeknit.dev/cut-off": None}}})
    lab.advance(20)
    assert available(lab, "n1") != ["1", "4"]


def test_a_report_goes_with_its_node_and_with_its_annotation() -> None:
    lab = zoned("n1", "n2")
    lab.advance(5)
    assert [one["metadata"]["name"] for one in lab.all(kinds.NODE_TOPOLOGY)] == ["n1", "n2"]
    lab.delete(kinds.NODE, "", "n1")
    lab.patch(kinds.NODE, "", "n2", {"metadata": {"annotations": {"closeknit.dev/numa": None}}})
    lab.advance(5)
    assert lab.all(kinds.NODE_TOPOLOGY) == []


def test_what_spans_zones_has_no_place_in_a_report() -> None:
    lab = created(zoned("n1", numa={**SINGLE, "policy": "best-effort"}), pod("a", 6), wait=10)
    assert held(lab, "a")["containers"] == {"main": None}
    assert available(lab, "n1") == ["0", "2"]
    assert attribute(lab, "n1", "topology.node.k8s.io/numaplacement-metadata") == ""


# Input


def test_an_invalid_annotation_is_told_on_the_node_and_counts_as_absent() -> None:
    lab = created(zoned("n1", numa={"zones": 0}), pod("a", 3), pod("b", 3), pod("c", 2))
    assert set(fates(lab).values()) == {"Running"}
    [(name, reason, message)] = [one for one in events(lab) if one[0] == "n1"]
    assert (name, reason) == ("n1", "InvalidAnnotation")
    assert message == (
        "annotation closeknit.dev/numa: zones: is 0; write how many zones, from 1 to 64, or a list with what each has"
    )


def test_a_changed_holding_is_ignored_and_stops_nothing() -> None:
    lab = created(zoned("n1"), pod("a", 3))
    for odd in ("{", '{"cpus": "0-99999999"}', '{"devices": {"x": {"7": -1}}}', '{"memory": [{}]}'):
        lab.patch(kinds.POD, "default", "a", {"metadata": {"annotations": {"closeknit.dev/numa-held": odd}}})
        lab.advance(5)
        assert available(lab, "n1") == ["4", "4"]
    assert lab.cluster.loop.faults == 0


# Restarts


def test_a_host_that_is_killed_continues_with_the_same_state() -> None:
    """Every second the host is gone and starts again from its objects; the fates of pods are the same."""
    stories = []
    for kills in (False, True):
        lab = zoned("n1", "n2")
        for number in range(12):
            lab.create(pod(f"p{number:02d}", 1 + number % 3, number % 2, runs=f"{3 + number}s"))
            for seconds in (0.1, 0.9):
                lab.advance(seconds)
                if kills:
                    lab.restart()
        lab.advance(5)
        stories.append(({name: (fate, _held(lab, name)) for name, fate in fates(lab).items()}, available(lab, "n1")))
    assert stories[0] == stories[1]


def _held(lab: Lab, name: str) -> Any:
    notes = lab.get(kinds.POD, name)["metadata"]["annotations"]
    return notes.get("closeknit.dev/numa-held")
