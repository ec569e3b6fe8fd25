"""`closeknit group`: the PodGroups of jobs and pods in files, and `closeknit check` of KAI's objects."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from closeknit.cli.main import main

PUBLISHED = Path(__file__).parents[3] / "shared/manifests/kai"
TOPOLOGY = """
apiVersion: kai.scheduler/v1alpha1
kind: Topology
metadata: {name: network}
spec: {levels: [{nodeLabel: zone}, {nodeLabel: rack}]}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations:
    kai.scheduler/topology: network
    kai.scheduler/topology-required-placement: zone
    kai.scheduler/segment-size: "2"
    kai.scheduler/segment-topology-required-placement: rack
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  template: {spec: {containers: [{name: c}]}}
"""
WRONG = """
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: g}
spec:
  minSubGroup: 2
  subgroups:
  - {name: a, minMember: 1}
"""


class Ran(SimpleNamespace):
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return Run(capsys)


class Run:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(list(args))
        said = self.capsys.readouterr()
        return Ran(code=ended.value.code, out=said.out, err=said.err)


def written(**files: str) -> list[str]:
    for name, text in files.items():
        Path(f"{name}.yaml").write_text(text)
    return [f"{name}.yaml" for name in files]


def test_the_table_shows_the_tree_of_sub_groups_with_minimums_and_constraints(run: Run) -> None:
    ran = run("group", *written(job=JOB, topology=TOPOLOGY))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "GROUP             PODS  NEEDS   CONSTRAINT",
        "default/pg-train  3     3 pods  required zone of network",
        "├ segment-0       2     2 pods  required rack of network",
        "└ segment-1       1     1 pod   required rack of network",
    ]


def test_wide_output_adds_queue_class_and_owner(run: Run) -> None:
    head, first, *_ = run("group", *written(job=JOB), "-o", "wide").out.splitlines()
    assert head.split()[4:] == ["QUEUE", "PRIORITY", "CLASS", "MADE", "FOR"]
    assert first.endswith("default-queue  train           Job train")


def test_yaml_and_json_are_manifests_of_the_groups_to_create(run: Run) -> None:
    files = written(job=JOB, group=WRONG.replace("subgroups", "subGroups").replace("minSubGroup: 2", "minSubGroup: 1"))
    [group] = yaml.safe_load_all(run("group", *files, "-o", "yaml").out)
    assert group == json.loads(run("group", *files, "-o", "json").out)
    assert (group["kind"], group["metadata"]["name"], group["spec"]["minMember"]) == ("PodGroup", "pg-train", 3)


def test_the_profile_groups_as_kai_does_and_tells_what_has_no_effect_there(run: Run) -> None:
    ran = run("group", *written(job=JOB), "--profile", "kai")
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == [f"default/pg-train-{index}" for index in range(3)]
    assert ran.err == (
        "warning: job.yaml:9:5: Job train: metadata.annotations[kai.scheduler/segment-size]: "
        "has no effect in KAI on a Job; remove it\n"
    )


def test_a_mistake_is_told_with_file_line_object_field_and_remedy(run: Run) -> None:
    ran = run("group", *written(wrong=WRONG))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: wrong.yaml:7:3: PodGroup g: spec.subgroups: is not a known field; did you mean subGroups?\n"
    )


def test_a_level_that_the_topology_lacks_is_told_at_the_job(run: Run) -> None:
    ran = run("group", *written(job=JOB.replace("placement: zone", "placement: row"), topology=TOPOLOGY))
    assert ran.code == 2
    assert ran.err == (
        "error: job.yaml:8:5: Job train: metadata.annotations[kai.scheduler/topology-required-placement]: "
        'is "row", which is not a level of Topology "network"; the levels are zone, rack\n'
    )


def test_standard_input_is_read_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(WRONG.encode())))
    assert run("group", "-").err.startswith("error: standard input:7:3: PodGroup g: spec.subgroups")
    assert run("group", "-", "-").err == "error: -: standard input can be read only once; give it once\n"


def test_files_without_pods_have_nothing_to_group(run: Run) -> None:
    files = written(topology=TOPOLOGY, service="{apiVersion: v1, kind: Service, metadata: {name: s}}")
    ran = run("group", *files)
    assert (ran.code, ran.out) == (0, "nothing to group\n")
    assert ran.err == "note: v1/Service is skipped: it is no job or pod that KAI groups\n"
    assert "there are no PodGroups to create" in run("group", *files, "-o", "yaml").err


def test_only_the_first_warnings_are_shown(run: Run) -> None:
    pod = '{apiVersion: v1, kind: Pod, metadata: {name: "%s", annotations: {pod-group-name: "%s"}}}'
    files = written(pods="\n---\n".join(pod % (f"p{number}", f"g{number}") for number in range(12)))
    lines = run("group", *files).err.splitlines()
    assert (len(lines), lines[-1]) == (11, "warning: and 2 more")


def test_check_validates_the_objects_of_kai_against_the_topologies_among_the_files(run: Run) -> None:
    group = WRONG.replace("subgroups", "subGroups").replace(
        "minMember: 1", "minMember: 1, topologyConstraint: {topology: network, requiredTopologyLevel: row}"
    )
    ran = run("check", *written(group=group, topology=TOPOLOGY))
    assert ran.code == 2
    assert ran.out.splitlines() == [
        "wrong    group.yaml: PodGroup g",
        '    line 8: spec.subGroups[0].topologyConstraint.requiredTopologyLevel: is "row", '
        'which is not a level of Topology "network"; the levels are zone, rack',
        "    line 6: spec.minSubGroup: is 2, but the number of sub-groups is 1; use at most 1",
        "ok       topology.yaml: Topology network",
        "2 objects: 1 ok, 1 wrong",
    ]


@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"SKIPPED, LOUDLY: no published manifests at {PUBLISHED}")
@pytest.mark.parametrize("file", sorted(PUBLISHED.glob("*.yaml")), ids=lambda file: file.name)
def test_every_published_manifest_of_kai_is_grouped_and_valid(run: Run, file: Path) -> None:
    assert run("group", str(file)).code == 0
    assert run("check", str(file)).code == 0
