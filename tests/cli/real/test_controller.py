"""The controller as users run it: with several replicas, with a server that restarts, and next to Kueue."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import AF_INET, SOCK_DGRAM, socket
from threading import Event, Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from cli.real.conftest import Start
from closeknit.deploy.policies import AdmissionSettings, policies
from contract.expect import eventually
from contract.objects import path
from servers.build import binary
from servers.cluster import RealCluster
from servers.components import API_SERVER

LEASES, PODS, JOBS = "coordination.k8s.io/v1/leases", "v1/pods", "batch/v1/jobs"
OWN = path(LEASES, "closeknit-system", "closeknit-controller")
KUEUE = "c1f6bfd2.kueue.x-k8s.io"
LEADS, STANDS_BY = "this process leads", " leads"
UNANSWERED = "waiting for the API server, which does not answer yet"


def job(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    notes = {"closeknit.dev/run-time": "1s"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "suspend": True,
            "template": {
                "metadata": {"annotations": notes},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
            **spec,
        },
    }


def is_complete(cluster: RealCluster, name: str) -> bool:
    status = cluster.api.get(path(JOBS, "default", name)).body.get("status") or {}
    return any(one["type"] == "Complete" and one["status"] == "True" for one in status.get("conditions") or ())


def run_one(cluster: RealCluster, name: str, **spec: Any) -> None:
    cluster.apply([job(name, **spec)])
    eventually(lambda: is_complete(cluster, name))


def bring_back(cluster: RealCluster) -> None:
    """Wait until Kubernetes' own controllers are back too: each backs off while the server is gone, at last to twice
    per minute."""
    cluster.start(API_SERVER)
    alone = job("alone", suspend=False)
    del alone["metadata"]["labels"]
    cluster.apply([alone])
    eventually(lambda: is_complete(cluster, "alone"), 120)
    cluster.kubectl("delete", "job", "alone")


def holder(cluster: RealCluster) -> str:
    found: str = cluster.api.get(OWN).body["spec"]["holderIdentity"]
    return found


def test_it_runs_a_job_and_releases_its_lease_when_stopped(cluster: RealCluster, start: Start) -> None:
    controller = start()
    run_one(cluster, "first")
    assert holder(cluster) != ""
    assert controller.stop() == 0
    assert holder(cluster) == ""
    assert "token" not in controller.said


def test_another_takes_over_from_one_that_was_killed(cluster: RealCluster, start: Start) -> None:
    leader = start()
    leader.until_said(LEADS)
    other = start()
    other.until_said(STANDS_BY)
    leader.kill()
    cluster.apply([job("orphan")])
    other.until_said(LEADS)
    eventually(lambda: is_complete(cluster, "orphan"))


def test_a_controller_that_loses_its_lease_exits_with_a_code_of_its_own(cluster: RealCluster, start: Start) -> None:
    controller = start()
    controller.until_said(LEADS)
    cluster.kubectl("-n", "closeknit-system", "patch", "lease", "closeknit-controller", "--type=merge",
                    "-p", '{"spec":{"holderIdentity":"thief"}}')  # fmt: skip
    assert controller.ended() == 5
    assert "lost the lease closeknit-system/closeknit-controller: exiting, to be restarted" in controller.said
    cluster.kubectl("-n", "closeknit-system", "delete", "lease", "closeknit-controller")


@contextmanager
def kueue_lease(cluster: RealCluster, renewed: bool) -> Iterator[None]:
    """The Lease as a running Kueue renews it, or as a removed Kueue left it."""
    cluster.kubectl("create", "namespace", "kueue-system")
    spec = {"holderIdentity": "kueue-1", "leaseDurationSeconds": 4, "renewTime": "2026-01-01T00:00:00.000000Z"}
    meta = {"name": KUEUE, "namespace": "kueue-system"}
    cluster.apply([{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}])
    stopping = Event()

    def renew() -> None:
        second = 0
        while not stopping.wait(0.5):
            second += 1
            body = f'{{"spec":{{"renewTime":"2026-01-01T00:00:{second:02}.000000Z"}}}}'
            cluster.kubectl("-n", "kueue-system", "patch", "lease", KUEUE, "--type=merge", "-p", body)

    thread = Thread(target=renew)
    if renewed:
        thread.start()
    try:
        yield
    finally:
        stopping.set()
        if renewed:
            thread.join()
        cluster.kubectl("delete", "namespace", "kueue-system")


def test_it_does_not_start_while_kueue_renews_its_lease(cluster: RealCluster, start: Start) -> None:
    with kueue_lease(cluster, renewed=True):
        controller = start()
        assert controller.ended() == 4
    assert f"kueue-1 renews its Lease kueue-system/{KUEUE}" in controller.said
    assert "kubectl -n kueue-system scale deployment kueue-controller-manager --replicas=0" in controller.said


def test_a_lease_that_is_not_renewed_is_ignored(cluster: RealCluster, start: Start) -> None:
    with kueue_lease(cluster, renewed=False):
        start().until_said(LEADS)


def test_it_waits_for_the_server_and_logs_that_once(cluster: RealCluster, start: Start) -> None:
    cluster.stop(API_SERVER)
    controller = start()
    controller.until_said(UNANSWERED)
    bring_back(cluster)
    controller.until_said(LEADS)
    assert controller.said.count(UNANSWERED) == 1


def test_it_stops_at_once_while_it_waits_for_the_server(cluster: RealCluster, start: Start) -> None:
    cluster.stop(API_SERVER)
    controller = start()
    controller.until_said(UNANSWERED)
    assert controller.stop() == 0
    bring_back(cluster)


@pytest.fixture
def address() -> str:
    """This machine's address for other hosts: API servers do not proxy to loopback."""
    with socket(AF_INET, SOCK_DGRAM) as one:
        one.connect(("10.255.255.255", 1))
        found: str = one.getsockname()[0]
    if found.startswith("127."):
        pytest.skip("this machine has no address but loopback")
    return found


