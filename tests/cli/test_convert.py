"""`closeknit convert` and `closeknit crds`, and the notes about v1beta1 manifests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from closeknit.cli.main import main

OLD_QUEUE = """
# our queue
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: main}
spec: {cohort: all, admissionChecks: [prov]}
"""
OLD_WORKLOAD = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: Workload
metadata: {name: w, namespace: team}
spec: {podSets: [{name: main, count: 2, template: {spec: {containers: [{name: c, image: i}]}}}]}
"""
OLD_ZONES = """
apiVersion: topology.node.k8s.io/v1alpha1
kind: NodeResourceTopology
metadata: {name: n1}
topologyPolicies: [SingleNumaNode]
zones: [{name: node-0, type: Node, resources: [{name: cpu, capacity: 4, allocatable: 3}]}]
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {kind: "kueue.x-k8s.io/v1beta1"}
"""
NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "8", pods: "10"}, conditions: [{type: Ready, status: "True"}]}
"""


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def written(folder: Path, *documents: str) -> str:
    file = folder / "objects.yaml"
    file.write_text("---".join(documents))
    return str(file)


def test_old_objects_are_printed_as_new_ones_and_the_rest_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", written(tmp_path, OLD_QUEUE, SETTINGS)) == 0
    said = capsys.readouterr()
    queue, other = yaml.safe_load_all(said.out)
    assert queue["apiVersion"] == "kueue.x-k8s.io/v1beta2"
    assert queue["spec"] == {"cohortName": "all", "admissionChecksStrategy": {"admissionChecks": [{"name": "prov"}]}}
    assert other == yaml.safe_load(SETTINGS)
    assert said.err == "note: 1 v1beta1 ClusterQueue written as v1beta2\n"


def test_json_is_one_object_or_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "-o", "json", written(tmp_path, OLD_QUEUE)) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "ClusterQueue"
    assert run("convert", "-o", "json", written(tmp_path, OLD_QUEUE, SETTINGS)) == 0
    assert [one["kind"] for one in json.loads(capsys.readouterr().out)["items"]] == ["ClusterQueue", "ConfigMap"]


def test_files_without_v1beta1_objects_get_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", written(tmp_path, SETTINGS)) == 0
    assert capsys.readouterr().err == "note: no objects of v1beta1 or v1alpha1 found\n"


def test_a_file_that_is_not_there_is_wrong_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "nowhere.yaml") == 2
    assert "there is no such file" in capsys.readouterr().err


def test_an_object_that_cannot_be_converted_is_named_and_nothing_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = yaml.safe_load(OLD_WORKLOAD)
    place = {"levels": ["rack"], "domains": [{"values": 3, "count": "x"}]}
    broken["status"] = {"admission": {"podSetAssignments": [{"name": "main", "topologyAssignment": place}]}}
    assert run("convert", written(tmp_path, SETTINGS, "\n" + yaml.safe_dump(broken))) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Workload team/w" in said.err


@pytest.mark.parametrize("command", [("check",), ("place", "--nodes", "NODES"), ("explain", "--nodes", "NODES")])
def test_commands_that_read_jobs_note_v1beta1_objects(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = tmp_path / "nodes.yaml"
    nodes.write_text(NODE)
    run(*(str(nodes) if word == "NODES" else word for word in command), written(tmp_path, OLD_WORKLOAD))
    assert "note: 1 v1beta1 Workload read as v1beta2\n" in capsys.readouterr().err


def test_definitions_are_printed_all_or_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("crds") == 0
    assert len(list(yaml.safe_load_all(capsys.readouterr().out))) == 11
    assert run("crds", "cq", "Topology", "-o", "json") == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert [one["spec"]["names"]["kind"] for one in items] == ["ClusterQueue", "Topology"]


def test_yaml_and_json_of_a_definition_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    run("crds", "workloads")
    as_yaml = yaml.safe_load(capsys.readouterr().out)
    run("crds", "workloads", "-o", "json")
    assert as_yaml == json.loads(capsys.readouterr().out)


def test_a_name_that_is_no_kind_of_kueue_is_refused_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("crds", "clusterques") == 2
    assert "did you mean clusterqueues?" in capsys.readouterr().err


ALPHA = (
    """
apiVersion: kueue.x-k8s.io/v1alpha1
kind: Topology
metadata: {name: default}
spec: {levels: [{nodeLabel: example.com/rack}, {nodeLabel: kubernetes.io/hostname}]}
""",
    """
