"""What `closeknit numa simulate` needs on a cluster: a Stage for KWOK that waits for its verdicts, and permissions.

A kubelet sets `status.startTime` when it has admitted a pod, and KWOK does so when it starts one. Here the simulation
sets it, and the Stage starts only pods that have it.
"""

from __future__ import annotations

from typing import Any

from ..cluster import kinds
from ..cluster.kinds import Kind
from . import kinds as server
from .kinds import CRD
from .marks import NAMESPACE
from .rbac import FOLLOW, READ, Grant, Raw

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

SIMULATION: tuple[Grant, ...] = (
    Grant((kinds.NODE,), FOLLOW, "which nodes are simulated, and their zones"),
    Grant((kinds.POD,), READ, "which pods wait for admission; whether a write whose answer was lost was made"),
    Grant((kinds.POD,), ("update",), "admit or refuse a pod, as its kubelet would", "status"),
    Grant((kinds.NODE_TOPOLOGY,), (*READ, "create", "update", "delete"), "the reports of simulated nodes"),
    Grant((kinds.EVENT,), ("create",), "events about refused pods"),
    Grant((CRD,), FOLLOW, "notice that the definition of NodeResourceTopology is added or removed"),
)


def permissions(namespace: str = NAMESPACE) -> list[dict[str, Any]]:
    """An account with a ClusterRole that holds exactly what the simulation does."""
    account = {"name": NAME, "namespace": namespace}
    role, binding = server.CLUSTER_ROLE, server.CLUSTER_ROLE_BINDING
    reference = {"apiGroup": role.group, "kind": role.kind, "name": NAME}
    rules = [one.rule() for one in SIMULATION]
    subject = {"kind": kinds.SERVICE_ACCOUNT.kind, **account}
    return [
        _object(kinds.SERVICE_ACCOUNT, account),
        _object(role, {"name": NAME}, rules=rules),
        _object(binding, {"name": NAME}, roleRef=reference, subjects=[subject]),
    ]


def _object(kind: Kind, meta: Raw, **content: Any) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **content}
