"""A tour with the stock kubectl: what people type, and what they read.

It needs kubectl 1.36, as `python -m servers.build kubectl` makes it; without one it is skipped, loudly. The stops of
the tour share a server and come in order, so they are one test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from closeknit.cluster.embedded.rules import HostRules
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import DEPLOYMENT, JOB, NAMESPACE, NODE, POD
from closeknit.cluster.port import Key
from cluster.embedded.rest.conftest import KUBECTL
from cluster.embedded.rest.running import Running

pytestmark = pytest.mark.skipif(not KUBECTL.exists(), reason=f"there is no {KUBECTL}")

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1, rack: r1}}
status: {allocatable: {cpu: "4", pods: "10"}, capacity: {cpu: "4"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "busybox:1"}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: alone}}
spec: {nodeName: n1, containers: [{name: c, image: "nginx:1"}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cq}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 5}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq}
spec: {clusterQueue: cq}
"""
OBJECTS = 8


class Kubectl:
    def __init__(self, running: Running, folder: Path) -> None:
        self.running, self.folder = running, folder
        self.file = folder / "manifests.yaml"
        self.file.write_text(MANIFESTS)
        environment = {"KUBECONFIG": str(running.kubeconfig), "HOME": str(folder), "PATH": os.environ["PATH"]}
        self.environment = {**environment, "KUBE_EDITOR": "sed -i 's/nobody/somebody/'"}

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(KUBECTL), *words]
        return subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=60, env=self.environment, check=False
        )

    def __call__(self, *words: str, given: str = "") -> str:
        """What a command that succeeds prints."""
        done = self.run(*words, given=given)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def fails(self, *words: str, given: str = "") -> str:
        """What a command that fails says."""
        done = self.run(*words, given=given)
        assert done.returncode != 0, (words, done.stdout)
        return done.stderr

    def lines(self, *words: str) -> list[list[str]]:
        """A printed table, word by word."""
        return [line.split() for line in self(*words).splitlines()]

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with Running(tmp_path_factory.mktemp("server"), rules=HostRules()) as running:
        running.do(lambda store: store.create(NAMESPACE, {"metadata": {"name": "kube-system"}}))
        yield Kubectl(running, tmp_path_factory.mktemp("home"))


def later(seconds: float, action: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, action)
    timer.start()
    return timer


def what_is_served(kubectl: Kubectl) -> None:
    assert "Server Version: v1.36" in kubectl("version")
    assert {"v1", "apps/v1", "batch/v1", "kueue.x-k8s.io/v1beta2", "jobset.x-k8s.io/v1alpha2"} <= set(
        kubectl("api-versions").split()
    )
    resources = kubectl.lines("api-resources")
    assert [
        "workloads",
        "kwl,kueueworkload,kueueworkloads,wl",
        "kueue.x-k8s.io/v1beta2",
        "true",
        "Workload",
    ] in resources
    assert ["pods", "po", "v1", "true", "Pod"] in resources
    assert "is running at https://127.0.0.1:" in kubectl("cluster-info")
    assert kubectl("get", "--raw", "/readyz") == "ok"


def a_dry_run_makes_nothing(kubectl: Kubectl) -> None:
    out = kubectl("create", "-f", str(kubectl.file), "--dry-run=server")
    assert out.count("created (server dry run)") == OBJECTS
    assert "No resources found" in kubectl.run("get", "all").stderr


