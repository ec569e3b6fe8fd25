"""`closeknit explain` of groups of pods: what stops the tree, what each domain holds of it, and what would help."""

from __future__ import annotations

import json
from typing import Any

from .clusters import ELEVEN, HOST, RACK, ZONE, Raw, kai_group, kai_job, kai_pods, node, nodes, pod, topology
from .conftest import Run

IN_A_RACK = {"topology": "network", "requiredTopologyLevel": RACK}
IN_A_ZONE = {"topology": "network", "requiredTopologyLevel": ZONE}


def explained(run: Run, objects: list[Raw], on: list[Raw], *more: str) -> Any:
    ran = run("explain", objects, "--nodes", on, "-o", "json", *more)
    assert ran.code == 0, ran
    return json.loads(ran.out)


def deep() -> list[Raw]:
    """Two leaves of two pods in racks of one zone, and a third in a group of its own that needs three."""
    entries: list[Raw] = [
        {"name": "first", "minMember": 2, "topologyConstraint": IN_A_RACK},
        {"name": "outer"},
        {"name": "inner", "parent": "outer", "minMember": 3, "topologyConstraint": IN_A_RACK},
    ]
    pods = [*kai_pods("tree", 2, sub_group="first"), *kai_pods("tree", 3, sub_group="inner")]
    return [topology(), kai_group("tree", entries, topologyConstraint=IN_A_ZONE), *pods]


def test_the_group_that_stops_the_tree_is_named_at_its_depth(run: Run) -> None:
    found = explained(run, deep(), nodes(ELEVEN))
    assert found["obstacle"]["group"] == "tree/outer/inner"
    assert found["obstacle"]["pods"] == 3
    assert {tuple(one["domain"]): one["pods"] for one in found["obstacle"]["candidates"]} == {
        ("zone-a", "rack-a1"): 0,  # the group "first" fits nowhere else in this zone
        **{("zone-a", f"rack-a{at}"): 1 for at in (2, 3, 4)},
        **{("zone-b", f"rack-b{at}"): 2 for at in (1, 2, 3)},
    }


def test_counts_are_those_of_the_search_with_other_groups_in_their_places(run: Run) -> None:
    entries = [{"name": name, "minMember": 2, "topologyConstraint": IN_A_RACK} for name in ("a", "b")]
    pods = [one for name in ("a", "b") for one in kai_pods("g", 2, sub_group=name)]
    only = [node("n1", 2, {ZONE: "z", RACK: "r1"}), node("n2", 1, {ZONE: "z", RACK: "r2"})]
    found = explained(run, [topology(), kai_group("g", entries), *pods], only)
    first, second = found["obstacle"]["candidates"]
    assert (first["domain"], first["pods"], first["alone"]) == (["z", "r2"], 1, 1)
    assert (second["domain"], second["pods"], second["alone"]) == (["z", "r1"], 0, 2)
    ran = run("explain", [topology(), kai_group("g", entries), *pods], "--nodes", only)
    assert "z/r1  0 of 2 pods (2 without those groups)" in ran.out


def test_every_remedy_was_tried_and_helps(run: Run) -> None:
    found = explained(run, [topology(), kai_job("seven", 7, required=ZONE)], nodes(ELEVEN))
    texts = [one["text"] for one in found["remedies"]]
    assert texts == [
        f'group pg-seven: relax to preferred "{ZONE}"',
        "group pg-seven: ask for 6 pods instead of 7",
        "add 1 node like b1-1 in zone-b",
    ]
    relaxed = run("place", [topology(), kai_job("seven", 7, preferred=ZONE)], "--nodes", nodes(ELEVEN))
    fewer = run("place", [topology(), kai_job("seven", 6, required=ZONE)], "--nodes", nodes(ELEVEN))
    more = [*nodes(ELEVEN), node("b1-3", 1, {ZONE: "zone-b", RACK: "rack-b1"})]
    grown = run("place", [topology(), kai_job("seven", 7, required=ZONE)], "--nodes", more)
    assert [relaxed.code, fewer.code, grown.code] == [0, 0, 0]


def test_a_level_higher_comes_before_no_level(run: Run) -> None:
    found = explained(run, [topology(), kai_job("three", 3, required=RACK)], nodes(ELEVEN))
    assert found["remedies"][0]["text"] == f'group pg-three: relax to required "{ZONE}"'


def test_cordoned_nodes_are_offered_by_name(run: Run) -> None:
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    off = node("b1-3", 1, {ZONE: "zone-b", RACK: "rack-b1"}, unschedulable=True, taints=[cordoned])
    found = explained(run, [topology(), kai_job("seven", 7, required=ZONE)], [*nodes(ELEVEN), off])
    assert "uncordon b1-3" in [one["text"] for one in found["remedies"]]
    limits = found["obstacle"]["candidates"][0]["limits"]
    assert limits == {'resource "nvidia.com/gpu"': 6, "not ready, or cordoned": 1}


def test_fewer_groups_are_offered_where_all_are_needed(run: Run) -> None:
    entries = [{"name": name, "minMember": 2, "topologyConstraint": IN_A_RACK} for name in "abcde"]
    pods = [one for name in "abcde" for one in kai_pods("g", 2, sub_group=name)]
    found = explained(run, [topology(), kai_group("g", entries), *pods], nodes(ELEVEN))
    assert "group g: need 4 of its groups instead of 5" in [one["text"] for one in found["remedies"]]


