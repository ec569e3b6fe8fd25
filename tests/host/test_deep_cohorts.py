"""Cohorts deeper than any real organisation: the cluster keeps working, and the user is told."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from closeknit.model.settings import FINAL_SHARE, PodsReady, Settings
from closeknit.report.quota import QuotaReport, as_data, tree
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab, condition

KUEUE = "kueue.x-k8s.io/v1beta2"
DEPTH = 100
FAIR = Settings(pods_ready=PodsReady(), fair_sharing=(FINAL_SHARE,))


def cohort(level: int) -> dict[str, object]:
    spec = {"parentName": f"level-{level - 1}"} if level > 1 else {}
    return {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": f"level-{level}"}, "spec": spec}


def put_into(lab: Lab, queue: str, level: int) -> None:
    lab.patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"cohortName": f"level-{level}"}})


def deep(settings: Settings | None = None, depth: int = DEPTH) -> Lab:
    """The data centre with a chain of cohorts, made leaf first, as the worst order of creation."""
    lab = centre(None if settings is None else Lab(EmbeddedOptions(seed=1, settings=settings)))
    for level in range(depth, 0, -1):
        lab.create(cohort(level))
    lab.advance(5)
    return lab


def why_inactive(lab: Lab, name: str) -> str:
    found = lab.cluster.control_plane.cache.world.inactive(name)
    return "" if found is None else found.reason


def admitted(lab: Lab) -> dict[str, bool]:
    owners = (one["metadata"]["ownerReferences"][0]["name"] for one in lab.workloads())
    return {name: condition(one, "Admitted") for name, one in zip(owners, lab.workloads(), strict=True)}


def deepest_queue(level: int) -> list[dict[str, object]]:
    quota = [{"name": "cpu", "nominalQuota": "1"}, {"name": "memory", "nominalQuota": "1"}]
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "gpu", "resources": quota}]}]
    spec = {"cohortName": f"level-{level}", "namespaceSelector": {}, "resourceGroups": groups}
    local = {"name": "deepest", "namespace": "default"}
    return [
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "deepest"}, "spec": spec},
        {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": {"clusterQueue": "deepest"}},
    ]


@pytest.mark.parametrize("settings", [None, FAIR], ids=["classical", "fair"])
def test_a_chain_of_500_cohorts_neither_ends_the_process_nor_stops_other_queues(settings: Settings | None) -> None:
    lab = deep(settings, 500)
    put_into(lab, "cq", 64)
    for raw in deepest_queue(500):
        lab.create(raw)
    lab.apply(JOB.manifest.replace("name: one", "name: deep").replace("queue-name: lq", "queue-name: deepest"))
    lab.apply(JOB.manifest)
    lab.advance(5)
    assert admitted(lab) == {"one": True, "deep": False}
    lab.restart()
    lab.advance(5)
    assert admitted(lab) == {"one": True, "deep": False}


def test_a_cohort_beyond_the_deepest_level_says_so_and_its_queues_are_inactive() -> None:
    lab = deep()
    put_into(lab, "cq", DEPTH)
    lab.advance(5)
    assert why_inactive(lab, "cq") == "CohortTooDeep"
    (active,) = lab.get(kinds.COHORT, f"level-{DEPTH}")["status"]["conditions"]
    assert (active["type"], active["status"], active["reason"]) == ("Active", "False", "CohortTooDeep")
    assert f"set spec.parentName of Cohort level-{DEPTH}" in active["message"]
    assert not lab.get(kinds.COHORT, "level-64").get("status")


def test_the_condition_turns_when_the_cohort_gets_a_parent_that_is_near() -> None:
    lab = deep(depth=200)
    lab.patch(kinds.COHORT, "", "level-64", {"spec": {"parentName": "level-1"}})
    lab.advance(5)
    assert condition(lab.get(kinds.COHORT, "level-65"), "Active")
    assert not condition(lab.get(kinds.COHORT, "level-200"), "Active")


def ring(lab: Lab, *names: str) -> None:
    """Cohorts each of which is the parent of the next, and the last one of the first."""
    for name, parent in zip(names, (names[-1], *names), strict=False):
        lab.create({"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": name}, "spec": {"parentName": parent}})
    lab.advance(5)


def told(lab: Lab, name: str) -> list[tuple[str, str, str]]:
    found = (lab.get(kinds.COHORT, name).get("status") or {}).get("conditions") or ()
    return [(one["status"], one["reason"], one["message"]) for one in found]


def test_cohorts_of_a_cycle_and_below_one_say_so_until_it_is_broken() -> None:
    lab = centre()
    ring(lab, "a", "b")
    lab.create({"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": "below"}, "spec": {"parentName": "a"}})
    lab.advance(5)
    text = "Can't share quota: cohorts form a cycle: a → b → a: "
    text += "give one of the Cohorts a, b another spec.parentName, or none"
    assert [told(lab, name) for name in ("a", "b", "below")] == [[("False", "CohortCycle", text)]] * 3
    lab.patch(kinds.COHORT, "", "b", {"spec": {"parentName": None}})
    lab.advance(5)
    assert [told(lab, name) for name in ("a", "b", "below")] == [[("True", "Ready", "Its queues share quota")]] * 3


def test_a_cycle_that_grows_is_named_as_it_is_now() -> None:
    lab = centre()
    ring(lab, "a", "b")
    lab.create({"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": "c"}, "spec": {"parentName": "b"}})
    lab.patch(kinds.COHORT, "", "a", {"spec": {"parentName": "c"}})
    lab.advance(5)
    assert all("a → c → b → a" in told(lab, name)[0][2] for name in ("a", "b", "c"))


def test_in_kueues_profile_a_cycle_is_told_to_queues_only() -> None:
    lab = centre(Lab(EmbeddedOptions(seed=1, gates=Gates.profile("kueue"))))
    ring(lab, "a", "b")
    assert told(lab, "a") == []


def test_reports_show_the_whole_chain() -> None:
    lab = deep()
    report = QuotaReport.of(lab.cluster.control_plane.cache.scheduler, ())
    assert sum("Cohort level-" in line for line in tree(report)) == DEPTH
    assert as_data(report)["cohorts"]