def create_and_apply(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", str(kubectl.file), "--save-config").count(" created") == OBJECTS
    assert kubectl("apply", "-f", str(kubectl.file)).count(" unchanged") == OBJECTS
    assert "AlreadyExists" in kubectl.fails("create", "-f", str(kubectl.file))


def diff_and_apply_what_changed(kubectl: Kubectl) -> None:
    assert kubectl("diff", "-f", str(kubectl.file)) == ""
    changed = MANIFESTS.replace("replicas: 2", "replicas: 3").replace('a: "1"', 'a: "2"').replace(": 5", ": 6")
    kubectl.file.write_text(changed)
    difference = kubectl.run("diff", "-f", str(kubectl.file))
    assert difference.returncode == 1
    signs = [line for line in difference.stdout.splitlines() if line[:2] in ("- ", "+ ")]
    assert [line.strip() for line in signs if "generation" not in line] == [
        *("-  replicas: 2", "+  replicas: 3"),
        *("-        nominalQuota: 5", "+        nominalQuota: 6"),
        *('-  a: "1"', '+  a: "2"'),
    ]
    out = kubectl("apply", "-f", str(kubectl.file))
    assert (out.count(" configured"), out.count(" unchanged")) == (3, OBJECTS - 3)
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "3"


def server_side_apply_and_conflicts(kubectl: Kubectl) -> None:
    mine = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {a: "mine"}\n'
    theirs = mine.replace("mine", "theirs")
    first = kubectl("apply", "--server-side", "--field-manager=me", "-f", "-", given=mine)
    assert first == "configmap/shared serverside-applied\n"
    conflict = kubectl.fails("apply", "--server-side", "--field-manager=them", "-f", "-", given=theirs)
    assert 'conflict with "me": .data.a' in conflict
    kubectl("apply", "--server-side", "--field-manager=them", "--force-conflicts", "-f", "-", given=theirs)
    managed = kubectl("get", "cm", "shared", "-o", "yaml", "--show-managed-fields")
    assert "manager: them" in managed
    assert "manager: me" not in managed


def get_prints_tables(kubectl: Kubectl) -> None:
    assert kubectl.lines("get", "pods", "-o", "wide")[1][:3] == ["p", "0/1", "Pending"]
    assert kubectl.lines("get", "nodes")[0] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert kubectl.lines("get", "nodes")[1][:3] == ["n1", "Ready", "<none>"]
    assert kubectl.lines("get", "deploy")[1][:4] == ["web", "0/3", "0", "0"]
    assert kubectl.lines("get", "lq")[1] == ["lq", "cq"]
    assert kubectl.lines("get", "cq", "-o", "wide")[0] == [
        *("NAME", "COHORT", "STRATEGY", "PENDING", "WORKLOADS", "ADMITTED", "WORKLOADS", "STATE")
    ]
    everything = kubectl("get", "all")
    assert all(f"{kind}/" in everything for kind in ("pod", "deployment.apps", "job.batch"))
    assert kubectl.lines("get", "pods", "-A", "--sort-by=.metadata.name")[1][:2] == ["default", "p"]
    assert kubectl.lines("get", "pods", "--show-labels")[1][-1] == "app=alone"
    assert kubectl.lines("get", "nodes", "-L", "rack")[1][-1] == "r1"


def get_prints_objects_in_every_form(kubectl: Kubectl) -> None:
    assert kubectl("get", "pods,cm", "-o", "name").split() == ["pod/p", "configmap/settings", "configmap/shared"]
    assert kubectl.json("get", "pod", "p")["spec"]["nodeName"] == "n1"
    assert kubectl.json("get", "pods")["items"][0]["kind"] == "Pod"
    assert "nominalQuota: 6" in kubectl("get", "cq", "cq", "-o", "yaml")
    columns = kubectl(
        "get", "pods", "-o", "custom-columns=N:.metadata.name,I:.spec.containers[0].image", "--no-headers"
    )
    assert columns.split() == ["p", "nginx:1"]


def get_selects(kubectl: Kubectl) -> None:
    assert kubectl("get", "pods", "-l", "app in (alone,other)", "-o", "name") == "pod/p\n"
    assert kubectl("get", "pods", "-l", "app!=alone", "-o", "name") == ""
    assert (
        kubectl("get", "pods", "--field-selector", "spec.nodeName=n1,status.phase!=Failed", "-o", "name") == "pod/p\n"
    )
    assert "field label not supported: spec.color" in kubectl.fails("get", "pods", "--field-selector", "spec.color=red")
    assert 'pods "nobody" not found' in kubectl.fails("get", "pod", "nobody")
    assert "doesn't have a resource type" in kubectl.fails("get", "gadgets")


def get_in_pages(kubectl: Kubectl) -> None:
    def fill(store: Store) -> None:
        for number in range(30):
            meta = {"name": f"page-{number:02}", "namespace": "kube-system"}
            store.create(POD, {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})

    kubectl.running.do(fill)
    names = kubectl("get", "pods", "-n", "kube-system", "--chunk-size=7", "-o", "name").split()
    assert names == [f"pod/page-{number:02}" for number in range(30)]
    assert len(kubectl.lines("get", "pods", "-n", "kube-system", "--chunk-size=7")) == 31
    out = kubectl("delete", "pods", "-n", "kube-system", "--all", "--grace-period=0", "--force", "--wait=false")
    assert out.count("deleted") == 30


DESCRIBED = [
    ("pod/p", ["Name:", "p", "Node:", "n1/", "Labels:", "app=alone", "nginx:1"]),
    ("node/n1", ["Name:", "n1", "rack=r1", "Non-terminated", "Pods:", "default"]),
    ("deploy/web", ["Replicas:", "3", "desired"]),
    ("job/train", ["Completions:", "1", "busybox:1"]),
    ("clusterqueue/cq", ["Nominal", "Quota:", "6", "API", "Version:", "kueue.x-k8s.io/v1beta2"]),
]


def describe(kubectl: Kubectl) -> None:
    for what, words in DESCRIBED:
        assert set(words) <= set(kubectl("describe", what).split()), what


def describe_shows_events(kubectl: Kubectl) -> None:
    uid = kubectl("get", "pod", "p", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "p.1", "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p", "uid": uid},
        "reason": "Pulled",
        "message": "it is here",
        "type": "Normal",
        "source": {"component": "kubelet"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    kubectl("create", "-f", "-", given=json.dumps(event))
    assert "it is here" in kubectl("describe", "pod", "p")
    assert kubectl.lines("get", "events")[1][1:4] == ["Normal", "Pulled", "pod/p"]
    assert "it is here" in kubectl("events", "--for", "pod/p")


def patch_in_every_form(kubectl: Kubectl) -> None:
    kubectl("patch", "deploy", "web", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"c","tty":true}]}}}}')
    (container,) = kubectl.json("get", "deploy", "web")["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["tty"]) == ("nginx:1", True)
    kubectl("patch", "cq", "cq", "--type=merge", "-p", '{"spec":{"cohortName":"all"}}')
    kubectl("patch", "cm", "settings", "--type=json", "-p", '[{"op":"add","path":"/data/b","value":"3"}]')
    assert kubectl("get", "cm", "settings", "-o", "jsonpath={.data.b}") == "3"
    assert "strategic-merge-patch+json is not supported" in kubectl.fails("patch", "cq", "cq", "-p", "{}")
    status = '{"status":{"phase":"Running"}}'
    assert kubectl("patch", "pod", "p", "--subresource=status", "-p", status) == "pod/p patched\n"
    assert kubectl.lines("get", "pods")[1][2] == "Running"


def label_and_annotate(kubectl: Kubectl) -> None:
    assert kubectl("label", "pod", "p", "x=y") == "pod/p labeled\n"
    assert "already has a value" in kubectl.fails("label", "pod", "p", "x=z")
    kubectl("label", "pods", "--all", "x=z", "--overwrite")
    kubectl("annotate", "pod", "p", "note=hello")
    kubectl("annotate", "pod", "p", "note-")
    meta = kubectl.json("get", "pod", "p")["metadata"]
    assert meta["labels"] == {"app": "alone", "x": "z"}
    assert "note" not in meta.get("annotations", {})


def scale_and_set_image(kubectl: Kubectl) -> None:
    assert kubectl("scale", "deploy", "web", "--replicas=1") == "deployment.apps/web scaled\n"
    assert kubectl("scale", "deploy/web", "--replicas=2", "--current-replicas=1") == "deployment.apps/web scaled\n"
    assert "Expected replicas to be 7, was 2" in kubectl.fails(
        "scale", "deploy/web", "--replicas=1", "--current-replicas=7"
    )
    assert kubectl("set", "image", "deploy/web", "c=nginx:2") == "deployment.apps/web image updated\n"
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "2"


def rollout_status(kubectl: Kubectl) -> None:
    def finish(store: Store) -> None:
        web = store.get(DEPLOYMENT, "default", "web")
        count = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
        status = {"observedGeneration": web["metadata"]["generation"], **count}
        store.update(DEPLOYMENT, {**web, "status": status}, "status")

    later(0.5, lambda: kubectl.running.do(finish))
    assert 'deployment "web" successfully rolled out' in kubectl("rollout", "status", "deploy/web", "--timeout=90s")


def explain(kubectl: Kubectl) -> None:
    text = kubectl("explain", "pods.spec.containers")
    assert "KIND:       Pod" in text
    assert "image\t<string>" in text
    text = kubectl("explain", "wl.spec")
    assert "queueName\t<string>\n    The LocalQueue in which it waits." in text
    assert "A pool of quota that workloads wait for." in kubectl("explain", "cq")
    assert "FIELDS" in kubectl("explain", "jobset.spec.replicatedJobs")
    assert "does not exist" in kubectl.fails("explain", "pods.spec.color")


def wait(kubectl: Kubectl) -> None:
    assert kubectl("wait", "--for=condition=Ready", "node/n1", "--timeout=90s") == "node/n1 condition met\n"
    kubectl("wait", "--for=jsonpath={.spec.replicas}=2", "deploy/web", "--timeout=90s")

    def finish(store: Store) -> None:
        job = store.get(JOB, "default", "train")
        complete = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        store.update(JOB, {**job, "status": {"conditions": [complete], "succeeded": 1}}, "status")

    later(0.5, lambda: kubectl.running.do(finish))
    out = kubectl("wait", "--for=condition=complete", "job/train", "--timeout=90s")
    assert out == "job.batch/train condition met\n"
    late = kubectl.fails("wait", "--for=condition=Ready", "pod/p", "--timeout=1s")
    assert "timed out waiting for the condition" in late


def wait_for_deletion(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given='{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"brief"}}')
    later(0.5, lambda: kubectl.running.api.delete("/api/v1/namespaces/default/configmaps/brief"))
    assert kubectl("wait", "--for=delete", "cm/brief", "--timeout=90s") == "configmap/brief condition met\n"


def watch(kubectl: Kubectl) -> None:
    command = [str(KUBECTL), "get", "pods", "-w"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kubectl.environment) as watching:
        assert watching.stdout is not None
        head, first = watching.stdout.readline().split(), watching.stdout.readline().split()
        kubectl.running.api.merge("/api/v1/namespaces/default/pods/p/status", {"status": {"phase": "Failed"}})
        second = watching.stdout.readline().split()
        watching.terminate()
    assert head == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert (first[:3], second[:3]) == (["p", "0/1", "Running"], ["p", "0/1", "Failed"])
    kubectl.running.api.merge("/api/v1/namespaces/default/pods/p/status", {"status": {"phase": "Running"}})


def cordon_taint_drain(kubectl: Kubectl) -> None:
    assert kubectl("cordon", "n1") == "node/n1 cordoned\n"
    assert kubectl.lines("get", "nodes")[1][1] == "Ready,SchedulingDisabled"
    assert kubectl("uncordon", "n1") == "node/n1 uncordoned\n"
    assert kubectl("taint", "node", "n1", "a=b:NoSchedule") == "node/n1 tainted\n"
    assert {"key": "a", "value": "b", "effect": "NoSchedule"} in kubectl.json("get", "node", "n1")["spec"]["taints"]
    assert kubectl("taint", "node", "n1", "a-") == "node/n1 untainted\n"

    def stop_what_is_to_go(store: Store) -> bool:
        """What a kubelet does."""
        pod = store.find(POD, "default", "p")
        if pod is not None and "deletionTimestamp" in pod["metadata"]:
            store.delete(Key(POD, "default", "p"), grace=0)
        return pod is None

    def kubelet() -> None:
        end = monotonic() + 30
        while not kubectl.running.do(stop_what_is_to_go) and monotonic() < end:
            sleep(0.05)

    stopping = threading.Thread(target=kubelet)
    stopping.start()
    drained = kubectl.run("drain", "n1", "--force", "--ignore-daemonsets", "--timeout=90s")
    stopping.join(40)
    assert drained.stdout.splitlines()[-3:] == ["evicting pod default/p", "pod/p evicted", "node/n1 drained"]
    assert kubectl.running.do(lambda store: store.get(NODE, "", "n1"))["spec"]["unschedulable"] is True


def edit_and_replace(kubectl: Kubectl) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}, "data": {"who": "nobody"}}
    kubectl("create", "-f", "-", given=json.dumps(body))
    assert shutil.which("sed")
    assert kubectl("edit", "cm", "owner") == "configmap/owner edited\n"
    assert kubectl("get", "cm", "owner", "-o", "jsonpath={.data.who}") == "somebody"
    replaced = kubectl("replace", "-f", "-", given=json.dumps({**body, "data": {"who": "me"}}))
    assert replaced == "configmap/owner replaced\n"
    queue = kubectl.json("get", "cq", "cq")
    del queue["metadata"]["resourceVersion"]
    kubectl("replace", "-f", "-", given=json.dumps(queue))