apiVersion: kueue.x-k8s.io/v1alpha1
kind: Cohort
metadata: {name: team}
spec: {parent: all}
""",
)


def test_v1alpha1_is_converted_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", written(tmp_path, *ALPHA)) == 0
    printed = capsys.readouterr()
    topology, cohort = yaml.safe_load_all(printed.out)
    assert topology == {**yaml.safe_load(ALPHA[0]), "apiVersion": "kueue.x-k8s.io/v1beta2"}
    assert (cohort["apiVersion"], cohort["spec"]) == ("kueue.x-k8s.io/v1beta2", {"parentName": "all"})
    assert "note: 1 v1alpha1 Topology written as v1beta2" in printed.err


GROUP = """
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: g}
spec: {minMember: 1, networkTopology: {mode: hard, highestTierAllowed: 1}}
"""
MEMBER = """
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {scheduling.k8s.io/group-name: g}}
spec: {schedulerName: volcano, containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""


def test_a_group_is_written_for_another_scheduler_and_what_is_lost_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", "--to", "upstream", written(tmp_path, GROUP, MEMBER, SETTINGS)) == 0
    said = capsys.readouterr()
    group, pod, settings = yaml.safe_load_all(said.out)
    assert (group["kind"], group["spec"]) == ("PodGroup", {"schedulingPolicy": {"basic": {}}})
    assert pod["spec"]["schedulingGroup"] == {"podGroupName": "g"}
    assert settings["kind"] == "ConfigMap"
    assert said.err.splitlines() == [
        "lost: gang default/g: queue default: Kubernetes has no queues",
        "lost: gang default/g: required tier-1: tiers of HyperNodes are not node labels, which Kubernetes needs",
    ]


def test_pods_that_are_not_in_the_files_are_told_what_they_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    container = "{name: c, resources: {requests: {cpu: '1'}}}"
    job = f"""
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: j}}
spec: {{tasks: [{{name: t, replicas: 2, template: {{spec: {{containers: [{container}]}}}}}}]}}
"""
    assert run("convert", "--to", "upstream", written(tmp_path, job)) == 0
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "note: gang default/j: pods: 2 are not in the files; they need spec.schedulingGroup.podGroupName=j",
        "note: Job default/j is left out: only Volcano creates its pods",
    ]


KAI_TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: rack}
spec: {levels: [{nodeLabel: rack}]}
"""
KAI_GROUP = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: mine}
spec: {minMember: 1, queue: q}
"""
UPSTREAM_GROUP = """
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: first}
spec: {schedulingPolicy: {basic: {}}, schedulingConstraints: {topology: [{key: rack}]}}
"""


def test_groups_that_are_for_the_target_already_are_kept_beside_those_that_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = UPSTREAM_GROUP.replace("first", "second")
    assert run("convert", "--to", "kai", written(tmp_path, KAI_GROUP, UPSTREAM_GROUP, second)) == 0
    made = list(yaml.safe_load_all(capsys.readouterr().out))
    names = [(one["kind"], one["metadata"]["name"]) for one in made]
    assert names == [("Topology", "rack"), ("PodGroup", "first"), ("PodGroup", "second"), ("PodGroup", "mine")]


def test_a_topology_that_is_there_is_not_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "--to", "kai", written(tmp_path, KAI_TOPOLOGY, UPSTREAM_GROUP)) == 0
    kinds = [one["kind"] for one in yaml.safe_load_all(capsys.readouterr().out)]
    assert kinds == ["PodGroup", "Topology"]


def test_an_object_is_not_replaced_by_another_of_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = KAI_TOPOLOGY.replace("nodeLabel: rack", "nodeLabel: zone")
    assert run("convert", "--to", "kai", written(tmp_path, other, UPSTREAM_GROUP)) == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == (
        "",
        "error: gang default/first: would be written as Topology default/rack, which is another object already; "
        "rename one of the two\n",
    )


def test_running_pods_keep_their_marks_which_a_note_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    member = """
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {pod-group-name: mine}}
spec: {nodeName: n1, containers: [{name: c, image: i}]}
"""
    assert run("convert", "--to", "volcano", written(tmp_path, KAI_GROUP, member)) == 0
    assert "note: gang default/mine: pods: 1 runs already and keeps the old marks\n" in capsys.readouterr().err


def test_a_template_that_names_the_old_group_is_pointed_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = """
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {template: {metadata: {annotations: {pod-group-name: mine}}, spec: {containers: [{name: c, image: i}]}}}
"""
    assert run("convert", "--to", "upstream", written(tmp_path, KAI_GROUP, job)) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "note: Job default/j: its pod template still names the group mine; give it the marks of the new one"
    )


def test_a_group_of_the_same_scheduler_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "--to", "volcano", written(tmp_path, GROUP, MEMBER)) == 0
    said = capsys.readouterr()
    assert list(yaml.safe_load_all(said.out)) == [yaml.safe_load(GROUP), yaml.safe_load(MEMBER)]
    assert said.err == "note: default/g is for volcano already\n"


def test_a_mistake_in_a_group_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = written(tmp_path, GROUP.replace("highestTierAllowed: 1", "highestTier: 1"))
    assert run("convert", "--to", "kai", wrong) == 2
    said = capsys.readouterr().err
    assert f"{wrong}:5:" in said
    assert "PodGroup g: spec.networkTopology.highestTier: is not a known field; did you mean highestTierName?" in said


def test_files_without_groups_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", "--to", "kai", written(tmp_path, SETTINGS)) == 2
    assert "there is no group of pods in these files; give PodGroups" in capsys.readouterr().err


def test_reports_of_zones_of_the_first_version_are_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", written(tmp_path, OLD_ZONES)) == 0
    said = capsys.readouterr()
    new = yaml.safe_load(said.out)
    assert new["apiVersion"] == "topology.node.k8s.io/v1alpha2"
    assert new["attributes"] == [{"name": "topologyManagerPolicy", "value": "single-numa-node"}]
    assert new["zones"][0]["resources"][0]["available"] == 3
    assert said.err == "note: 1 v1alpha1 NodeResourceTopology written as v1alpha2\n"
