"""An installation from beginning to end: installed, running with its own permissions, upgraded, uninstalled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from closeknit.cluster.kinds import KINDS
from closeknit.deploy.crds import KUEUE_KINDS
from closeknit.observe.pool_form import RACK
from contract.client import Api
from contract.expect import accepted, eventually, gone, make
from contract.objects import path
from corpus.job_objects import PARENT, QUEUE, SUSPEND, bodies, made, reach
from servers.cluster import RealCluster
from servers.manifests import address, is_true, read
from servers.nodes import make_nodes
from servers.policies import await_heeded, is_known
from servers.real.objects import job, of_job, template
from servers.versions import JOB_DEFINITIONS

from .installation import (
    ACCOUNT,
    HOME,
    NAME,
    ailments,
    await_policies,
    await_well,
    ck,
    controller,
    done,
    findings,
    leader,
    refusals,
)

Raw = dict[str, Any]
QUEUES = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: racks}}
spec: {{levels: [{{nodeLabel: {RACK}}}, {{nodeLabel: kubernetes.io/hostname}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: machines}}
spec: {{nodeLabels: {{type: kwok}}, topologyName: racks}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: all}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{{name: machines, resources: [{{name: cpu, nominalQuota: 8}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: team, namespace: default}}
spec: {{clusterQueue: all}}
"""