def mistakes_are_named(kubectl: Kubectl) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}}
    typo = {**pod, "spec": {"containers": [{"name": "c", "image": "i:1", "imagee": "x"}]}}
    assert 'unknown field "spec.containers[0].imagee"' in kubectl.fails("create", "-f", "-", given=json.dumps(typo))
    warned = kubectl.run("create", "--validate=warn", "-f", "-", given=json.dumps(typo))
    assert 'Warning: unknown field "spec.containers[0].imagee"' in warned.stderr
    wrong = {**pod, "spec": {"containers": [{"name": "C", "image": "i:1"}]}}
    assert "spec.containers[0].name" in kubectl.fails("create", "-f", "-", given=json.dumps(wrong))
    nowhere = kubectl.fails("create", "-n", "nowhere", "-f", "-", given=json.dumps(typo))
    assert 'namespaces "nowhere" not found' in nowhere or "unknown field" in nowhere


PROTOBUF = [
    ("create", "ns", "team"),
    ("create", "job", "j", "--image=x"),
    ("create", "cronjob", "nightly", "--image=x", "--schedule=0 3 * * *"),
    ("create", "deployment", "site", "--image=x", "--replicas=2", "--port=80"),
    ("create", "cm", "c", "--from-literal=a=b"),
    ("create", "secret", "generic", "s", "--from-literal=password=x"),
    ("create", "sa", "robot"),
    ("create", "service", "clusterip", "site", "--tcp=80:8080"),
    ("create", "pdb", "keep", "--selector=app=web", "--min-available=50%"),
    ("create", "priorityclass", "soon", "--value=7"),
]
"""What kubectl makes itself, and sends as protobuf."""


