"""The rules of every kind that the host has, in one table."""

from __future__ import annotations

from ... import kinds
from ...kinds import KINDS, Kind
from ...port import Raw
from .budgets import BUDGET_RULE, EVENT_RULE, LEASE_RULE
from .classes import LIMIT_RANGE_RULE, PRIORITY_CLASS_RULE, RUNTIME_CLASS_RULE
from .cron import NAME as CRON_JOB_NAME
from .cron import check_cron_job
from .job_checks import check_job, check_job_change, check_job_status
from .job_defaults import begun_cron_job, begun_job, filled_cron_job, filled_job, filled_job_status
from .job_sets import JOB_SET_RULE
from .keyed_data import CONFIG_MAP_RULE, SECRET_RULE
from .kueue import FLAVOR_RULE, KUEUE_RULE
from .leader_worker_sets import LEADER_WORKER_SET_RULE
from .nodes import NAMESPACE_RULE, NODE_RULE
from .pod_changes import check_pod_change, prepared_pod
from .pod_checks import check_pod
from .pod_defaults import filled_pod
from .pods import begun_pod, check_pod_status, filled_pod_status
from .provisioning import PROVISIONING_REQUEST_RULE
from .ray import RAY_CLUSTER_RULE, RAY_JOB_RULE
from .rule import KindRule
from .services import SERVICE_RULE
from .sets import (
    DAEMON_SET_RULE,
    DEPLOYMENT_RULE,
    POD_TEMPLATE_RULE,
    REPLICA_SET_RULE,
    REVISION_RULE,
    STATEFUL_SET_RULE,
)
from .training import MPI_JOB_RULE, PYTORCH_JOB_RULE, RUNTIME_RULE, TRAIN_JOB_RULE
from .volumes import CLAIM_RULE, STORAGE_CLASS_RULE, VOLUME_RULE


def _pod(raw: Raw) -> Raw:
    return {**raw, "spec": filled_pod(raw.get("spec") or {})}


RULES: dict[Kind, KindRule] = {
    **dict.fromkeys(KINDS, KindRule()),
    kinds.NAMESPACE: NAMESPACE_RULE,
    kinds.NODE: NODE_RULE,
    kinds.POD: KindRule(
        _pod, begun_pod, prepared_pod, check_pod, check_pod_change, check_pod_status, filled_pod_status
    ),
    kinds.EVENT: EVENT_RULE,
    kinds.CONFIG_MAP: CONFIG_MAP_RULE,
    kinds.SECRET: SECRET_RULE,
    kinds.SERVICE: SERVICE_RULE,
    kinds.POD_TEMPLATE: POD_TEMPLATE_RULE,
    kinds.LIMIT_RANGE: LIMIT_RANGE_RULE,
    kinds.DEPLOYMENT: DEPLOYMENT_RULE,
    kinds.REPLICA_SET: REPLICA_SET_RULE,
    kinds.STATEFUL_SET: STATEFUL_SET_RULE,
    kinds.DAEMON_SET: DAEMON_SET_RULE,
    kinds.CONTROLLER_REVISION: REVISION_RULE,
    kinds.JOB: KindRule(filled_job, begun_job, None, check_job, check_job_change, check_job_status, filled_job_status),
    kinds.CRON_JOB: KindRule(filled_cron_job, begun_cron_job, check=check_cron_job, name=CRON_JOB_NAME),
    kinds.BUDGET: BUDGET_RULE,
    kinds.PRIORITY_CLASS: PRIORITY_CLASS_RULE,
    kinds.RUNTIME_CLASS: RUNTIME_CLASS_RULE,
    kinds.VOLUME_CLAIM: CLAIM_RULE,
    kinds.VOLUME: VOLUME_RULE,
    kinds.STORAGE_CLASS: STORAGE_CLASS_RULE,
    kinds.LEASE: LEASE_RULE,
    **{kind: KUEUE_RULE for kind in KINDS if kind.group == kinds.WORKLOAD.group},
    kinds.RESOURCE_FLAVOR: FLAVOR_RULE,
    kinds.MAINTENANCE: KUEUE_RULE,
    kinds.JOB_SET: JOB_SET_RULE,
    kinds.LEADER_WORKER_SET: LEADER_WORKER_SET_RULE,
    kinds.MPI_JOB: MPI_JOB_RULE,
    kinds.PYTORCH_JOB: PYTORCH_JOB_RULE,
    kinds.TRAIN_JOB: TRAIN_JOB_RULE,
    kinds.TRAINING_RUNTIME: RUNTIME_RULE,
    kinds.CLUSTER_TRAINING_RUNTIME: RUNTIME_RULE,
    kinds.RAY_JOB: RAY_JOB_RULE,
    kinds.RAY_CLUSTER: RAY_CLUSTER_RULE,
    kinds.PROVISIONING_REQUEST: PROVISIONING_REQUEST_RULE,
}
