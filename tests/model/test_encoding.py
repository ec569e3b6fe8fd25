from __future__ import annotations

import pytest

from closeknit.model.assignment import Assignment
from closeknit.model.encoding import EncodingError, decode, encode
from closeknit.model.topology import HOSTNAME


def test_the_flat_v1beta1_list_is_read() -> None:
    wire = {"levels": ["a", "b"], "domains": [{"values": ["x", "y"], "count": 3}]}
    assert decode(wire) == Assignment.of(["a", "b"], [(("x", "y"), 3)])


def test_runs_of_one_prefix_become_slices_where_that_is_shorter() -> None:
    hosts = [f"gke-pool-{pool}-{'x' * 20}-{i}" for pool in "ab" for i in range(20)]
    wire = encode(Assignment.of([HOSTNAME], [((host,), 1) for host in hosts]))
    prefixes = [piece["valuesPerLevel"][0]["individual"]["prefix"] for piece in wire["slices"]]
    assert prefixes == [f"gke-pool-a-{'x' * 20}-", f"gke-pool-b-{'x' * 20}-"]


def test_an_object_that_contradicts_itself_is_refused_with_the_place() -> None:
    piece = {"domainCount": 2, "valuesPerLevel": [{"universal": "x"}], "podCounts": {"individual": [1]}}
    with pytest.raises(EncodingError, match=r"slices\[0\].podCounts has 1 entries for 2 domains"):
        decode({"levels": ["a"], "slices": [piece]})


def test_roots_must_be_as_many_as_domains() -> None:
    piece = {"domainCount": 2, "valuesPerLevel": [{"individual": {"roots": ["x"]}}], "podCounts": {"universal": 1}}
    with pytest.raises(EncodingError, match="1 roots for 2 domains"):
        decode({"levels": ["a"], "slices": [piece]})


def test_ranks_walk_the_domains_in_order() -> None:
    assignment = Assignment.of([HOSTNAME], [(("a",), 2), (("b",), 1)])
    assert list(assignment.slots()) == [("a",), ("a",), ("b",)]
