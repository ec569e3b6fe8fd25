"""The keys of KEP-2724 mean the keys that became of them, where the gate ReadFormerKeys is on."""

from __future__ import annotations

import pytest

from closeknit.dialects.kueue import keys
from closeknit.dialects.kueue.topology_request import build, is_by_topology
from closeknit.dialects.kueue.validation import template_mistakes
from closeknit.model.gates import Gates
from closeknit.model.request import Constraint

OURS, KUEUE = Gates.profile(), Gates.profile("kueue")
REQUIRE, PREFER = keys.FORMER
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


def constraint(annotations: dict[str, str], gates: Gates = OURS) -> Constraint | None:
    request = build(annotations, gates)
    return None if request is None else request.constraint()


def fields(annotations: dict[str, str], gates: Gates = OURS) -> list[str]:
    return [one.field for one in template_mistakes(annotations, gates)]


@pytest.mark.parametrize("level", [RACK, "auto"])
@pytest.mark.parametrize(("old", "new"), keys.FORMER.items())
def test_each_is_read_as_the_key_that_became_of_it(old: str, new: str, level: str) -> None:
    assert constraint({old: level}) == constraint({new: level}) is not None
    assert fields({old: level}) == []
    assert is_by_topology({old: level}, OURS)


@pytest.mark.parametrize("old", keys.FORMER)
def test_kueue_does_not_read_them(old: str) -> None:
    assert build({old: RACK}, KUEUE) is None
    assert fields({old: "not a level"}, KUEUE) == []
    assert not is_by_topology({old: RACK}, KUEUE)


@pytest.mark.parametrize(("old", "new"), keys.FORMER.items())
def test_both_keys_must_agree(old: str, new: str) -> None:
    assert fields({old: RACK, new: RACK}) == []
    [mistake] = template_mistakes({old: RACK, new: HOST}, OURS)
    assert mistake.field == old
    assert str(mistake).endswith(f'contradicts {new}, which is "{HOST}"; keep one of them')


def test_a_mistake_is_reported_at_the_key_that_was_written() -> None:
    assert fields({REQUIRE: "a b"}) == [REQUIRE]
    assert fields({PREFER: "a b"}) == [PREFER]
    assert fields({REQUIRE: RACK, keys.UNCONSTRAINED: "true"}) == [keys.UNCONSTRAINED]


def test_required_and_preferred_may_be_of_either_spelling() -> None:
    assert constraint({REQUIRE: RACK, keys.PREFERRED: HOST}) == Constraint(required=RACK, preferred=HOST)
