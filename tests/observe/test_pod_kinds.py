"""Kinds of running pods: what others have to know of them, once per kind."""

from __future__ import annotations

from typing import Any

import msgspec

from closeknit.model.pod_rules import HostPort
from closeknit.observe.pod_kinds import KindCache

TERM = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "x"}}}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}


def pod(number: int, **spec: Any) -> dict[str, Any]:
    labels = {"app": "x", "batch.kubernetes.io/job-completion-index": str(number)}
    return {"metadata": {"name": f"p{number}", "namespace": "n", "labels": labels}, "spec": {"nodeName": "h", **spec}}


def test_pods_that_differ_in_their_number_alone_share_one_value() -> None:
    cache = KindCache(True)
    assert cache.of(pod(1, affinity=APART)) is cache.of(pod(2, affinity=APART))
    assert cache.of(pod(1)) is not cache.of(pod(1, affinity=APART))


def test_a_pod_that_is_being_deleted_is_of_a_kind_of_its_own() -> None:
    cache, leaving = KindCache(True), pod(1)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    found = cache.of(leaving)
    assert found is not None
    assert found.leaves
    assert found is not cache.of(pod(1))


def test_text_and_object_give_the_same_kind() -> None:
    cache, one = KindCache(True), pod(1, hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 80}]}])
    found = cache.of_text("n", one["metadata"]["labels"], msgspec.json.encode(one))
    assert found is cache.of(one)
    assert found is not None
    assert found.ports == (HostPort("TCP", 80),)


def test_a_pod_whose_rules_cannot_be_read_counts_as_one_without_any() -> None:
    found = KindCache(True).of(pod(1, affinity="near"))
    assert found is not None
    assert (found.labels, found.anti) == ((), ())


def test_without_the_gate_pods_have_no_kind() -> None:
    assert KindCache(False).of(pod(1)) is None
