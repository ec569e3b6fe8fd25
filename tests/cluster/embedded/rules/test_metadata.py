from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kinds import CONFIG_MAP, NAMESPACE, Kind
from closeknit.cluster.port import Key, Raw
from cluster.embedded.rules.hosts import Host, a_set

REFERENCE = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}


@pytest.mark.parametrize(
    ("meta", "wrong"),
    [
        ({"name": "Bad_Name"}, [("metadata.name", "Invalid")]),
        ({"name": "a" * 254}, [("metadata.name", "Invalid")]),
        ({"name": "a/b"}, [("metadata.name", "Invalid")]),
        ({"labels": {"a b": "c"}}, [("metadata.labels", "Invalid")]),
        ({"labels": {"a": "c d"}}, [("metadata.labels", "Invalid")]),
        ({"labels": {"a": "x" * 64}}, [("metadata.labels", "Invalid")]),
        ({"labels": {"a": ""}}, []),
        ({"annotations": {"a b": "c"}}, [("metadata.annotations", "Invalid")]),
        ({"annotations": {"A/B": "any text, of any kind"}}, []),
        ({"annotations": {"a": "c" * 262_144}}, [("metadata.annotations", "TooLong")]),
        (
            {"ownerReferences": [{}]},
            [(f"metadata.ownerReferences.{key}", "Invalid") for key in ("apiVersion", "kind", "name", "uid")],
        ),
        (
            {"ownerReferences": [{**REFERENCE, "controller": True}, {**REFERENCE, "controller": True}]},
            [("metadata.ownerReferences", "Invalid")],
        ),
        ({"ownerReferences": [{**REFERENCE, "kind": "Event"}]}, [("metadata.ownerReferences", "Invalid")]),
        ({"ownerReferences": [REFERENCE]}, []),
        ({"finalizers": ["x"]}, [("metadata.finalizers[0]", "Invalid")]),
        ({"finalizers": ["a/b c"]}, [("metadata.finalizers", "Invalid")]),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, [("metadata.finalizers", "Invalid")]),
        ({"finalizers": ["orphan", "a.b/c"]}, []),
    ],
)
def test_metadata_that_break_a_rule_are_refused_by_field(meta: Raw, wrong: Any) -> None:
    assert Host().refusal(CONFIG_MAP, {"metadata": meta}) == wrong


@pytest.mark.parametrize(
    ("prefix", "wrong"),
    [
        ("train-", []),
        ("a.", [("metadata.generateName", "Invalid")]),
        ("A_", [("metadata.generateName", "Invalid"), ("metadata.name", "Invalid")]),
    ],
)
def test_generate_name_is_checked_too(prefix: str, wrong: Any) -> None:
    assert Host().refusal(CONFIG_MAP, {"metadata": {"name": "", "generateName": prefix}}) == wrong


@pytest.mark.parametrize(
    ("kind", "name", "good"),
    [
        (kinds.CONFIG_MAP, "a.b", True),
        (kinds.NAMESPACE, "a.b", False),
        (kinds.STATEFUL_SET, "a.b", False),
        (kinds.STATEFUL_SET, "1a", True),
        (kinds.DEPLOYMENT, "a.b", True),
        (kinds.DEPLOYMENT, "a" * 64, True),
        (kinds.BUDGET, "Any_Name", True),
    ],
)
def test_each_kind_has_its_own_form_of_names(kind: Kind, name: str, good: bool) -> None:
    body = a_set() if kind.group == "apps" else {}
    wrong = Host().refusal(kind, {"metadata": {"name": name}, **body})
    assert wrong == ([] if good else [("metadata.name", "Invalid")])


def test_parts_of_metadata_that_are_empty_are_not_kept() -> None:
    made = Host().create(CONFIG_MAP, {"metadata": {"labels": {}, "annotations": None, "finalizers": []}})
    assert made["metadata"].keys() & {"labels", "annotations", "finalizers"} == set()


def test_an_object_that_is_being_deleted_gets_no_new_finalizer_but_may_lose_one() -> None:
    host = Host()
    host.create(CONFIG_MAP, {"metadata": {"finalizers": ["a.b/c", "a.b/d"]}})
    host.store.delete(Key(CONFIG_MAP, "default", "x"))
    more = {"metadata": {"finalizers": ["a.b/c", "a.b/d", "a.b/e"]}}
    assert host.change_refusal(CONFIG_MAP, more) == [("metadata.finalizers", "Forbidden")]
    assert host.patch(CONFIG_MAP, {"metadata": {"finalizers": ["a.b/d"]}})["metadata"]["finalizers"] == ["a.b/d"]


def test_a_namespace_has_its_name_as_a_label_that_cannot_be_removed() -> None:
    host = Host()
    made = host.create(NAMESPACE, {})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert (made["spec"], made["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    relabelled = host.patch(NAMESPACE, {"metadata": {"labels": {"kubernetes.io/metadata.name": "y", "a": "b"}}})
    assert relabelled["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x", "a": "b"}
    assert host.patch(NAMESPACE, {"spec": {"finalizers": []}})["spec"] == {"finalizers": ["kubernetes"]}
