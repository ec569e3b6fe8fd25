"""Jobs on the embedded host where NodeResourceTopologies tell what NUMA zones have free."""

from __future__ import annotations

from closeknit.cluster import kinds

from .centre import RACK, centre
from .lab import Lab, Raw, condition
from .node_topologies import topology, zone

CPUS = {"cpu": ("2", "2", "2"), "memory": ("32Gi", "32Gi", "32Gi")}
SINGLE = {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "container"}


def job(name: str, pods: int, cpu: str, queue: str = "lq", wish: str = "required") -> str:
    """A Job of Guaranteed pods in one rack."""
    return f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kueue.x-k8s.io/queue-name: {queue}}}}}
spec:
  parallelism: {pods}
  completions: {pods}
  completionMode: Indexed
  template:
    metadata:
      annotations: {{kueue.x-k8s.io/podset-{wish}-topology: {RACK}, closeknit.dev/run-time: forever}}
    spec:
      restartPolicy: Never
      containers:
      - name: main
        image: example
        resources: {{requests: {{cpu: "{cpu}", memory: 1Gi}}, limits: {{cpu: "{cpu}", memory: 1Gi}}}}
"""


def zoned(*hosts: str) -> Lab:
    """A centre whose hosts have two zones of two CPUs each."""
    lab = centre()
    for host in hosts:
        lab.create(topology(host, zone(0, CPUS), zone(1, CPUS), **SINGLE))
    lab.settle()
    return lab


def hosts(lab: Lab) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in lab.pods())


def zones(pod: Raw) -> str:
    return str(pod["metadata"]["annotations"].get("closeknit.dev/numa-zones", ""))


def test_a_pod_goes_only_where_one_zone_has_room_for_it() -> None:
    """Three CPUs are more than a zone has, although each host has four: only the fourth rack has no zones."""
    lab = zoned(*(f"h{number:02d}" for number in range(9)))
    lab.apply(job("wide", 3, "3"))
    lab.advance(10)
    assert hosts(lab) == ["h09", "h10", "h11"]


def test_each_pod_is_told_the_zone_that_it_gets() -> None:
    lab = zoned(*(f"h{number:02d}" for number in range(12)))
    lab.apply(job("pairs", 6, "2"))
    lab.advance(10)
    assert len(set(hosts(lab))) == 3
    told = sorted((pod["spec"]["nodeName"], zones(pod)) for pod in lab.pods())
    first = '[{"zone":"node-%d","amount":{"cpu":"2","memory":"1Gi"}}]'
    assert [text for _, text in told] == [first % 0, first % 1] * 3


def test_a_job_that_no_zone_can_hold_says_what_zones_lack() -> None:
    lab = zoned(*(f"h{number:02d}" for number in range(12)))
    lab.apply(job("wide", 1, "3"))
    lab.advance(5)
    [workload] = lab.workloads()
    assert not condition(workload, "QuotaReserved")
    [why] = [one["message"] for one in workload["status"]["conditions"] if one["type"] == "QuotaReserved"]
    assert 'NUMA zones, "cpu": 12' in why


def test_reports_come_change_and_go_at_any_time() -> None:
    lab = zoned(*(f"h{number:02d}" for number in range(12)))
    lab.apply(job("wide", 1, "3"))
    lab.advance(5)
    assert lab.pods() == []
    lab.delete(kinds.NODE_TOPOLOGY, "", "h04")
    lab.advance(5)
    assert hosts(lab) == ["h04"]


def test_what_a_pod_holds_in_a_zone_is_not_promised_again() -> None:
    """Each zone of two CPUs holds one pod of 1.5 CPUs at most, as the kubelet counts whole CPUs only for pinning."""
    lab = zoned(*(f"h{number:02d}" for number in range(12)))
    for number in range(12):
        lab.apply(job(f"one-{number:02d}", 2, "2"))
    lab.advance(20)
    assert sorted(hosts(lab)) == sorted([f"h{number:02d}" for number in range(12)] * 2)
    lab.apply(job("more", 1, "1"))
    lab.advance(5)
    assert not condition(next(one for one in lab.workloads() if "more" in one["metadata"]["name"]), "Admitted")
    lab.delete(kinds.JOB, "default", "one-03")
    lab.advance(5)
    assert condition(next(one for one in lab.workloads() if "more" in one["metadata"]["name"]), "Admitted")


def test_a_pod_is_not_sent_to_a_kubelet_that_is_known_to_refuse_it() -> None:
    """The first pods come before the reports. Those that replace them wait, and are refused at most once a pause."""
    lab = centre()
    for number in range(12):
        note = {"closeknit.dev/numa": '{"zones": 2, "policy": "single-numa-node", "exporter": "3s"}'}
        lab.patch(kinds.NODE, "", f"h{number:02d}", {"metadata": {"annotations": note}})
    lab.apply(job("wide", 1, "3"))
    lab.advance(50)
    assert sorted(map(_fate, lab.pods())) == ["Gated", "TopologyAffinityError"]
    lab.advance(600)
    assert 2 <= [_fate(pod) for pod in lab.pods()].count("TopologyAffinityError") <= 7


def _fate(pod: Raw) -> str:
    return "Gated" if pod["spec"].get("schedulingGates") else str(pod["status"].get("reason"))
