"""For any damaged folder the commands answer with a result or with the mistakes, never with an internal error."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from closeknit.cli.exit_codes import INTERNAL_ERROR
from closeknit.cli.main import main
from observe.written import (
    QUEUE,
    RACK,
    cluster_queue,
    groups,
    job,
    kueue,
    local_queue,
    placing_cluster,
    pod,
    workload,
)

LIMITS = {"nominalQuota": 8, "borrowingLimit": 4, "lendingLimit": 4}
POLICY: dict[str, Any] = {
    "preemption": {
        "withinClusterQueue": "LowerPriority",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 3},
    },
    "flavorFungibility": {"whenCanBorrow": "TryNextFlavor"},
    "admissionChecksStrategy": {"admissionChecks": [{"name": "paper", "onFlavors": ["gpu"]}]},
    "fairSharing": {"weight": "2"},
}
OBJECTS: list[dict[str, Any]] = [
    *placing_cluster(),
    cluster_queue("other", LIMITS, "team", **POLICY),
    kueue("Cohort", "team", {"parentName": "top", "resourceGroups": groups(4), "fairSharing": {"weight": "1"}}),
    kueue("AdmissionCheck", "paper", {"controllerName": "x"}),
    kueue("WorkloadPriorityClass", "high", None, value=3),
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "p"}, "value": 3},
    {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}, "default": {"cpu": "1"}}]},
    },
    local_queue("other", "other"),
    workload("holds", 4, holds="cq", hosts={"n1": 4}, owner="own"),
    workload("holds-too", 2, "other", holds="other"),
    workload("waits", 30, priority=2),
    job("unknown", 2, "other"),
    pod("runs", "n1"),
    pod(
        "member",
        labels={QUEUE: "main", "kueue.x-k8s.io/pod-group-name": "g"},
        annotations={"kueue.x-k8s.io/pod-group-total-count": "1"},
    ),
]
JOBS = [job("one", 4, level=RACK), job("two", 3, "other", labels={"kueue.x-k8s.io/priority-class": "high"})]
JUNK: list[Any] = [None, 0, -1, 2**40, 1.5, "", "x", "Not A Name", "2026-13-45T00:00:00Z", "9" * 400, "1n", "1e400"]
JUNK += [[], [1], [None], {}, {"a": 1}, True]
Path_ = tuple[str | int, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


PLACES = [(number, path) for number, one in enumerate([*OBJECTS, *JOBS]) for path in places(one)]


def run(command: str, folder: Path, objects: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command on these objects; it may refuse them, but not fail."""
    for name, written in (("cluster", objects[: len(OBJECTS)]), ("jobs", objects[len(OBJECTS) :])):
        (folder / f"{name}.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": written}))
    jobs = [str(folder / "jobs.json")] if command == "what-if" else []
    with pytest.raises(SystemExit) as ended:
        main([command, "--cluster", str(folder / "cluster.json"), *jobs])
    assert ended.value.code != INTERNAL_ERROR, capsys.readouterr().err
    capsys.readouterr()


@pytest.mark.parametrize("number", range(len([*OBJECTS, *JOBS])))
@pytest.mark.parametrize("junk", [None, 7])
def test_an_object_without_a_version_or_a_name_does_not_make_a_command_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, junk: int | None
) -> None:
    for keys in ("apiVersion",), ("metadata", "name"):
        objects = copy.deepcopy([*OBJECTS, *JOBS])
        inner = objects[number]
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = junk
        run("what-if", tmp_path, objects, capsys)


@pytest.mark.parametrize("command", ["what-if", "queue"])
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(JUNK)), min_size=1, max_size=3))
def test_no_object_makes_a_command_fail(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    changes: list[tuple[tuple[int, Path_], Any]],
) -> None:
    objects = copy.deepcopy([*OBJECTS, *JOBS])
    for (number, path), junk in changes:
        value: Any = objects[number]
        try:
            for key in path[:-1]:
                value = value[key]
            value[path[-1]] = copy.deepcopy(junk)  # a later change may be made inside it
        except (KeyError, IndexError, TypeError):  # an earlier change removed it
            continue
    run(command, tmp_path, objects, capsys)
