from __future__ import annotations

from typing import Any

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.kinds import NODE, POD
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, containers


def playground(*nodes: str, **room: Any) -> Playground:
    host = Playground(Binder())
    for name in nodes:
        host.node(name, **room)
    return host


def pod(host: Playground, name: str, cpu: str = "1", **spec: Any) -> None:
    host.pod(name, **{**containers(cpu=cpu), **spec})


def ruled(host: Playground, name: str, app: str, **rules: Any) -> None:
    """A pod with a label, and rules about other pods."""
    host.create(POD, {"metadata": {"name": name, "labels": {"app": app}}, "spec": {**containers(cpu="1"), **rules}})


def near(app: str, kind: str = "podAffinity") -> dict[str, Any]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def apart(app: str) -> dict[str, Any]:
    return near(app, "podAntiAffinity")


def spread(app: str) -> dict[str, Any]:
    rule = {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": app}}}]}


def nodes(host: Playground) -> dict[str, str | None]:
    return {one["metadata"]["name"]: one["spec"].get("nodeName") for one in host.pods()}


def why(host: Playground, name: str) -> str:
    found = condition(host.get(POD, name), "PodScheduled")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "Unschedulable")
    return str(found["message"])


def test_pods_are_bound_to_the_first_node_by_name_that_has_room() -> None:
    host = playground("b", "a", cpu="2")
    for number in range(4):
        pod(host, f"p{number}")
    host.settle()
    assert nodes(host) == {"p0": "a", "p1": "a", "p2": "b", "p3": "b"}
    scheduled = condition(host.get(POD, "p0"), "PodScheduled")
    assert scheduled is not None
    assert scheduled["status"] == "True"


def test_a_pod_that_does_not_fit_waits_and_reports_the_reason() -> None:
    host = playground("a", "b", cpu="2")
    pod(host, "big", "3")
    host.settle()
    assert nodes(host) == {"big": None}
    assert why(host, "big") == (
        "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )


def test_a_pod_that_would_fit_an_empty_node_reports_insufficient_resources() -> None:
    host = playground("a", cpu="2")
    pod(host, "first", "2")
    pod(host, "second", "2")
    host.settle()
    assert why(host, "second") == (
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )


def test_every_cause_is_counted() -> None:
    host = playground("a", "b", "c", "d", cpu="2")
    host.patch(NODE, "a", {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}})
    host.patch(NODE, "b", {"spec": {"unschedulable": True}})
    host.patch(NODE, "c", {"metadata": {"labels": {"disk": "ssd"}}})
    pod(host, "p", "3", nodeSelector={"disk": "ssd"})
    host.settle()
    assert why(host, "p").split(". no new")[0] == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable"
    )


def test_without_nodes_there_is_nothing_to_count() -> None:
    host = playground()
    pod(host, "p")
    host.settle()
    assert why(host, "p") == "no nodes available to schedule pods"


def test_freed_room_is_used_by_waiting_pods() -> None:
    host = playground("a", cpu="2")
    pod(host, "first", "2")
    pod(host, "second", "2")
    host.settle()
    host.patch(POD, "first", {"status": {"phase": "Succeeded"}}, "status")
    host.settle()
    assert nodes(host) == {"first": "a", "second": "a"}


def test_a_deleted_pod_keeps_its_room_until_it_is_gone() -> None:
    host = playground("a", cpu="2")
    pod(host, "first", "2")
    host.settle()
    pod(host, "second", "2")
    host.delete(POD, "first")
    host.settle()
    assert nodes(host)["second"] is None
    host.delete(POD, "first", grace=0)
    host.settle()
    assert nodes(host) == {"second": "a"}


def test_a_new_node_is_used_by_waiting_pods() -> None:
    host = playground("a", cpu="1")
    pod(host, "p", "2")
    host.settle()
    host.node("b", cpu="2")
    host.settle()
    assert nodes(host) == {"p": "b"}


def test_a_node_that_gets_a_label_or_loses_a_taint_is_used_by_waiting_pods() -> None:
    host = playground("a")
    host.patch(NODE, "a", {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}})
    pod(host, "p", nodeSelector={"disk": "ssd"})
    host.settle()
    host.patch(NODE, "a", {"metadata": {"labels": {"disk": "ssd"}}})
    host.settle()
    assert nodes(host) == {"p": None}
    host.patch(NODE, "a", {"spec": {"taints": None}})
    host.settle()
    assert nodes(host) == {"p": "a"}


def test_a_pod_that_selects_its_host_is_bound_there_or_not_at_all() -> None:
    host = playground("a", "b", cpu="2")
    for number in range(3):
        pod(host, f"p{number}", nodeSelector={"kubernetes.io/hostname": "b"})
    host.settle()
    assert nodes(host) == {"p0": "b", "p1": "b", "p2": None}
    host.patch(POD, "p0", {"status": {"phase": "Failed"}}, "status")
    host.settle()
    assert nodes(host)["p2"] == "b"


def test_a_pod_that_selects_a_later_host_is_bound_there() -> None:
    host = playground("a")
    pod(host, "p", nodeSelector={"kubernetes.io/hostname": "b"})
    host.settle()
    assert nodes(host) == {"p": None}
    host.node("b")
    host.settle()
    assert nodes(host) == {"p": "b"}


