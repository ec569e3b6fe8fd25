"""Impersonated tenants on the real server: what each role allows, and tries to gain room, quota or others' places.

`viewer`, `user` and `boss` are bound to the built-in roles view, edit and admin in the scene's namespace, which include
ours by aggregation. `holder` has a role that an administrator made too wide: it may write Workloads, their status, and
pods. None of them gains anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from closeknit.observe.pool_form import RACK
from contract.client import JSON, MERGE_PATCH, Answer, Api
from contract.expect import eventually
from contract.objects import path
from servers.manifests import is_true

from .plane import ACCOUNT
from .scene import JOBS, KUEUE, PODS, QUEUE, WORKLOADS, Scene
from .work import job, template

RBAC = "rbac.authorization.k8s.io"
TENANTS = {"viewer": "view", "user": "edit", "boss": "admin"}
REFUSED = (403, 422)
QUEUES, LOCAL = f"{KUEUE}/clusterqueues", f"{KUEUE}/localqueues"


class Tenant(NamedTuple):
    """A user of the scene's namespace, impersonated by the administrator."""

    api: Api
    name: str

    def send(self, method: str, where: str, body: Any = None, content: str = JSON) -> Answer:
        headers = {"Impersonate-User": self.name, "Impersonate-Group": "system:authenticated"}
        return self.api.request(method, where, body, content, headers=headers)

    def get(self, where: str) -> Answer:
        return self.send("GET", where)

    def post(self, where: str, body: Any) -> Answer:
        return self.send("POST", where, body)

    def merge(self, where: str, body: Any) -> Answer:
        return self.send("PATCH", where, body, MERGE_PATCH)

    def delete(self, where: str) -> Answer:
        return self.send("DELETE", where)


@pytest.fixture
def stage(scene: Scene) -> Scene:
    """One job that runs and fills the queue, one that waits, a gated pod, and the tenants of the namespace."""
    scene.nodes(racks=1, hosts=2, cpu=4)
    scene.queue(cpu=4)
    scene.queue("rich", cpu=100, namespaceSelector={"matchLabels": {"team": "rich"}})
    scene.submit(job("runs", 4, template(1, required=RACK)))
    scene.await_true("runs", "Admitted")
    scene.submit(job("waits", 4, template(1, required=RACK)))
    pod = template(1, required=RACK)
    scene.submit({"apiVersion": "v1", "kind": "Pod", **pod, "metadata": {"name": "gated", **pod["metadata"]}})
    for name, role in TENANTS.items():
        bind(scene, name, role)
    wide = [
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "workloads/status"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["*"]},
    ]
    meta = {"name": "wide", "namespace": scene.name}
    scene.apply({"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": meta, "rules": wide})
    bind(scene, "holder", "wide", "Role")
    eventually(lambda: tenant(scene, "viewer").get(path(WORKLOADS, scene.name)).status == 200)
    eventually(lambda: tenant(scene, "boss").get(path(WORKLOADS, scene.name)).status == 200)
    return scene


def bind(scene: Scene, user: str, role: str, kind: str = "ClusterRole") -> None:
    scene.apply(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": user, "namespace": scene.name},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": f"{scene.name}-{user}"}],
        }
    )


def tenant(scene: Scene, name: str) -> Tenant:
    return Tenant(scene.api, f"{scene.name}-{name}")


Try = tuple[str, Callable[[Scene, Tenant], Answer]]


def at(scene: Scene, resource: str, *more: str) -> str:
    return path(resource, scene.name, *more)


def wl(scene: Scene, name: str, *part: str) -> str:
    return path(WORKLOADS, scene.name, scene.workload(name)["metadata"]["name"], *part)


def condition(kind: str) -> Any:
    now = "2026-01-01T00:00:00Z"
    one = {"type": kind, "status": "True", "reason": "Forged", "message": "", "lastTransitionTime": now}
    return {"status": {"conditions": [one]}}


def stolen(scene: Scene) -> Any:
    return {"status": {"admission": scene.workload("runs")["status"]["admission"]}}


def owners(scene: Scene) -> Any:
    found = scene.get(JOBS, "waits")["metadata"]
    mine = {"apiVersion": "batch/v1", "kind": "Job", "name": "waits", "uid": found["uid"], "controller": True}
    return {"metadata": {"ownerReferences": [mine]}}


def kueue(kind: str, name: str, **spec: Any) -> Any:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


