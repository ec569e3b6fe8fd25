"""The kinds of jobs that the control plane runs, one file a kind, gathered in one table."""

from __future__ import annotations

from ..integration import Finished, Integration, PodSetForm, Step
from ..train_job import Source
from .job import JOB
from .job_set import JOB_SET
from .pod import POD
from .ray import RAY_CLUSTER, RAY_JOB
from .serving import SERVING, Serving
from .train_job import TRAIN_JOB
from .training import TRAINING

LIVE: dict[tuple[str, str], Integration] = {
    (one.group, one.kind): one for one in (JOB, JOB_SET, POD, *TRAINING, TRAIN_JOB, RAY_CLUSTER, RAY_JOB)
}
"""By API group and kind. Kinds that are never suspended are in SERVING."""

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

__all__ = ["FRAMEWORKS", "LIVE", "SERVING", "Finished", "Integration", "PodSetForm", "Serving", "Source", "Step"]
