"""`closeknit get` and `describe` on a running cluster."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import yaml

from cli.conftest import Run, WatchingCommand
from cli.live import BLOCK, NODES, QUEUES, Live, admitted, job
from closeknit.cluster import kinds
from closeknit.cluster.port import Key


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    """6 pods that fill most of rack r1, and 12 pods for which no rack is large enough."""
    live.create(*NODES, *QUEUES, job("train", 6), job("large", 12))
    live.until(admitted("train"))
    live.until(lambda store: [one for one in store.all(kinds.WORKLOAD) if waits(one)])
    live.until(lambda store: sum(one["status"].get("phase") == "Running" for one in store.all(kinds.POD)) == 6)
    live.until(lambda store: (store.get(kinds.CLUSTER_QUEUE, "", "research").get("status") or {}).get("conditions"))


def waits(workload: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    conditions = (workload.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "QuotaReserved" and one["status"] == "False" for one in conditions)


def columns(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


def test_jobs_are_shown_with_queue_level_domains_and_what_they_wait_for(ck: Run) -> None:
    ran = ck("get", "jobs")
    heading, large, train = map(columns, ran.out.splitlines())
    assert heading == [
        *("NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"),
        *("QUEUE", "LEVEL", "DOMAINS", "WAITING FOR"),
    ]
    assert [large[0], *large[5:]] == ["large", "main", "<none>", "<none>", "TopologyPlacementFailed"]
    assert [train[0], *train[5:]] == ["train", "main", "rack", "b1/r1, 2 hosts", "<none>"]
    assert (ran.code, ran.err) == (0, "")


def test_workloads_have_the_same_columns(ck: Run) -> None:
    heading, *rows = map(columns, ck("get", "wl").out.splitlines())
    assert heading == ["NAME", "QUEUE", "RESERVED IN", "ADMITTED", "FINISHED", "AGE", "LEVEL", "DOMAINS", "WAITING FOR"]
    assert [row[2:4] + row[6:] for row in rows] == [
        ["<none>", "False", "<none>", "<none>", "TopologyPlacementFailed"],
        ["research", "True", "rack", "b1/r1, 2 hosts", "<none>"],
    ]


def test_nodes_say_where_in_the_topology_they_are(ck: Run) -> None:
    rows = ck("get", "nodes", "-l", "example.com/rack=r3").out.splitlines()
    assert [columns(row)[-1] for row in rows] == ["DOMAIN", "b2/r3/n31", "b2/r3/n32"]


def test_queues_flavors_and_topologies_say_what_matters(ck: Run) -> None:
    out = ck("get", "clusterqueues,flavors,topologies").out
    assert "research" in out
    assert [columns(line)[-1] for line in out.split("\n\n")[0].splitlines()] == ["STATE", "active"]
    assert [columns(line)[-1] for line in out.split("\n\n")[1].splitlines()] == ["STATE", "active"]
    assert "example.com/block, example.com/rack, kubernetes.io/hostname" in out.split("\n\n")[2]


def test_a_wide_table_shows_the_node_of_a_pod_once(ck: Run) -> None:
    assert ck("get", "pods").out.splitlines()[0].count("NODE") == 1
    wide = columns(ck("get", "pods", "-o", "wide").out.splitlines()[0])
    assert wide.count("NODE") == 1
    assert wide[-1] == "WORKLOAD"


def test_all_namespaces_have_a_column_of_their_own(ck: Run) -> None:
    lines = ck("get", "jobs", "-A").out.splitlines()
    assert [columns(line)[:2] for line in lines] == [["NAMESPACE", "NAME"], ["default", "large"], ["default", "train"]]


def test_names_are_what_delete_and_describe_take(ck: Run) -> None:
    assert ck("get", "jobs", "-o", "name").out == "job.batch/large\njob.batch/train\n"


def test_json_and_yaml_omit_managed_fields(ck: Run) -> None:
    raw = json.loads(ck("get", "job", "train", "-o", "json").out)
    assert (raw["kind"], raw["metadata"]["name"], raw["spec"]["parallelism"]) == ("Job", "train", 6)
    assert "managedFields" not in raw["metadata"]
    assert yaml.safe_load(ck("get", "job/train", "-o", "yaml").out) == raw
    items = json.loads(ck("get", "jobs", "-o", "json").out)["items"]
    assert [(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in items] == [
        ("batch/v1", "Job", "large"),
        ("batch/v1", "Job", "train"),
    ]


def test_a_missing_object_is_exit_code_4_with_a_remedy(ck: Run) -> None:
    ran = ck("get", "job", "nope")
    assert (ran.code, ran.out) == (4, "")
    assert ran.err == 'error: jobs.batch "nope" not found; `closeknit get jobs -A` lists those that exist\n'


def test_existing_objects_are_shown_if_others_are_missing(ck: Run) -> None:
    ran = ck("get", "nodes", "nope", "n11", "n12")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["NAME", "n11", "n12"]
    assert (ran.code, ran.err) == (4, 'error: nodes "nope" not found; `closeknit get nodes` lists those that exist\n')
    ran = ck("get", "node/n11", "job/nope", "-o", "json")
    assert [one["metadata"]["name"] for one in json.loads(ran.out)["items"]] == ["n11"]
    assert ran.code == 4
    ran = ck("describe", "node", "nope", "n11")
    assert (ran.code, ran.out.splitlines()[0]) == (4, "Node n11")


def test_all_is_whatever_runs_or_waits_and_names_say_of_which_kind_they_are(ck: Run) -> None:
    ran = ck("get", "all")
    names = [line.split()[0].rsplit("-", 1)[0] for line in ran.out.splitlines() if line and "NAME" not in line]
    assert {name for name in names if name.startswith(("job", "work"))} == {
        "job.batch/large",
        "job.batch/train",
        "workload.kueue.x-k8s.io/job-large",
        "workload.kueue.x-k8s.io/job-train",
    }
    assert sum(name.startswith("pod/train") for name in names) == 6
    assert (ran.code, ran.err) == (0, "")
    assert ck("get", "all", "-n", "kube-public").err == "nothing runs or waits in namespace kube-public\n"
    ran = ck("get", "all", "train")
    assert (ran.code, ran.err) == (2, "error: all: stands for many kinds; remove the names: train\n")


def test_pods_show_their_workload(ck: Run) -> None:
    heading, *rows = map(columns, ck("get", "pods").out.splitlines())
    assert heading[-1] == "WORKLOAD"
    assert {row[-1].rsplit("-", 1)[0] for row in rows} == {"job-train"}


def test_an_empty_list_is_reported_on_stderr(ck: Run) -> None:
    ran = ck("get", "jobsets")
    assert (ran.code, ran.out, ran.err) == (0, "", "no jobsets found in namespace default\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nodes", "-n", "x"], "--namespace: nodes are not namespaced; omit -n and -A"),
        (["job", "a", "-l", "x=y"], "--selector: cannot be combined with names"),
        (["job", "a", "-A"], "--all-namespaces: cannot be combined with names; give their namespace with -n"),
        (["jobs,pods", "-w"], "--watch: watches one kind or one object; give only one"),
    ],
)
def test_options_that_contradict_each_other_are_refused(ck: Run, args: list[str], said: str) -> None:
    ran = ck("get", *args)
    assert ran.code == 2
    assert said in ran.err


def test_a_watch_shows_what_is_there_and_then_every_change(
    live: Live, watching: Callable[..., WatchingCommand]
) -> None:
    watch = watching("get", "jobs", "-w")
    watch.until("train")
    live.create(job("late", 1, required=BLOCK))
    assert "late" in watch.until("late")
    watch.until("b1/r1/n12")
    live.do(lambda store: store.delete(Key(kinds.JOB, "default", "late"), propagation="Background"))
    assert watch.interrupt() == (0, "")


def test_a_watch_by_name_prints_a_line_per_change(live: Live, watching: Callable[..., WatchingCommand]) -> None:
    watch = watching("get", "configmaps", "-w", "-o", "name")
    live.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen", "namespace": "default"}})
    assert watch.until("seen") == "configmap/seen"
    assert watch.interrupt() == (0, "")


# describe


def test_a_job_is_described_with_the_tree_of_its_placement(ck: Run) -> None:
    ran = ck("describe", "job", "train")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "Job default/train"
    start = lines.index("  main: 6 pods of main, all in one example.com/rack")
    assert lines[start - 1] == "  Admitted in LocalQueue main of ClusterQueue research, priority 0"
    assert lines[start + 1 : start + 4] == ["    b1/r1   6 pods", "    ├─ n11  4 pods", "    └─ n12  2 pods"]
    assert "  parallelism: 6" in lines
    assert any("QuotaReserved" in line and "ClusterQueue research" in line for line in lines)


def test_a_waiting_workload_is_described_with_its_reason_and_the_explain_command(ck: Run) -> None:
    name = ck("get", "wl", "-o", "name").out.splitlines()[0].split("/")[1]
    out = ck("describe", f"workload/{name}").out
    assert "  Pending in LocalQueue main, priority 0\n" in out
    assert "  waits for: TopologyPlacementFailed: couldn't assign flavors to pod set main" in out
    assert f"  what would help: closeknit explain default/{name}\n" in out
    assert "QuotaReserved   False    TopologyPlacementFailed" in out


def test_describe_finds_a_workload_by_its_job_with_a_note(ck: Run) -> None:
    ran = ck("describe", "wl", "train")
    assert ran.code == 0
    assert ran.out.startswith("Workload default/job-train-")
    assert ran.err.startswith("note: job-train-")
    assert ran.err.endswith(" is the workload of Job train\n")
    assert ck("describe", "wl", "nobody").code == 4


def test_a_node_is_described_with_its_pods(ck: Run) -> None:
    out = ck("describe", "node", "n12").out
    assert "pods (2):" in out
    assert out.count("Running") == 2


def test_describe_needs_a_name(ck: Run) -> None:
    ran = ck("describe", "jobs")
    assert ran.code == 2
    assert "NAME: is missing; write KIND NAME; `closeknit get jobs` lists names" in ran.err