def free_port() -> int:
    with socket() as one:
        one.bind(("", 0))
        port: int = one.getsockname()[1]
        return port


def test_decisions_are_read_through_the_leading_pod(cluster: RealCluster, start: Start, address: str) -> None:
    port, space = free_port(), "closeknit-system"
    container = {"name": "c", "image": "x", "ports": [{"name": "metrics", "containerPort": port}]}
    meta = {"name": "leader-1", "namespace": space}
    cluster.apply(
        [{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"nodeName": "none", "containers": [container]}}]
    )
    status = {"status": {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}}
    assert cluster.api.merge(path(PODS, space, "leader-1", "status"), status).status == 200
    start("--metrics-address", f":{port}", POD_NAME="leader-1").until_said(LEADS)
    run_one(cluster, "asked")
    command = [sys.executable, "-m", "closeknit", "decisions", "job/asked", "--kubeconfig", str(cluster.kubeconfig)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Admitted" in ran.stdout
    cluster.kubectl("-n", space, "delete", "pod", "leader-1", "--force")
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 4
    assert (
        "has no pod in namespace closeknit-system; give its --metrics-address with `decisions --controller` or "
        in ran.stderr
    )
    assert "; `closeknit describe workload NAME" in ran.stderr
    ran = subprocess.run([*command, "--controller", f"http://{address}:{port}"], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Admitted" in ran.stdout


def test_the_controller_asks_the_api_server_about_tokens(cluster: RealCluster, start: Start) -> None:
    """A ServiceAccount reads what it has a role for; the account of commands reads decisions, and no metrics."""
    port, space = free_port(), "closeknit-system"
    start("--metrics-address", f"127.0.0.1:{port}").until_said(LEADS)
    account = {"kind": "ServiceAccount", "name": "scraper", "namespace": space}
    cluster.apply([{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "scraper", "namespace": space}}])

    def token(name: str, *audiences: str) -> str:
        where = path("v1/serviceaccounts", space, name, "token")
        return str(cluster.api.post(where, {"spec": {"audiences": list(audiences)}}).body["status"]["token"])

    def status(where: str, bearer: str) -> int:
        asked = Request(f"http://127.0.0.1:{port}{where}", headers={"Authorization": f"Bearer {bearer}"})
        try:
            with urlopen(asked, timeout=20) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code

    scraper, reader = token("scraper"), token("closeknit-reader", "closeknit")
    assert status("/metrics", "nonsense") == 401
    assert status("/metrics", token("scraper", "elsewhere")) == 401
    assert status("/closeknit/decisions", scraper) == 403
    assert [status(one, reader) for one in ("/closeknit/decisions", "/metrics")] == [200, 403]
    assert cluster.api.as_user(reader).get("/api").status == 401, "it is of no use at the API server"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "closeknit-metrics-reader"}
    meta = {"name": "scraper"}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": meta}
    cluster.apply([{**binding, "roleRef": role, "subjects": [account]}])
    eventually(lambda: status("/metrics", scraper) == 200, within=60)


def told(cluster: RealCluster) -> set[tuple[str, str]]:
    """Objects with the reasons of their events."""
    found = cluster.api.get(path("v1/events", "default")).body["items"]
    return {(one["involvedObject"]["name"], one["reason"]) for one in found}


def policy_kinds(cluster: RealCluster, verb: str) -> None:
    for one in policies(AdmissionSettings()):
        if verb == "apply":
            cluster.apply([one])
        else:
            cluster.kubectl("delete", one["kind"], one["metadata"]["name"])


def test_without_policies_jobs_are_suspended_after_creation_and_pods_get_an_event(
    cluster: RealCluster, start: Start
) -> None:
    controller = start()
    controller.until_said("Closeknit's admission policies are not in force: deployment, ")
    controller.until_said(LEADS)
    run_one(cluster, "unheld", suspend=False)
    labels, spec = {"kueue.x-k8s.io/queue-name": "main"}, {"containers": [{"name": "c", "image": "x"}]}
    meta = {"name": "lonely", "namespace": "default", "labels": labels}
    cluster.apply([{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}])
    eventually(lambda: ("lonely", "NotQueued") in told(cluster))
    eventually(lambda: ("unheld", "Stopped") in told(cluster))
    try:
        policy_kinds(cluster, "apply")
        assert controller.ended() == 5
        assert "admission policies are now in force" in controller.said
        after = start()
        after.until_said(LEADS)
        assert "admission policies are not in force" not in after.said
    finally:
        policy_kinds(cluster, "delete")


def test_kubectl_finds_us_as_its_plug_in_and_we_work_on_its_context(cluster: RealCluster, tmp_path: Path) -> None:
    plugin = tmp_path / "kubectl-closeknit"
    plugin.write_text(f"#!{sys.executable}\nfrom closeknit.cli.main import kubectl\nkubectl()\n")
    plugin.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(cluster.kubeconfig)}
    command = [str(binary("kubectl")), "closeknit", "get", "clusterqueues"]
    ran = subprocess.run(command, capture_output=True, text=True, env=environ)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[1].startswith("all ")
