"""A kubelet that is rebuilt from what its pods hold decides as the one that admitted them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from closeknit.dialects.zone_holdings import HELD, HeldZones, read, written
from closeknit.numa.admission import NodeAdmission, Verdict
from closeknit.numa.demand import PodDemand
from closeknit.numa.holding import PodHolding, holding_of, put_back

from .sequences import Sequence, random_sequence

seeds = st.integers(0, 10**6)
EXAMPLES = settings(max_examples=60, deadline=None)


def through_the_annotation(holding: PodHolding) -> PodHolding:
    return read({HELD: written(HeldZones(holding))}).holding


def rebuilt(sequence: Sequence, holdings: dict[str, PodHolding], luck: Random) -> NodeAdmission:
    kubelet = sequence.kubelet()
    for uid in luck.sample(sorted(holdings), len(holdings)):
        assert put_back(kubelet, uid, through_the_annotation(holdings[uid]))
    return kubelet


def answer(verdict: Verdict) -> Verdict:
    """Without what each zone had: within a group of zones that may differ."""
    return replace(verdict, asked=())


@EXAMPLES
@given(seed=seeds)
def test_a_rebuilt_kubelet_gives_every_pod_the_same_answer(seed: int) -> None:
    sequence, luck = random_sequence(seed), Random(seed)
    assume(sequence.settings.policy != "best-effort")
    kubelet, holdings = sequence.kubelet(), dict[str, PodHolding]()
    for uid, containers in sequence.steps:
        if containers is None:
            kubelet.remove(uid)
            holdings.pop(uid, None)
            continue
        again = rebuilt(sequence, holdings, luck)
        verdict = kubelet.admit(uid, PodDemand.of(containers))
        assert answer(again.admit(uid, PodDemand.of(containers))) == answer(verdict)
        if verdict.admitted:
            holdings[uid] = holding_of(kubelet, uid)
            assert holding_of(again, uid) == holdings[uid]
