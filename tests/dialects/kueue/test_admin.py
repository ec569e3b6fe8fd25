from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.kueue.admin import check_flavor, check_node, check_topology, topology_of
from closeknit.model.topology import Topology

HOST = "kubernetes.io/hostname"


def topology(*levels: Any) -> list[str]:
    field = Field.root({"spec": {"levels": [{"nodeLabel": level} for level in levels]}})
    check_topology(field)
    return [str(mistake) for mistake in field.report.mistakes]


def flavor(**spec: Any) -> list[str]:
    field = Field.root({"spec": spec})
    check_flavor(field)
    return [str(mistake) for mistake in field.report.mistakes]


def test_levels_are_labels_with_the_host_last() -> None:
    assert topology("example.com/block", "example.com/rack", HOST) == []
    assert topology("rack") == []
    assert topology(*(f"l{i}" for i in range(16))) == []
    assert topology("p" * 253 + "/" + "r" * 62) == []


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ([], "spec.levels: is empty; add at least one entry"),
        ([f"l{i}" for i in range(17)], "spec.levels: has 17 entries; use at most 16"),
        (["a/b/c"], 'spec.levels[0].nodeLabel: is "a/b/c", not a label name'),
        ([""], 'spec.levels[0].nodeLabel: is "", not a label name'),
        ([None], "spec.levels[0].nodeLabel: is missing"),
        ([3], "spec.levels[0].nodeLabel: is 3, not a string"),
        (["rack", "rack"], 'spec.levels[1].nodeLabel: is "rack" a second time'),
        ([HOST, "rack"], f"spec.levels[0].nodeLabel: is {HOST}, which can only be the last level; move it to the end"),
        (["p" * 253 + "/" + "r" * 63], "spec.levels[0].nodeLabel: has 317 characters; use at most 316"),
    ],
)
def test_mistakes_in_a_topology_are_reported_with_their_paths(levels: list[Any], text: str) -> None:
    assert topology(*levels)[0].startswith(text)


def test_a_flavor_may_be_empty_or_full() -> None:
    assert flavor() == []
    assert (
        flavor(
            nodeLabels={"pool": "gpu"},
            topologyName="default",
            nodeTaints=[{"key": "gpu", "effect": "NoSchedule"}, {"key": "gpu", "effect": "NoExecute"}],
            tolerations=[
                {"operator": "Exists"},
                {"key": "gpu", "operator": "Equal", "value": "x"},
                {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
            ],
        )
        == []
    )


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"topologyName": "default"}, "spec.nodeLabels: is required for a flavor with a topology"),
        ({"nodeLabels": {f"l{i}": "x" for i in range(9)}}, "spec.nodeLabels: has 9 entries; use at most 8"),
        ({"nodeLabels": {"a/b/c": "x"}}, 'spec.nodeLabels[a/b/c]: "a/b/c" is not a label name'),
        ({"nodeLabels": {"a": "x!"}}, 'spec.nodeLabels.a: is "x!", not a label value'),
        (
            {"nodeTaints": [{"key": "a", "effect": "Never"}]},
            'spec.nodeTaints[0].effect: is "Never"; use one of: NoS',
        ),
        ({"nodeTaints": [{"effect": "NoSchedule"}]}, "spec.nodeTaints[0].key: is missing; use a label name"),
        ({"nodeTaints": [{"key": "", "effect": "NoExecute"}]}, 'spec.nodeTaints[0].key: is "", not a label name'),
        (
            {"nodeTaints": [{"key": "a", "effect": "NoExecute"}] * 2},
            "spec.nodeTaints[1]: is a second taint a:NoExecute",
        ),
        ({"tolerations": [{"value": "x"}]}, "spec.tolerations[0].operator: is Equal without a key; use Exists"),
        ({"tolerations": [{"operator": "Exists", "value": "x"}]}, "spec.tolerations[0].value: is not allowed"),
        ({"tolerations": [{"key": "a", "operator": "Like"}]}, 'spec.tolerations[0].operator: is "Like"'),
        ({"tolerations": [{"key": "a!"}]}, 'spec.tolerations[0].key: is "a!", not a label name'),
        ({"tolerations": [{"key": "a", "effect": "X"}]}, 'spec.tolerations[0].effect: is "X"'),
        (
            {"tolerations": [{"key": "a", "tolerationSeconds": 3}]},
            "spec.tolerations[0].tolerationSeconds: requires",
        ),
    ],
)
def test_mistakes_in_a_flavor_are_reported_with_their_paths(spec: Any, text: str) -> None:
    assert flavor(**spec)[0].startswith(text)


def test_allocatable_amounts_of_a_node_are_quantities() -> None:
    field = Field.root({"metadata": {"labels": {"a": 1}}, "status": {"allocatable": {"cpu": "many", "pods": 110}}})
    check_node(field)
    assert [mistake.field for mistake in field.report.mistakes] == ["metadata.labels.a", "status.allocatable.cpu"]


def test_a_topology_is_read_unless_it_is_invalid() -> None:
    def read(*levels: str) -> Topology | None:
        spec = {"levels": [{"nodeLabel": level} for level in levels]}
        return topology_of(Field.root({"metadata": {"name": "default"}, "spec": spec}))

    assert read("example.com/rack", HOST) == Topology("default", ("example.com/rack", HOST))
    assert read(HOST, "example.com/rack") is None
    assert read() is None


def test_a_node_offers_extended_resources_in_whole_units() -> None:
    field = Field.root({"status": {"allocatable": {"nvidia.com/gpu": "7500m", "cpu": "3500m"}}})
    check_node(field)
    assert [mistake.field for mistake in field.report.mistakes] == ["status.allocatable[nvidia.com/gpu]"]
