"""What `closeknit numa simulate` needs on a cluster: a Stage for KWOK that waits for its verdicts, and permissions.

A kubelet sets `status.startTime` when it has admitted a pod, and KWOK does so when it starts one. Here the simulation
sets it, and the Stage starts only pods that have it.
"""

from __future__ import annotations

from ..cluster.kinds import Kind
from .accounts import bound_account
from .marks import NAMESPACE
from .rbac import SIMULATION, Raw

NAME = "closeknit-numa-simulate"
STAGE = Kind("kwok.x-k8s.io", "v1alpha1", "Stage", "stages", False)
STARTING = """\
# For KWOK: start a pod once `closeknit numa simulate` has admitted it. Takes the place of KWOK's own Stage pod-ready;
# a Stage of your own that starts pods needs only the third expression.
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ready
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - key: .metadata.deletionTimestamp
      operator: DoesNotExist
    - key: .status.phase
      operator: In
      values: [Pending]
    - key: .status.startTime
      operator: Exists
  next:
    statusTemplate: |
      {{ $now := Now | Quote }}
      phase: Running
      conditions:
      {{ range list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
      - {type: {{ . }}, status: "True", lastTransitionTime: {{ $now }}}
      {{ end }}
      {{ range .spec.readinessGates }}
      - {type: {{ .conditionType | Quote }}, status: "True", lastTransitionTime: {{ $now }}}
      {{ end }}
      {{ with .spec.initContainers }}
      initContainerStatuses:
      {{ range . }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        imageID: ""
        ready: true
        restartCount: 0
        {{ if eq (or .restartPolicy "") "Always" }}
        started: true
        state: {running: {startedAt: {{ $now }}}}
        {{ else }}
        state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now }}, finishedAt: {{ $now }}}}
        {{ end }}
      {{ end }}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        imageID: ""
        ready: true
        started: true
        restartCount: 0
        state: {running: {startedAt: {{ $now }}}}
      {{ end }}
      {{ with PodIPWith .spec.nodeName (or .spec.hostNetwork false) .metadata.uid .metadata.name .metadata.namespace }}
      podIP: {{ . | Quote }}
      podIPs: [{ip: {{ . | Quote }}}]
      {{ end }}
"""


def permissions(namespace: str = NAMESPACE) -> list[Raw]:
    """An account with exactly these permissions."""
    return bound_account(NAME, namespace, SIMULATION)
