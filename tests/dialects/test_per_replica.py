"""The annotations of ours on how replicas are placed: what they mean, and how mistakes are reported."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from closeknit.dialects.kueue.per_replica import own_mistakes, with_own_keys
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint, Ranks, Replicas

EACH, APART, ORDER = (
    f"closeknit.dev/{name}" for name in ("podset-per-replica", "podset-spread-topology", "placement-order")
)
REQUIRED, GROUP = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-group-name"
RACK, ON = {REQUIRED: "example.com/rack"}, Gates.profile()
THREE = Ranks("index", "job", 3)


def test_each_replica_has_its_share_of_the_pods() -> None:
    found = with_own_keys(Constraint(required="r"), {EACH: "true", APART: "b", ORDER: "spread"}, 36, THREE)
    assert found == Constraint(required="r", replicas=Replicas(12, "b"), order="spread")


def test_the_order_of_the_template_outranks_that_of_the_job() -> None:
    found = with_own_keys(Constraint(required="r"), {ORDER: "binpack"}, 1, Ranks(), order="spread")
    assert found == Constraint(required="r", order="binpack")


@pytest.mark.parametrize(
    ("notes", "ranks", "key", "text"),
    [
        ({**RACK, EACH: "1"}, THREE, EACH, 'is "1"; use "true" or "false"'),
        ({**RACK, EACH: "true"}, Ranks("index"), EACH, "these have none; remove it"),
        ({**RACK, EACH: "true"}, Ranks("index", "job", 5), EACH, "12 pods are not 5 replicas of equal size"),
        ({**RACK, EACH: "true", GROUP: "g"}, THREE, EACH, f"cannot be combined with {GROUP}; keep one of them"),
        ({EACH: "true"}, THREE, EACH, "has no effect without a topology request; add "),
        ({**RACK, EACH: "true", APART: "auto"}, THREE, APART, 'is "auto", not the name of a level; name a level'),
        ({**RACK, APART: "example.com/rack"}, THREE, APART, f'pods are not placed by replica; add {EACH}: "true"'),
        ({**RACK, ORDER: "tight"}, Ranks(), ORDER, 'is "tight"; use binpack or spread'),
        ({ORDER: "spread"}, Ranks(), ORDER, "has no effect without a topology request"),
    ],
)
def test_a_mistake_names_the_annotation_and_the_remedy(
    notes: Mapping[str, str], ranks: Ranks, key: str, text: str
) -> None:
    (found,) = own_mistakes(notes, 12, ranks, ON, "notes")
    assert found.field == f"notes[{key}]"
    assert text in str(found)


def test_nothing_is_wrong_or_read_while_the_gate_is_off() -> None:
    off = Gates.profile("kueue")
    assert own_mistakes({EACH: "1", ORDER: "tight"}, 12, Ranks(), off) == []
    assert with_own_keys(Constraint(required="r"), {EACH: "true"}, 36, THREE, gates=off) == Constraint(required="r")