def what_kubectl_makes_itself_is_the_same_as_from_a_file(kubectl: Kubectl) -> None:
    for words in PROTOBUF:
        made = json.loads(kubectl(*words, "--dry-run=client", "-o", "json"))
        sent = json.loads(kubectl(*words, "--dry-run=server", "-o", "json"))
        filed = json.loads(kubectl("create", "-f", "-", "--dry-run=server", "-o", "json", given=json.dumps(made)))
        for one in (sent, filed):
            for key in ("uid", "creationTimestamp", "managedFields"):
                one["metadata"].pop(key, None)
            one["spec"].pop("clusterIP", None) if made["kind"] == "Service" else None
            one.get("spec", {}).pop("clusterIPs", None)
        assert without_uid(sent) == without_uid(filed), words
        assert " created" in kubectl(*words)
    assert kubectl("get", "secret", "s", "-o", "jsonpath={.data.password}") == "eA=="
    assert kubectl("get", "deploy", "site", "-o", "jsonpath={.spec.replicas}") == "2"
    kubectl("delete", "deploy/site", "cronjob/nightly", "service/site", "pdb/keep", "--wait=false")


def without_uid(raw: Any) -> Any:
    """The object without the label and selector of a Job that are its uid."""
    if isinstance(raw, dict):
        return {key: without_uid(value) for key, value in raw.items() if not key.endswith("controller-uid")}
    return [without_uid(one) for one in raw] if isinstance(raw, list) else raw