def quota(scene: Scene) -> Any:
    resources = [{"name": "cpu", "nominalQuota": "1000"}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": scene.name, "resources": resources}]}]
    return {"spec": {"resourceGroups": groups}}


def other_workload(scene: Scene) -> Any:
    taken = scene.workload("runs")["spec"]["podSets"]
    return {**kueue("Workload", "mine", podSets=taken, queueName="main", priority=9999)}


HOME = ACCOUNT.split(":")[2]
FORGERIES: list[Try] = [
    ("admit it", lambda s, t: t.merge(wl(s, "waits", "status"), condition("Admitted"))),
    ("reserve quota for it", lambda s, t: t.merge(wl(s, "waits", "status"), condition("QuotaReserved"))),
    ("give it the other's admission", lambda s, t: t.merge(wl(s, "waits", "status"), stolen(s))),
    ("evict the other", lambda s, t: t.merge(wl(s, "runs", "status"), condition("Evicted"))),
    ("finish the other", lambda s, t: t.merge(wl(s, "runs", "status"), condition("Finished"))),
    (
        "reclaim the other's pods",
        lambda s, t: t.merge(wl(s, "runs", "status"), {"status": {"reclaimablePods": [{"name": "main", "count": 4}]}}),
    ),
    ("raise the priority of what runs", lambda s, t: t.merge(wl(s, "runs"), {"spec": {"priority": 9999}})),
    ("rename its queue", lambda s, t: t.merge(wl(s, "runs"), {"spec": {"queueName": "rich"}})),
    ("own the other's workload", lambda s, t: t.merge(wl(s, "runs"), owners(s))),
    ("disown the other's workload", lambda s, t: t.merge(wl(s, "runs"), {"metadata": {"ownerReferences": None}})),
    ("remove the gates of a pod", lambda s, t: t.merge(at(s, PODS, "gated"), {"spec": {"schedulingGates": None}})),
]
"""What the policies refuse even to a tenant whose role allows it."""
REACHES: list[Try] = [
    ("raise the priority of what waits", lambda s, t: t.merge(wl(s, "waits"), {"spec": {"priority": 9999}})),
    ("create a Workload", lambda s, t: t.post(at(s, WORKLOADS), other_workload(s))),
    ("create a ClusterQueue", lambda s, t: t.post(path(QUEUES), kueue("ClusterQueue", f"{s.name}-x"))),
    ("raise the quota", lambda s, t: t.merge(path(QUEUES, None, f"{s.name}-main"), quota(s))),
    ("join a cohort", lambda s, t: t.merge(path(QUEUES, None, f"{s.name}-main"), {"spec": {"cohortName": "rich"}})),
    (
        "open the other queue",
        lambda s, t: t.merge(path(QUEUES, None, f"{s.name}-rich"), {"spec": {"namespaceSelector": {}}}),
    ),
    (
        "forge a queue's status",
        lambda s, t: t.merge(path(QUEUES, None, f"{s.name}-main", "status"), {"status": {"pendingWorkloads": 0}}),
    ),
    ("create a Cohort", lambda s, t: t.post(path(f"{KUEUE}/cohorts"), kueue("Cohort", f"{s.name}-x"))),
    ("create a LocalQueue", lambda s, t: t.post(at(s, LOCAL), kueue("LocalQueue", "x", clusterQueue=f"{s.name}-rich"))),
    ("weigh its LocalQueue", lambda s, t: t.merge(at(s, LOCAL, "main"), {"spec": {"fairSharing": {"weight": "99"}}})),
    ("delete its LocalQueue", lambda s, t: t.delete(at(s, LOCAL, "main"))),
    ("create a flavor", lambda s, t: t.post(path(f"{KUEUE}/resourceflavors"), kueue("ResourceFlavor", f"{s.name}-x"))),
    (
        "change a flavor",
        lambda s, t: t.merge(path(f"{KUEUE}/resourceflavors", None, s.name), {"spec": {"nodeLabels": {"a": "b"}}}),
    ),
    ("delete the topology", lambda s, t: t.delete(path(f"{KUEUE}/topologies", None, "scenes"))),
    (
        "create a priority class",
        lambda s, t: t.post(
            path(f"{KUEUE}/workloadpriorityclasses"),
            {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": f"{s.name}-x"}, "value": 9},
        ),
    ),
    (
        "relabel a node",
        lambda s, t: t.merge(path("v1/nodes", None, f"{s.name}-b1-r1-h1"), {"metadata": {"labels": {"a": "b"}}}),
    ),
    ("untaint a node", lambda s, t: t.merge(path("v1/nodes", None, f"{s.name}-b1-r1-h1"), {"spec": {"taints": None}})),
    (
        "delete a policy",
        lambda s, t: t.delete(
            path("admissionregistration.k8s.io/v1/validatingadmissionpolicies", None, "closeknit-trust-status")
        ),
    ),
    (
        "unbind a policy",
        lambda s, t: t.delete(
            path("admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", None, "closeknit-trust-status")
        ),
    ),
    (
        "take the controller's token",
        lambda s, t: t.post(
            path("v1/serviceaccounts", HOME, "closeknit-controller", "token"),
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        ),
    ),
    (
        "change the configuration",
        lambda s, t: t.merge(path("v1/configmaps", HOME, "closeknit-controller-config"), {"data": {"x": "y"}}),
    ),
    ("stop the controller", lambda s, t: t.delete(path("apps/v1/deployments", HOME, "closeknit-controller"))),
    (
        "take the lease",
        lambda s, t: t.merge(
            path("coordination.k8s.io/v1/leases", HOME, "closeknit-controller"), {"spec": {"holderIdentity": "me"}}
        ),
    ),
    (
        "label its namespace",
        lambda s, t: t.merge(path("v1/namespaces", None, s.name), {"metadata": {"labels": {"team": "rich"}}}),
    ),
    (
        "become an administrator",
        lambda s, t: t.post(
            at(s, f"{RBAC}/v1/rolebindings"),
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "me"},
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": RBAC, "kind": "User", "name": t.name}],
            },
        ),
    ),
    (
        "grant itself the status of Workloads",
        lambda s, t: t.post(
            at(s, f"{RBAC}/v1/roles"),
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "Role",
                "metadata": {"name": "me"},
                "rules": [{"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads/status"], "verbs": ["update"]}],
            },
        ),
    ),
    ("see another namespace", lambda s, t: t.get(path(WORKLOADS, HOME))),
    ("submit to another namespace", lambda s, t: t.post(path(JOBS, HOME), job("thief", 1, template(1)))),
]
"""What no tenant's role allows."""


