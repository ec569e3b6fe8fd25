from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from closeknit.cli.main import main

REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
SLICE_LEVEL = "kueue.x-k8s.io/podset-slice-required-topology"
SLICE_SIZE = "kueue.x-k8s.io/podset-slice-size"


def a_job(name: str, annotations: dict[str, Any] | None = None, parallelism: Any = 8) -> dict[str, Any]:
    requests = {"requests": {"cpu": 1, "memory": "200Mi"}}
    containers = [{"name": "main", "image": "example.com/work:1", "resources": requests}]
    pod = {"restartPolicy": "Never", "containers": containers}
    template = {"metadata": {"annotations": annotations or {}}, "spec": pod}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"parallelism": parallelism, "template": template},
    }


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
TOPOLOGY = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Topology",
    "metadata": {"name": "default"},
    "spec": {"levels": [{"nodeLabel": "example.com/rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}
LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
UNEVEN = {SLICE_LEVEL: "example.com/rack", SLICE_SIZE: "4"}


class Checked:
    """A directory of manifests, and the output of `closeknit check` for it."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory, self.capsys = directory, capsys
        self.out = self.err = ""

    def write(self, name: str, *objects: Any) -> str:
        path = self.directory / name
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    def run(self, *args: str) -> int:
        with pytest.raises(SystemExit) as end:
            main(["check", *args])
        said = self.capsys.readouterr()
        self.out, self.err = (text.replace(f"{self.directory}/", "") for text in said)
        assert isinstance(end.value.code, int)
        return end.value.code


@pytest.fixture
def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Checked:
    return Checked(tmp_path, capsys)


def test_valid_objects_are_ok_and_other_kinds_are_skipped(checked: Checked) -> None:
    assert checked.run(checked.write("train.yaml", a_job("train"), TOPOLOGY, SERVICE)) == 0
    assert checked.out.splitlines() == [
        "ok       train.yaml: Job train: 8 pods",
        "ok       train.yaml: Topology default",
        "skipped  train.yaml: Service web: v1/Service is not read",
        "3 objects: 2 ok, 1 skipped",
    ]


def test_mistakes_are_listed_under_their_object_and_the_code_is_2(checked: Checked) -> None:
    file = checked.write("train.yaml", a_job("train"), a_job("tune", UNEVEN, 10), a_job("odd", None, "four"))
    assert checked.run(file) == 2
    assert checked.out.splitlines() == [
        "ok       train.yaml: Job train: 8 pods",
        "wrong    train.yaml: Job tune",
        f"    spec.template.metadata.annotations[{SLICE_SIZE}]: "
        "10 pods do not divide into slices of 4; use 8 or 12 pods",
        "wrong    train.yaml: Job odd",
        '    spec.parallelism: is "four", not a whole number; use a whole number',
        "3 objects: 1 ok, 2 wrong",
    ]


def test_jobs_of_one_generated_name_are_told_apart(checked: Checked) -> None:
    one, other = a_job("train"), a_job("tune", None, "four")
    one["metadata"] = other["metadata"] = {"generateName": "train-"}
    assert checked.run(checked.write("train.yaml", one, other)) == 2
    assert [line[:5] for line in checked.out.splitlines()] == ["ok   ", "wrong", "    s", "2 obj"]


def test_the_kueue_profile_and_single_gates_change_the_rules(checked: Checked) -> None:
    both = {REQUIRED: "example.com/block", PREFERRED: "example.com/rack"}
    file = checked.write("train.yaml", a_job("tune", UNEVEN, 10), a_job("both", both))
    assert checked.run(file, "--profile", "kueue") == 2
    assert "1 ok, 1 wrong" in checked.out
    assert "RequiredAndPreferred" in checked.out
    assert checked.run(file, "--profile", "kueue", "--feature-gates", "RequiredAndPreferred=true") == 0
    assert checked.run(file, "--feature-gates", "RefuseUnevenSlices=false") == 0


def test_an_unknown_gate_is_bad_use(checked: Checked) -> None:
    assert checked.run(checked.write("train.yaml", a_job("train")), "--feature-gates", "Nonsense=true") == 2


def test_topologies_flavors_and_nodes_are_checked(checked: Checked) -> None:
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "gpu"},
        "spec": {"topologyName": "default"},
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"cpu": "-4"}},
    }
    levels = [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "example.com/rack"}]
    file = checked.write("admin.yaml", {**TOPOLOGY, "spec": {"levels": levels}}, flavor, node)
    assert checked.run(file) == 2
    assert "move it to the end" in checked.out
    assert "for a flavor with a topology" in checked.out
    assert "status.allocatable.cpu: is -4; use a quantity that is not negative" in checked.out


def test_nodes_are_held_to_the_form_in_which_place_reads_them(checked: Checked) -> None:
    def a_node(name: str, **parts: Any) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": None}, **parts}

    taint = {"key": "k", "value": None, "effect": None}
    right = [a_node("n1", spec=None, status=None), a_node("n2", spec={"taints": [taint]})]
    assert checked.run(checked.write("nodes.yaml", *right)) == 0
    assert checked.run(checked.write("nodes.yaml", a_node("n3", spec={"taints": 5}))) == 2
    assert "    spec.taints: expected array, got int" in checked.out


def test_reports_of_zones_are_checked_in_both_versions(checked: Checked) -> None:
    zones = [
        {"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": 4, "allocatable": 4}]},
        {"name": "node_1", "type": "Node"},
    ]
    kind = {"kind": "NodeResourceTopology", "zones": zones}
    old = {"apiVersion": "topology.node.k8s.io/v1alpha1", "metadata": {"name": "old"}, **kind}
    new = {"apiVersion": "topology.node.k8s.io/v1alpha2", "metadata": {"name": "new"}, **kind}
    other = {"apiVersion": "topology.node.k8s.io/v1", "metadata": {"name": "other"}, **kind, "zones": []}
    assert checked.run(checked.write("zones.yaml", old, new, other)) == 2
    assert checked.out.count("zones[1].name") == 2
    assert checked.out.count("zones[0].resources[0].available") == 1
    assert 'apiVersion: is "topology.node.k8s.io/v1", which is not read' in " ".join(checked.out.split())


def test_pods_of_a_group_are_one_line(checked: Checked) -> None:
    pods = []
    container = {"name": "a", "image": "example.com/work:1"}
    for index in range(2):
        labels = {"kueue.x-k8s.io/pod-group-name": "ring"}
        annotations = {"kueue.x-k8s.io/pod-group-total-count": "2"}
        metadata = {"name": f"p{index}", "labels": labels, "annotations": annotations}
        pods.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
    assert checked.run(checked.write("pods.yaml", *pods)) == 0
    assert checked.out.splitlines()[0] == "ok       pods.yaml: Pod group ring: 2 pods"
    assert checked.run(checked.write("pods.yaml", pods[0])) == 2
    assert "    Pod p0: metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: is 2, but" in checked.out


def test_a_warning_is_shown_but_fails_nothing(checked: Checked) -> None:
    job = a_job("train")
    job["metadata"]["annotations"] = {REQUIRED: "example.com/rack"}
    assert checked.run(checked.write("train.yaml", job)) == 0
    assert f"    warning: metadata.annotations[{REQUIRED}]: is ignored there; put it" in checked.out


def test_a_file_that_cannot_be_read_does_not_hide_the_others(checked: Checked) -> None:
    (checked.directory / "broken.yaml").write_text("a: [")
    missing = str(checked.directory / "missing.yaml")
    good = checked.write("train.yaml", a_job("train"))
    assert checked.run(str(checked.directory / "broken.yaml"), missing, good) == 2
    assert "ok       train.yaml: Job train: 8 pods" in checked.out
    assert "broken.yaml" in checked.out
    assert "missing.yaml" in checked.out


def test_values_that_yaml_took_for_numbers_are_reported_once(checked: Checked) -> None:
    assert checked.run(checked.write("train.yaml", a_job("train", {**UNEVEN, SLICE_SIZE: 4}))) == 2
    assert checked.out.count(f"annotations[{SLICE_SIZE}]") == 1
    assert "1 object: 1 wrong" in checked.out


def test_wide_output_shows_workloads_and_what_they_ask_for(checked: Checked) -> None:
    annotations = {REQUIRED: "example.com/block", PREFERRED: "example.com/rack", **UNEVEN}
    assert checked.run(checked.write("train.yaml", a_job("train", annotations)), "-o", "wide") == 0
    assert (
        "      main: 8 x cpu 1, memory 200Mi; required example.com/block; preferred example.com/rack; "
        "slices of 4 in example.com/rack"
    ) in checked.out.splitlines()
    assert "    workload default/job-train-" in checked.out


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_output_for_machines_has_every_field(checked: Checked, form: str) -> None:
    file = checked.write("train.yaml", a_job("train"), a_job("odd", None, "four"))
    assert checked.run(file, "-o", form) == 2
    answer = json.loads(checked.out) if form == "json" else yaml.safe_load(checked.out)
    assert answer["summary"] == {"ok": 1, "wrong": 1, "skipped": 0}
    fine, odd = answer["objects"]
    assert (fine["state"], fine["object"], fine["file"]) == ("ok", "Job train", "train.yaml")
    assert fine["workloads"][0]["podSets"] == [{"name": "main", "count": 8}]
    assert odd["mistakes"] == [
        {
            "object": "Job odd",
            "field": "spec.parallelism",
            "text": 'is "four", not a whole number',
            "remedy": "use a whole number",
        }
    ]


def test_a_skipped_object_says_why_for_machines_too(checked: Checked) -> None:
    assert checked.run(checked.write("web.yaml", SERVICE), "-o", "json") == 0
    (service,) = json.loads(checked.out)["objects"]
    assert (service["state"], service["why"]) == ("skipped", "v1/Service is not read")


def test_one_of_anything_is_singular(checked: Checked) -> None:
    pool = checked.directory / "pool.yaml"
    pool.write_text("nodesPerRack: 1\nracksPerBlock: 1\nblocks: 1\nnode: {cpu: 4}\n")
    job = checked.write("train.yaml", a_job("train", None, 1))
    assert checked.run(job) == 0
    assert checked.out.splitlines() == ["ok       train.yaml: Job train: 1 pod", "1 object: 1 ok"]
    assert checked.run(str(pool)) == 0
    assert checked.out.splitlines() == ["ok       pool.yaml: pools of 1 node", "1 object: 1 ok"]


def test_a_misspelt_key_is_ok_with_a_warning_and_a_misspelt_field_is_wrong(checked: Checked) -> None:
    job = a_job("train", {"kueue.x-k8s.io/podset-requird-topology": "example.com/rack"})
    warning = (
        "    warning: spec.template.metadata.annotations[kueue.x-k8s.io/podset-requird-topology]: "
        f"is not a known key; did you mean {REQUIRED}?"
    )
    assert checked.run(checked.write("train.yaml", job)) == 0
    assert checked.out.splitlines()[1] == warning
    job["spec"]["paralelism"] = job["spec"].pop("parallelism")
    assert checked.run(checked.write("train.yaml", job)) == 2
    assert checked.out.splitlines() == [
        "wrong    train.yaml: Job train",
        "    spec.paralelism: is not a known field; did you mean parallelism?",
        warning,
        "1 object: 1 wrong",
    ]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("template", "spec", "restartPolicy"), "Nevr", 'spec.template.spec.restartPolicy: Unsupported value: "Nevr"'),
        (("template", "spec", "containers", 0, "image"), "", "spec.template.spec.containers[0].image: Required value"),
        (("template", "spec", "containers", 0, "colour"), "x", "containers[0].colour: is not a field of Job"),
        (("completionMode",), "Indxed", 'spec.completionMode: Unsupported value: "Indxed"'),
    ],
    ids=["word", "required", "unknown", "mode"],
)
def test_what_a_server_would_reject_is_wrong(checked: Checked, path: tuple[Any, ...], value: str, said: str) -> None:
    job = a_job("train")
    place: Any = job["spec"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert checked.run(checked.write("train.yaml", job)) == 2
    assert said in checked.out


def test_a_misspelt_kind_is_wrong_and_an_unrelated_kind_is_skipped(checked: Checked) -> None:
    assert checked.run(checked.write("train.yaml", {**a_job("train"), "kind": "Jbo"})) == 2
    assert 'kind: unknown kind "Jbo"; did you mean Job?' in checked.out
    other = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "x"}}
    assert checked.run(checked.write("other.yaml", other)) == 0
    assert checked.out.startswith("skipped  other.yaml: RoleBinding x")


def test_what_depends_on_other_objects_is_not_judged(checked: Checked) -> None:
    job = a_job("train")
    job["metadata"]["namespace"] = "nowhere"
    job["spec"]["template"]["spec"]["priorityClassName"] = "unheard-of"
    assert checked.run(checked.write("train.yaml", job)) == 0


BLOCK_RACK = "example.com/block,example.com/rack,kubernetes.io/hostname"
UPSIDE_DOWN = '[{"topology": "example.com/rack", "size": 4}, {"topology": "example.com/block", "size": 2}]'


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        (
            {REQUIRED: "example.com/rak"},
            f"{REQUIRED}: no requested topology level: example.com/rak; did you mean example.com/rack? the levels are",
        ),
        (
            {SLICE_LEVEL: "example.com/row", SLICE_SIZE: "4"},
            f"{SLICE_LEVEL}: no requested topology level for slices: example.com/row; ",
        ),
        (
            {REQUIRED: "example.com/rack", SLICE_LEVEL: "example.com/block", SLICE_SIZE: "4"},
            "is above the podset topology",
        ),
        ({LAYERS: UPSIDE_DOWN}, f"pod set main: {LAYERS}: "),
    ],
)
def test_jobs_are_held_against_the_topology(checked: Checked, annotations: dict[str, str], text: str) -> None:
    file = checked.write("train.yaml", a_job("train", annotations), a_job("free"))
    gates = ("--feature-gates", "TASMultiLayerTopology=true")
    assert checked.run(file, *gates) == 0  # without a topology there is nothing to check against
    levels = [{"nodeLabel": level} for level in BLOCK_RACK.split(",")]
    topology = checked.write("topology.yaml", {**TOPOLOGY, "spec": {"levels": levels}})
    for told in (("--levels", BLOCK_RACK), ("--topology", topology), (topology,)):
        assert checked.run(file, *told, *gates) == 2
        assert "wrong    train.yaml: Job train\n    pod set main: " in checked.out
        assert text in checked.out
        assert "ok       train.yaml: Job free: 8 pods" in checked.out


def test_the_copies_of_a_job_are_held_against_the_topology_once(checked: Checked) -> None:
    job = a_job("web", {REQUIRED: "example.com/rak"})
    spec = {"replicas": 3, "template": job["spec"]["template"]}
    deployment = {**job, "apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    assert checked.run(checked.write("web.yaml", deployment, TOPOLOGY)) == 2
    assert checked.out.count("pod set main") == 1
    assert "web-0" not in checked.out


def test_the_option_wins_over_the_topology_among_the_files(checked: Checked) -> None:
    file = checked.write("train.yaml", a_job("train", {REQUIRED: "example.com/rack"}), TOPOLOGY)
    assert checked.run(file) == 0
    assert checked.run(file, "--levels", "example.com/block") == 2


def test_among_several_topologies_none_is_used_and_a_note_reports_it(checked: Checked) -> None:
    other = {**TOPOLOGY, "metadata": {"name": "other"}}
    file = checked.write("train.yaml", a_job("train", {REQUIRED: "example.com/rak"}), TOPOLOGY, other)
    assert checked.run(file) == 0
    assert checked.err == "note: jobs are checked against none of the 2 Topologies; pick one: --topology\n"
    assert checked.run(file, "--topology", f"{file}#other") == 2
    assert checked.err == ""


def test_jobs_are_not_checked_against_an_invalid_topology(checked: Checked) -> None:
    wrong = {**TOPOLOGY, "spec": {"levels": []}}
    assert checked.run(checked.write("train.yaml", a_job("train", {REQUIRED: "example.com/rak"}), wrong)) == 2
    assert checked.out.splitlines()[0] == "ok       train.yaml: Job train: 8 pods"


def test_topology_and_levels_do_not_go_together(checked: Checked) -> None:
    file = checked.write("train.yaml", a_job("train"), TOPOLOGY)
    assert checked.run(file, "--topology", file, "--levels", "example.com/rack") == 2
    assert "--levels: cannot be combined with --topology; give one of the two" in checked.err
    assert checked.run("-", "--topology", "-") == 2
    assert "standard input can be read only once" in checked.err


def test_a_group_that_would_lose_pods_is_wrong(checked: Checked) -> None:
    def pod_set(name: str, count: int) -> dict[str, Any]:
        request = {"required": "example.com/rack", "podSetGroupName": "g"}
        template = {"spec": {"containers": [{"name": "main"}]}}
        return {"name": name, "count": count, "template": template, "topologyRequest": request}

    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "wl"},
        "spec": {"podSets": [pod_set("a", 2), pod_set("b", 3)]},
    }
    assert checked.run(checked.write("wl.yaml", workload)) == 2
    assert checked.out.splitlines()[:2] == [
        "wrong    wl.yaml: Workload wl",
        "    group g: its pod sets have 2, 3 pods; a group is one leader pod and its workers: "
        "give it two pod sets, one of them with count 1",
    ]


def test_help_teaches_by_example(checked: Checked) -> None:
    assert checked.run("--help") == 0
    assert "closeknit check train.yaml topology.yaml" in checked.out


POOL = "blocks: 2\nracksPerBlock: 2\nnodesPerRack: 5\nnode: {cpu: 96}\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (POOL, 0, ["ok       standard input: pools of 20 nodes", "1 object: 1 ok"]),
        (yaml.safe_dump(a_job("train")), 0, ["ok       standard input: Job train: 8 pods", "1 object: 1 ok"]),
        (
            POOL.replace("2", "0", 1),
            2,
            ["wrong    standard input: pools", "    pool: blocks: is 0; write one or more", "1 object: 1 wrong"],
        ),
        (
            "",
            2,
            [
                "wrong    standard input",
                "    holds nothing; pipe something into it, and use - only once",
                "1 object: 1 wrong",
            ],
        ),
    ],
)
def test_standard_input_is_read_as_a_file_is(
    checked: Checked, monkeypatch: pytest.MonkeyPatch, text: str, code: int, said: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert (checked.run("-"), checked.out.splitlines()) == (code, said)


HYPER_NODES = """
apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata: {name: s0}
spec: {tier: 1, tierName: rack, members: [{type: Node, selector: {exactMatch: {name: n1}}}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {minMember: 1, minResources: {cpu: 1}, networkTopology: {mode: hard, highestTierName: rak}}
"""


def test_groups_are_checked_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "groups.yaml"
    file.write_text(HYPER_NODES)
    with pytest.raises(SystemExit) as ended:
        main(["check", str(file)])
    assert ended.value.code == 2
    assert capsys.readouterr().out.splitlines() == [
        f"ok       {file}: HyperNode s0",
        f"wrong    {file}: PodGroup g",
        "    line 10: spec.networkTopology.highestTierName: no HyperNode has the tier name rak; "
        "did you mean rack? the tier names are rack",
        "    warning: spec.minResources: is ignored; it has no effect here",
        "2 objects: 1 ok, 1 wrong",
    ]


def test_a_job_that_kubectl_printed_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, uid = a_job("printed"), "d6ccdc44-0000-4000-8000-000000000000"
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "printed"}
    job["metadata"] |= {"uid": uid, "labels": {**(job["metadata"].get("labels") or {}), **labels}}
    old = {"controller-uid": uid, "job-name": "printed"}
    job["spec"]["template"].setdefault("metadata", {})["labels"] = {**labels, **old}
    job["spec"]["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    with pytest.raises(SystemExit) as ended:
        main(["check", str(path)])
    assert ended.value.code == 0, capsys.readouterr().out
