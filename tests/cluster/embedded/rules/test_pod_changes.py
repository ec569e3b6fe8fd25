from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.kinds import POD
from closeknit.cluster.port import Raw
from cluster.embedded.rules.hosts import CONTAINER, Host, pod

MUST, MAY = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
FIRST, SECOND = {"key": "k", "operator": "Exists"}, {"key": "l", "operator": "Exists"}
TERMS = f"spec.affinity.nodeAffinity.{MUST}.nodeSelectorTerms"
LOST = [
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
]
MORE = {"key": "a", "operator": "Exists"}


def terms(*several: list[Raw]) -> Raw:
    return {"affinity": {"nodeAffinity": {MUST: {"nodeSelectorTerms": [{"matchExpressions": one} for one in several]}}}}


def container(**more: Any) -> Raw:
    return {"containers": [{**CONTAINER, **more}]}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (container(image="o:1", imagePullPolicy="IfNotPresent"), []),
        (container(image="", imagePullPolicy="IfNotPresent"), [("spec.containers[0].image", "Required")]),
        (container(command=["x"]), [("spec", "Forbidden")]),
        ({"containers": [CONTAINER, {"name": "d", "image": "i:1"}]}, [("spec.containers", "Forbidden")]),
        ({"activeDeadlineSeconds": 5}, []),
        ({"tolerations": [*LOST, MORE]}, []),
        ({"tolerations": [{**LOST[0], "tolerationSeconds": 9}, LOST[1]]}, []),
        ({"schedulerName": "z"}, [("spec", "Forbidden")]),
        ({"nodeName": "n"}, [("spec", "Forbidden")]),
        ({"nodeSelector": {"a": "b"}}, [("spec", "Forbidden")]),
        (terms([FIRST]), [("spec", "Forbidden")]),
        ({"schedulingGates": [{"name": "a/b"}]}, [("spec.schedulingGates[0].name", "Forbidden")]),
        ({"priority": None, "preemptionPolicy": None, "enableServiceLinks": None, "restartPolicy": None}, []),
    ],
)
def test_a_pod_stays_what_it_is(change: Raw, wrong: Any) -> None:
    host = Host()
    host.create(POD, pod())
    assert host.change_refusal(POD, {"spec": change}) == wrong


def test_tolerations_are_only_added() -> None:
    host = Host()
    host.create(POD, pod(tolerations=[MORE]))
    assert host.change_refusal(POD, {"spec": {"tolerations": LOST}}) == [("spec.tolerations", "Forbidden")]


@pytest.mark.parametrize(("later", "wrong"), [(5, []), (20, [("spec.activeDeadlineSeconds", "Invalid")])])
def test_a_deadline_comes_nearer_and_never_goes(later: int, wrong: Any) -> None:
    host = Host()
    host.create(POD, pod(activeDeadlineSeconds=10))
    assert host.change_refusal(POD, {"spec": {"activeDeadlineSeconds": later}}) == wrong
    assert host.change_refusal(POD, {"spec": {"activeDeadlineSeconds": None}}) == [
        ("spec.activeDeadlineSeconds", "Invalid")
    ]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"schedulingGates": None}, []),
        ({"schedulingGates": [{"name": "x/b"}]}, []),
        ({"schedulingGates": [], "nodeSelector": {"c": "d"}}, []),
        ({"schedulingGates": [{"name": "x/b"}, {"name": "x/c"}]}, [("spec.schedulingGates[1].name", "Forbidden")]),
        ({"nodeSelector": {"c": "d"}}, []),
        ({"nodeSelector": {"a": "d"}}, [("spec.nodeSelector", "Invalid")]),
        ({"nodeSelector": None}, [("spec.nodeSelector", "Invalid")]),
        (terms([FIRST, SECOND]), []),
        (terms([SECOND]), [(f"{TERMS}[0]", "Invalid")]),
        (terms([FIRST], [SECOND]), [(TERMS, "Invalid")]),
        ({"affinity": None}, [(TERMS, "Invalid")]),
        ({"affinity": {"nodeAffinity": {MAY: [{"weight": 1, "preference": {"matchExpressions": [FIRST]}}]}}}, []),
        ({"affinity": {"podAffinity": {MUST: [{"topologyKey": "a"}]}}}, [("spec", "Forbidden")]),
        ({"schedulerName": "z"}, [("spec", "Forbidden")]),
    ],
)
def test_the_scheduling_directives_of_a_gated_pod_may_be_narrowed(change: Raw, wrong: Any) -> None:
    host = Host()
    gates = [{"name": "x/a"}, {"name": "x/b"}]
    host.create(POD, pod(schedulingGates=gates, nodeSelector={"a": "b"}, **terms([FIRST])))
    assert host.change_refusal(POD, {"spec": change}) == wrong


def test_gates_that_are_all_gone_leave_no_empty_list() -> None:
    host = Host()
    host.create(POD, pod(schedulingGates=[{"name": "x/a"}]))
    assert "schedulingGates" not in host.patch(POD, {"spec": {"schedulingGates": []}})["spec"]


def test_our_own_writers_are_held_to_what_may_not_change() -> None:
    host = Host()
    host.create(POD, pod())
    with pytest.raises(Exception, match=r"spec: Forbidden"):
        host.patch(POD, {"spec": {"schedulerName": "z"}}, trusted=True)