def tried(scene: Scene, who: Tenant, tries: list[Try]) -> dict[str, int]:
    return {name: attempt(scene, who).status for name, attempt in tries}


def test_no_try_of_a_tenant_succeeds(stage: Scene) -> None:
    before = stage.get(QUEUES, f"{stage.name}-main")["spec"], stage.workload("runs")["spec"]
    answers = {name: tried(stage, tenant(stage, name), [*FORGERIES, *REACHES]) for name in TENANTS}
    answers["holder"] = tried(stage, tenant(stage, "holder"), FORGERIES)
    wrong = {(who, what): code for who, found in answers.items() for what, code in found.items() if code not in REFUSED}
    assert wrong == {}
    assert sum(map(len, answers.values())) >= 40
    assert (stage.get(QUEUES, f"{stage.name}-main")["spec"], stage.workload("runs")["spec"]) == before
    assert not is_true(stage.workload("waits"), "Admitted")


def test_each_role_allows_what_it_is_for(stage: Scene) -> None:
    viewer, user, boss, holder = (tenant(stage, name) for name in (*TENANTS, "holder"))
    assert viewer.get(at(stage, WORKLOADS)).status == viewer.get(at(stage, LOCAL)).status == 200
    assert viewer.post(at(stage, JOBS), queued("by-viewer")).status == 403
    assert user.post(at(stage, JOBS), queued("by-user")).status == 201
    assert user.delete(at(stage, JOBS, "by-user")).status == 200
    assert user.delete(wl(stage, "waits")).status == 403
    assert boss.delete(wl(stage, "waits")).status == 200
    assert holder.merge(wl(stage, "runs"), {"spec": {"active": False}}).status == 200


def queued(name: str) -> Any:
    body = job(name, 1, template(1))
    body["metadata"]["labels"] = {QUEUE: "main"}
    return body


def test_a_tenants_pod_that_only_names_the_workload_stays_gated(stage: Scene) -> None:
    """A bare pod with every mark of a member, and the same with a forged owner, after a member was deleted."""
    user, like = tenant(stage, "user"), stage.pods("job-name=runs")[0]
    for name, refs in (("aaa-bare", []), ("aaa-owned", like["metadata"]["ownerReferences"])):
        labels = {k: v for k, v in like["metadata"]["labels"].items() if refs == [] or "controller-uid" not in k}
        notes = {k: v for k, v in (like["metadata"].get("annotations") or {}).items() if "kueue" in k}
        meta = {"name": name, "labels": labels, "annotations": notes}
        meta["ownerReferences"] = [{**one, "blockOwnerDeletion": False} for one in refs]
        spec = {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
            "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
        assert user.post(at(stage, PODS), body).status == 201
    stage.delete(PODS, like["metadata"]["name"])
    stage.until(lambda: len(bound(stage)) == 4, "the member was replaced")
    for name in ("aaa-bare", "aaa-owned"):
        found = stage.find(PODS, name)
        assert found is None or found["spec"]["schedulingGates"], name


def test_a_tenants_job_that_names_an_admitted_job_as_its_owner_is_a_job_of_its_own(stage: Scene) -> None:
    """Neither does it run unqueued, nor do its pods take places of the other."""
    user, above = tenant(stage, "user"), stage.get(JOBS, "runs")["metadata"]
    body = queued("thief")
    mine = {"apiVersion": "batch/v1", "kind": "Job", "name": "runs", "uid": above["uid"], "controller": True}
    body["metadata"]["ownerReferences"] = [mine]
    assert user.post(at(stage, JOBS), body).status == 201
    stage.until(lambda: stage.workloads("thief"), "it has a workload of its own")
    stage.until(lambda: not is_true(stage.workload("thief"), "Admitted"), "which waits, as the queue is full")
    stage.stays(lambda: stage.get(JOBS, "thief")["spec"]["suspend"] and not stage.pods("job-name=thief"), "it is held")


def bound(scene: Scene) -> list[str]:
    """The pods of the job that have a node."""
    return [one["metadata"]["name"] for one in scene.pods("job-name=runs") if one["spec"].get("nodeName")]
