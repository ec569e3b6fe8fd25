"""`closeknit what-if` as a user calls it: a folder and jobs in, text and an exit code out."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from closeknit.cli.main import main
from observe.written import (
    GPU,
    RACK,
    Raw,
    cluster_queue,
    flavor,
    folder,
    job,
    kueue,
    local_queue,
    namespace,
    node,
    placing_cluster,
    pod,
    small_cluster,
    topology,
    workload,
)

SAMPLES = Path(str(files("closeknit") / "samples"))


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["what-if", *args])
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def ask(run: Run, tmp_path: Path) -> Run:
    """Objects of the cluster, then the jobs, then options."""

    def call(objects: list[Raw], *jobs: Raw | str) -> Ran:
        paths = []
        for number, raw in enumerate(one for one in jobs if not isinstance(one, str)):
            path = tmp_path / f"job-{number}.yaml"
            path.write_text(yaml.safe_dump(raw))
            paths.append(str(path))
        return run(
            "--cluster", folder(tmp_path / "cluster", *objects), *paths, *(o for o in jobs if isinstance(o, str))
        )

    return call


def test_the_sample_of_the_tour_preempts(run: Run) -> None:
    ran = run("--cluster", str(SAMPLES / "cluster"), str(SAMPLES / "urgent.yaml"))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:3] == [
        "what happens:",
        "  1  Job team-b/sweep-3 in batch is preempted by Job team-a/urgent: reclamation within the cohort",
        "  2  Job team-a/urgent is admitted to research: 16 pods of h100 on 2 hosts, all in b02/b02-r02",
    ]


def test_exit_code_0_when_all_are_admitted_and_3_when_one_waits(ask: Run) -> None:
    cluster = small_cluster(8)
    assert ask(cluster, job("one", 4), job("two", 4)).code == 0
    ran = ask(cluster, job("one", 4), job("two", 5))
    assert ran.code == 3
    assert "1 of 2 given jobs is admitted" in ran.out


def test_earlier_files_are_queued_first(ask: Run) -> None:
    ran = ask(small_cluster(8), job("second", 5), job("first", 4), "-o", "json")
    states = {one["job"]["name"]: one["state"] for one in json.loads(ran.out)["jobs"]}
    assert states == {"second": "Admitted", "first": "Waiting"}


@pytest.mark.parametrize("now", [(), ("--now", "2026-02-01T00:00:00Z")], ids=["newest", "earlier"])
def test_queued_workloads_come_before_a_given_job(ask: Run, now: tuple[str, ...]) -> None:
    ran = ask([*small_cluster(8), workload("first", 8)], job("second", 8), *now)
    assert ran.code == 3
    assert "Workload default/first is admitted" in ran.out


def test_without_a_job_the_cluster_is_played_as_it_is(ask: Run) -> None:
    ran = ask([*small_cluster(8), workload("first", 8)])
    assert ran.code == 0
    assert "Workload default/first is admitted" in ran.out
    assert ran.out.splitlines()[-1] == "no job was given; others: 1 run, 0 wait"


def test_yaml_says_what_json_says(ask: Run) -> None:
    arguments = placing_cluster(), job("train", 4, level=RACK)
    assert yaml.safe_load(ask(*arguments, "-o", "yaml").out) == json.loads(ask(*arguments, "-o", "json").out)


def test_wide_shows_hosts(ask: Run) -> None:
    ran = ask(placing_cluster(), job("train", 10, level=RACK), "-o", "wide")
    assert "10 pods of gpu on 2 hosts, all in r1" in ran.out
    assert [line.split() for line in ran.out.splitlines() if line.strip().startswith("n")] == [
        ["n1", "8", "pods"],
        ["n2", "2", "pods"],
    ]


def test_a_job_that_fits_no_rack_is_answered_with_remedies(ask: Run) -> None:
    ran = ask(placing_cluster(), job("train", 20, level=RACK))
    assert ran.code == 3
    assert 'topology "dc" allows to fit only 16 out of 20 pod(s)' in ran.out
    assert "would help: one of: (1) relax to preferred" in ran.out


def test_a_whole_file_of_several_jobs(run: Run, tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(yaml.safe_dump_all([job("one"), job("two")]))
    cluster = folder(tmp_path / "cluster", *small_cluster())
    ran = run("--cluster", cluster, str(tmp_path / "jobs.yaml"))
    assert "all 2 given jobs are admitted" in ran.out


def test_a_cluster_may_be_several_files(run: Run, tmp_path: Path) -> None:
    one = folder(tmp_path / "a", *small_cluster()[:2])
    two = folder(tmp_path / "b", *small_cluster()[2:])
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job("train")))
    assert run("--cluster", one, "--cluster", two, str(tmp_path / "job.yaml")).code == 0


# Options


def with_check() -> list[Raw]:
    strategy = {"admissionChecks": [{"name": "paperwork"}]}
    check = kueue("AdmissionCheck", "paperwork", {"controllerName": "example.com/clerk"})
    cluster = [namespace("default"), flavor(), cluster_queue("cq", 8, admissionChecksStrategy=strategy)]
    return [*cluster, local_queue("main", "cq"), check]


def test_checks_are_ready_or_pending(ask: Run) -> None:
    assert ask(with_check(), job("train")).code == 0
    ran = ask(with_check(), job("train"), "--checks", "pending")
    assert ran.code == 3
    assert "Job default/train gets quota in cq and waits for its checks: paperwork" in ran.out
    assert "UnsatisfiedAdmissionChecks" in ran.out


def test_now_is_given_or_the_newest_time_in_the_folder(ask: Run) -> None:
    cluster = [*small_cluster(), workload("old", 1, created="2026-03-01T05:00:00Z")]
    assert json.loads(ask(cluster, job("j"), "-o", "json").out)["now"] == "2026-03-01T05:00:00Z"
    ran = ask(cluster, job("j"), "-o", "json", "--now", "2026-05-01T00:00:00+02:00")
    assert json.loads(ran.out)["now"] == "2026-04-30T22:00:00Z"


def test_the_given_time_decides_which_workloads_back_off(ask: Run) -> None:
    late = workload("late")
    late["status"] = {"requeueState": {"count": 1, "requeueAt": "2026-03-02T00:00:00Z"}}
    early = ask([*small_cluster(), late], job("j"), "--now", "2026-03-01T00:00:00Z").out
    assert "Evicted, and not requeued yet" in early
    later = ask([*small_cluster(), late], job("j"), "--now", "2026-03-03T00:00:00Z").out
    assert "Workload default/late is admitted" in later


def sharing() -> list[Raw]:
    """A queue that has borrowed 6 of 8, and one that wants its share of the cohort's quota."""
    rule = {"reclaimWithinCohort": "Any"}
    pool = kueue("Cohort", "lab", {"resourceGroups": cluster_queue("x", 8)["spec"]["resourceGroups"]})
    queues = [cluster_queue(name, 0, "lab", preemption=rule) for name in ("cq", "other")]
    locals_ = [local_queue("main", "cq"), local_queue("other", "other")]
    held = [workload(f"w{number}", 2, "other", "other") for number in range(4)]
    return [namespace("default"), flavor(), pool, *queues, *locals_, *held]


