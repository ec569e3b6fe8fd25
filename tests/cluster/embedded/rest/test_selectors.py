"""Selecting objects by labels and fields, and writing selectors down."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.rest.selectors import label_text, selection, selector_text
from closeknit.cluster.errors import BadRequest
from closeknit.cluster.kinds import CONFIG_MAP, EVENT, JOB, NODE, POD, WORKLOAD, Kind


def labelled(**labels: str) -> dict[str, Any]:
    return {"metadata": {"name": "x", "namespace": "n", "labels": labels}}


@pytest.mark.parametrize(
    ("text", "labels", "found"),
    [
        ("", {}, True),
        ("  ", {}, True),
        ("a=1", {"a": "1"}, True),
        ("a==1", {"a": "1"}, True),
        ("a = 1 , b=2", {"a": "1", "b": "2"}, True),
        ("a=1", {"a": "2"}, False),
        ("a=", {"a": ""}, True),
        ("a!=1", {}, True),
        ("a!=1", {"a": "1"}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("! a", {"a": "1"}, False),
        ("a in (1,2)", {"a": "2"}, True),
        ("a in (1,)", {"a": ""}, True),
        ("a in ()", {"a": ""}, True),
        ("a notin (1, 2)", {"a": "2"}, False),
        ("a notin (1)", {}, True),
        ("a>1", {"a": "10"}, True),
        ("a>1", {"a": "x"}, False),
        ("a<1", {"a": "0"}, True),
        ("a,!b,c in (x)", {"a": "", "c": "x"}, True),
    ],
)
def test_a_label_selector_admits(text: str, labels: dict[str, str], found: bool) -> None:
    assert selection(POD, "", text, "").matches(labelled(**labels)) is found


@pytest.mark.parametrize(
    "text",
    [
        *("a in (", "a in 1", "=1", "a=1,,b", "a==1=2", "bad key=1", "a in ()b", "a,", ",a", "a=b c", "!", "a>x", "a<"),
        *("a b", "a=ä", f"{'a' * 64}=1", "a in (1", "a in 1)", "(a)", "a!", "!a=1"),
    ],
)
def test_a_label_selector_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        selection(POD, "", text, "")


POD_ON_A = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "a", "hostNetwork": True},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("kind", "text", "raw", "found"),
    [
        (POD, "spec.nodeName=a", POD_ON_A, True),
        (POD, "spec.nodeName!=a", POD_ON_A, False),
        (POD, "spec.nodeName==a,status.phase=Running", POD_ON_A, True),
        (POD, "metadata.name=p,metadata.namespace=n", POD_ON_A, True),
        (POD, "metadata.namespace!=n", POD_ON_A, False),
        (POD, "spec.hostNetwork=true", POD_ON_A, True),
        (POD, "spec.hostNetwork=false", labelled(), True),
        (POD, "spec.nodeName=", labelled(), True),
        (NODE, "spec.unschedulable=false", labelled(), True),
        (NODE, "spec.unschedulable=true", {"metadata": {"name": "x"}, "spec": {"unschedulable": True}}, True),
        (JOB, "status.successful=0", labelled(), True),
        (JOB, "status.successful=3", {"metadata": {"name": "j"}, "status": {"succeeded": 3}}, True),
        (EVENT, "source=kubelet", {"metadata": {"name": "e"}, "source": {"component": "kubelet"}}, True),
        (EVENT, "involvedObject.uid=1", {"metadata": {"name": "e"}, "involvedObject": {"uid": "1"}}, True),
        (
            WORKLOAD,
            "status.admission.clusterQueue=q",
            {"metadata": {"name": "w"}, "status": {"admission": {"clusterQueue": "q"}}},
            True,
        ),
        (WORKLOAD, "status.admission.clusterQueue=q", {"metadata": {"name": "w"}, "status": None}, False),
        (POD, r"metadata.name=a\,b", {"metadata": {"name": "a,b"}}, True),
    ],
)
def test_a_field_selector_admits(kind: Kind, text: str, raw: dict[str, Any], found: bool) -> None:
    assert selection(kind, "", "", text).matches(raw) is found


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (CONFIG_MAP, "spec.nodeName=a"),
        (POD, "spec.foo=a"),
        (POD, "metadata.name"),
        (POD, "=a"),
        (POD, "metadata.uid=x"),
    ],
)
def test_a_field_that_the_kind_does_not_offer_is_refused(kind: Kind, text: str) -> None:
    with pytest.raises(BadRequest):
        selection(kind, "", "", text)


def test_a_selection_knows_the_one_name_that_it_can_mean() -> None:
    assert selection(POD, "n", "", "status.phase=x,metadata.name=p").name == "p"
    assert selection(POD, "n", "", "metadata.name!=p").name == ""


def test_a_namespace_is_part_of_a_selection() -> None:
    assert selection(POD, "n", "", "").matches(labelled())
    assert not selection(POD, "m", "", "").matches(labelled())


def test_labels_and_selectors_are_written_in_order() -> None:
    assert label_text({"b": "2", "a": "1"}) == "a=1,b=2"
    expressions = [
        {"key": "tier", "operator": "In", "values": ["b", "a"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "env", "operator": "NotIn", "values": ["x"]},
        {"key": "app", "operator": "Exists"},
    ]
    assert selector_text({"matchLabels": {"zone": "1"}, "matchExpressions": expressions}) == (
        "app,env notin (x),!old,tier in (a,b),zone=1"
    )
    assert selector_text({}) == ""