OLD_MANIFEST = """
apiVersion: kueue.x-k8s.io/{version}
kind: {kind}
metadata: {{name: old}}
spec: {{}}
"""


def manifests_of_older_versions_are_answered_with_the_command_that_converts_them(kubectl: Kubectl) -> None:
    for version, kind in (("v1beta1", "LocalQueue"), ("v1beta1", "ClusterQueue"), ("v1alpha1", "Topology")):
        old = OLD_MANIFEST.format(version=version, kind=kind)
        for words in (("apply",), ("create",), ("apply", "--server-side")):
            said = kubectl.fails(*words, "-f", "-", given=old)
            assert f"kueue.x-k8s.io/{version}" in said
            assert "`closeknit convert` rewrites manifests" in said
    assert kubectl.lines("get", "localqueues", "--no-headers")[0][0] == "lq", "the served version is preferred"


def run_logs_and_rights(kubectl: Kubectl) -> None:
    assert kubectl("run", "one", "--image=i:1") == "pod/one created\n"
    assert "simulated" in kubectl.fails("logs", "one")
    assert kubectl("auth", "can-i", "get", "pods") == "yes\n"
    assert "*.*" in kubectl("auth", "can-i", "--list")
    assert "protobuf is not supported" in kubectl.fails("create", "clusterrole", "r", "--verb=get", "--resource=pods")


