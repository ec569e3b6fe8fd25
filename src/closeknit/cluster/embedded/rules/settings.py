"""What an administrator decides about the rules, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....model.cluster_queue import Selector
from ....model.gates import Gates
from ....model.shape import Requirement

FRAMEWORKS = frozenset(
    {
        "batch/job",
        "deployment",
        "jobset.x-k8s.io/jobset",
        "kubeflow.org/mpijob",
        "kubeflow.org/pytorchjob",
        "leaderworkerset.x-k8s.io/leaderworkerset",
        "pod",
        "ray.io/raycluster",
        "ray.io/rayjob",
        "statefulset",
        "trainer.kubeflow.org/trainjob",
    }
)
"""All kinds of jobs that can wait in a queue, by their names in Kueue's configuration."""

OWN_NAMESPACE = "closeknit-system"
NAMESPACE_NAME = "kubernetes.io/metadata.name"
ALL_BUT_SYSTEM = Selector((Requirement(NAMESPACE_NAME, "NotIn", ("kube-system", OWN_NAMESPACE)),))


@dataclass(frozen=True, slots=True)
class Settings:
    """`namespaces` says where jobs are managed at all; `all_jobs`, that those without a queue are held too.

    `toleration_seconds` is how long a pod stays on a node that is lost, if it does not say so itself.
    """

    gates: Gates = field(default_factory=Gates.profile)
    frameworks: frozenset[str] = FRAMEWORKS
    namespaces: Selector = ALL_BUT_SYSTEM
    all_jobs: bool = False
    toleration_seconds: int = 300
