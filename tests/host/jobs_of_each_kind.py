"""One manifest of every kind of job that the control plane runs, with the expected result."""

from __future__ import annotations

from typing import NamedTuple

from .centre import RACK, template

META = "metadata: {name: one, namespace: default, labels: {kueue.x-k8s.io/queue-name: lq}}"


LABELLED = template("forever", indent=4).replace("annotations:", "labels: {app: one}\n      annotations:", 1)
TORCH = (
    template(indent=8)
    .replace("restartPolicy: Never", "terminationGracePeriodSeconds: 5")
    .replace("name: node", "name: pytorch")
)


class Case(NamedTuple):
    """`ranks` is the label by which pods are ordered, if the kind has one; `pods` how many there are."""

    name: str
    manifest: str
    pods: int
    ranks: str = ""
    completes: bool = True


JOB = Case(
    "Job",
    f"""
apiVersion: batch/v1
kind: Job
{META}
spec:
  parallelism: 5
  completions: 5
  completionMode: Indexed
  template:
{template(indent=4)}
""",
    5,
    "batch.kubernetes.io/job-completion-index",
)

JOB_SET = Case(
    "JobSet",
    f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
{META}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        parallelism: 2
        completions: 2
        template:
{template(indent=10)}
""",
    4,
    "jobset.sigs.k8s.io/job-global-index,batch.kubernetes.io/job-completion-index",
)

POD = Case(
    "Pod",
    """
apiVersion: v1
kind: Pod
metadata:
  name: one
  namespace: default
  labels: {kueue.x-k8s.io/queue-name: lq}
  annotations:
    closeknit.dev/run-time: 20s
    kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack
spec:
  restartPolicy: Never
  containers: [{name: node, image: example, resources: {requests: {cpu: "2"}}}]
""",
    1,
)

GROUP = Case(
    "pod group",
    "---".join(
        f"""
apiVersion: v1
kind: Pod
metadata:
  name: one-{number}
  namespace: default
  labels:
    kueue.x-k8s.io/queue-name: lq
    kueue.x-k8s.io/pod-group-name: one
    kueue.x-k8s.io/pod-group-pod-index: "{number}"
  annotations:
    kueue.x-k8s.io/pod-group-total-count: "3"
    closeknit.dev/run-time: 20s
    kueue.x-k8s.io/podset-required-topology: cloud.provider.com/topology-rack
spec:
  restartPolicy: Never
  containers: [{{name: node, image: example, resources: {{requests: {{cpu: "3"}}}}}}]
"""
        for number in range(3)
    ),
    3,
    "kueue.x-k8s.io/pod-group-pod-index",
)

LEADER_WORKER_SET = Case(
    "LeaderWorkerSet",
    f"""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
{META}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 3
    workerTemplate:
{template("forever", indent=6)}
""",
    6,
    "leaderworkerset.sigs.k8s.io/worker-index",
    completes=False,
)

STATEFUL_SET = Case(
    "StatefulSet",
    f"""
apiVersion: apps/v1
kind: StatefulSet
{META}
spec:
  replicas: 3
  serviceName: one
  selector: {{matchLabels: {{app: one}}}}
  template:
{LABELLED}
""",
    3,
    "apps.kubernetes.io/pod-index",
    completes=False,
)

DEPLOYMENT = Case(
    "Deployment",
    f"""
apiVersion: apps/v1
kind: Deployment
{META}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: one}}}}
  template:
{LABELLED}
""",
    3,
    completes=False,
)

MPI_JOB = Case(
    "MPIJob",
    f"""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
{META}
spec:
  runPolicy: {{cleanPodPolicy: Running}}
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
{template(indent=8)}
    Worker:
      replicas: 3
      template:
{template("forever", indent=8).replace("Always", "Never")}
""",
    4,
    "training.kubeflow.org/replica-index",
)

PYTORCH_JOB = Case(
    "PyTorchJob",
    f"""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
{META}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
{TORCH}
    Worker:
      replicas: 3
      restartPolicy: OnFailure
      template:
{TORCH}
""",
    4,
    "training.kubeflow.org/replica-index",
)

TRAIN_JOB = Case(
    "TrainJob",
    f"""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {{name: torch}}
spec:
  mlPolicy: {{numNodes: 1}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
          spec:
            template:
{template(indent=14)}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
{META}
spec:
  runtimeRef: {{name: torch}}
  trainer: {{numNodes: 4}}
""",
    4,
    "batch.kubernetes.io/job-completion-index",
)

RAY_CLUSTER = Case(
    "RayCluster",
    f"""
apiVersion: ray.io/v1
kind: RayCluster
{META}
spec:
  headGroupSpec:
    rayStartParams: {{}}
    template:
{template("forever", indent=6)}
  workerGroupSpecs:
  - groupName: small
    replicas: 3
    minReplicas: 3
    maxReplicas: 3
    rayStartParams: {{}}
    template:
{template("forever", indent=6)}
""",
    4,
    completes=False,
)

RAY_JOB = Case(
    "RayJob",
    f"""
apiVersion: ray.io/v1
kind: RayJob
{META}
spec:
  entrypoint: python train.py
  shutdownAfterJobFinishes: true
  submissionMode: K8sJobMode
  submitterPodTemplate:
{template(indent=4)}
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {{}}
      template:
{template("forever", indent=8)}
    workerGroupSpecs:
    - groupName: small
      replicas: 2
      minReplicas: 2
      maxReplicas: 2
      rayStartParams: {{}}
      template:
{template("forever", indent=8)}
""",
    4,
)

APP_WRAPPER = Case(
    "AppWrapper",
    f"""
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
{META}
spec:
  components:
  - template:
      apiVersion: batch/v1
      kind: Job
      metadata: {{name: one-job}}
      spec:
        parallelism: 3
        completions: 3
        completionMode: Indexed
        template:
{template(indent=10)}
  - podSets: [{{path: template}}]
    template:
      apiVersion: v1
      kind: Pod
{template(indent=6).replace("metadata:", "metadata:" + chr(10) + "        name: one-pod", 1)}
  - template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {{name: one-settings}}
      data: {{rate: "0.1"}}
""",
    4,
    "batch.kubernetes.io/job-completion-index",
)

SPARK_APPLICATION = Case(
    "SparkApplication",
    f"""
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
{META}
spec:
  type: Scala
  mode: cluster
  image: spark:4.0.0
  mainClass: org.example.Main
  mainApplicationFile: local:///opt/main.jar
  sparkVersion: 4.0.0
  driver:
    cores: 1
    memory: 1g
    annotations:
      closeknit.dev/run-time: 20s
      kueue.x-k8s.io/podset-required-topology: {RACK}
  executor:
    instances: 3
    cores: 2
    memory: 2g
    annotations:
      closeknit.dev/run-time: forever
      kueue.x-k8s.io/podset-required-topology: {RACK}
""",
    4,
)

CASES = (
    JOB,
    JOB_SET,
    POD,
    GROUP,
    LEADER_WORKER_SET,
    STATEFUL_SET,
    DEPLOYMENT,
    MPI_JOB,
    PYTORCH_JOB,
    TRAIN_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    APP_WRAPPER,
    SPARK_APPLICATION,
)
