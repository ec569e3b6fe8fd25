"""How the pods of each kind of job are grouped, by API group and kind.

An owner that is not listed is grouped by its pods: one group, of which one pod has to run.
"""

from __future__ import annotations

from ....kueue.jobs.kinds.leader_worker_set import SERVED as LWS
from ....kueue.jobs.kinds.ray_cluster import GROUP as RAY
from ....kueue.jobs.kinds.training import GROUP as KUBEFLOW
from ....kueue.jobs.kinds.training import TRAINING_JOBS
from ....kueue.jobs.train_job import GROUP as TRAINER
from ..plan import GroupKind
from .job import JOB
from .job_set import JOB_SET
from .leader_worker_set import LEADER_WORKER_SET
from .pod_gang import GANG_LABEL, GROVE, POD_GANG
from .ray import RAY_CLUSTER, RAY_JOB
from .sets import ANY_OWNER, DEPLOYMENT, POD, STATEFUL_SET
from .training import training_kind

__all__ = ["ANY_OWNER", "CRON_JOB", "GANG_LABEL", "GROUP_KINDS", "POD_GANG_KEY", "POD_KEY", "TRAIN_JOB", "WRAPPERS"]

POD_KEY = ("", "Pod")
CRON_JOB = ("batch", "CronJob")
TRAIN_JOB = (TRAINER, "TrainJob")
POD_GANG_KEY = (GROVE, "PodGang")

GROUP_KINDS: dict[tuple[str, str], GroupKind] = {
    POD_KEY: POD,
    ("batch", "Job"): JOB,
    ("jobset.x-k8s.io", "JobSet"): JOB_SET,
    ("apps", "Deployment"): DEPLOYMENT,
    ("apps", "StatefulSet"): STATEFUL_SET,
    (LWS.group, LWS.kind): LEADER_WORKER_SET,
    **{(KUBEFLOW, kind): training_kind(kind) for kind in TRAINING_JOBS},
    (RAY, "RayCluster"): RAY_CLUSTER,
    (RAY, "RayJob"): RAY_JOB,
    POD_GANG_KEY: POD_GANG,
}

WRAPPERS = frozenset({CRON_JOB, TRAIN_JOB, ("argoproj.io", "Workflow"), ("workload.codeflare.dev", "AppWrapper")})
"""Kinds that are looked through: what they create decides."""
