"""`queue`, `explain`, `tree`, `what-if` and `decisions` on a running cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cli.conftest import Run, WatchingCommand
from cli.live import BLOCK, NODES, QUEUES, Live, Raw, admitted, cluster_queue, job, local_queue
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.port import Key


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    """Rack r1 holds 6 pods of 2 cores; a job of 12 pods waits, since a rack is half as large."""
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    live.create(team, *NODES, *QUEUES, cluster_queue("batch", 8, "lab"), local_queue("slow", "batch", "team"))
    live.create(job("train", 6), job("large", 12))
    live.until(admitted("train"))
    live.until(lambda store: "large" in waiting(store))


def waiting(store: Store) -> list[str]:
    return [
        one["metadata"]["ownerReferences"][0]["name"]
        for one in store.all(kinds.WORKLOAD)
        for each in (one.get("status") or {}).get("conditions") or ()
        if each["type"] == "QuotaReserved" and each["status"] == "False"
    ]


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


# queue


def test_queues_are_a_tree_with_usage_and_waiting_workloads(ck: Run) -> None:
    ran = ck("queue")
    assert ran.code == 0
    lines = squeezed(ran.out)
    assert lines[0] == "Cohort lab"
    assert "└─ ClusterQueue batch 0 admitted, 0 pending, share 0, active" in lines
    assert "ClusterQueue research 1 admitted, 1 pending, active" in lines
    assert "main cpu ▒▒▒░░░░░░░░░░░░░ 12 of 64 used" in lines


def test_one_queue_or_cohort_can_be_shown_alone(ck: Run) -> None:
    assert squeezed(ck("queue", "research").out)[0] == "ClusterQueue research 1 admitted, 1 pending, active"
    assert "batch" not in ck("queue", "research").out
    found = json.loads(ck("queue", "batch", "-o", "json").out)
    assert [one["name"] for one in found["clusterQueues"]] == ["batch"]
    assert found["cohorts"] == []
    ran = ck("queue", "resaerch")
    assert ran.code == 4
    assert 'no ClusterQueue or Cohort named "resaerch"; did you mean research?' in ran.err


def test_a_queue_is_stopped_drained_and_resumed(live: Live, ck: Run) -> None:
    def policy(store: Store) -> str:
        found: str = store.get(kinds.CLUSTER_QUEUE, "", "batch")["spec"].get("stopPolicy", "None")
        return found

    ran = ck("queue", "stop", "batch")
    assert (ran.code, ran.out, ran.err[:11]) == (0, "ClusterQueue batch stopped\n", "on context ")
    assert live.do(policy) == "Hold"
    assert ck("queue", "stop", "batch", "--drain").out == "ClusterQueue batch stopped and draining\n"
    assert live.do(policy) == "HoldAndDrain"
    assert ck("queue", "resume", "batch").out == "ClusterQueue batch resumed\n"
    assert live.do(policy) == "None"
    assert ck("queue", "resume", "batch").out == "ClusterQueue batch already resumed\n"
    assert ck("queue", "stop", "team/slow").out == "LocalQueue team/slow stopped\n"
    assert live.do(lambda store: store.get(kinds.LOCAL_QUEUE, "team", "slow"))["spec"]["stopPolicy"] == "Hold"
    ck("queue", "resume", "team/slow")


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["stop"], 2, "NAME: is missing; write: closeknit queue stop NAME"),
        (["stop", "a", "b"], 2, "NAME: must be a single queue; write: closeknit queue stop NAME"),
        (["stop", "a", "-o", "json"], 2, "--output: cannot be combined with stop; remove it"),
        (["stpo", "research"], 2, "NAME: must be a single queue or cohort; did you mean stop? give one"),
        (["research", "--drain"], 2, "--drain: requires stop"),
        (["stop", "nope"], 4, 'clusterqueues.kueue.x-k8s.io "nope" not found'),
        (["stop", "team/nope"], 4, 'localqueues.kueue.x-k8s.io "nope" not found'),
    ],
)
def test_wrong_arguments_for_stopping_are_rejected(ck: Run, args: list[str], code: int, said: str) -> None:
    ran = ck("queue", *args)
    assert ran.code == code
    assert said in ran.err


def test_a_watch_draws_the_queues_again_when_something_changes(
    live: Live, watching: Callable[..., WatchingCommand]
) -> None:
    watch = watching("queue", "batch", "-w")
    watch.until("ClusterQueue batch")
    live.create({**job("queued", 1, "slow"), "metadata": {**job("queued", 1, "slow")["metadata"], "namespace": "team"}})
    watch.until("1 admitted")
    live.do(lambda store: store.delete(Key(kinds.JOB, "team", "queued")))
    watch.until("0 admitted")
    assert watch.interrupt() == (0, "")


# explain


def test_a_job_that_waits_is_explained_level_by_level_with_remedies(ck: Run) -> None:
    ran = ck("explain", "large")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == (
        "Job default/large waits in LocalQueue default/main of ClusterQueue research: TopologyPlacementFailed"
    )
    assert "  requested: 12 pods of main, required example.com/rack" in lines
    assert "    example.com/rack        0 of 4 hold 12; b1/r2 holds the most: 8" in lines
    assert '    * relax to required "example.com/block"' in lines
    assert "    * ask for 8 pods instead of 12" in lines


def test_a_job_that_runs_is_explained_with_where_and_why_there(ck: Run) -> None:
    lines = ck("explain", "job/train").out.splitlines()
    assert lines[0] == (
        "Job default/train is admitted in LocalQueue default/main of ClusterQueue research: "
        "6 pods of main on 2 hosts, all in b1/r1"
    )
    assert "    b1/r1       6 pods  ████████████░░░░  2 more fit" in lines
    assert "  why there: what each level can hold without this job, for 6 pods of main" in lines
    assert "    example.com/rack        4 of 4 hold 6; b1/r1 holds the most: 8" in lines
    assert lines[-1] == "  placed again now, it would get the same place: it is in the tightest domain that holds it"


def test_the_same_as_data(ck: Run) -> None:
    found = json.loads(ck("explain", "large", "-o", "json").out)
    assert (found["state"], found["clusterQueue"], found["reason"]) == (
        "Waiting",
        "research",
        "TopologyPlacementFailed",
    )
    assert [one["holding"] for one in found["explanations"][0]["levels"]] == [1, 0, 0]
    both = json.loads(ck("explain", "train", "large", "-o", "json").out)
    assert [one["state"] for one in both] == ["Admitted", "Waiting"]
    assert both[0]["places"][0]["stays"] is True
    assert both[0]["podSets"][0]["domains"] == [{"path": ["n11"], "pods": 4}, {"path": ["n12"], "pods": 2}]


def test_a_manifest_is_explained_as_if_it_were_submitted(ck: Run, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job("new", 9)))
    ran = ck("explain", str(tmp_path / "job.yaml"))
    assert ran.out.splitlines()[0].startswith("Job default/new waits in LocalQueue default/main of ClusterQueue")
    (tmp_path / "fits.yaml").write_text(yaml.safe_dump(job("fits", 8)))
    out = ck("explain", str(tmp_path / "fits.yaml")).out
    assert "It would be admitted now: 8 pods of main on 2 hosts, all in b1/r2" in out


def test_an_unknown_name_is_answered_with_the_nearest_or_its_namespace(ck: Run, live: Live) -> None:
    ran = ck("explain", "trian")
    assert (ran.code, ran.out) == (4, "")
    assert "trian: no workload or job of this name in namespace default; did you mean train?" in ran.err
    assert "did you mean train?" in ran.err
    assert "use -n for its namespace: found Job default/train" in ck("explain", "train", "-n", "team").err


def deployment(name: str, pods: int, queue: str = "") -> Raw:
    template = job(name, pods, required="")["spec"]["template"]["spec"]
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {**template, "restartPolicy": "Always"},
            },
        },
    }


def pod(name: str, **labels: str) -> Raw:
    spec = job(name, 1, required="")["spec"]["template"]["spec"]
    meta = {"name": name, "namespace": "default", "labels": {key.replace("_", "-"): one for key, one in labels.items()}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def runs(name: str, number: int = 1) -> Callable[[Store], bool]:
    def look(store: Store) -> bool:
        mine = [one for one in store.all(kinds.POD) if one["metadata"]["name"].startswith(name)]
        return (
            sum(
                any(
                    each["type"] == "Ready" and each["status"] == "True"
                    for each in one["status"].get("conditions") or ()
                )
                for one in mine
            )
            == number
        )

    return look


def finished(name: str) -> Callable[[Store], bool]:
    def look(store: Store) -> bool:
        return any(
            one["metadata"]["ownerReferences"][0]["name"] == name
            and any(each["type"] == "Finished" for each in one["status"].get("conditions") or ())
            for one in store.all(kinds.WORKLOAD)
            if one.get("status")
        )

    return look


def gone(live: Live, kind: kinds.Kind, name: str, prefix: str = "") -> None:
    live.do(lambda store: store.delete(Key(kind, "default", name)))
    live.until(
        lambda store: not any(one["metadata"]["name"].startswith(prefix or name) for one in store.all(kinds.POD))
    )


def test_a_finished_job_is_explained_with_when_how_and_where(live: Live, ck: Run) -> None:
    quick = job("quick", 2)
    quick["spec"]["template"]["metadata"]["annotations"]["closeknit.dev/run-time"] = "0.1s"
    live.create(quick)
    live.until(finished("quick"))
    first, *rest = ck("explain", "job/quick").out.splitlines()
    assert first.startswith("Job default/quick finished at 2")
    assert first.endswith("Z: Succeeded")
    assert rest[-1].startswith("  it was admitted in ClusterQueue research for ")
    assert ": 2 pods of main on 1 host: b1/r1/n12" in rest[-1]
    data = json.loads(ck("explain", "quick", "-o", "json").out)
    assert (data["state"], data["reason"]) == ("Finished", "Succeeded")
    ran = ck("what-if", "quick")
    assert (ran.code, "quick: has already finished" in ran.err) == (4, True)
    gone(live, kinds.JOB, "quick")


def test_a_deployment_is_explained_by_its_pods_and_their_workloads(live: Live, ck: Run) -> None:
    live.create(deployment("web", 2, "main"))
    live.until(runs("web", 2))
    lines = ck("explain", "web").out.splitlines()
    assert lines[0] == "Deployment default/web: 2 of 2 pods ready"
    assert all(line.startswith("  web-") and " Ready on n" in line for line in lines[1:3])
    assert lines[3].startswith("  its pods belong to Workloads default/pod-web-")
    assert " is admitted in LocalQueue default/main of ClusterQueue research" in lines[4]
    data = json.loads(ck("explain", "deployment/web", "-o", "json").out)
    assert (data["object"]["kind"], len(data["pods"]), len(data["workloads"])) == ("Deployment", 2, 2)
    gone(live, kinds.DEPLOYMENT, "web")


def test_an_object_without_a_queue_is_reported_with_its_pods(live: Live, ck: Run) -> None:
    live.create(pod("lone"), deployment("free", 1))
    live.until(runs("lone"))
    live.until(runs("free"))
    first, second = ck("explain", "lone").out.splitlines()
    assert first.startswith("Pod default/lone is Ready on node n")
    assert second.startswith("  it has no queue, so Closeknit does not manage it; the label kueue.x-k8s.io/queue-name")
    assert ck("explain", "deploy/free").out.splitlines()[-1] == second
    gone(live, kinds.DEPLOYMENT, "free")
    gone(live, kinds.POD, "lone")


def test_a_pod_of_a_job_leads_to_the_workload_that_it_belongs_to(live: Live, ck: Run) -> None:
    live.until(runs("train", 6))
    name = next(one["metadata"]["name"] for one in live.do(lambda store: list(store.all(kinds.POD))))
    lines = ck("explain", f"pod/{name}").out.splitlines()
    assert lines[0].startswith(f"Pod default/{name} is Ready on node n1")
    assert lines[1].startswith("  it belongs to Workload default/job-train-")
    assert lines[2].startswith("Job default/train is admitted")
    workload = lines[1].rpartition("/")[2]
    assert ck("explain", workload).out.splitlines()[0] == lines[2]


def test_pods_belong_to_their_owner_and_not_to_an_object_with_their_labels(live: Live, ck: Run) -> None:
    other = {**deployment("twin", 1, "main"), "kind": "StatefulSet"}
    other["spec"] |= {"serviceName": "twin", **{key: deployment("web", 1)["spec"][key] for key in ("selector",)}}
    other["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    live.create(deployment("web", 2, "main"), other)
    live.until(runs("web", 2))
    live.until(runs("twin", 1))
    lines = ck("explain", "web").out.splitlines()
    assert lines[0] == "Deployment default/web: 2 of 2 pods ready"
    assert not any("twin" in line for line in lines)
    assert lines[-1] == "1 more workload is in the same state; -o json lists all"
    gone(live, kinds.STATEFUL_SET, "twin")
    gone(live, kinds.DEPLOYMENT, "web")


def test_a_leader_worker_set_counts_the_pods_of_all_its_groups(live: Live, ck: Run) -> None:
    template = {"spec": {**deployment("x", 1)["spec"]["template"]["spec"]}}
    meta = {"name": "serve", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    spec = {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": template}}
    live.create(
        {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": meta, "spec": spec}
    )
    live.until(runs("serve", 4))
    for name in ("lws/serve", "serve"):
        lines = ck("explain", name).out.splitlines()
        assert lines[0] == "LeaderWorkerSet default/serve: 4 of 4 pods ready"
        assert lines[5].startswith("  its pods belong to Workloads default/")
    gone(live, kinds.LEADER_WORKER_SET, "serve")


def test_a_job_of_another_object_names_its_owner(live: Live, ck: Run) -> None:
    child = job("piece", 1)["spec"]
    meta = {"name": "whole", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "main"}}
    spec = {"replicatedJobs": [{"name": "piece", "replicas": 1, "template": {"spec": child}}], "suspend": True}
    live.create({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": meta, "spec": spec})
    live.until(runs("whole"))
    lines = ck("explain", "whole-piece-0").out.splitlines()
    assert lines[0] == "Job default/whole-piece-0: 1 of 1 pod ready"
    assert "  it is part of JobSet whole" in lines
    assert any(line.startswith("JobSet default/whole is admitted") for line in lines)
    gone(live, kinds.JOB_SET, "whole")


def test_an_incomplete_pod_group_is_explained_by_its_name_and_by_its_pods(live: Live, ck: Run) -> None:
    one = pod("pg-0")
    one["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/pod-group-name": "pg"}
    one["metadata"]["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "2"}
    live.create(one)
    note = "its group has 1 of 2 pods and is queued once all of them exist"
    assert ck("explain", "pg").out.splitlines()[0] == f"Pod group default/pg: 0 of 2 pods ready; {note}"
    (line,) = ck("explain", "pg-0").out.splitlines()
    assert line == f"Pod default/pg-0 is gated by kueue.x-k8s.io/admission, kueue.x-k8s.io/topology; {note}"
    gone(live, kinds.POD, "pg-0")


@pytest.mark.parametrize(
    ("word", "instead"),
    [("clusterqueue/research", "closeknit queue research"), ("node/n11", "closeknit describe node n11")],
)
def test_objects_without_pods_are_answered_with_another_command(ck: Run, word: str, instead: str) -> None:
    ran = ck("explain", word)
    assert ran.code == 2
    assert f"{word}: is a " in ran.err
    assert f"`{instead}" in ran.err


def test_a_deleted_job_still_has_decisions(ck: Run) -> None:
    assert "if it was deleted, `closeknit decisions zzz -n default" in ck("explain", "zzz").err


def test_what_if_takes_the_name_of_a_job_that_is_there(ck: Run) -> None:
    ran = ck("what-if", "large")
    assert ran.code == 3
    assert "  Job default/large in LocalQueue default/main: TopologyPlacementFailed" in ran.out.splitlines()
    assert ck("what-if", "job/train").code == 0
    ran = ck("what-if", "nobody")
    assert ran.code == 4
    assert "nobody: no file, workload or job of this name in namespace default" in ran.err


def test_options_of_files_need_the_nodes(ck: Run) -> None:
    ran = ck("explain", "train", "--levels", "a,b")
    assert ran.code == 2
    assert "--levels: requires --nodes; add --nodes FILE, or remove it" in ran.err
    ran = ck("explain", "x.yaml", "--nodes", "n.yaml", "--context", "c")
    assert ran.code == 2
    assert "--nodes: cannot be combined with --context" in ran.err


def test_a_cluster_in_files_is_explained_the_same_way(ck: Run) -> None:
    sample = str(Path(__file__).parents[2] / "src/closeknit/samples/cluster")
    out = ck("explain", "sweep-3", "-n", "team-b", "--cluster", sample).out
    assert out.startswith("Job team-b/sweep-3 is admitted in LocalQueue team-b/batch of ClusterQueue batch")
    assert "1 of 4 holds 16; b02/b02-r02 holds the most: 16" in out


# what-if


def test_what_would_happen_on_the_running_cluster(ck: Run, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job("asked", 8, required=BLOCK)))
    ran = ck("what-if", str(tmp_path / "job.yaml"))
    assert ran.code == 0
    assert "Job default/asked is admitted to research: 8 pods of main on 2 hosts, all in b1/r2" in ran.out
    assert ck("get", "job", "asked").code == 4, "nothing was written"


def test_files_and_a_running_cluster_are_two_things(ck: Run) -> None:
    ran = ck("what-if", "--cluster", "x.yaml", "--context", "y")
    assert (ran.code, ran.err) == (2, "error: --cluster: cannot be combined with --context; give one of the two\n")


# tree


def test_the_tree_counts_admitted_workloads(ck: Run) -> None:
    lines = squeezed(ck("tree", "--level", "rack").out)
    assert lines == [
        "b1 4 nodes ▒▒▒▒▒▒░░░░░░░░░░ 20 of 32 cpu free",
        "├─ r1 2 nodes ▒▒▒▒▒▒▒▒▒▒▒▒░░░░ 4 of 16 cpu free",
        "└─ r2 2 nodes ░░░░░░░░░░░░░░░░ 16 of 16 cpu free",
        "b2 4 nodes ░░░░░░░░░░░░░░░░ 32 of 32 cpu free",
        "├─ r3 2 nodes ░░░░░░░░░░░░░░░░ 16 of 16 cpu free",
        "└─ r4 2 nodes ░░░░░░░░░░░░░░░░ 16 of 16 cpu free",
    ]


def test_other_levels_count_the_pods_that_are_bound(live: Live, ck: Run) -> None:
    live.until(lambda store: sum(bool(one["spec"].get("nodeName")) for one in store.all(kinds.POD)) == 6)
    lines = squeezed(ck("tree", "--levels", "example.com/rack,kubernetes.io/hostname", "--level", "rack").out)
    assert lines[0] == "r1 2 nodes ▒▒▒▒▒▒▒▒▒▒▒▒░░░░ 4 of 16 cpu free"
    assert len(lines) == 4


def test_the_tree_as_data_names_its_flavor(ck: Run) -> None:
    found = json.loads(ck("tree", "-o", "json").out)
    assert (found["flavor"], found["topology"]) == ("main", "default")
    assert found["domains"][0]["resources"]["cpu"] == {"allocatable": 32000, "used": 12000, "free": 20000}


def test_several_flavors_are_several_trees(live: Live, ck: Run) -> None:
    other: Raw = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "second"},
        "spec": {"nodeLabels": {BLOCK: "b2"}, "topologyName": "default"},
    }
    live.create(other)
    out = ck("tree", "--level", "block").out
    assert [line for line in out.splitlines() if "Flavor" in line] == [
        "ResourceFlavor main (Topology default)",
        "ResourceFlavor second (Topology default)",
    ]
    assert squeezed(ck("tree", "--flavor", "second", "--level", "block").out) == [
        "b2 4 nodes ░░░░░░░░░░░░░░░░ 32 of 32 cpu free"
    ]
    assert [one["flavor"] for one in json.loads(ck("tree", "-o", "json").out)] == ["main", "second"]
    live.do(lambda store: store.delete(Key(kinds.RESOURCE_FLAVOR, "", "second")))
    live.until(lambda store: store.find(kinds.RESOURCE_FLAVOR, "", "second") is None)


def test_a_tree_is_drawn_again_when_a_job_comes(live: Live, watching: Callable[..., WatchingCommand]) -> None:
    watch = watching("tree", "-w", "--level", "block")
    watch.until("20 of 32 cpu free")
    live.create(job("grows", 1, cpu="7"))
    watch.until("13 of 32 cpu free")
    live.do(lambda store: store.delete(Key(kinds.JOB, "default", "grows")))
    watch.until("20 of 32 cpu free")
    assert watch.interrupt() == (0, "")


@pytest.mark.parametrize("args", [["--nodes", "x.yaml"], ["-o", "json"], ["--svg", "x.svg"]])
def test_a_watch_of_the_tree_is_for_terminals_and_running_clusters(ck: Run, args: list[str]) -> None:
    ran = ck("tree", "-w", *args)
    assert ran.code == 2
    assert "--watch: draws a running cluster on the terminal" in ran.err


# decisions


def test_decisions_show_time_workload_outcome_place_or_reason_and_cost(ck: Run) -> None:
    ran = ck("decisions")
    heading, *rows = ran.out.splitlines()
    assert heading.split() == ["TIME", "WORKLOAD", "OUTCOME", "QUEUE", "COST", "LEVEL", "WHERE", "OR", "WHY"]
    (train,) = [row for row in rows if "job-train-" in row]
    assert "Admitted" in train
    assert train.endswith("rack       n11, n12")
    assert any("job-large-" in row and "Waits" in row and "couldn't assign flavors" in row for row in rows)


def test_decisions_of_one_job_and_of_a_time(ck: Run) -> None:
    found = json.loads(ck("decisions", "job/train", "-o", "json").out)
    assert [(one["outcome"], one["domains"]) for one in found] == [("Admitted", ["n11", "n12"])]
    assert found[0]["cost"] > 0
    assert abs(found[0]["at"] - time.time()) < 600
    ran = ck("decisions", "train", "--since", "0s")
    assert (ran.code, ran.out, ran.err) == (
        0,
        "",
        "no decisions found; `closeknit explain NAME` explains why a job waits\n",
    )


def test_decisions_are_followed(live: Live, watching: Callable[..., WatchingCommand]) -> None:
    watch = watching("decisions", "-w")
    watch.until("job-train-")
    live.create(job("soon", 1))
    assert "Admitted" in watch.until("job-soon-")
    assert watch.interrupt() == (0, "")
    live.do(lambda store: store.delete(Key(kinds.JOB, "default", "soon")))


def test_a_job_whose_pods_do_not_start_comes_first_with_the_message_of_its_scheduler(
    live: Live, ck: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = job("zz-stuck", 1, required="")
    stuck["spec"]["template"]["spec"]["schedulerName"] = "of-theirs"
    live.create(stuck)
    live.until(admitted("zz-stuck"))
    (pod,) = live.until(lambda store: [one for one in store.all(kinds.POD) if "zz-stuck" in one["metadata"]["name"]])
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/8 nodes: no volume"}
    key = Key(kinds.POD, "default", pod["metadata"]["name"])
    live.do(lambda store: store.patch(key, {"status": {"conditions": [why]}}, subresource="status"))
    before = ck("get", "jobs").out
    assert "no volume" not in before, "a minute has not passed"
    later = time.time() + 120
    monkeypatch.setattr("closeknit.cli.late_pods.time", lambda: later)
    lines = squeezed(ck("get", "jobs").out)
    assert lines[1].startswith("zz-stuck ")
    assert lines[1].endswith(f"its pods to start: Pod {pod['metadata']['name']}: 0/8 nodes: no volume")
    live.do(lambda store: store.delete(Key(kinds.JOB, "default", "zz-stuck")))
