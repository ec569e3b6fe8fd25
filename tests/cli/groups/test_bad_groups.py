"""Bad groups are refused by `check`, `place` and `explain` alike: with object, field, line and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from .clusters import ELEVEN, RACK, ZONE, nodes, topology, written
from .conftest import Run

HEAD = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\nspec:\n"
ONE = HEAD + "  minMember: 1\n"
VOLCANO = "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata: {name: v}\nspec:\n"
SPINE = (
    "apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {name: s}\nspec: {tier: 1, tierName: spine}\n"
)
JOB = f"""apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations:
    kai.scheduler/topology: network
    kai.scheduler/topology-required-placement: {RACK}s
spec:
  template: {{spec: {{schedulerName: kai-scheduler, restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}
"""


def bound(required: str, preferred: str = "", name: str = "network") -> str:
    more = f", preferredTopologyLevel: {preferred}" if preferred else ""
    return f"  topologyConstraint: {{topology: {name}, requiredTopologyLevel: {required}{more}}}\n"


CASES = {
    "unknown topology": (
        HEAD + "  minMember: 1\n" + bound(RACK, name="netwrk"),
        6,
        "topologyConstraint.topology",
        "network",
    ),
    "unknown level": (ONE + bound("rack"), 6, "requiredTopologyLevel", RACK),
    "required below preferred": (
        HEAD + "  minMember: 1\n" + bound(RACK, ZONE),
        6,
        "requiredTopologyLevel",
        "swap the two",
    ),
    "unknown level in an annotation": (JOB, 7, "metadata.annotations[kai.scheduler/topology-required-placement]", RACK),
    "unknown parent": (
        HEAD + "  subGroups:\n  - {name: a}\n  - {name: b, parent: aa, minMember: 1}\n",
        7,
        "subGroups[1].parent",
        "did you mean a?",
    ),
    "duplicate": (
        HEAD + "  subGroups:\n  - {name: a, minMember: 1}\n  - {name: a, minMember: 1}\n",
        7,
        "subGroups[1].name",
        "a",
    ),
    "cycle": (
        HEAD + "  subGroups:\n  - {name: a, parent: b}\n  - {name: b, parent: a}\n  - {name: c, minMember: 1}\n",
        7,
        "subGroups[1].parent",
        "cycle",
    ),
    "more groups than there are": (
        HEAD + "  minSubGroup: 2\n  subGroups:\n  - {name: a, minMember: 1}\n",
        5,
        "minSubGroup",
        "1",
    ),
    "both minimums": (
        HEAD + "  minMember: 1\n  minSubGroup: 1\n  subGroups:\n  - {name: a, minMember: 1}\n",
        6,
        "minSubGroup",
        "keep minSubGroup alone",
    ),
    "misspelt field": (
        HEAD + "  minSubGroup: 1\n  subgroups:\n  - {name: a}\n",
        6,
        "spec.subgroups",
        "did you mean subGroups?",
    ),
    "unknown tier name": (
        SPINE + "---\n" + VOLCANO + "  networkTopology: {mode: hard, highestTierName: spin}\n",
        10,
        "networkTopology.highestTierName",
        "did you mean spine?",
    ),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_groups_are_refused_alike_with_object_field_line_and_remedy(run: Run, tmp_path: Path, case: str) -> None:
    text, line, field, remedy = CASES[case]
    (tmp_path / "bad.yaml").write_text(text)
    written(tmp_path / "topology.yaml", topology())
    on = nodes(ELEVEN)
    checked = run("check", "bad.yaml", "topology.yaml")
    placed = run("place", "bad.yaml", "topology.yaml", "--nodes", on)
    explained = run("explain", "bad.yaml", "topology.yaml", "--nodes", on)
    assert [checked.code, placed.code, explained.code] == [2, 2, 2]
    assert placed.err == explained.err
    (error,) = placed.err.splitlines()
    where, what, said = error.removeprefix("error: ").split(": ", 2)
    assert where.startswith(f"bad.yaml:{line}:")
    assert field in said.split(": ")[0]
    assert remedy in said
    assert what in checked.out
    assert f"line {line}: {said}" in checked.out


GANG = "apiVersion: scheduler.grove.io/v1alpha1\nkind: PodGang\nmetadata: {name: g}\nspec:\n"
SAME_PODS = {
    "kubernetes": (
        "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\n"
        "spec: {schedulingPolicy: {gang: {minCount: 1}}}\n",
        "metadata: {name: p}\nspec: {schedulingGroup: {podGroupName: g}, ",
    ),
    "volcano": (
        VOLCANO + "  minMember: 1\n",
        "metadata: {name: p, annotations: {scheduling.k8s.io/group-name: v}}\nspec: {",
    ),
    "grove": (
        GANG + "  podgroups: [{name: a, minReplicas: 1, podReferences: [{name: p}]}]\n",
        "metadata: {name: p}\nspec: {",
    ),
}


@pytest.mark.parametrize("dialect", SAME_PODS)
def test_two_pods_of_one_name_are_refused(run: Run, tmp_path: Path, dialect: str) -> None:
    group, rest = SAME_PODS[dialect]
    one = f"---\napiVersion: v1\nkind: Pod\n{rest}containers: [{{name: c, image: i}}]}}\n"
    (tmp_path / "two.yaml").write_text(group + one + one)
    for words in (("check", "two.yaml"), ("place", "two.yaml", "--nodes", nodes(ELEVEN))):
        ran = run(*words)
        assert ran.code == 2
        assert "metadata.name: is the name of another Pod too; rename or remove one of the two" in ran.out + ran.err


def test_a_tier_name_without_hyper_nodes_says_what_to_add(run: Run, tmp_path: Path) -> None:
    asks = VOLCANO + "  minMember: 1\n  networkTopology: {mode: hard, highestTierName: rack}\n"
    (tmp_path / "group.yaml").write_text(asks)
    ran = run("place", "group.yaml", "--nodes", nodes(ELEVEN))
    assert "no HyperNode has the tier name rack; give HyperNodes this tierName, or use highestTierAllowed" in ran.err


def test_a_misspelt_annotation_of_ours_on_a_group_is_warned_of(run: Run, tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(
        ONE.replace("{name: g}", "{name: g, annotations: {closeknit.dev/appart: rack}}")
    )
    for words in (("check", "group.yaml"), ("group", "group.yaml")):
        ran = run(*words)
        assert "[closeknit.dev/appart]: is not a known key; did you mean closeknit.dev/apart?" in ran.out + ran.err


def test_a_file_without_pods_is_not_said_to_be_unread(run: Run) -> None:
    ran = run("place", [topology()], "--nodes", nodes(ELEVEN))
    assert ran.code == 2
    assert "kai.scheduler/v1alpha1/Topology has no pods; it is read beside those that need it" in ran.err
    assert "and groups of pods" in ran.err


def test_pods_whose_group_is_missing_are_told_which_kinds_to_add(run: Run, tmp_path: Path) -> None:
    meta = "{name: p, annotations: {pod-group-name: g}}"
    lost = f"apiVersion: v1\nkind: Pod\nmetadata: {meta}\nspec: {{containers: [{{name: c}}]}}\n"
    (tmp_path / "pods.yaml").write_text(lost)
    ran = run("place", "pods.yaml", "--nodes", nodes(ELEVEN))
    assert "add the groups that the pods name: CompositePodGroup, Job, PodGang, PodGroup, Workload" in ran.err
