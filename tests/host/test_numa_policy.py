"""Jobs that ask for NUMA alignment where the kubelets of their nodes would not insist."""

from __future__ import annotations

import json

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.errors import Refused

from .centre import HOST, RACK, centre
from .lab import Lab, Raw
from .zoned_nodes import available, pod

BEST_EFFORT = {"zones": 2, "policy": "best-effort", "exporter": "1s"}


def job(name: str, cpu: int, policy: str | None, host: str = "", memory: str = "1Gi") -> Raw:
    """A Job of one Guaranteed pod in one rack."""
    amounts = {"cpu": str(cpu), "memory": memory}
    notes = {"kueue.x-k8s.io/podset-required-topology": RACK, "closeknit.dev/run-time": "forever"}
    if policy is not None:
        notes["closeknit.dev/numa-policy"] = policy
    container = {"name": "main", "image": "example", "resources": {"requests": amounts, "limits": amounts}}
    spec = {"restartPolicy": "Never", "containers": [container]} | ({"nodeSelector": {HOST: host}} if host else {})
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"parallelism": 1, "completions": 1, "template": {"metadata": {"annotations": notes}, "spec": spec}},
    }


def split(*hosts: str) -> Lab:
    """Hosts with two zones of two CPUs and best-effort kubelets; in each zone of some, one CPU is free."""
    lab = centre()
    for number in range(12):
        note = {"closeknit.dev/numa": json.dumps(BEST_EFFORT)}
        lab.patch(kinds.NODE, "", f"h{number:02d}", {"metadata": {"annotations": note}})
    lab.settle()
    for host in hosts:
        for number in range(3):
            lab.create(pod(f"{host}-{number}", 1, nodeName=host))
            lab.advance(0.5)
        lab.delete(kinds.POD, "default", f"{host}-0")
    lab.advance(5)
    assert [available(lab, host) for host in hosts] == [["1", "1"]] * len(hosts)
    return lab


def node(lab: Lab, name: str) -> str:
    return next(str(one["spec"].get("nodeName", "")) for one in lab.pods() if one["metadata"]["name"].startswith(name))


def test_a_pod_with_a_policy_goes_only_where_a_best_effort_kubelet_aligns_it() -> None:
    """The tightest host would be h00, which has two CPUs left, but in two zones."""
    lab = split("h00", "h01")
    for name, policy in (("single", "single-numa-node"), ("strict", "restricted")):
        lab.create(job(name, 2, policy))
    lab.advance(5)
    assert {node(lab, "single"), node(lab, "strict")} == {"h02"}
    assert all(one["status"]["phase"] == "Running" for one in lab.pods())


def test_restricted_spreads_what_no_single_zone_could_ever_hold() -> None:
    lab = split("h00")
    lab.create(job("three", 3, "restricted", "h01", "40Gi"))
    lab.create(job("never", 3, "single-numa-node", "h02", "40Gi"))
    lab.advance(5)
    assert node(lab, "three") == "h01"
    assert [one for one in lab.pods() if one["metadata"]["name"].startswith("never")] == []


def test_a_host_that_reports_no_zones_is_used_as_without_a_policy() -> None:
    lab = centre()
    lab.create(job("one", 3, "single-numa-node"))
    lab.advance(5)
    assert node(lab, "one") == "h00"


def test_a_policy_that_is_none_is_refused_with_its_field() -> None:
    with pytest.raises(Refused, match=r"numa-policy.*is \"both\"; use single-numa-node or restricted"):
        centre().create(job("odd", 1, "both"))
