"""LocalQueues and Cohorts."""

from __future__ import annotations

from closeknit.dialects.kueue.objects import cohort, local_queue
from closeknit.model.cluster_queue import LocalQueue
from closeknit.model.quota import Cohort, FlavorQuotas, Quota, ResourceGroup


def test_a_local_queue_leads_to_a_cluster_queue() -> None:
    raw = {
        "metadata": {"name": "main", "namespace": "team"},
        "spec": {"clusterQueue": "q", "stopPolicy": "Hold", "fairSharing": {"weight": "500m"}},
    }
    assert local_queue(raw) == LocalQueue("team", "main", "q", "Hold", 0.5)
    assert local_queue({**raw, "spec": {"clusterQueue": "q"}}) == LocalQueue("team", "main", "q")


def test_a_cohort_has_a_parent_and_quota_of_its_own() -> None:
    quotas = [{"name": "memory", "nominalQuota": "1Ki", "lendingLimit": "2Ki"}]
    raw = {
        "metadata": {"name": "team"},
        "spec": {
            "parentName": "all",
            "resourceGroups": [{"coveredResources": ["memory"], "flavors": [{"name": "f", "resources": quotas}]}],
            "fairSharing": {"weight": 3},
        },
    }
    group = ResourceGroup(("memory",), (FlavorQuotas("f", {"memory": Quota(1024, None, 2048)}),))
    assert cohort(raw) == Cohort("team", "all", (group,), 3.0)
    assert cohort({"metadata": {"name": "team"}}) == Cohort("team")
