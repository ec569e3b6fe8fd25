"""Scheduling on a stale cache: refused writes, and when cycles run again."""

from __future__ import annotations

from closeknit.cluster.kinds import WORKLOAD
from closeknit.cluster.port import target_of
from closeknit.controller.scheduling import SchedulingReconciler
from host.centre import centre
from host.lab import condition
from host.late import Late

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq{more}}}}}
spec:
  parallelism: {pods}
  completions: {pods}
  template:
    metadata: {{annotations: {{closeknit.dev/run-time: 600s}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: x, resources: {{requests: {{cpu: "4"}}}}}}]
"""


def test_a_victim_changed_by_another_client_is_left_alone_until_the_change_is_seen() -> None:
    lab = centre()
    lab.apply(JOB.format(name="low", more="", pods=12))
    lab.advance(5)
    low = lab.workloads()[0]["metadata"]["name"]
    late = Late(lab.cluster, {WORKLOAD: 2.0})
    lab.patch(WORKLOAD, "default", low, {"metadata": {"annotations": {"seen": "late"}}})
    lab.apply(JOB.format(name="high", more=", kueue.x-k8s.io/priority-class: high", pods=12))
    lab.advance(1.9)
    assert [target_of(one).name for one in late.writes].count(low) == 1
    lab.advance(120)
    assert {one["metadata"]["name"] for one in lab.workloads() if condition(one, "Admitted")} == {
        one["metadata"]["name"] for one in lab.workloads()
    } - {low}


def test_what_arrives_within_a_rest_is_decided_on_together() -> None:
    lab, rest = centre(), 0.2
    lab.advance(5)
    scheduling = next(one for one in lab.cluster.control_plane.parts if isinstance(one, SchedulingReconciler))
    scheduling.rest = rest
    cycles, scheduler = [], lab.cluster.control_plane.cache.scheduler
    for name in ("a", "b", "c"):
        lab.apply(JOB.format(name=name, more="", pods=1))
        lab.advance(rest / 10)
        cycles.append(scheduler.number)
    assert cycles == [cycles[0]] * 3, "the first is decided on at once, the others wait"
    assert sum(condition(one, "Admitted") for one in lab.workloads()) == 1
    lab.advance(rest)
    assert scheduler.number == cycles[0] + 1
    lab.advance(2 * rest)
    assert sum(condition(one, "Admitted") for one in lab.workloads()) == 3