def delete(kubectl: Kubectl) -> None:
    assert kubectl("delete", "pod", "one", "--wait=false").startswith('pod "one" deleted')
    assert kubectl("delete", "cm", "-l", "nothing=here") == "No resources found\n"
    assert kubectl("delete", "job", "train", "--cascade=background").startswith('job.batch "train" deleted')
    out = kubectl("delete", "-f", str(kubectl.file), "--ignore-not-found", "--wait=false")
    assert 'clusterqueue.kueue.x-k8s.io "cq" deleted' in out
    assert "No resources found" in kubectl.run("get", "deploy,lq,rs").stderr
    assert "may not be deleted" in kubectl.fails("delete", "ns", "default", "--wait=false")


STOPS = (
    what_is_served,
    a_dry_run_makes_nothing,
    create_and_apply,
    diff_and_apply_what_changed,
    server_side_apply_and_conflicts,
    get_prints_tables,
    get_prints_objects_in_every_form,
    get_selects,
    get_in_pages,
    describe,
    describe_shows_events,
    patch_in_every_form,
    label_and_annotate,
    scale_and_set_image,
    rollout_status,
    explain,
    wait,
    wait_for_deletion,
    watch,
    cordon_taint_drain,
    edit_and_replace,
    mistakes_are_named,
    what_kubectl_makes_itself_is_the_same_as_from_a_file,
    manifests_of_older_versions_are_answered_with_the_command_that_converts_them,
    run_logs_and_rights,
    delete,
)
"""In this order: later ones use what earlier ones made."""


def test_the_tour(kubectl: Kubectl) -> None:
    for stop in STOPS:
        try:
            stop(kubectl)
        except AssertionError as error:
            raise AssertionError(f"{stop.__name__.replace('_', ' ')}: {error}") from error