def affinity(**term: Any) -> Raw:
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_required_affinity_counts() -> None:
    host = playground("a", "b")
    host.patch(NODE, "b", {"metadata": {"labels": {"cores": "64"}}})
    pod(host, "p", affinity=affinity(matchExpressions=[{"key": "cores", "operator": "Gt", "values": ["32"]}]))
    host.settle()
    assert nodes(host) == {"p": "b"}


def test_affinity_by_the_name_of_the_node_counts() -> None:
    host = playground("a", "b")
    pod(host, "p", affinity=affinity(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["b"]}]))
    host.settle()
    assert nodes(host) == {"p": "b"}


def test_a_toleration_opens_a_tainted_node() -> None:
    host = playground("a")
    host.patch(NODE, "a", {"spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}})
    pod(host, "p", tolerations=[{"key": "gpu", "operator": "Exists"}])
    host.settle()
    assert nodes(host) == {"p": "a"}


def test_gated_pods_and_those_of_other_schedulers_are_left_alone() -> None:
    host = playground("a")
    pod(host, "gated", schedulingGates=[{"name": "kueue.x-k8s.io/topology"}])
    pod(host, "other", schedulerName="somebody")
    host.settle()
    assert nodes(host) == {"gated": None, "other": None}
    body = {"spec": {"schedulingGates": None, "nodeSelector": {"kubernetes.io/hostname": "a"}}}
    host.patch(POD, "gated", body)
    host.settle()
    assert nodes(host) == {"gated": "a", "other": None}


def test_pods_of_others_and_extended_resources_count() -> None:
    host = playground("a", **{"example.com/gpu": "2"})
    gpu = {"example.com/gpu": "1"}
    spec: Raw = {"containers": [{"name": "c", "image": "x", "resources": {"requests": gpu, "limits": gpu}}]}
    host.pod("given", **spec, nodeName="a")
    host.pod("first", **spec)
    host.pod("second", **spec)
    host.settle()
    assert nodes(host) == {"given": "a", "first": "a", "second": None}
    assert "1 Insufficient example.com/gpu" in why(host, "second")


def test_a_node_holds_no_more_pods_than_its_capacity() -> None:
    host = playground("a", pods="1")
    pod(host, "first")
    pod(host, "second")
    host.settle()
    assert "1 Too many pods" in why(host, "second")


def test_after_a_restart_existing_pods_are_counted() -> None:
    host = playground("a", cpu="2")
    pod(host, "first")
    pod(host, "second", "2")
    host.settle()
    host.start([Binder()])
    pod(host, "third")
    host.settle()
    assert nodes(host) == {"first": "a", "second": None, "third": "a"}


def test_a_refused_binding_is_tried_again() -> None:
    host = playground("a", cpu="1")
    binder = Binder()
    host.start([binder])
    pod(host, "p")
    host.loop.pass_on()
    worker = host.workers[0]
    (bind,) = worker.step(host.time)
    host.patch(POD, "p", {"metadata": {"labels": {"changed": "yes"}}})
    worker.done(bind, _refused(), host.time)
    host.run(1)
    assert nodes(host) == {"p": "a"}


def test_a_pod_that_waits_for_another_one_near_it_is_bound_after_it() -> None:
    host = playground("a", "b")
    ruled(host, "follower", "x", **near("leader"))
    host.settle()
    assert nodes(host) == {"follower": None}
    ruled(host, "leader", "leader")
    host.settle()
    assert nodes(host) == {"follower": "a", "leader": "a"}


def test_all_pods_with_rules_are_bound_however_many_there_are() -> None:
    host = playground("a", cpu="1000", pods="1000")
    for number in range(300):
        ruled(host, f"p{number}", "x", **apart("other"))
    host.settle()
    assert set(nodes(host).values()) == {"a"}


def test_pods_that_are_kept_away_do_not_hold_up_others_of_their_shape() -> None:
    host = playground("a", cpu="1000", pods="1000")
    ruled(host, "guard", "guard", **apart("x"))
    host.settle()
    for number in range(300):
        ruled(host, f"p{number}", "x")
    ruled(host, "other", "y")
    host.settle()
    assert {name for name, node in nodes(host).items() if node} == {"guard", "other"}


def test_a_waiting_pod_that_gets_another_label_is_tried_again() -> None:
    host = playground("a")
    ruled(host, "guard", "guard", **apart("x"))
    ruled(host, "p", "x")
    host.settle()
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in why(host, "p")
    host.patch(POD, "p", {"metadata": {"labels": {"app": "y"}}})
    host.settle()
    assert nodes(host)["p"] == "a"


def uneven() -> Playground:
    """Of two pods that spread over two nodes the second waits: the other node is cordoned, and counts as empty."""
    host = playground("a", "b")
    host.patch(NODE, "b", {"spec": {"unschedulable": True}})
    ruled(host, "first", "x", **spread("x"))
    ruled(host, "second", "x", **spread("x"))
    host.settle()
    assert nodes(host) == {"first": "a", "second": None}
    return host


def test_a_node_that_is_gone_is_no_empty_domain_any_more() -> None:
    host = uneven()
    host.delete(NODE, "b")
    host.settle()
    assert nodes(host)["second"] == "a"


def test_a_pod_that_is_being_deleted_does_not_count_in_the_spread_of_others() -> None:
    host = uneven()
    host.delete(POD, "first")
    host.settle()
    assert nodes(host)["second"] == "a"


def _refused() -> Any:
    from closeknit.cluster.errors import Conflict

    return Conflict("try again")
