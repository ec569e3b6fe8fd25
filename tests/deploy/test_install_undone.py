"""What `uninstall` removes, what it leaves, and what it reports."""

from __future__ import annotations

import asyncio
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.embedded.rules.settings import AdmissionSettings
from closeknit.deploy.bundle import stages
from closeknit.deploy.kinds import CRD
from closeknit.deploy.objects import InstallOptions
from closeknit.deploy.uninstall import Left, Uninstalling
from closeknit.model.settings import NAMESPACE_NAME
from deploy.server import Server

Raw = dict[str, Any]
KUEUE = "kueue.x-k8s.io/v1beta2"
IN_USE = "kueue.x-k8s.io/resource-in-use"


def there(*more: Raw) -> Server:
    return Server(*(one for stage in stages(InstallOptions()) for one in stage.objects), *more)


def uninstalled(
    server: Server, purge: bool = False, rehearse: bool = False, rules: AdmissionSettings | None = None
) -> Left:
    wishes = InstallOptions(rules=rules or AdmissionSettings())
    return asyncio.run(Uninstalling(server, wishes, lambda _: None, rehearse).run(purge))


def thing(api: str, kind: str, name: str, namespace: str = "", finalizers: list[str] | None = None, **body: Any) -> Raw:
    meta: Raw = {"name": name, **({"namespace": namespace} if namespace else {})}
    if finalizers:
        meta["finalizers"] = finalizers
    return {"apiVersion": api, "kind": kind, "metadata": meta, **body}


def job(name: str, suspend: bool, queue: str = "team", **status: Any) -> Raw:
    body = thing("batch/v1", "Job", name, "default", spec={"suspend": suspend}, status=status)
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return body


def order(server: Server, *words: str) -> list[int]:
    """Where in the list of deeds the first of each is."""
    return [next(at for at, (_, name) in enumerate(server.done) if word in name) for word in words]


def test_policies_go_first_and_their_bindings_before_them() -> None:
    server = there(thing(KUEUE, "Topology", "t", finalizers=[IN_USE]))
    uninstalled(server)
    found = order(
        server,
        "mutatingadmissionpolicybinding/",
        "mutatingadmissionpolicy/",
        "clusterrolebinding/",
        "deployment/",
        "topology/",
    )
    assert found == sorted(found)


def test_definitions_configuration_and_namespace_stay_for_the_next_installation() -> None:
    server = there()
    uninstalled(server)
    assert {kind.kind for kind, _, _ in server.objects} == {"CustomResourceDefinition", "ConfigMap", "Namespace"}


def test_a_purge_leaves_nothing_but_what_others_brought() -> None:
    theirs = thing(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "multikueueclusters.kueue.x-k8s.io",
        spec={"group": "kueue.x-k8s.io", "versions": []},
    )
    server = there(theirs)
    uninstalled(server, purge=True)
    assert [name for kind, _, name in server.objects if kind is CRD] == ["multikueueclusters.kueue.x-k8s.io"]
    assert (kinds.NAMESPACE, "", "closeknit-system") not in server.objects


def test_a_namespace_that_is_not_ours_survives_a_purge() -> None:
    server = there()
    server.named(kinds.NAMESPACE, "closeknit-system")["metadata"]["labels"] = {}
    uninstalled(server, purge=True)
    assert (kinds.NAMESPACE, "", "closeknit-system") in server.objects


def test_our_finalizers_come_off_and_others_stay() -> None:
    server = there(
        thing(KUEUE, "ClusterQueue", "q", finalizers=[IN_USE, "example.com/other"]),
        thing(KUEUE, "Workload", "w", "default", finalizers=[IN_USE]),
        thing("v1", "Pod", "p", "default", finalizers=["kueue.x-k8s.io/managed"], spec={}),
        thing("v1", "Pod", "other", "default", finalizers=[IN_USE], spec={}),
    )
    uninstalled(server)
    kept = {
        name: (one["metadata"].get("finalizers") or [])
        for (kind, _, name), one in server.objects.items()
        if kind in (kinds.CLUSTER_QUEUE, kinds.WORKLOAD, kinds.POD)
    }
    assert kept == {"q": ["example.com/other"], "w": [], "p": [], "other": [IN_USE]}


def test_jobs_that_stay_held_are_named() -> None:
    gated = thing("v1", "Pod", "gated", "default", spec={"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]})
    server = there(
        job("waits", suspend=True),
        job("runs", suspend=False),
        job("own", suspend=True, queue=""),
        job("done", suspend=True, conditions=[{"type": "Complete", "status": "True"}]),
        {**gated, "status": {"phase": "Pending"}},
    )
    left = uninstalled(server)
    assert [one.what for one in left.held] == ["job default/waits", "pod default/gated"]
    assert left.gated == []


def test_a_gated_pod_of_a_job_is_not_to_be_deleted_for_it_would_come_back_with_its_gate() -> None:
    gate = {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]}
    alone, owned = (
        {**thing("v1", "Pod", name, "default", spec=gate), "status": {"phase": "Pending"}}
        for name in ("alone", "owned")
    )
    owned["metadata"]["ownerReferences"] = [{"kind": "Job", "name": "train", "uid": "1", "controller": True}]
    remedy = "remove the scheduling gate kueue.x-k8s.io/topology"
    assert {one.remedy for one in uninstalled(there(alone)).held} == {f"{remedy}, or delete it"}
    assert {one.remedy for one in uninstalled(there(owned)).held} == {remedy}


def test_running_jobs_with_gated_templates_are_named_and_their_children_are_not() -> None:
    template = {"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}], "containers": []}}
    placed, plain, done, child = (job(name, suspend=False) for name in ("placed", "plain", "done", "child"))
    for one in (placed, done, child):
        one["spec"]["template"] = template
    done["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    api = "jobset.x-k8s.io/v1alpha2"
    replicated = [{"name": "w", "template": {"spec": {"template": template}}}]
    parent = thing(api, "JobSet", "set", "default", spec={"suspend": False, "replicatedJobs": replicated})
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": api, "kind": "JobSet", "name": "set", "uid": "1", "controller": True}
    ]
    left = uninstalled(there(placed, plain, done, child, parent))
    assert (left.held, sorted(left.gated)) == ([], ["job default/placed", "jobset default/set"])


def test_where_all_jobs_are_managed_those_without_a_queue_are_named_too() -> None:
    """Not in namespaces or of kinds that are left alone; and a job that belongs to another starts with that one."""
    child = job("child", suspend=True, queue="")
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "own", "uid": "1", "controller": True}
    ]
    away = job("away", suspend=True, queue="")
    away["metadata"]["namespace"] = "kube-system"
    server = there(
        *(
            {**thing("v1", "Namespace", name), "metadata": {"name": name, "labels": {NAMESPACE_NAME: name}}}
            for name in ("default", "kube-system")
        ),
        job("own", suspend=True, queue=""),
        job("runs", suspend=False, queue=""),
        thing("ray.io/v1", "RayJob", "off", "default", spec={"suspend": True}),
        child,
        away,
    )
    rules = AdmissionSettings(all_jobs=True, frameworks=frozenset({"batch/job", "jobset.x-k8s.io/jobset"}))
    assert [one.what for one in uninstalled(server, rules=rules).held] == ["job default/own"]


def test_a_rehearsal_changes_nothing() -> None:
    server = there(job("waits", suspend=True), thing(KUEUE, "Topology", "t", finalizers=[IN_USE]))
    assert [one.what for one in uninstalled(server, purge=True, rehearse=True).held] == ["job default/waits"]
    assert server.done == []