def test_fair_sharing_is_an_option_or_configured(ask: Run, tmp_path: Path) -> None:
    assert ask(sharing(), job("fair", 2)).code == 3
    ran = ask(sharing(), job("fair", 2), "--fair-sharing")
    assert ran.code == 0
    assert "Fair Sharing within the cohort" in ran.out
    config = tmp_path / "config.yaml"
    config.write_text("{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, fairSharing: {}}")
    assert ask(sharing(), job("fair", 2), "--config", str(config)).code == 0


def test_a_configuration_may_be_in_its_config_map(ask: Run, tmp_path: Path) -> None:
    inside = "kind: Configuration\nresources: {transformations: [{input: nvidia.com/gpu, strategy: Replace}]}\n"
    data = {"controller_manager_config.yaml": inside}
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}))
    assert ask(small_cluster(1), job("big", 9)).code == 3
    assert ask(small_cluster(1), job("big", 9), "--config", str(path)).code == 0, "gpus are not counted any more"


def test_gates_of_a_configuration_give_way_to_those_of_the_command_line(ask: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, featureGates: {PartialAdmission: false}}"
    )
    fewer = job("fewer", 9, annotations={"kueue.x-k8s.io/job-min-parallelism": "2"})
    assert ask(small_cluster(8), fewer).code == 0
    assert ask(small_cluster(8), fewer, "--config", str(path)).code == 3
    on = "PartialAdmission=true"
    assert ask(small_cluster(8), fewer, "--config", str(path), "--feature-gates", on).code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{apiVersion: v1, kind: Secret, metadata: {name: s}}", "contains no Configuration"),
        (
            "{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, featureGates: {PartialAdmission: 1}}",
            "Configuration: featureGates.PartialAdmission: is 1; use true or false",
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, data: {controller_manager_config.yaml: 'a: ['}}",
            "ConfigMap: data[controller_manager_config.yaml]: is not valid YAML",
        ),
    ],
)
def test_a_configuration_that_is_wrong_is_refused(ask: Run, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    ran = ask(small_cluster(), job("j"), "--config", str(path))
    assert ran.code == 2
    assert said in ran.err


# What counts


def test_a_job_of_the_folder_without_a_workload_joins_the_line(ask: Run) -> None:
    ran = ask([*small_cluster(8), job("before", 6)], job("mine", 4), "-o", "json")
    assert [step["job"]["name"] for step in json.loads(ran.out)["steps"]] == ["before"]


def test_a_job_that_has_its_workload_in_the_folder_counts_once(ask: Run) -> None:
    running = workload("job-before-abcde", 6, holds="cq", owner="before")
    before = job("before", 6, uid="uid-of-before")
    assert ask([*small_cluster(8), running, before], job("mine", 2)).code == 0


def test_a_given_job_that_is_in_the_folder_is_answered_from_there(ask: Run) -> None:
    running = workload("job-mine-abcde", 6, holds="cq", owner="mine")
    ran = ask([*small_cluster(8), running], job("mine", 6))
    assert ran.code == 0
    assert "note: Job default/mine is in the cluster already" in ran.err
    assert "Job default/mine is admitted already, to cq: 6 pods of gpu" in ran.out


def test_pods_of_others_take_room_and_pods_of_workloads_do_not_take_it_twice(ask: Run) -> None:
    notes = {"kueue.x-k8s.io/podset-required-topology": RACK, "kueue.x-k8s.io/workload": "w"}
    cluster = [
        *placing_cluster(),
        workload("w", 8, holds="cq", hosts={"n1": 8}),
        *(pod(f"w-{number}", "n1", annotations=notes) for number in range(8)),
        pod("daemon", "n2", 1),
    ]
    ran = ask(cluster, job("mine", 7, level=RACK), "-o", "json")
    (pod_set,) = json.loads(ran.out)["jobs"][0]["podSets"]
    assert pod_set["domains"] == [{"path": ["r1", "n2"], "pods": 7}]


def test_a_preempted_workload_takes_its_pods_with_it(ask: Run) -> None:
    """Its pods have no topology, so they count on their node until they stop; then the second job is placed there."""
    rule = {"withinClusterQueue": "LowerPriority"}
    cluster = [namespace("default"), *placing_cluster()[1:3], topology(), flavor(topology="dc")]
    cluster += [cluster_queue("cq", 12, preemption=rule), local_queue("main", "cq")]
    cluster += [
        kueue("WorkloadPriorityClass", "high", None, value=9),
        workload("job-low-abcde", 8, holds="cq", owner="low"),
    ]
    owner = [{"kind": "Job", "name": "low", "uid": "uid-of-low"}]
    pods = [pod(f"low-{number}", "n1", ownerReferences=owner) for number in range(8)]
    urgent = job("urgent", 8, level=RACK, labels={"kueue.x-k8s.io/priority-class": "high"})
    ran = ask([*cluster, *pods], urgent, job("next", 4, level=RACK), "-o", "json")
    assert ran.code == 0
    found = [(step["kind"], step["job"]["name"]) for step in json.loads(ran.out)["steps"]]
    assert found == [("Preempted", "low"), ("Admitted", "urgent"), ("Admitted", "next")]
    hosts = [one["podSets"][0]["domains"][0]["path"][-1] for one in json.loads(ran.out)["jobs"]]
    assert sorted(hosts) == ["n1", "n2"]


def test_victims_that_would_come_back_for_ever_are_cut(ask: Run) -> None:
    """The preemptor never fits in its first flavor, and meanwhile its victim is queued again."""
    cluster, preemptor = back_and_forth()
    ran = ask(cluster, preemptor)
    assert ran.code == 3
    assert "the preemptions would repeat, so this job is not simulated further" in ran.out
    assert json.loads(ask(cluster, preemptor, "-o", "json").out)["cut"] is True


def back_and_forth() -> tuple[list[Raw], Raw]:
    def groups(order: list[str], borrows: str = "") -> list[Raw]:
        flavors = []
        for name in order:
            cpu: Raw = {"name": "cpu", "nominalQuota": 0 if name == borrows else 4}
            flavors.append({"name": name, "resources": [{"name": GPU, "nominalQuota": 4}, cpu]})
        return [{"coveredResources": [GPU, "cpu"], "flavors": flavors}]

    rule = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
    asks = {"containers": [{"name": "c", "resources": {"requests": {GPU: "2", "cpu": "1"}}}]}
    preemptor = job("preemptor", 2, level=RACK, queue="a", **asks)
    victim = workload("victim", 1, "b", priority=0)
    pod_set = victim["spec"]["podSets"][0]
    pod_set["topologyRequest"] = {"required": RACK}
    pod_set["template"]["spec"] = {"containers": [{"name": "c", "resources": {"requests": {GPU: "1", "cpu": "1"}}}]}
    cluster = [
        namespace("default"),
        node("n0", gpus=4, pool="hosts"),
        node("n1", gpus=2, pool="small"),
        topology(),
        flavor("hosts", "dc", pool="hosts"),
        flavor("small", "dc", pool="small"),
        cluster_queue("a", 0, "r", preemption=rule),
        cluster_queue("b", 0, "r", preemption=rule),
        local_queue("a", "a"),
        local_queue("b", "b"),
        victim,
    ]
    cluster[6]["spec"]["resourceGroups"] = groups(["small", "hosts"])
    cluster[7]["spec"]["resourceGroups"] = groups(["hosts", "small"], borrows="hosts")
    return cluster, preemptor


# Bad input


def test_a_folder_that_does_not_exist(run: Run) -> None:
    ran = run("--cluster", "/nowhere", str(SAMPLES / "urgent.yaml"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: /nowhere: there is no such file; check the path\n"


def test_an_empty_folder(run: Run, tmp_path: Path) -> None:
    ran = run("--cluster", str(tmp_path), str(SAMPLES / "urgent.yaml"))
    assert ran.code == 2
    assert "the directory holds no manifests; put *.yaml, *.yml or *.json files into it" in ran.err


def test_broken_yaml(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [1, 2\nb: 3\n")
    ran = run("--cluster", str(tmp_path), str(SAMPLES / "urgent.yaml"))
    assert ran.code == 2
    assert "a.yaml:2:" in ran.err
    assert "is not YAML" in ran.err


def test_a_folder_without_queues_is_answered_with_the_line_that_fills_it(ask: Run) -> None:
    ran = ask([namespace("default")], job("j"))
    assert ran.code == 2
    assert "no ClusterQueue and no LocalQueue found; save a cluster with: kubectl get nodes,pods," in ran.err


def test_a_job_without_a_queue(ask: Run) -> None:
    ran = ask(small_cluster(), job("j", queue=None))
    assert ran.code == 2
    assert "is missing, and namespace default has no LocalQueue called default" in ran.err
    assert "give one of the LocalQueues of namespace default: main" in ran.err


def test_a_job_with_an_unknown_queue_waits_and_the_queues_are_listed(ask: Run) -> None:
    ran = ask(small_cluster(), job("j", queue="mian"))
    assert ran.code == 3
    assert "LocalQueue mian doesn't exist" in ran.out
    assert (
        "would help: did you mean main? namespace default has: main; use one of them, or create LocalQueue mian"
        in ran.out
    )


def test_a_job_with_an_unknown_priority_class(ask: Run) -> None:
    ran = ask(small_cluster(), job("j", labels={"kueue.x-k8s.io/priority-class": "high"}))
    assert ran.code == 2
    assert "there is no such WorkloadPriorityClass" in ran.err


def test_a_job_that_is_wrong_is_refused(ask: Run) -> None:
    ran = ask(small_cluster(), job("j", gpus=-1))
    assert ran.code == 2
    assert "use a quantity that is not negative" in ran.err


def test_a_cycle_of_cohorts(ask: Run) -> None:
    cohorts = [kueue("Cohort", name, {"parentName": other}) for name, other in (("a", "b"), ("b", "a"))]
    cluster = [namespace("default"), flavor(), *cohorts, cluster_queue("cq", cohort="a"), local_queue("main", "cq")]
    ran = ask(cluster, job("j"))
    assert ran.code == 3
    assert "CohortCycle" in ran.out
    assert "cohorts form a cycle: a → b → a" in ran.out
    assert "give one of the Cohorts a, b another spec.parentName" in ran.out


@pytest.mark.parametrize(
    ("cluster", "reason", "remedy"),
    [
        (small_cluster()[2:], "FlavorNotFound", "create"),
        ([*small_cluster()[2:], flavor(topology="dc")], "TopologyNotFound", "create"),
    ],
    ids=["flavor", "topology"],
)
def test_something_that_a_queue_needs_is_missing(ask: Run, cluster: list[Raw], reason: str, remedy: str) -> None:
    ran = ask([namespace("default"), *cluster], job("j"))
    assert ran.code == 3
    assert f"cq: {reason}: Can't admit new workloads:" in ran.out
    assert f"would help: {remedy}" in ran.out


def test_a_queue_with_a_negative_weight_is_ignored_and_the_remedy_is_to_fix_it(ask: Run) -> None:
    cluster = [namespace("default"), flavor(), local_queue("main", "cq"), local_queue("other", "good")]
    cluster += [cluster_queue("good"), cluster_queue("cq", fairSharing={"weight": "-2"})]
    ran = ask(cluster, job("bad"), job("good", queue="other"))
    assert ran.code == 3
    assert "ClusterQueue cq: spec.fairSharing.weight: is -2; use a quantity that is not negative" in ran.err
    assert "warning: ignored because they are invalid: ClusterQueue cq" in ran.err
    assert "would help: fix ClusterQueue cq: it was ignored because of its errors" in ran.out
    assert "Job default/good is admitted to good" in ran.out


def test_v1beta1_is_read_with_a_note(ask: Run) -> None:
    old = cluster_queue("cq", 8)
    old["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    old["spec"]["cohort"] = "lab"
    ran = ask([namespace("default"), flavor(), old, local_queue("main", "cq")], job("j"))
    assert ran.code == 0
    assert ran.err == "note: 1 ClusterQueue of v1beta1 is read as v1beta2\n"


def test_no_namespaces_is_a_warning(ask: Run) -> None:
    ran = ask(small_cluster()[1:], job("j"))
    assert ran.code == 0
    assert "warning: there are no Namespaces" in ran.err


def test_a_namespace_that_the_queue_does_not_select(ask: Run) -> None:
    picky = cluster_queue("cq", namespaceSelector={"matchLabels": {"paid": "yes"}})
    ran = ask([namespace("default"), flavor(), picky, local_queue("main", "cq")], job("j"))
    assert ran.code == 3
    assert "would help: label namespace default to match the selector of ClusterQueue cq: paid In yes" in ran.out


@pytest.mark.parametrize("kind", ["cluster", "local"])
def test_a_stopped_queue_is_reported(ask: Run, kind: str) -> None:
    stop: Raw = {"stopPolicy": "Hold"}
    none: Raw = {}
    cluster_stop, local_stop = (stop, none) if kind == "cluster" else (none, stop)
    cluster = [
        namespace("default"),
        flavor(),
        cluster_queue("cq", **cluster_stop),
        local_queue("main", "cq", **local_stop),
    ]
    ran = ask(cluster, job("j"))
    assert ran.code == 3
    assert "to None" in ran.out


def test_a_time_that_is_none(ask: Run) -> None:
    ran = ask(small_cluster(), job("j"), "--now", "tomorrow")
    assert (ran.code, ran.err) == (
        2,
        'error: --now: "tomorrow" is not a time; write one such as 2026-01-31T12:00:00Z\n',
    )


def test_standard_input_is_read_once(run: Run) -> None:
    ran = run("--cluster", "-", "-")
    assert ran.code == 2
    assert "standard input can be read only once, but JOB.yaml and --cluster read it" in ran.err


def test_an_unknown_gate(ask: Run) -> None:
    ran = ask(small_cluster(), job("j"), "--feature-gates", "Nonsense=true")
    assert ran.code == 2
    assert 'unknown feature gate "Nonsense"' in ran.err


def test_many_warnings_are_cut_short(ask: Run) -> None:
    broken: list[Any] = [cluster_queue(f"bad-{number:02}", fairSharing={"weight": "-1"}) for number in range(30)]
    ran = ask([*small_cluster(), *broken], job("j"))
    assert ran.code == 0
    assert ran.err.count("weight") == 20
    assert "warning: and 10 more" in ran.err
