"""`closeknit apply` and `delete` on a running cluster."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.conftest import Run
from cli.live import NODES, QUEUES, Live, Raw, job
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import WriteOptions
from closeknit.cluster.port import Key


def config_map(name: str, value: str = "1", **meta: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": {"a": value}}


def written(folder: Path, *objects: Raw, name: str = "objects.yaml") -> str:
    path = folder / name
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def test_objects_are_created_then_unchanged_then_configured(ck: Run, tmp_path: Path) -> None:
    file = written(tmp_path, config_map("one"), config_map("two"))
    ran = ck("apply", "-f", file)
    assert (ran.code, ran.out) == (0, "configmap/one created\nconfigmap/two created\n")
    assert ran.err.startswith("on context closeknit of ")
    assert ck("apply", file).out == "configmap/one unchanged\nconfigmap/two unchanged\n"
    written(tmp_path, config_map("one", "2"), config_map("two"))
    assert ck("apply", file).out == "configmap/one configured\nconfigmap/two unchanged\n"


def test_what_is_applied_is_ours_by_server_side_apply(live: Live, ck: Run, tmp_path: Path) -> None:
    ck("apply", written(tmp_path, config_map("owned")))
    found = live.do(lambda store: store.get(kinds.CONFIG_MAP, "default", "owned"))
    assert [(one["manager"], one["operation"]) for one in found["metadata"]["managedFields"]] == [
        ("closeknit", "Apply")
    ]


def test_namespaces_and_queues_come_before_the_jobs_that_need_them(ck: Run, tmp_path: Path) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    moved = job("early", 1)
    moved["metadata"]["namespace"] = "team"
    queue = {**QUEUES[3], "metadata": {"name": "main", "namespace": "team"}}
    ran = ck("apply", written(tmp_path, moved, queue, *QUEUES[:3], space, *NODES[:1]))
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "namespace/team created",
        "topology.kueue.x-k8s.io/default created",
        "node/n11 created",
        "resourceflavor.kueue.x-k8s.io/main created",
        "localqueue.kueue.x-k8s.io/main created",
        "clusterqueue.kueue.x-k8s.io/research created",
        "job.batch/early created",
    ]


def test_v1beta1_is_sent_as_v1beta2_with_a_note(live: Live, ck: Run, tmp_path: Path) -> None:
    old = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "ClusterQueue",
        "metadata": {"name": "old"},
        "spec": {"cohort": "lab", "namespaceSelector": {}},
    }
    ran = ck("apply", written(tmp_path, old))
    assert (ran.code, ran.out) == (0, "clusterqueue.kueue.x-k8s.io/old created\n")
    assert "note: 1 v1beta1 ClusterQueue sent as v1beta2\n" in ran.err
    assert live.do(lambda store: store.get(kinds.CLUSTER_QUEUE, "", "old"))["spec"]["cohortName"] == "lab"


SAMPLES = Path(os.environ.get("CLOSEKNIT_MANIFESTS", Path(__file__).parents[3] / "shared" / "manifests")) / "kueue"
OLD_FIELDS = {"cohortName:": "cohort:", "v1beta2": "v1beta1"}


@pytest.mark.skipif(not SAMPLES.exists(), reason=f"SKIPPED, LOUDLY: no published manifests at {SAMPLES}")
@pytest.mark.parametrize("topology", ["v1beta2", "v1beta1", "v1alpha1"])
@pytest.mark.parametrize(
    "setup", ["tas/sample-queues.yaml", "tas/sample-gpu-queues.yaml", "admin/shared-quota-setup.yaml"]
)
def test_samples_of_kueue_are_applied_in_the_versions_of_their_time(
    ck: Run, tmp_path: Path, setup: str, topology: str
) -> None:
    """Up to 0.14 the samples were v1beta1, and up to 0.13 the Topology v1alpha1."""
    text = (SAMPLES / setup).read_text()
    if topology != "v1beta2":
        for new, old in OLD_FIELDS.items():
            text = text.replace(new, old)
        text = text.replace("v1beta1\nkind: Topology", f"{topology}\nkind: Topology")
        text = text.replace('v1beta1"\nkind: Topology', f'{topology}"\nkind: Topology')
    space = "".join(
        f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n" for name in ("team-a", "team-b")
    )
    file = tmp_path / "sample.yaml"
    file.write_text(text + "\n" + space)
    ran = ck("apply", "-f", str(file))
    assert ran.code == 0, ran.err
    assert "refused" not in ran.err


def test_pools_in_the_compact_form_make_nodes(live: Live, ck: Run, tmp_path: Path) -> None:
    (tmp_path / "pools.yaml").write_text("racks: 1\nnodesPerRack: 2\nnode: {cpu: 4, memory: 8Gi}\n")
    ran = ck("apply", str(tmp_path / "pools.yaml"))
    assert ran.out == "node/b01-r01-n01 created\nnode/b01-r01-n02 created\n"
    found = live.do(lambda store: store.get(kinds.NODE, "", "b01-r01-n01"))
    assert found["status"]["allocatable"] == {"cpu": "4", "memory": "8Gi", "pods": "110"}


def test_server_fields_of_an_object_are_dropped(ck: Run, tmp_path: Path) -> None:
    foreign = config_map("moved", uid="7", resourceVersion="99", creationTimestamp="2026-01-01T00:00:00Z")
    foreign["metadata"]["managedFields"] = [{"manager": "x", "operation": "Update"}]
    assert ck("apply", written(tmp_path, foreign)).out == "configmap/moved created\n"


def test_objects_of_which_one_cannot_be_used_are_not_sent_at_all(live: Live, ck: Run, tmp_path: Path) -> None:
    wrong = {"apiVersion": "example.com/v1", "kind": "Jobb", "metadata": {"name": "x"}}
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    ran = ck("apply", written(tmp_path, config_map("never"), wrong, nameless))
    assert (ran.code, ran.out) == (2, "")
    assert "Jobb x: kind: example.com/v1 Jobb is not supported; did you mean Job?" in ran.err
    assert "metadata.name: is missing; give it a name" in ran.err
    assert live.do(lambda store: store.find(kinds.CONFIG_MAP, "default", "never")) is None


def test_a_version_that_is_not_served_is_answered_with_the_one_that_is(ck: Run, tmp_path: Path) -> None:
    ran = ck("apply", written(tmp_path, {**job("x", 1), "apiVersion": "batch/v1beta1"}))
    assert ran.code == 2
    assert "apiVersion: batch/v1beta1 is not served; use batch/v1" in ran.err


def test_an_object_that_the_cluster_refuses_is_named_with_its_field_and_changes_nothing(
    live: Live, ck: Run, tmp_path: Path
) -> None:
    wrong = job("wrong", 2)
    wrong["spec"]["completions"] = -2
    ran = ck("apply", written(tmp_path, wrong, config_map("beside")))
    assert ran.code == 4
    assert ran.out == "configmap/beside created\n"
    assert 'job.batch/wrong: Job.batch "wrong" is invalid: ' in ran.err
    assert "spec.completions: is -2; use a whole number from 0 to 2147483647" in ran.err
    assert ran.err.endswith("1 of 2 objects applied, 1 refused\n")
    assert live.do(lambda store: store.find(kinds.JOB, "default", "wrong")) is None


def test_an_unknown_field_is_rejected_with_the_nearest(ck: Run, tmp_path: Path) -> None:
    typo = job("typo", 2)
    typo["spec"]["paralelism"] = 2
    ran = ck("apply", written(tmp_path, typo))
    assert ran.code == 4
    assert "spec.paralelism: is not a known field; did you mean parallelism?" in ran.err


def test_fields_of_other_managers_are_a_conflict_unless_forced(live: Live, ck: Run, tmp_path: Path) -> None:
    live.do(
        lambda store: store.patch(
            Key(kinds.CONFIG_MAP, "default", "theirs"),
            config_map("theirs", "1"),
            "apply",
            options=WriteOptions(manager="somebody"),
        )
    )
    file = written(tmp_path, config_map("theirs", "2"))
    ran = ck("apply", file)
    assert ran.code == 4
    assert 'conflict with "somebody"' in ran.err
    assert "take them over with --force-conflicts" in ran.err
    assert ck("apply", file, "--force-conflicts").out == "configmap/theirs configured\n"


def test_a_dry_run_changes_nothing(live: Live, ck: Run, tmp_path: Path) -> None:
    assert ck("apply", "--dry-run", written(tmp_path, config_map("dry"))).out == "configmap/dry created (dry run)\n"
    assert live.do(lambda store: store.find(kinds.CONFIG_MAP, "default", "dry")) is None


def test_standard_input_is_read_and_namespaces_are_those_of_the_option(
    live: Live, ck: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = yaml.safe_dump(config_map("piped")).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert ck("apply", "-f", "-", "-n", "kube-public").out == "configmap/piped created\n"
    assert live.do(lambda store: store.find(kinds.CONFIG_MAP, "kube-public", "piped")) is not None


def test_a_namespace_that_contradicts_the_option_is_refused(ck: Run, tmp_path: Path) -> None:
    ran = ck("apply", "-n", "team-b", written(tmp_path, config_map("x", namespace="team-a")))
    assert ran.code == 2
    assert "metadata.namespace: is team-a, but -n is team-b; omit -n, or use -n team-a" in ran.err


def test_an_object_with_a_generated_name_is_created_each_time(ck: Run, tmp_path: Path) -> None:
    raw = config_map("x")
    raw["metadata"] = {"generateName": "made-"}
    names = {ck("apply", written(tmp_path, raw), "-o", "name").out for _ in range(2)}
    assert len(names) == 2
    assert all(name.startswith("configmap/made-") for name in names)


def test_without_a_file_there_is_nothing_to_apply(ck: Run) -> None:
    ran = ck("apply")
    assert (ran.code, ran.err) == (2, "error: FILE: is missing; give at least one file, or - for standard input\n")


# delete


def test_objects_are_deleted_by_name_by_label_and_by_manifest(live: Live, ck: Run, tmp_path: Path) -> None:
    file = written(tmp_path, config_map("d1"), config_map("d2", labels={"x": "y"}), config_map("d3"))
    ck("apply", file)
    assert ck("delete", "configmap", "d1").out == "configmap/d1 deleted\n"
    assert ck("delete", "cm", "-l", "x=y").out == "configmap/d2 deleted\n"
    ran = ck("delete", "-f", file, "--ignore-not-found")
    assert (ran.code, ran.out) == (0, "configmap/d3 deleted\n")
    assert not live.do(lambda store: [one for one in store.all(kinds.CONFIG_MAP) if one["metadata"]["name"][0] == "d"])


def test_the_pods_of_a_job_go_with_it(live: Live, ck: Run) -> None:
    live.create({**job("plain", 1), "metadata": {"name": "plain", "namespace": "default"}})
    live.do(lambda store: store.patch(Key(kinds.JOB, "default", "plain"), {"spec": {"suspend": False}}))
    live.until(lambda store: [one for one in store.all(kinds.POD) if one["metadata"]["name"].startswith("plain")])
    assert ck("delete", "job/plain").out == "job.batch/plain deleted\n"
    live.until(lambda store: not [one for one in store.all(kinds.POD) if one["metadata"]["name"].startswith("plain")])


def test_what_is_not_there_is_exit_code_4_and_the_rest_is_deleted(ck: Run, tmp_path: Path) -> None:
    ck("apply", written(tmp_path, config_map("there")))
    ran = ck("delete", "configmap/nope", "configmap/there")
    assert (ran.code, ran.out) == (4, "configmap/there deleted\n")
    assert 'configmaps "nope" not found' in ran.err


def test_a_blocked_deletion_ends_at_the_timeout(live: Live, ck: Run, tmp_path: Path) -> None:
    ck("apply", written(tmp_path, config_map("held", finalizers=["example.com/hold"])))
    ran = ck("delete", "configmap", "held", "--timeout", "0.3s")
    assert ran.code == 3
    assert "not deleted within 0.3 s: configmap/held; `closeknit describe configmap/held -n default`" in ran.err
    assert "blocked by example.com/hold" in ck("describe", "configmap", "held").out
    live.do(lambda store: store.patch(Key(kinds.CONFIG_MAP, "default", "held"), {"metadata": {"finalizers": None}}))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "KIND: is missing; write KIND NAME, KIND/NAME, or -f FILE"),
        (["jobs"], "NAME: is missing; give names, -l SELECTOR, or --all"),
        (["job", "a", "--all"], "--selector, --all: need a kind without names"),
    ],
)
def test_delete_without_a_target_is_rejected(ck: Run, args: list[str], said: str) -> None:
    ran = ck("delete", *args)
    assert ran.code == 2
    assert said in ran.err
