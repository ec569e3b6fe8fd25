"""All known kinds of jobs, one descriptor each. A new kind is a file here, and a line below.

The order is that of policies and permissions of an installation.
"""

from __future__ import annotations

from ..integration import Finished, Integration, JobWrite, PodSetForm
from ..job_kind import JobKind
from ..train_job import Source
from .app_wrapper import APP_WRAPPER
from .deployment import DEPLOYMENT
from .job import CRON_JOB, JOB
from .job_set import JOB_SET
from .leader_worker_set import LEADER_WORKER_SET
from .pod import POD
from .ray_cluster import RAY_CLUSTER
from .ray_job import RAY_JOB
from .ray_service import RAY_SERVICE
from .serving import Serving
from .spark_application import SPARK_APPLICATION
from .stateful_set import STATEFUL_SET
from .train_job import TRAIN_JOB
from .training import TRAINING

JOB_KINDS: tuple[JobKind, ...] = (
    JOB,
    CRON_JOB,
    JOB_SET,
    POD,
    DEPLOYMENT,
    STATEFUL_SET,
    LEADER_WORKER_SET,
    *TRAINING,
    TRAIN_JOB,
    RAY_CLUSTER,
    RAY_JOB,
    RAY_SERVICE,
    APP_WRAPPER,
    SPARK_APPLICATION,
)

KINDS: dict[tuple[str, str], JobKind] = {(one.group, one.kind): one for one in JOB_KINDS if one is not POD}
"""By API group and kind: the kinds whose objects are read one by one. Pods are read in groups."""

LIVE: dict[tuple[str, str], Integration] = {
    (one.group, one.kind): one for one in JOB_KINDS if isinstance(one, Integration)
}
"""By API group and kind: the kinds that are suspended, or gated, while they wait."""

SERVING: dict[tuple[str, str], Serving] = {(one.group, one.kind): one for one in JOB_KINDS if isinstance(one, Serving)}
"""By API group and kind: the kinds that are never suspended."""

FRAMEWORKS = frozenset(one.framework for one in JOB_KINDS if one.hosted and one.framework)
"""All kinds of jobs that can wait in a queue, by their names in Kueue's configuration."""

NOT_RUN = frozenset(one.framework for one in JOB_KINDS if not one.hosted)
"""Kinds that Kueue manages, and that we only place from files."""

__all__ = [
    "FRAMEWORKS",
    "JOB_KINDS",
    "KINDS",
    "LIVE",
    "NOT_RUN",
    "SERVING",
    "Finished",
    "Integration",
    "JobKind",
    "JobWrite",
    "PodSetForm",
    "Serving",
    "Source",
]
