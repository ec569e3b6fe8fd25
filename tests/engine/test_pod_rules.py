"""Rules about other pods while pods are placed; every expectation is worked out from Kubernetes' documentation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from closeknit.dialects.pod_rules import read_kind, with_rules
from closeknit.engine.explain import Explanation, explain
from closeknit.engine.fit import fit_of
from closeknit.engine.place import place
from closeknit.engine.policy import Policy
from closeknit.engine.remedy import grown
from closeknit.model.gates import Gates
from closeknit.model.node import Node
from closeknit.model.pod_rules import PodRules
from closeknit.model.request import Constraint, Layer, PodSet, Request
from closeknit.model.shape import Shape
from closeknit.model.topology import HOSTNAME, Topology
from closeknit.state.snapshot import Snapshot
from closeknit.state.table import NodeTable

RACK, ZONE = "rack", "zone"
TOPOLOGY = Topology("default", (RACK, HOSTNAME))
BY_RACK = Topology("default", (RACK,))
IN_RACK = Constraint(required=RACK)
ANYWHERE = Constraint(unconstrained=True)
APP = {"app": "x"}
NOT_APP = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}
SELECTS_APP = {"matchLabels": APP}


def cluster(racks: str = "a2 b3", cpu: int = 4, topology: Topology = TOPOLOGY) -> Snapshot:
    """Racks by name and number of hosts: a1, a2, b1, …; zone z1 has the first host of every rack, z2 the others."""
    nodes = [
        Node(
            f"{rack[0]}{number}",
            {RACK: rack[0], HOSTNAME: f"{rack[0]}{number}", ZONE: "z1" if number == 1 else "z2"},
            {"cpu": cpu * 1000, "pods": 110},
        )
        for rack in racks.split()
        for number in range(1, int(rack[1:]) + 1)
    ]
    return Snapshot(topology, NodeTable.of(nodes))


def term(key: str, selector: dict[str, Any] | None = SELECTS_APP, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": selector, **more}


def affine(*terms: dict[str, Any], anti: bool = False) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}
    return {"affinity": {"podAntiAffinity" if anti else "podAffinity": required}}


def apart(*terms: dict[str, Any]) -> dict[str, Any]:
    return affine(*terms, anti=True)


def spread(key: str, skew: int = 1, **more: Any) -> dict[str, Any]:
    one = {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTS_APP}
    return {"topologySpreadConstraints": [{**one, **more}]}


def port(number: int, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "ports": [{"hostPort": number, "containerPort": number, **more}]}]}


def shape(spec: dict[str, Any], labels: dict[str, str] = APP, namespace: str = "default") -> Shape:
    return with_rules(Shape.of({"cpu": 1000}), namespace, labels, spec)


def run(
    snapshot: Snapshot,
    node: str,
    spec: dict[str, Any] | None = None,
    namespace: str = "default",
    leaves: bool = False,
    **labels: str,
) -> None:
    """A pod that runs on a node already."""
    snapshot.use(node, {}, 1)
    snapshot.neighbours.use(node, read_kind(namespace, labels, spec or {}, leaves), 1)


def placed(
    snapshot: Snapshot, count: int, pods: Shape, constraint: Constraint = ANYWHERE, gates: Gates | None = None
) -> dict[str, int] | str:
    """Pods by host, or the reason."""
    request = Request.of([PodSet("main", count, pods, constraint)])
    before = snapshot.remaining.copy()
    result = place(snapshot, request, Policy.of(gates or Gates.profile()))
    assert np.array_equal(snapshot.remaining, before)
    if not result.fits:
        return str(result.reason)
    assert result.outcomes[0].assignment is not None
    return {path[-1]: pods for path, pods in result.outcomes[0].assignment.domains}


def by(key: str, found: dict[str, int] | str, snapshot: Snapshot) -> dict[str | None, int]:
    assert isinstance(found, dict), found
    counts: dict[str | None, int] = {}
    for host, pods in found.items():
        value = snapshot.table.label(snapshot.row_of[host], key)
        counts[value] = counts.get(value, 0) + pods
    return counts


# Among the pods of one job


def test_pods_that_keep_apart_by_host_get_a_host_each_in_the_rack_that_has_enough() -> None:
    assert placed(cluster(), 3, shape(apart(term(HOSTNAME))), IN_RACK) == {"b1": 1, "b2": 1, "b3": 1}


def test_a_refusal_counts_the_hosts_on_which_pods_keep_one_another_away() -> None:
    why = placed(cluster("a2"), 3, shape(apart(term(HOSTNAME))), IN_RACK)
    assert isinstance(why, str)
    assert "allows to fit only 2 out of 3 pod(s)" in why
    assert "podAntiAffinity among its own pods: 2" in why


def test_without_the_gate_pods_share_a_host_as_in_kueue() -> None:
    off = Gates.profile("kueue")
    assert placed(cluster(), 3, shape(apart(term(HOSTNAME))), IN_RACK, off) == {"a1": 3}


def test_pods_with_a_host_port_get_a_host_each() -> None:
    found = placed(cluster("a2"), 2, shape(port(80)))
    assert found == {"a1": 1, "a2": 1}
    assert 'hostPort "TCP/80" of its own pods: 2' in str(placed(cluster("a2"), 3, shape(port(80))))


def test_pods_that_keep_apart_by_rack_get_a_rack_each() -> None:
    snapshot = cluster("a2 b3 c1")
    found = placed(snapshot, 3, shape(apart(term(RACK))))
    assert by(RACK, found, snapshot) == {"a": 1, "b": 1, "c": 1}
    why = placed(cluster("a2 b3"), 3, shape(apart(term(RACK))))
    assert "fit only 2 out of 3 pod(s)" in str(why)
    assert "podAntiAffinity: 5" in str(why)


def test_pods_that_keep_apart_by_a_label_that_is_no_level_use_each_value_once() -> None:
    snapshot = cluster("a3")
    assert by(ZONE, placed(snapshot, 2, shape(apart(term(ZONE))), IN_RACK), snapshot) == {"z1": 1, "z2": 1}
    assert "fit only 2 out of 3" in str(placed(cluster("a3"), 3, shape(apart(term(ZONE))), IN_RACK))


def test_pods_that_attract_one_another_find_the_rack_that_holds_all() -> None:
    """The node that is first by name is in the rack that is too small."""
    snapshot = cluster("a2 b3", cpu=2)
    assert by(RACK, placed(snapshot, 6, shape(affine(term(RACK)))), snapshot) == {"b": 6}
    assert "fit only 6 out of 7" in str(placed(snapshot, 7, shape(affine(term(RACK)))))


def test_pods_that_attract_one_another_by_a_label_that_is_no_level_share_a_value() -> None:
    snapshot = cluster("a2 b3", cpu=2)
    assert by(ZONE, placed(snapshot, 5, shape(affine(term(ZONE)))), snapshot) == {"z2": 5}
    assert "fit only" in str(placed(snapshot, 7, shape(affine(term(ZONE)))))


@pytest.mark.parametrize(
    ("count", "skew", "racks", "expected"),
    [
        (4, 1, "a1 b1", {"a": 2, "b": 2}),
        (6, 1, "a2 b2 c2", {"a": 2, "b": 2, "c": 2}),
        (7, 1, "a1 b1", {"a": 4, "b": 3}),
        (9, 1, "a1 b2", None),  # a holds 4, so b may have 5
        (10, 1, "a1 b2", "fit only 9 out of 10"),
        (10, 2, "a1 b2", {"a": 4, "b": 6}),
    ],
)
def test_pods_are_spread_over_racks_within_the_skew(
    count: int, skew: int, racks: str, expected: dict[str, int] | str | None
) -> None:
    snapshot = cluster(racks)
    found = placed(snapshot, count, shape(spread(RACK, skew)))
    if isinstance(expected, str):
        assert expected in str(found)
        assert "topologySpread" in str(found)
        return
    counts = sorted(by(RACK, found, snapshot).values())
    assert counts == sorted((expected or {"a": 4, "b": 5}).values())


def test_pods_bound_to_one_rack_leave_the_others_empty_so_their_skew_is_their_number() -> None:
    assert "fit only 2 out of 3" in str(placed(cluster("a2 b2"), 3, shape(spread(RACK, 2)), IN_RACK))
    snapshot = cluster("a2")
    assert by(RACK, placed(snapshot, 3, shape(spread(RACK, 2)), IN_RACK), snapshot) == {"a": 3}


def test_fewer_domains_than_min_domains_count_as_an_empty_one() -> None:
    assert "fit only 2 out of 3" in str(placed(cluster("a1 b1"), 3, shape(spread(RACK, 1, minDomains=3))))


def test_slices_keep_their_racks_while_hosts_are_not_shared() -> None:
    snapshot = cluster("a2 b2 c3")
    sliced = Constraint(slices=(Layer(RACK, 2),))
    found = placed(snapshot, 6, shape(apart(term(HOSTNAME)) | spread(HOSTNAME)), sliced)
    assert sorted(by(RACK, found, snapshot).values()) == [2, 2, 2]
    assert set(found.values() if isinstance(found, dict) else ()) == {1}


# Beside running pods


@pytest.mark.parametrize(
    ("running", "wanted", "collides"),
    [
        (port(80), port(80), True),
        (port(80), port(81), False),
        (port(80, protocol="UDP"), port(80), False),
        (port(80, hostIP="10.0.0.1"), port(80), True),
        (port(80, hostIP="10.0.0.1"), port(80, hostIP="10.0.0.2"), False),
        (port(80, hostIP="10.0.0.1"), port(80, hostIP="10.0.0.1"), True),
        ({"hostNetwork": True, **port(80)}, port(80), True),
    ],
)
def test_a_host_port_in_use_excludes_its_node(running: dict[str, Any], wanted: dict[str, Any], collides: bool) -> None:
    snapshot = cluster("a1")
    run(snapshot, "a1", running)
    found = placed(snapshot, 1, shape(wanted))
    assert ('excluded: hostPort "' in str(found)) == collides


@pytest.mark.parametrize(
    ("wanted", "hosts"),
    [
        (term(HOSTNAME), {"a2", "b1", "b2"}),
        (term(RACK), {"b1", "b2"}),
        (term("nowhere"), {"a1", "a2", "b1", "b2"}),
        (term(RACK, {}), {"b1", "b2"}),
        (term(RACK, None), {"a1", "a2", "b1", "b2"}),
        (term(RACK, namespaces=["other"]), {"a1", "a2", "b1", "b2"}),
        (term(RACK, namespaceSelector={}), {"b1", "b2"}),
        (term(RACK, namespaceSelector={"matchLabels": {"team": "red"}}), {"a1", "a2", "b1", "b2"}),
        (term(RACK, NOT_APP), {"a1", "a2", "b1", "b2"}),
        (term(RACK, matchLabelKeys=["rev"]), {"a1", "a2", "b1", "b2"}),
        (term(RACK, mismatchLabelKeys=["rev"]), {"b1", "b2"}),
        (term(RACK, matchLabelKeys=["absent"]), {"b1", "b2"}),
    ],
)
def test_anti_affinity_excludes_the_domains_of_pods_that_it_selects(wanted: dict[str, Any], hosts: set[str]) -> None:
    snapshot = cluster("a2 b2", cpu=1)
    snapshot.neighbours.namespaces = {"default": {}, "other": {"team": "red"}}
    run(snapshot, "a1", None, "default", app="x", rev="1")
    pods = shape(apart(wanted), {"app": "y", "rev": "2"})
    fit = fit_of(snapshot, pods, None, Policy())
    assert {snapshot.table.names[row] for row in np.flatnonzero(fit.pods).tolist()} == hosts
    assert fit.excluded().get("podAntiAffinity", 0) == 4 - len(hosts)


def test_anti_affinity_of_running_pods_keeps_pods_away_that_ask_for_nothing() -> None:
    snapshot = cluster("a2 b2")
    run(snapshot, "a1", apart(term(RACK)), app="y")
    plain = Shape.of({"cpu": 1000})
    kind = read_kind("default", APP, {})
    assert snapshot.neighbours.keeps_away(kind)
    assert set(placed(snapshot, 8, plain.ruled(PodRules(kind), kind))) == {"b1", "b2"}
    assert not snapshot.neighbours.keeps_away(read_kind("default", {"app": "z"}, {}))


def test_affinity_finds_the_domain_of_running_pods() -> None:
    snapshot = cluster("a2 b2", cpu=2)
    run(snapshot, "b1", app="y")
    near = shape(affine(term(RACK, {"matchLabels": {"app": "y"}})))
    assert by(RACK, placed(snapshot, 4, near), snapshot) == {"b": 4}
    assert "podAffinity: 2" in str(placed(snapshot, 5, near))


def test_pods_that_attract_one_another_by_two_labels_share_a_value_of_both() -> None:
    where = {"a1": "11", "a2": "12", "b1": "12", "b2": "21", "b3": "22"}
    nodes = [
        Node(name, {RACK: name[0], HOSTNAME: name, "row": at[0], "pdu": at[1]}, {"cpu": 2000, "pods": 110})
        for name, at in where.items()
    ]
    snapshot = Snapshot(TOPOLOGY, NodeTable.of(nodes))
    assert placed(snapshot, 4, shape(affine(term("row"), term("pdu"))), ANYWHERE) == {"a2": 2, "b1": 2}


def test_affinity_to_pods_that_are_nowhere_excludes_every_node() -> None:
    why = placed(cluster("a2"), 1, shape(affine(term(RACK, {"matchLabels": {"app": "y"}}))))
    assert "excluded: podAffinity: 2" in str(why)


def test_all_affinity_terms_have_to_find_one_pod_that_all_of_them_select() -> None:
    snapshot = cluster("a1 b1")
    run(snapshot, "a1", app="y")
    run(snapshot, "a1", tier="db")
    both = affine(term(RACK, {"matchLabels": {"app": "y"}}), term(RACK, {"matchLabels": {"tier": "db"}}))
    assert "podAffinity: 2" in str(placed(snapshot, 1, shape(both)))
    run(snapshot, "b1", app="y", tier="db")
    assert placed(snapshot, 1, shape(both)) == {"b1": 1}


def test_running_pods_count_in_the_skew() -> None:
    snapshot = cluster("a1 b1")
    for _ in range(2):
        run(snapshot, "a1", app="x")
    assert placed(snapshot, 1, shape(spread(RACK))) == {"b1": 1}
    assert placed(snapshot, 4, shape(spread(RACK))) == {"a1": 1, "b1": 3}
    run(snapshot, "a1", None, "other", app="x")
    assert placed(snapshot, 4, shape(spread(RACK))) == {"a1": 1, "b1": 3}


def test_pods_that_are_being_deleted_do_not_count_in_the_skew_but_keep_others_away() -> None:
    snapshot = cluster("a1 b1")
    run(snapshot, "a1", leaves=True, app="x")
    assert placed(snapshot, 4, shape(spread(RACK))) == {"a1": 2, "b1": 2}
    assert placed(snapshot, 1, shape(apart(term(RACK)))) == {"b1": 1}


def test_a_spread_with_an_empty_selector_counts_no_pods() -> None:
    snapshot = cluster("a1 b1")
    run(snapshot, "a1", app="x")
    assert placed(snapshot, 3, shape(spread(RACK, labelSelector={})), IN_RACK) == {"a1": 3}


def test_nodes_that_the_pod_does_not_select_count_in_the_skew_only_where_the_policy_says_so() -> None:
    snapshot = cluster("a1 b1 c1")
    only = Shape.of({"cpu": 1000}, selector={RACK: "a"})
    honoured = with_rules(only, "default", APP, spread(RACK))
    ignored = with_rules(only, "default", APP, spread(RACK, nodeAffinityPolicy="Ignore"))
    assert placed(snapshot, 3, honoured) == {"a1": 3}
    assert "fit only 1 out of 3" in str(placed(snapshot, 3, ignored))


def test_a_pod_that_names_its_node_goes_there_or_nowhere() -> None:
    assert placed(cluster("a2"), 2, shape({"nodeName": "a2"})) == {"a2": 2}
    assert "nodeName: 2" in str(placed(cluster("a2"), 1, shape({"nodeName": "gone"})))


def test_a_pod_with_a_resource_claim_is_refused() -> None:
    why = placed(cluster("a2"), 1, shape({"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}]}))
    assert 'excluded: resourceClaim "gpu" is not allocated: 2' in str(why)


def test_hosts_below_the_lowest_level_are_counted_for_pods_that_keep_apart() -> None:
    assert placed(cluster("a2 b3", topology=BY_RACK), 3, shape(apart(term(HOSTNAME))), IN_RACK) == {"b": 3}
    assert "host" in str(placed(cluster("a2 b3", topology=BY_RACK), 3, shape(spread(HOSTNAME))))


def test_a_trial_that_removes_pods_removes_their_labels_and_ports() -> None:
    snapshot = cluster("a1")
    other = shape(port(80) | apart(term(HOSTNAME)))
    snapshot.admit(np.array([0]), np.array([1]), other.charge)
    snapshot.commit()
    assert isinstance(placed(snapshot, 1, other), str)
    mark = snapshot.checkpoint()
    snapshot.admit(np.array([0]), np.array([-1]), other.charge)
    assert placed(snapshot, 1, other) == {"a1": 1}
    snapshot.rollback(mark)
    assert isinstance(placed(snapshot, 1, other), str)


def test_pods_that_others_need_near_them_are_placed_first() -> None:
    snapshot = cluster("a2 b2", cpu=2)
    near = shape(affine(term(RACK, {"matchLabels": {"app": "y"}})))
    sets = [PodSet("workers", 3, near, ANYWHERE), PodSet("store", 1, shape({}, {"app": "y"}), ANYWHERE)]
    result = place(snapshot, Request.of(sets), Policy())
    assert result.fits
    hosts = {one.pod_set.name: one.assignment.values for one in result.outcomes if one.assignment is not None}
    (store,) = {path[-1][0] for path in hosts["store"]}
    assert {path[-1][0] for path in hosts["workers"]} == {store}


def test_pods_that_attract_their_own_kind_are_placed_with_all_of_it() -> None:
    """A driver in another rack that is bound first would keep the workers from starting in theirs."""
    workers, driver = shape(affine(term(RACK))), shape({})
    sets = [PodSet("workers", 8, workers, ANYWHERE), PodSet("driver", 1, driver, ANYWHERE)]
    crowded = place(cluster("a1 b2"), Request.of(sets), Policy())
    assert "pods of workers could not start once the others run" in str(crowded.reason)
    result = place(cluster("b3 c3", cpu=3), Request.of(sets), Policy())
    assert result.fits
    racks = [{path[-1][0] for path in one.assignment.values} for one in result.outcomes if one.assignment is not None]
    assert racks in ([{"b"}, {"b"}], [{"c"}, {"c"}])


def test_what_explains_a_refusal_counts_the_pods_that_one_pod_per_host_costs() -> None:
    found = explain(cluster("a2"), Request.of([PodSet("main", 3, shape(apart(term(HOSTNAME))), IN_RACK)]), Policy())
    assert isinstance(found, Explanation)
    (cause,) = found.causes
    assert (cause.cause, cause.leaves, cause.pods) == ("podAntiAffinity among its own pods", 2, 6)


def test_a_node_that_running_pods_would_keep_unused_is_no_remedy() -> None:
    def offers(guarded: bool) -> list[str]:
        snapshot = cluster("a2", cpu=1)
        run(snapshot, "a1", apart(term(RACK)) if guarded else {}, app="z")
        kept = shape({})
        assert kept.kind is not None
        kept = kept.ruled(PodRules(kept.kind), kept.kind)
        found = explain(snapshot, Request.of([PodSet("main", 3, kept, IN_RACK)]), Policy())
        assert isinstance(found, Explanation)
        return [one.kind for one in found.remedies]

    assert "add" in offers(guarded=False)
    assert "add" not in offers(guarded=True)


def test_workloads_keep_others_off_new_nodes_too() -> None:
    snapshot = cluster("a2", cpu=1)
    snapshot.admit(np.array([0]), np.array([1]), shape(apart(term(RACK)), {"app": "z"}).charge)
    more = grown(snapshot, 0, ("a",), 1)
    assert "podAntiAffinity of running pods: 3" in str(placed(more, 1, more.neighbours.ruled(shape({}))))


def test_a_pod_that_wants_its_own_kind_near_is_refused_beside_one_that_keeps_it_away() -> None:
    """Alone, each of the two could be the first. The second one to be bound finds a pod of its kind elsewhere."""
    near, away = shape(affine(term(HOSTNAME))), shape(apart(term(HOSTNAME)))
    both = Request.of([PodSet("near", 1, near, ANYWHERE), PodSet("away", 1, away, ANYWHERE)])
    found = place(cluster(), both, Policy())
    assert not found.fits
    assert "pods of near could not start once the others run" in str(found.reason)
    assert all(place(cluster(), Request.of([PodSet("one", 1, pods, ANYWHERE)]), Policy()).fits for pods in (near, away))
