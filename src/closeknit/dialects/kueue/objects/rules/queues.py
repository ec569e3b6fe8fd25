"""The rules for LocalQueues and Cohorts."""

from __future__ import annotations

from ....field import Field
from ..cohorts import CohortSpec
from ..local_queues import LocalQueueSpec
from .cluster_queues import STOP_POLICIES
from .limits import check_limits
from .quotas import Bounds, check_groups
from .values import check_reference, check_spelling, check_weight, check_word


def check_local_queue(queue: Field) -> None:
    check_limits(queue, "LocalQueue")
    spec = queue.at("spec")
    check_spelling(spec, LocalQueueSpec)
    check_reference(spec.at("clusterQueue"), "a ClusterQueue")
    check_word(spec.at("stopPolicy"), STOP_POLICIES, "")
    check_weight(spec.at("fairSharing"))


def check_local_queue_update(old: Field, new: Field) -> None:
    check_local_queue(new)
    before, after = old.at("spec", "clusterQueue").text(), new.at("spec", "clusterQueue")
    if before != after.text():
        after.wrong(f"cannot be changed from {before}", "create a new LocalQueue")


def check_cohort(cohort: Field) -> None:
    """Limits require a parent. The lending limit may exceed the nominal quota, since members' quota is lent as well."""
    check_limits(cohort, "Cohort")
    spec = cohort.at("spec")
    check_spelling(spec, CohortSpec)
    parent = spec.at("parentName").text()
    if parent and parent == cohort.at("metadata", "name").text():
        spec.at("parentName").warn(
            "is the cohort itself, so that no queue in it can admit workloads", "set another parent, or none"
        )
    check_groups(spec.at("resourceGroups"), Bounds(bool(parent), "a parent", lends_own=False))
    check_weight(spec.at("fairSharing"))
