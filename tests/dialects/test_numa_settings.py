"""The section numa of our configuration."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import yaml

from closeknit.dialects.field import Field
from closeknit.dialects.own_configuration import own_configuration
from closeknit.model.numa_settings import UNCONFIGURED, NodeNuma, NumaSettings

HEAD = {"apiVersion": "config.closeknit.dev/v1alpha1", "kind": "Configuration"}
GPU = {
    "selector": {"matchLabels": {"pool": "gpu"}},
    "cpuManager": "static",
    "memoryManager": "None",
    "options": {"full-pcpus-only": True, "prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"},
    "ignoredResources": ["example.com/shared", "memory"],
}


def read(numa: Any) -> tuple[NumaSettings, list[str]]:
    root = Field.root({**HEAD, "numa": numa})
    return own_configuration(root).numa, [str(one) for one in root.report.mistakes]


def test_without_the_section_kubelets_decide_and_nothing_is_known_of_them() -> None:
    assert read(None) == (NumaSettings("strict", ()), [])


def test_every_field_is_read() -> None:
    settings, mistakes = read({"mode": "compat", "nodes": [GPU]})
    assert mistakes == []
    assert settings.mode == "compat"
    (node,) = settings.nodes
    assert (node.pins_cpus, node.pins_memory) == (True, False)
    assert node.ignored == {"example.com/shared", "memory"}
    assert node.option("full-pcpus-only") == node.option("prefer-closest-numa-nodes") == "true"
    assert node.option("max-allowable-numa-nodes") == "16"
    assert node.option("align-by-socket") is None


def test_off_needs_no_quotes() -> None:
    assert read(yaml.safe_load("{mode: off}")) == read({"mode": "off"}) == (NumaSettings("off"), [])


def test_the_first_entry_that_selects_a_node_counts() -> None:
    expressions = [{"key": "zone", "operator": "Exists"}]
    settings, _ = read({"nodes": [GPU, {"selector": {"matchExpressions": expressions}}, {"cpuManager": "none"}]})
    assert settings.of({"pool": "gpu", "zone": "a"}) == settings.nodes[0]
    assert settings.of({"zone": "a"}) == settings.nodes[1]
    assert settings.of({}) == settings.nodes[2]
    assert NumaSettings(nodes=settings.nodes[:2]).of({}) is UNCONFIGURED


@pytest.mark.parametrize(
    ("numa", "said"),
    [
        ({"mode": "lax"}, 'numa.mode: is "lax"; use one of: strict, compat, off'),
        ({"mod": "off"}, "numa.mod: is not a known field; did you mean mode?"),
        ({"mode": True}, "numa.mode: is true; use one of: strict, compat, off"),
        ({"mode": ["off"]}, "numa.mode: is a list; use one of: strict, compat, off"),
        ("strict", 'numa: is "strict", not a mapping; use a mapping'),
        ({"nodes": {"cpuManager": "static"}}, "numa.nodes: is a mapping, not a list; use a list"),
        ({"nodes": [{"cpuManager": "dynamic"}]}, 'numa.nodes[0].cpuManager: is "dynamic"; use static or none'),
        ({"nodes": [{"memoryManger": "Static"}]}, "is not a known field; did you mean memoryManager?"),
        (
            {"nodes": [{"options": {"full-pcpu-only": True}}]},
            "numa.nodes[0].options.full-pcpu-only: is not a known option; did you mean full-pcpus-only?",
        ),
        (
            {"nodes": [{"options": {"align-by-socket": "yes"}}]},
            'numa.nodes[0].options.align-by-socket: is "yes"; use true or false',
        ),
        (
            {"nodes": [{"options": {"max-allowable-numa-nodes": 4}}]},
            "numa.nodes[0].options.max-allowable-numa-nodes: is 4; use a whole number, 8 or more",
        ),
        (
            {"nodes": [{"ignoredResources": ["no name"]}]},
            'numa.nodes[0].ignoredResources[0]: is "no name", not the name of a resource',
        ),
        ({"nodes": [{"selector": {"matchLabels": {"a b": "c"}}}]}, "numa.nodes[0].selector"),
    ],
)
def test_a_mistake_names_field_and_remedy(numa: Any, said: str) -> None:
    _, mistakes = read(numa)
    assert len(mistakes) == 1
    assert said in mistakes[0]


def test_the_settings_are_served_and_read_again() -> None:
    settings, _ = read({"mode": "off", "nodes": [GPU]})
    assert msgspec.json.decode(msgspec.json.encode(settings), type=NumaSettings) == settings
    assert msgspec.json.decode(b"{}", type=NumaSettings) == NumaSettings()
    assert settings.nodes[0] != NodeNuma()
