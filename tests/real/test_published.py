"""The manifests that Kueue publishes run unchanged, one after another, because they name their objects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from host.test_manifests import ADMIN, ENDING, FOLDER, SERVING, SINGLE, TAS
from servers import manifests
from servers.manifests import Object, is_true
from servers.nodes import await_nodes, node

from .operators import MPI, RAY_CLUSTER, RAY_JOB, TORCH, Operator
from .plane import Place
from .scene import JOBS, NODES, WORKLOADS, Scene
from .test_provisioning import REQUESTS, answer

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason=f"SKIPPED, LOUDLY: no published manifests at {FOLDER}; set CLOSEKNIT_MANIFESTS=PATH"
)
OPERATORS: dict[str, Operator] = {"MPIJob": MPI, "PyTorchJob": TORCH, "RayJob": RAY_JOB, "RayCluster": RAY_CLUSTER}
HOSTS = 8


class Stand(Scene):
    """The namespace that the manifests are for, on nodes that have every label that they ask for."""

    def use(self, setup: str) -> list[Object]:
        return [self.of_all(**one) for one in manifests.read(FOLDER / setup)]

    def run(self, manifest: str) -> Object:
        [body] = manifests.read(FOLDER / manifest)
        made = self.create({**body, "metadata": {"namespace": self.name, **body["metadata"]}})
        self._made.append(manifests.address(self.api, made))
        if made["kind"] in OPERATORS:
            self.operate(made)
        return made

    def operate(self, made: Object) -> None:
        operator, name = OPERATORS[made["kind"]], made["metadata"]["name"]
        self.until(lambda: not operator.is_suspended(self.get(operator.resource, name)), f"{name} may run")
        operator.start(self, self.get(operator.resource, name))

    def finish_all(self) -> None:
        """Finish all running pods; then the operators report it."""
        self.finish(*(one for one in self.pods() if one["status"].get("phase") == "Running"))

    def end(self) -> None:
        """Delete everything in reverse order, waiting for each, because the next manifest has the same names."""
        for one in reversed(self._made):
            self.api.delete(one, {"propagationPolicy": "Background"})
            self.until(lambda one=one: self.api.get(one).status == 404, f"{one} is gone")  # type: ignore[misc]
        self.until(lambda: not self.all(WORKLOADS) and not self.pods(gone=True), "nothing is left")


@pytest.fixture(scope="session")
def machines(place: Place) -> Iterator[None]:
    api, names = place.api(), [f"published-{number}" for number in range(HOSTS)]
    for number, name in enumerate(names):
        labels = {
            "cloud.provider.com/topology-block": f"published-{number // 4}",
            "cloud.provider.com/topology-rack": f"published-{number // 2}",
            "cloud.provider.com/node-group": "tas-group",
            "node-type": "spot" if number % 2 else "on-demand",
        }
        manifests.apply(api, [node(name, labels)])
    await_nodes(api, names)
    yield
    for name in names:
        api.delete(f"/api/{NODES}/{name}")
    api.close()


@pytest.fixture
def stand(place: Place, machines: None) -> Iterator[Stand]:
    stand = Stand(place, place.api(), "default")
    try:
        yield stand
    finally:
        stand.end()
        stand.api.close()


@pytest.mark.parametrize("manifest", ADMIN)
def test_what_administrators_write_is_taken(stand: Stand, manifest: str) -> None:
    assert stand.use(manifest)


@pytest.mark.parametrize(("setup", "manifest"), ENDING, ids=[name for _, name in ENDING])
def test_a_job_runs_to_its_end(stand: Stand, setup: str, manifest: str) -> None:
    stand.use(setup)
    made = stand.run(manifest)
    name = made["metadata"]["name"]
    if made["kind"] in OPERATORS:
        stand.until(lambda: all(one["status"].get("phase") == "Running" for one in stand.pods()), "all pods run")
        OPERATORS[made["kind"]].end(stand, made)

    def is_over() -> bool:
        stand.finish_all()
        return is_true(stand.workload(name), "Finished")

    stand.until(is_over, f"{name} is over", 60)


@pytest.mark.parametrize(("wish", "count"), [("required", 10), ("preferred", 40), ("unconstrained", 6)])
def test_a_job_is_where_it_wants_to_be(stand: Stand, wish: str, count: int) -> None:
    stand.use(TAS)
    name = stand.run(f"tas/sample-job-{wish}.yaml")["metadata"]["name"]
    stand.await_running(count)
    plan = stand.plan(name)
    assert stand.places() == plan
    numbers = {int(host.rpartition("-")[2]) for host in plan}
    racks, blocks = {one // 2 for one in numbers}, {one // 4 for one in numbers}
    assert len({"required": racks, "preferred": blocks}.get(wish, {0})) == 1


@pytest.mark.parametrize(("setup", "manifest"), SERVING, ids=[name for _, name in SERVING])
def test_a_service_becomes_ready_and_goes_when_it_is_deleted(stand: Stand, setup: str, manifest: str) -> None:
    stand.use(setup)
    made = stand.run(manifest)
    counts = {"Deployment": 3, "StatefulSet": 3, "LeaderWorkerSet": 6, "RayCluster": 2}
    stand.await_running(counts[made["kind"]])
    stand.until(lambda: all(is_true(one, "Ready") for one in stand.pods()), "all pods are ready")
    if made["kind"] != "RayCluster":
        stand.until(lambda: all(is_true(one, "PodsReady") for one in stand.all(WORKLOADS)), "workloads say so")


def test_a_job_that_may_start_with_fewer_pods_does(stand: Stand) -> None:
    stand.use(SINGLE)
    made = stand.run("jobs/sample-job-partial-admission.yaml")
    assert made["spec"]["parallelism"] == 20
    stand.await_running(9)
    [given] = stand.workload(made["metadata"]["name"])["status"]["admission"]["podSetAssignments"]
    assert given["count"] == 9
    assert stand.get(JOBS, made["metadata"]["name"])["spec"]["parallelism"] == 9


def test_a_cron_job_makes_jobs_that_are_queued(stand: Stand) -> None:
    stand.use(SINGLE)
    stand.run("jobs/sample-cronjob.yaml")
    [workload] = stand.until(lambda: stand.all(WORKLOADS), "a minute begins", 70)
    assert workload["spec"]["queueName"] == "user-queue"
    stand.await_running(3)


def test_machines_that_have_to_be_brought_first_are_asked_for(stand: Stand) -> None:
    stand.use("provisioning/provisioning-setup.yaml")
    name = stand.run("provisioning/sample-job.yaml")["metadata"]["name"]
    [request] = stand.until(lambda: stand.all(REQUESTS), "machines are asked for")
    assert request["spec"]["provisioningClassName"] == "check-capacity.autoscaling.x-k8s.io"
    assert is_true(stand.workload(name), "QuotaReserved")
    assert not is_true(stand.workload(name), "Admitted")
    answer(stand, request, "Provisioned")
    stand.await_running(3)
