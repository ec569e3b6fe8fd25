"""Names of zones and their ids."""

from __future__ import annotations

import pytest

from closeknit.numa.zone_names import zone_id, zone_name

INVALID = ["", "node-", "Node-1", "node_3", "node 4", "node-5-1", "node6", "numa-node-0", "node--1", "node- 1"]
INVALID += ["node-1\n", "node-1_0", "node-٣", "node-0x1", "node-9223372036854775808"]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("node-0", 0),
        ("node-63", 63),
        ("node-007", 7),
        ("node-+1", 1),
        ("node--0", 0),
        ("node-9223372036854775807", 2**63 - 1),
    ],
)
def test_a_name_is_node_and_a_number_as_go_reads_it(name: str, number: int) -> None:
    assert zone_id(name) == number


@pytest.mark.parametrize("name", INVALID)
def test_any_other_name_has_no_id(name: str) -> None:
    assert zone_id(name) is None


def test_an_id_gives_its_name_and_a_negative_one_gives_none() -> None:
    assert (zone_name(0), zone_name(12), zone_name(-1)) == ("node-0", "node-12", None)