OTHER_KINDS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {name: shared}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: machines}
spec: {provisioningClassName: some}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: machines}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: machines}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 7
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: own, namespace: default}
spec:
  queueName: nowhere
  podSets:
  - {name: main, count: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
"""


@pytest.fixture
def cluster() -> Iterator[RealCluster]:
    with RealCluster(audit=ACCOUNT) as cluster:
        yield cluster


def queued(name: str, queue: str = "team", pods: int = 3) -> Raw:
    pod = template(run_time="1s")
    pod["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] = RACK
    body = job(name, "default", pod, parallelism=pods, completions=pods)
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return body


def jobs(name: str = "") -> str:
    return path("batch/v1/jobs", "default", name) if name else path("batch/v1/jobs", "default")


def test_a_job_runs_under_the_permissions_that_are_shipped(cluster: RealCluster) -> None:
    make_nodes(cluster.api, racks=2, hosts=2)
    done(ck(cluster, "install"))
    await_policies(cluster)
    assert [text for check, text in ailments(cluster) if check == "controller"][-1].startswith("no leader")
    cluster.apply(QUEUES)
    with controller(cluster):
        eventually(lambda: leader(cluster.api).startswith("controller-0_"))
        made = make(cluster.api, jobs(), queued("train"))
        assert made["spec"]["suspend"] is True
        eventually(lambda: is_true(cluster.api.get(jobs("train")).body, "Complete"))
        racks = {pod["spec"]["nodeName"].rpartition("-")[0] for pod in of_job(cluster.api, "default", "train")}
        assert len(racks) == 1
        await_well(cluster)
        assert {check for check, _, _ in findings(cluster)} >= {"policies", "permissions", "topology", "controller"}
    assert refusals(cluster) == []


def test_one_of_two_replicas_leads_and_the_other_takes_over(cluster: RealCluster) -> None:
    done(ck(cluster, "install"))
    with controller(cluster) as first:
        eventually(lambda: leader(cluster.api).startswith("controller-0_"))
        with controller(cluster, "controller-1"):
            first.kill()
            eventually(lambda: leader(cluster.api).startswith("controller-1_"))
    assert refusals(cluster) == []


def test_after_it_is_uninstalled_every_kind_can_be_made_and_deleted(cluster: RealCluster) -> None:
    make_nodes(cluster.api, racks=1, hosts=1)
    cluster.define(*JOB_DEFINITIONS)
    done(ck(cluster, "install"))
    await_policies(cluster)
    everything = [*read(QUEUES), *read(OTHER_KINDS), *held()]
    assert {one["kind"] for one in everything} >= {kind.kind for kind in KUEUE_KINDS}
    with controller(cluster):
        eventually(lambda: bool(leader(cluster.api)))
        for kind in bodies():
            eventually(partial(is_known, cluster.api, kind))
        cluster.apply(everything)
        make(cluster.api, jobs(), queued("waits", pods=100))
        eventually(lambda: finalizers(cluster.api, "clusterqueues", "all") == ["kueue.x-k8s.io/resource-in-use"])
        eventually(lambda: bool(cluster.api.get(path("kueue.x-k8s.io/v1beta2/workloads", "default")).body["items"]))
        assert is_marked(cluster.api.get(path("v1/pods", "default", "held")).body)
        make(cluster.api, jobs(), placed("placed"))
        ran = ck(cluster, "uninstall")
        said = done(ran)
    assert "1 run, but their replacement pods will wait forever for a placement; install again, or restart each" in said
    assert said.rstrip().splitlines()[-1] == "  job default/placed"
    start_again(cluster.api, "placed")
    assert "is not a pod of this cluster: if it still runs, stop it" in ran.err
    assert "job default/waits: unsuspend it, or delete it" in said
    assert {kind.kind.lower() for kind in SUSPEND} == set(re.findall(r"^  (\S+) default/held: unsuspend", said, re.M))
    assert "pod default/held: remove the scheduling gate" in said
    assert ours(cluster.api) == {"CustomResourceDefinition", "ConfigMap", "Namespace"}
    await_heeded(cluster.api)
    delete(cluster.api, [*everything, queued("waits")])
    eventually(lambda: cluster.api.get(path("kueue.x-k8s.io/v1beta2/workloads", "default")).body["items"] == [])
    assert [one["kind"] for one in cluster.apply(everything) if is_marked(one)] == []
    delete(cluster.api, everything)
    cluster.apply(QUEUES)
    done(ck(cluster, "install"))
    done(ck(cluster, "uninstall", "--purge"))
    eventually(lambda: ours(cluster.api) == set())


def placed(name: str) -> Raw:
    """A job as after its admission, with gated pods."""
    body = queued(name)
    del body["metadata"]["labels"]
    body["spec"]["suspend"] = False
    body["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
    return body


def start_again(api: Api, name: str) -> None:
    """Release objects as `uninstall` advises."""
    assert api.merge(jobs(name), {"spec": {"suspend": True}}).status == 200
    eventually(lambda: not api.get(jobs(name)).body["status"].get("active"))
    taken_off = {"spec": {"template": {"spec": {"schedulingGates": None}}}}
    eventually(lambda: api.merge(jobs(name), taken_off).status == 200)
    assert api.merge(jobs(name), {"spec": {"suspend": False}}).status == 200
    eventually(lambda: is_true(api.get(jobs(name)).body, "Complete"))
    api.delete(jobs(name))


def held() -> Iterator[Raw]:
    """One object of every kind that can wait, in a queue that does not exist."""
    for kind in bodies():
        body = made(kind, {QUEUE: "nowhere"})
        body["metadata"].update(name="held", namespace="default")
        yield {"apiVersion": kind.api_version, "kind": kind.kind, **body}


def is_marked(raw: Raw) -> bool:
    """Whether a gate or finalizer of ours keeps it from running or from being deleted."""
    tree = deepcopy(raw)
    is_suspended = any(reach(tree, ".".join(one)) is True for one in SUSPEND.values())
    gated = tree["spec"].get("schedulingGates") or PARENT in str(raw)
    return is_suspended or bool(gated or raw["metadata"].get("finalizers"))


def delete(api: Api, objects: Sequence[Raw]) -> None:
    places = [address(api, one) for one in objects]
    for place in places:
        accepted(api.delete(place, {"propagationPolicy": "Background"}))
    for place in places:
        eventually(gone(api, place))


def finalizers(api: Api, plural: str, name: str) -> list[str]:
    meta = api.get(path(f"kueue.x-k8s.io/v1beta2/{plural}", None, name)).body["metadata"]
    return list(meta.get("finalizers") or ())


def ours(api: Api) -> set[str]:
    """The kinds of our remaining objects."""
    places = {kind.kind: kind.path() for kind in KINDS if kind.is_built_in and kind not in KUEUE_KINDS}
    for group, plural in (
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        *(
            ("rbac.authorization.k8s.io", one)
            for one in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
        ),
        *(
            ("admissionregistration.k8s.io", f"{kind}admissionpolic{end}")
            for kind in ("mutating", "validating")
            for end in ("ies", "ybindings")
        ),
        ("networking.k8s.io", "networkpolicies"),
    ):
        places[plural] = f"/apis/{group}/v1/{plural}"
    found = {
        name: api.get(place, labelSelector="app.kubernetes.io/part-of=closeknit") for name, place in places.items()
    }
    kinds = {name for name, answer in found.items() if answer.status == 200 and answer.body["items"]}
    renamed = {"customresourcedefinitions": "CustomResourceDefinition"}
    return {renamed.get(name, name) for name in kinds} - {"Pod", "ReplicaSet"}


def test_a_dry_run_shows_what_would_change_and_a_second_run_is_an_upgrade(cluster: RealCluster, tmp_path: Path) -> None:
    assert "created (dry run)" in done(ck(cluster, "install", "--dry-run"))
    assert cluster.api.get(path("v1/namespaces", None, HOME)).status == 404
    done(ck(cluster, "install", "--replicas", "3", "--image", "example.com/mine/closeknit:0.0.9"))
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nfairSharing: {}\n")
    shown = done(ck(cluster, "install", "--dry-run", "--config", str(config)))
    assert '-        image: "example.com/mine/closeknit:0.0.9"' in shown
    assert '+        image: "example.com/mine/closeknit:0.1.0"' in shown
    assert "fairSharing" in shown
    assert "replicas: 2" not in shown
    done(ck(cluster, "install", "--config", str(config)))
    again = ck(cluster, "install")
    assert {line.split()[1] for line in done(again).splitlines()} == {"unchanged:"}
    assert "configuration: keeping the installed one" in again.err


def test_an_older_version_and_fields_of_others_are_refused(cluster: RealCluster) -> None:
    done(ck(cluster, "install"))
    cluster.kubectl("-n", HOME, "set", "image", f"deployment/{NAME}", "controller=example.com/other:1")
    ran = ck(cluster, "install", "--image", "example.com/ours:1")
    assert ran.code == 4
    assert "overwrite them with --force-conflicts" in ran.err
    done(ck(cluster, "install", "--image", "example.com/ours:1", "--force-conflicts"))
    cluster.kubectl("-n", HOME, "label", "--overwrite", f"deployment/{NAME}", "app.kubernetes.io/version=9.0.0")
    ran = ck(cluster, "install")
    assert ran.code == 2
    assert "deployment/closeknit-controller: is of closeknit 9.0.0" in ran.err


WATCHER = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: watcher, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: watcher}
rules: [{apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: watcher}
subjects: [{kind: ServiceAccount, name: watcher, namespace: default}]
"""


def test_a_revoked_permission_is_reported_to_every_user(cluster: RealCluster) -> None:
    """An administrator impersonates the account; another user asks about it, and is shown what remains unknown."""
    done(ck(cluster, "install"))
    place = path("rbac.authorization.k8s.io/v1/clusterroles", None, NAME)
    rules = cluster.api.get(place).body["rules"]
    kept = [one for one in rules if "jobs" not in one["resources"] or "update" not in one["verbs"]]
    accepted(cluster.api.merge(place, {"rules": kept}))
    missing = ("permissions", f"{ACCOUNT} lacks: update on jobs.batch")
    eventually(lambda: missing in ailments(cluster))
    cluster.apply(WATCHER)
    watcher = cluster.kubeconfig_of("default", "watcher")
    eventually(lambda: missing in ailments(cluster, watcher))
    unseen = {check for check, text in ailments(cluster, watcher) if "cannot be checked" in text}
    assert {"definitions", "controller", "kueue"} <= unseen
