"""Protobuf bodies: what they mean, that malformed ones are refused, and that nothing else happens to them."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.rest.bodies import PROTOBUF, tree
from closeknit.cluster.embedded.rest.protobuf import MAGIC, decoded, tables
from closeknit.cluster.errors import BadRequest
from cluster.embedded.rest.protobuf_writing import body, field, varint

META = field(1, b"a") + field(2, b"") + field(5, b"")
"""Go writes generateName and uid though they are empty."""


def config_map(*parts: bytes) -> bytes:
    return body("v1", "ConfigMap", b"".join((field(1, META), *parts)))


def job(spec: bytes) -> dict[str, Any]:
    found = decoded(body("batch/v1", "Job", field(1, META) + field(2, spec)))
    assert found is not None
    spec_of: dict[str, Any] = found.get("spec", {})
    return spec_of


def test_an_object_has_its_kind_and_what_is_not_empty() -> None:
    entries = field(2, field(1, b"k") + field(2, b"v")) + field(2, field(1, b"empty"))
    assert decoded(config_map(entries)) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"k": "v", "empty": ""},
    }


def test_bytes_are_base64() -> None:
    found = decoded(config_map(field(3, field(1, b"k") + field(2, b"\xff"))))
    assert found is not None
    assert found["binaryData"] == {"k": "/w=="}


def test_zero_counts_where_go_has_a_pointer() -> None:
    assert job(field(1, 0) + field(7, 0) + field(10, 0)) == {"parallelism": 0, "backoffLimit": 0, "suspend": False}


def test_numbers_are_signed_and_have_64_bits() -> None:
    assert job(field(1, 2**64 - 1)) == {"parallelism": -1}
    assert job(field(3, 2**62)) == {"activeDeadlineSeconds": 2**62}


def test_a_volume_has_its_source_inlined_and_an_empty_one_is_kept() -> None:
    volume = field(1, b"scratch") + field(2, field(2, b""))
    assert job(field(6, field(2, field(1, volume)))) == {
        "template": {"spec": {"volumes": [{"name": "scratch", "emptyDir": {}}]}}
    }


def test_quantities_times_and_percentages_are_as_in_json() -> None:
    requests = field(2, field(1, b"cpu") + field(2, field(1, b"500m")))
    container = field(1, b"c") + field(8, requests)
    assert job(field(6, field(2, field(2, container)))) == {
        "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]}}
    }
    made = decoded(body("v1", "ConfigMap", field(1, META + field(8, field(1, 1_700_000_000)))))
    assert made is not None
    assert made["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"
    for number, value in ((field(1, 1) + field(3, b"50%"), "50%"), (field(1, 0) + field(2, 3), 3)):
        budget = decoded(body("policy/v1", "PodDisruptionBudget", field(2, field(1, number))))
        assert budget is not None
        assert budget["spec"] == {"minAvailable": value}


def test_a_field_that_is_newer_is_skipped() -> None:
    assert job(field(1, 3) + field(900, b"x") + field(901, 7) + varint(902 << 3 | 1) + b"12345678") == {
        "parallelism": 3
    }


def test_a_kind_that_is_not_in_the_table_is_unknown() -> None:
    assert decoded(body("rbac.authorization.k8s.io/v1", "ClusterRole", b"")) is None
    assert decoded(MAGIC) is None


BAD = {
    "no magic": b"{}",
    "no end": config_map()[:-1],
    "beyond the end": MAGIC + varint(2 << 3 | 2) + varint(1000) + b"x",
    "an endless number": MAGIC + b"\xff" * 12,
    "a group": MAGIC + varint(2 << 3 | 3),
    "a number for a string": body("v1", "ConfigMap", field(1, field(1, 7))),
    "a string for a number": body("batch/v1", "Job", field(2, field(1, b"x"))),
    "no UTF-8": body("v1", "ConfigMap", field(1, field(1, b"\xff"))),
    "a number for the name of a kind": MAGIC + field(1, field(2, 7)),
    "a time beyond the calendar": body("v1", "ConfigMap", field(1, field(8, field(1, 2**60)))),
    "JSON that is none": body("apps/v1", "ControllerRevision", field(2, field(1, b"{"))),
    "compressed": MAGIC + field(3, b"gzip"),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_a_malformed_body_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(BadRequest, match="not a protobuf object of Kubernetes"):
        decoded(data)


def test_no_message_of_the_table_contains_itself_so_that_depth_is_bounded() -> None:
    messages = tables().messages

    def depth(name: str, above: tuple[str, ...] = ()) -> int:
        assert name not in above, name
        inner = [one.type for one in messages[name].values() if one.type in messages]
        return 1 + max((depth(one, (*above, name)) for one in inner), default=0)

    assert max(map(depth, tables().kinds.values())) < 20


def test_json_in_a_field_may_not_be_nested_deeper_than_other_bodies() -> None:
    deep = b"[" * 500 + b"]" * 500
    with pytest.raises(BadRequest, match="levels deep"):
        tree(body("apps/v1", "ControllerRevision", field(2, field(1, deep))), PROTOBUF)
