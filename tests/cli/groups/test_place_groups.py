"""`closeknit place` of groups of pods: KAI, Kubernetes, Volcano and Grove, alone and together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .clusters import (
    ELEVEN,
    RACK,
    TWELVE,
    ZONE,
    Raw,
    hyper_node,
    kai_group,
    kai_job,
    kai_pods,
    nodes,
    pod,
    topology,
    written,
)
from .conftest import Run

SHARED = Path(__file__).parents[4] / "shared"


def plan(run: Run, objects: list[Raw], on: list[Raw], *more: str) -> Any:
    ran = run("place", objects, "--nodes", on, "-o", "json", *more)
    assert ran.code in (0, 3), ran
    assert ran.err == ""
    return json.loads(ran.out)


def domain_of(found: Any, name: str) -> list[str]:
    """The domain of a group, by its name."""
    left = list(found["groups"])
    for one in left:  # grows while it is read
        if one["name"] == name:
            return list(one["domain"])
        left += one["groups"]
    raise AssertionError(name)


def test_three_pods_go_to_the_fuller_zone_and_two_of_its_racks(run: Run) -> None:
    job = kai_job("training", 3, required=ZONE, preferred=RACK)
    found = plan(run, [topology(), job], nodes(ELEVEN))
    assert domain_of(found, "pg-training") == ["zone-a"]
    assert [one["node"] for one in found["bindings"]] == ["a1-1", "a1-2", "a2-1"]


def test_with_order_spread_they_go_to_the_emptier_zone(run: Run) -> None:
    job = kai_job("training", 3, required=ZONE, preferred=RACK)
    found = plan(run, [topology(), job], nodes(ELEVEN), "--order", "spread")
    assert domain_of(found, "pg-training") == ["zone-b"]


def test_the_order_is_read_from_the_configuration_and_overridden_by_the_option(run: Run, tmp_path: Path) -> None:
    job = kai_job("training", 3, required=ZONE, preferred=RACK)
    config = written(
        tmp_path / "config.yaml",
        {"apiVersion": "config.closeknit.dev/v1alpha1", "kind": "Configuration", "groups": {"order": "spread"}},
    )
    found = plan(run, [topology(), job], nodes(ELEVEN), "--config", config)
    assert domain_of(found, "pg-training") == ["zone-b"]
    found = plan(run, [topology(), job], nodes(ELEVEN), "--config", config, "--order", "binpack")
    assert domain_of(found, "pg-training") == ["zone-a"]


def test_a_tier_without_any_hyper_nodes_is_warned_of(run: Run) -> None:
    task = {"name": "w", "replicas": 2, "template": {"spec": pod("x")["spec"]}}
    spec = {"minAvailable": 2, "networkTopology": {"mode": "hard", "highestTierAllowed": 1}, "tasks": [task]}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec}
    ran = run("place", [job], "--nodes", nodes(ELEVEN))
    assert ran.code == 0
    assert "networkTopology.highestTierAllowed: has no effect: there are no HyperNodes" in ran.err


def test_a_required_rack_is_never_exceeded_and_a_preferred_one_is(run: Run) -> None:
    required = plan(run, [topology(), kai_job("a", 3, required=RACK)], nodes(ELEVEN))
    assert not required["fits"]
    assert required["proven"]
    preferred = plan(run, [topology(), kai_job("a", 3, preferred=RACK)], nodes(ELEVEN))
    assert preferred["pods"] == {"count": 3, "placed": 3}
    assert domain_of(preferred, "pg-a") == ["zone-a"]


def test_on_the_twelve_node_tree_a_zone_that_is_too_small_spills_into_one_other(run: Run) -> None:
    found = plan(run, [topology(), kai_job("big", 10, gpus=2, preferred=ZONE)], nodes(TWELVE))
    used = [one["node"] for one in found["bindings"]]
    assert sum(name.startswith("NA") for name in used) == 8
    assert len({name[:2] for name in used}) == 2


def test_on_the_twelve_node_tree_the_fullest_zone_that_fits_gives_the_rack(run: Run) -> None:
    found = plan(run, [topology(), kai_job("two", 2, gpus=2, required=RACK)], nodes(TWELVE))
    assert domain_of(found, "pg-two")[:2] == ["ZC", "RC1"]  # 4 of 6 GPUs; of ZB 4 of 10, of ZA 4 of 16


def test_groups_at_every_depth_are_shown_with_their_domains(run: Run) -> None:
    bound = {"topology": "network", "requiredTopologyLevel": RACK}
    group = kai_group(
        "serve",
        [
            {"name": "a", "topologyConstraint": bound},
            {"name": "a-leader", "parent": "a", "minMember": 1},
            {"name": "a-worker", "parent": "a", "minMember": 1},
            {"name": "b", "minMember": 2, "topologyConstraint": bound},
        ],
        topologyConstraint={"topology": "network", "requiredTopologyLevel": ZONE},
    )
    pods = [*kai_pods("serve", 1, sub_group="a-leader"), *kai_pods("serve", 1, sub_group="a-worker")]
    objects = [topology(), group, *pods, *kai_pods("serve", 2, sub_group="b")]
    found = plan(run, objects, nodes(ELEVEN))
    racks = [domain_of(found, name) for name in ("a", "b")]
    assert sorted(racks) == [["zone-b", "rack-b1"], ["zone-b", "rack-b2"]]
    ran = run("place", objects, "--nodes", nodes(ELEVEN))
    assert "PodGroup serve: 4 pods on 4 nodes" in ran.out
    assert f"├ a           2 pods  in {'/'.join(racks[0])}, 2 nodes" in ran.out
    assert "│ └ a-worker   1 pod" in ran.out


def test_pods_that_run_take_room_and_keep_their_group_in_their_domain(run: Run) -> None:
    group = kai_group("g", minMember=2, topologyConstraint={"topology": "network", "requiredTopologyLevel": RACK})
    objects = [topology(), group, *kai_pods("g", 1, node="b2-1"), *kai_pods("g", 1)]
    found = plan(run, objects, nodes(ELEVEN))
    assert found["bindings"] == [{"pod": "default/g-0", "node": "b2-2"}]


def test_running_members_may_also_come_from_the_pods_of_the_cluster(run: Run) -> None:
    group = kai_group("g", minMember=2, topologyConstraint={"topology": "network", "requiredTopologyLevel": RACK})
    running = [*kai_pods("g", 1, node="b3-1"), pod("other", node="b1-1")]
    ran = run(
        "place", [group, *kai_pods("g", 1)], "--nodes", [*nodes(ELEVEN), topology()], "--pods", running, "-o", "json"
    )
    assert json.loads(ran.out)["bindings"] == [{"pod": "default/g-0", "node": "b3-2"}]


def test_a_group_whose_pods_do_not_exist_waits_for_them(run: Run) -> None:
    ran = run("place", [kai_group("g", minMember=3), *kai_pods("g", 1)], "--nodes", nodes(ELEVEN))
    assert ran.code == 3
    assert "waits for 2 more of the pods or groups that its minimum counts" in ran.out


def test_jobs_of_kueue_and_groups_share_the_nodes(run: Run) -> None:
    kueue = kai_job("kueue", 5)
    kueue["metadata"] = {"name": "kueue", "labels": {"kueue.x-k8s.io/queue-name": "q"}}
    del kueue["spec"]["template"]["spec"]["schedulerName"]
    two = [topology(), kai_job("kai", 6, preferred=ZONE), kueue]
    ran = run("place", two, "--nodes", nodes(ELEVEN), "--levels", f"{ZONE},{RACK},kubernetes.io/hostname", "-o", "json")
    first, second = json.loads(ran.out)
    taken = {one["node"] for one in first["bindings"]}
    also = {one["node"].split("/")[-1] for one in second["podSets"][0]["ranks"]}
    assert first["fits"]
    assert second["fits"]
    assert not taken & also
    assert len(taken | also) == 11


def test_hyper_nodes_bound_a_volcano_job(run: Run) -> None:
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "v"},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": 2,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "t", "replicas": 2, "template": {"spec": pod("x")["spec"]}}],
        },
    }
    trees = [hyper_node("s0", 1, "a1-1", "a2-1", "a3-1"), hyper_node("s1", 1, "b1-1", "b1-2")]
    found = plan(run, [*trees, job], nodes(ELEVEN))
    assert found["groups"][0]["domain"][-1] == "s1"
    assert found["dialect"] == "volcano"


def test_kubernetes_groups_stay_in_one_value_of_their_label(run: Run) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "k"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "schedulingConstraints": {"topology": [{"key": RACK}]}},
    }
    members = [pod(f"k-{at}") for at in range(2)]
    for one in members:
        one["spec"]["schedulingGroup"] = {"podGroupName": "k"}
    found = plan(run, [group, *members], nodes(ELEVEN))
    assert found["groups"][0]["domain"] == ["rack-a1"]


def test_a_pod_gang_is_placed_by_the_pods_that_it_lists(run: Run) -> None:
    gang = {
        "apiVersion": "scheduler.grove.io/v1alpha1",
        "kind": "PodGang",
        "metadata": {"name": "g", "annotations": {"grove.io/topology-name": "network"}},
        "spec": {
            "topologyConstraint": {"packConstraint": {"required": RACK}},
            "podgroups": [{"name": "w", "minReplicas": 2, "podReferences": [{"name": "w-0"}, {"name": "w-1"}]}],
        },
    }
    found = plan(run, [topology(), gang, pod("w-0"), pod("w-1")], nodes(ELEVEN))
    assert domain_of(found, "g") == ["zone-a", "rack-a1"]


def test_a_hostfile_lists_the_nodes_in_the_order_of_the_pods(run: Run) -> None:
    job = kai_job("training", 3, required=ZONE, preferred=RACK)
    ran = run("place", [topology(), job], "--nodes", nodes(ELEVEN), "-o", "hostfile")
    assert ran.out == "a1-1 slots=1\na1-2 slots=1\na2-1 slots=1\n"


def test_the_picture_has_a_colour_for_each_group(run: Run, tmp_path: Path) -> None:
    job = kai_job("training", 4, size="2", segment=RACK)
    ran = run("place", [topology(), job], "--nodes", nodes(ELEVEN), "--svg", "x.svg")
    drawn = (tmp_path / "x.svg").read_text()
    assert ran.code == 0
    assert "1 pods of" in drawn
    assert drawn.count('stroke-width="2"') == 4


def test_too_few_steps_is_another_answer_than_no_placement(run: Run) -> None:
    job = kai_job("training", 4, size="2", segment=RACK)
    found = plan(run, [topology(), job], nodes(ELEVEN), "--steps", "1")
    assert not found["fits"]
    assert not found["proven"]
    assert "within 1 steps" in found["reason"]


@pytest.mark.parametrize(
    "name", ["batch-job", "batch-job-min-member", "external-podgroup-job", "gpu-pod", "pytorch-job"]
)
def test_published_jobs_of_kai_are_placed(run: Run, name: str) -> None:
    file = SHARED / "manifests/kai" / f"{name}.yaml"
    if not file.exists():
        pytest.skip(f"NO PUBLISHED MANIFESTS: {file} is absent")
    ran = run("place", str(file), str(SHARED / "manifests/kai/default-queues.yaml"), "--nodes", nodes(ELEVEN))
    assert ran.code == 0, ran


def test_the_published_tree_waits_for_the_pods_that_its_example_leaves_out(run: Run) -> None:
    files = [SHARED / "manifests/kai" / f"multilevel-{at}.yaml" for at in (1, 2)]
    if not files[0].exists():
        pytest.skip(f"NO PUBLISHED MANIFESTS: {files[0]} is absent")
    tree = topology("cluster-topology", "topology/rack")
    on = nodes(ELEVEN)
    for one in on:
        one["metadata"]["labels"]["topology/rack"] = one["metadata"]["labels"][RACK]
    ran = run("place", *map(str, files), [tree], "--nodes", on)
    assert ran.code == 3
    assert "waits for 3 more" in ran.out


def apart(objects: list[Raw]) -> list[Raw]:
    """The pods among these, each on a host of its own."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    for one in objects:
        if one["kind"] == "Pod":
            one["metadata"]["labels"]["app"] = "x"
            one["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return objects


def test_pods_that_keep_apart_by_host_are_not_placed_on_one(run: Run) -> None:
    group = kai_group("g", minMember=2, topologyConstraint={"topology": "network", "requiredTopologyLevel": RACK})
    found = plan(run, [topology(), group, *apart(kai_pods("g", 2))], nodes(TWELVE))
    assert len({one["node"] for one in found["bindings"]}) == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pods_that_ask_for_nothing_go_where_other_pods_of_their_group_let_them(
    run: Run, order: tuple[int, int]
) -> None:
    hostile, plain = kai_pods("g", 2)
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "plain"}}}
    hostile["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plain["metadata"].setdefault("labels", {})["app"] = "plain"
    pods = [[hostile, plain][at] for at in order]
    names = [f"g-{at}" for at in range(2)]
    for pod_, name in zip(pods, names, strict=True):
        pod_["metadata"]["name"] = name
    found = plan(run, [kai_group("g", minMember=2), *pods], nodes({"z": {"r": {"n1": 4, "n2": 4}}}))
    assert len({one["node"] for one in found["bindings"]}) == 2


def test_a_running_pod_keeps_others_off_its_host_and_out_of_a_rack_without_another(run: Run) -> None:
    group = kai_group("g", minMember=2, topologyConstraint={"topology": "network", "requiredTopologyLevel": RACK})
    running = apart([pod("other", node="NC1")])
    found = plan(run, [topology(), group, *apart(kai_pods("g", 2)), *running], nodes(TWELVE))
    assert {one["node"] for one in found["bindings"]} == {"NB1", "NB2"}


def test_groups_of_several_dialects_and_topologies_share_one_cluster(run: Run) -> None:
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "v"},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": 2,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "t", "replicas": 2, "template": {"spec": pod("x")["spec"]}}],
        },
    }
    objects = [topology(), hyper_node("s0", 1, "b1-1", "b1-2"), kai_job("k", 6, required=ZONE), job]
    first, second = plan(run, objects, nodes(ELEVEN))
    assert first["fits"]
    assert domain_of(first, "pg-k") == ["zone-b"]
    assert not second["fits"]
    one, other = plan(run, [*objects[:2], job, objects[2]], nodes(ELEVEN))
    assert one["groups"][0]["domain"][-1] == "s0"
    assert not other["fits"]


def test_the_published_job_with_partitions_goes_to_one_hyper_node_each(run: Run) -> None:
    file = SHARED / "manifests/volcano/network-topology-3.yaml"
    if not file.exists():
        pytest.skip(f"NO PUBLISHED MANIFESTS: {file} is absent")
    trees = [hyper_node(f"s{at}", 1, f"b{at}-1") for at in (1, 2)]
    trees.append(hyper_node("top", 2, "s1", "s2", kind="HyperNode"))
    ran = run("place", str(file), trees, "--nodes", nodes(ELEVEN), "-o", "json")
    found = json.loads(ran.out)
    assert sorted(domain_of(found, f"t0/{at}")[-2:] for at in (0, 1)) == [["s1", "b1-1"], ["s2", "b2-1"]]