def test_a_search_that_ends_at_its_bound_says_what_to_do(run: Run) -> None:
    job = kai_job("training", 4, size="2", segment=RACK)
    found = explained(run, [topology(), job], nodes(ELEVEN), "--steps", "2")
    assert found["proven"] is False
    assert found["remedies"][0]["text"] == "search longer: --steps 10"
    ran = run("explain", [topology(), job], "--nodes", nodes(ELEVEN), "--steps", "2")
    assert "raise it with --steps" in ran.out


def test_a_group_that_fits_takes_its_room_before_the_next_is_explained(run: Run) -> None:
    six = kai_job("six", 6, required=ZONE)
    first, second = explained(run, [topology(), six, kai_job("again", 6, required=ZONE)], nodes(ELEVEN))
    assert first["fits"]
    assert second["obstacle"]["candidates"][0]["pods"] == 5


def test_nodes_pods_and_topologies_may_come_from_the_manifests_of_a_cluster(run: Run) -> None:
    cluster = [*nodes(ELEVEN), topology(), pod("other", node="b1-1")]
    ran = run("explain", [kai_job("six", 6, required=ZONE)], "--cluster", cluster, "-o", "json")
    assert json.loads(ran.out)["obstacle"]["candidates"][0]["pods"] == 5


def test_nodes_may_be_among_the_files(run: Run) -> None:
    ran = run("explain", [*nodes(ELEVEN), topology(), kai_job("six", 6, required=ZONE)])
    assert ran.out == "Job six fits; `closeknit place` with the same arguments shows where\n"
    none = run("explain", [topology(), kai_job("six", 6, required=ZONE)])
    assert none.code == 2
    assert "no nodes are given; add --nodes FILE, or Nodes to the files" in none.err


def test_pods_that_run_in_two_domains_of_a_required_level_are_the_reason(run: Run) -> None:
    group = kai_group("g", minMember=3, topologyConstraint=IN_A_RACK)
    spread = [pod(f"g-{at}-on", 1, at, {"pod-group-name": "g"}) for at in ("b1-1", "b2-1")]
    found = explained(run, [topology(), group, *spread, *kai_pods("g", 1)], nodes(ELEVEN))
    assert found["reason"] == f"group g requires one {RACK}, but its pods run in zone-b.rack-b1 and in zone-b.rack-b2"


def test_what_is_advised_for_a_group_that_fits_takes_the_same_arguments(run: Run) -> None:
    six, cluster = [kai_job("six", 6, required=ZONE)], [*nodes(ELEVEN), topology()]
    ran = run("explain", six, "--cluster", cluster)
    assert ran.out == "Job six fits; `closeknit what-if` with the same arguments shows where\n"
    assert run("what-if", six, "--cluster", cluster).code == 0


def test_pods_beyond_the_minimum_that_are_left_out_are_counted(run: Run) -> None:
    job = kai_job("eight", 8, required=ZONE)
    job["metadata"]["annotations"]["kai.scheduler/batch-min-member"] = "2"
    ran = run("explain", [job, topology()], "--nodes", nodes(ELEVEN))
    assert ran.out.startswith("Job eight fits with 5 of 8 pods; ")


def test_a_search_that_was_cut_off_does_not_say_that_the_group_does_not_fit(run: Run) -> None:
    for command in ("explain", "place"):
        ran = run(command, [kai_job("six", 6, required=ZONE), topology()], "--nodes", nodes(ELEVEN), "--steps", "1")
        assert "Job six: no placement was found within 1 steps" in ran.out
        assert "does not fit" not in ran.out


def ruled(pods: int, **spec: Any) -> Raw:
    """A job in one rack whose pods have rules about one another."""
    job = kai_job("ruled", pods, required=RACK)
    template = job["spec"]["template"]
    template["metadata"] = {"labels": {"app": "ruled"}}
    template["spec"] |= spec
    return job


OWN = {"matchLabels": {"app": "ruled"}}
ONE_RACK = [node(f"n{at}", 8, {ZONE: "z", RACK: "r"}) for at in (1, 2)]


def limits(found: Any) -> tuple[int, dict[str, int]]:
    """The pods that the best candidate holds, and what limits it."""
    best = found["obstacle"]["candidates"][0]
    return best["pods"], best["limits"]


def test_anti_affinity_among_its_own_pods_is_named_as_the_limit(run: Run) -> None:
    term = {"labelSelector": OWN, "topologyKey": HOST}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = explained(run, [topology(), ruled(4, affinity=affinity)], ONE_RACK)
    assert limits(found) == (2, {"podAntiAffinity among its own pods": 2})
    assert "add 2 nodes like n1 in z/r" in [one["text"] for one in found["remedies"]]


def test_host_ports_are_named_as_the_limit(run: Run) -> None:
    job = ruled(4)
    job["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    held, named = limits(explained(run, [topology(), job], ONE_RACK))
    assert held == 2
    assert [name.split()[0] for name in named] == ["hostPort"]


def test_topology_spread_is_named_as_the_limit(run: Run) -> None:
    """Two racks of the zone are counted, and the pods have to be in one of them: no more than the skew fits."""
    rule = {"topologyKey": RACK, "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": OWN}
    racks = [*ONE_RACK, node("other", 8, {ZONE: "z", RACK: "r2"})]
    found = explained(run, [topology(), ruled(4, topologySpreadConstraints=[rule])], racks)
    seen = {tuple(one["domain"]): (one["pods"], one["limits"]) for one in found["obstacle"]["candidates"]}
    assert seen == {("z", "r"): (2, {"topologySpread": 2}), ("z", "r2"): (2, {"topologySpread": 1})}
