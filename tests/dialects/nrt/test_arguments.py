"""The plug-in's arguments in a scheduler's configuration."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.dialects.field import Field
from closeknit.dialects.nrt.arguments import read_arguments, read_profiles
from closeknit.model.numa_arguments import MatchArguments

PLUGIN = "NodeResourceTopologyMatch"


def read(args: Any) -> tuple[MatchArguments, list[str]]:
    field = Field.root(args)
    return read_arguments(field), [str(one) for one in field.report.mistakes]


def test_without_arguments_there_are_defaults() -> None:
    found, mistakes = read(None)
    assert found == MatchArguments("LeastAllocated", {}, 0, False, "All", "Autodetect", "Dedicated", "All", False)
    assert (mistakes, found.cache) == ([], "Passthrough")


def test_every_argument_is_read() -> None:
    found, mistakes = read(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "NodeResourceTopologyMatchArgs",
            "scoringStrategy": {
                "type": "MostAllocated",
                "resources": [{"name": "cpu", "weight": 3}, {"name": "memory"}],
            },
            "cacheResyncPeriodSeconds": 5,
            "cache": {
                "foreignPodsDetect": "OnlyExclusiveResources",
                "resyncMethod": "All",
                "informerMode": "Shared",
                "resyncScope": "OnlyResources",
            },
            "preemptionMode": "Enabled",
        }
    )
    assert mistakes == []
    assert found == MatchArguments(
        "MostAllocated",
        {"cpu": 3, "memory": 1},
        5,
        False,
        "OnlyExclusiveResources",
        "All",
        "Shared",
        "OnlyResources",
        True,
    )


@pytest.mark.parametrize(
    ("args", "cache"),
    [
        ({"cacheResyncPeriodSeconds": 5}, "OverReserve"),
        ({"cacheResyncPeriodSeconds": -5}, "Passthrough"),
        ({"cacheResyncPeriodSeconds": 5, "discardReservedNodes": True}, "DiscardReserved"),
    ],
)
def test_the_cache_follows_from_two_arguments(args: Any, cache: str) -> None:
    assert read(args)[0].cache == cache


@pytest.mark.parametrize("weight", [0, -4, None])
def test_a_weight_below_1_counts_as_1(weight: int | None) -> None:
    found, _ = read({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": weight}]}})
    assert (found.weight("cpu"), found.weight("other")) == (1, 1)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            {"scoringStrategy": {"type": "Fair"}},
            'scoringStrategy.type: Invalid value: "Fair": invalid ScoringStrategyType',
        ),
        ({"scoringStrategy": {}}, 'scoringStrategy.type: Invalid value: "": invalid ScoringStrategyType'),
        ({"preemptionMode": "on"}, 'preemptionMode: Invalid value: "on": invalid PreemptionMode'),
        ({"cache": {"resyncMethod": "Never"}}, 'cache.resyncMethod: is "Never"'),
        ({"cacheResyncPeriodSeconds": "5s"}, 'cacheResyncPeriodSeconds: is "5s"'),
        ({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": "1"}]}}, "not a weight"),
        ({"cacheResyncPeriod": 5}, "cacheResyncPeriod: is not a known field"),
        ([], "is a list, not a mapping"),
    ],
)
def test_a_wrong_value_is_reported_with_its_field(args: Any, said: str) -> None:
    [mistake] = read(args)[1]
    assert said in mistake


def test_profiles_are_read_from_a_schedulers_file() -> None:
    profiles = [
        {
            "schedulerName": "topo",
            "plugins": {"filter": {"enabled": [{"name": PLUGIN}]}},
            "pluginConfig": [
                {"name": "Other", "args": {"x": 1}},
                {"name": PLUGIN, "args": {"scoringStrategy": {"type": "LeastNUMANodes"}}},
            ],
        },
        {"plugins": {"multiPoint": {"enabled": [{"name": "Other"}]}}},
    ]
    field = Field.root({"apiVersion": "kubescheduler.config.k8s.io/v1", "profiles": profiles})
    first, second = read_profiles(field)
    assert (first.name, first.arguments.strategy, first.uses_plugin) == ("topo", "LeastNUMANodes", True)
    assert (second.name, second.arguments, second.uses_plugin) == ("default-scheduler", MatchArguments(), False)
    assert not field.report


def test_another_version_of_the_file_is_refused() -> None:
    field = Field.root({"apiVersion": "kubescheduler.config.k8s.io/v2"})
    assert read_profiles(field) == []
    assert [one.field for one in field.report.mistakes] == ["apiVersion"]
