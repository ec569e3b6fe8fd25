"""With zones switched off, reports change no decision."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.model.gates import Gates
from closeknit.model.numa import NodeZones, TopologyPolicy
from closeknit.model.numa_settings import NumaMode
from closeknit.model.request import Constraint

from .zoned import RACK, placed, shape, world, zones

EXAMPLES = settings(max_examples=10, deadline=None)
POLICIES: tuple[TopologyPolicy, ...] = ("none", "best-effort", "restricted", "single-numa-node")
OWN: tuple[TopologyPolicy | None, ...] = (None, None, "restricted", "single-numa-node")
CONSTRAINTS = (Constraint(required=RACK), Constraint(preferred=RACK), Constraint(unconstrained=True))


def cluster(draw: Random) -> tuple[dict[str, int], list[NodeZones]]:
    """Up to nine hosts, some with a report that leaves less in any one zone than the host has."""
    hosts, reports = {}, []
    for number in range(draw.randint(1, 9)):
        free = [draw.randint(0, 4) for _ in range(draw.choice((1, 2, 4)))]
        hosts[f"h{number}"] = sum(free)
        if draw.random() < 0.8:
            reports.append(zones(f"h{number}", free, policy=draw.choice(POLICIES)))
    return hosts, reports


@pytest.mark.parametrize(
    ("mode", "gates"),
    [
        ("off", Gates.profile()),
        ("strict", Gates.profile("kueue")),
        ("compat", Gates.profile("kueue-0.14")),
        ("strict", Gates.profile(changes={"NumaZones": False})),
    ],
)
@given(st.randoms(use_true_random=False))
@EXAMPLES
def test_decisions_with_reports_equal_those_without(mode: NumaMode, gates: Gates, draw: Random) -> None:
    hosts, reports = cluster(draw)
    zoned, plain = (world(hosts, *some, mode=mode, gates=gates) for some in (reports, ()))
    own = draw.choice(OWN)
    for _ in range(3):
        pods, count, where = shape(draw.randint(1, 4), own), draw.randint(1, 6), draw.choice(CONSTRAINTS)
        assert placed(zoned, pods, count, where) == placed(plain, pods, count, where)


def test_reports_change_decisions_while_zones_count() -> None:
    hosts, report = {"a": 2, "b": 8}, zones("a", (1, 1))
    assert placed(world(hosts, report), shape(2)) != placed(world(hosts, report, mode="off"), shape(2))
