"""What is decided on news that is late."""

from __future__ import annotations

from closeknit.cluster.kinds import WORKLOAD
from closeknit.cluster.port import target_of
from host.centre import centre
from host.lab import condition
from host.late import Late

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq{more}}}}}
spec:
  parallelism: 12
  completions: 12
  template:
    metadata: {{annotations: {{closeknit.dev/run-time: 600s}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: x, resources: {{requests: {{cpu: "4"}}}}}}]
"""


def test_a_victim_that_somebody_else_changed_is_left_alone_until_that_is_seen() -> None:
    lab = centre()
    lab.apply(JOB.format(name="low", more=""))
    lab.advance(5)
    low = lab.workloads()[0]["metadata"]["name"]
    late = Late(lab.cluster, {WORKLOAD: 2.0})
    lab.patch(WORKLOAD, "default", low, {"metadata": {"annotations": {"seen": "late"}}})
    lab.apply(JOB.format(name="high", more=", kueue.x-k8s.io/priority-class: high"))
    lab.advance(1.9)
    assert [target_of(one).name for one in late.writes].count(low) == 1
    lab.advance(120)
    assert {one["metadata"]["name"] for one in lab.workloads() if condition(one, "Admitted")} == {
        one["metadata"]["name"] for one in lab.workloads()
    } - {low}
