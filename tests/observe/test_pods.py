"""Pods from files: what runs already, summed per node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from closeknit.dialects import core
from closeknit.model.mistake import InputError
from closeknit.model.node import Node
from closeknit.observe.pods import Pods, read_pods
from closeknit.state.snapshot import LIMIT
from closeknit.state.table import NodeTable

TABLE = NodeTable.of([Node(name, {}, {}) for name in ("a", "b", "c")])


def container(**requests: Any) -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": requests}}


def pod(name: str, node: str | None = "a", *containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    phase = spec.pop("phase", "Running")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"containers": list(containers) or [container(cpu="500m")], "nodeName": node, **spec},
        "status": {"phase": phase},
    }


def write(folder: Path, *pods: dict[str, Any], name: str = "pods.json") -> str:
    path = folder / name
    content = {"apiVersion": "v1", "items": list(pods), "kind": "List"}
    if name.endswith(".ndjson"):
        path.write_text("".join(json.dumps(one) + "\n" for one in pods))
    else:
        path.write_text(yaml.safe_dump(content) if name.endswith(".yaml") else json.dumps(content))
    return str(path)


def usage(pods: Pods) -> dict[str, list[int]]:
    return {resource: column.tolist() for resource, column in pods.used.items()}


def refusal(path: str) -> str:
    with pytest.raises(InputError) as caught:
        read_pods([path], TABLE)
    return str(caught.value)


@pytest.mark.parametrize("name", ["pods.json", "pods.ndjson", "pods.yaml"])
def test_pods_are_summed_on_the_rows_of_their_nodes(tmp_path: Path, name: str) -> None:
    gpu = container(cpu="2", **{"nvidia.com/gpu": 4})
    path = write(tmp_path, pod("p", "b"), pod("q", "b", gpu), pod("r", "c", gpu, container(memory="1Ki")), name=name)
    read = read_pods([path], TABLE)
    assert usage(read) == {
        "pods": [0, 2, 1],
        "cpu": [0, 2500, 2000],
        "memory": [0, 0, 1024],
        "nvidia.com/gpu": [0, 4, 4],
    }
    assert (read.counted, read.skipped, read.elsewhere) == (3, 0, 0)


def test_pods_that_are_not_bound_or_have_ended_are_skipped(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        pod("waits", None, phase="Pending"),
        pod("done", phase="Succeeded"),
        pod("broke", phase="Failed"),
        pod("starts", phase="Pending"),
        pod("lost", phase="Unknown"),
    )
    read = read_pods([path], TABLE)
    assert (read.counted, read.skipped) == (2, 3)
    assert read.used["pods"].tolist() == [2, 0, 0]


@pytest.mark.parametrize("name", ["pods.json", "pods.ndjson", "pods.yaml"])
def test_whatever_is_null_counts_as_absent(tmp_path: Path, name: str) -> None:
    anonymous = {**pod("p"), "metadata": None, "status": None}
    nameless = {**container(cpu="1"), "name": None, "restartPolicy": None}
    odd = pod("q", "b", nameless, initContainers=None, overhead=None, resources=None, affinity=None)
    odd["metadata"] = {"name": None, "namespace": None, "labels": None, "ownerReferences": [{"kind": None}]}
    odd["status"] = {"phase": None}
    empty = pod("r", "c", containers=None, tolerations=None, nodeSelector=None)
    bare = pod("s", "c", {"name": "main", "resources": None}, {"resources": {"requests": None, "limits": None}})
    path = write(tmp_path, anonymous, odd, empty, bare, {**pod("waits"), "spec": None}, name=name)
    read = read_pods([path], TABLE)
    assert usage(read) == {"pods": [1, 1, 2], "cpu": [500, 1000, 0]}
    assert (read.counted, read.skipped) == (4, 1)


def test_a_preference_that_is_null_does_not_hinder_the_count(tmp_path: Path) -> None:
    preferred = [{"weight": None, "preference": None}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    path = write(tmp_path, pod("p", affinity=affinity, tolerations=[{"key": None, "effect": None}]))
    assert read_pods([path], TABLE).used["cpu"].tolist() == [500, 0, 0]


def test_a_list_whose_items_are_null_is_a_list_of_no_pods(tmp_path: Path) -> None:
    path = tmp_path / "pods.json"
    path.write_text('{"apiVersion": "v1", "kind": "PodList", "items": null}')
    assert usage(read_pods([str(path)], TABLE)) == {"pods": [0, 0, 0]}


def test_a_mistake_in_a_pod_whose_name_is_null_names_what_there_is(tmp_path: Path) -> None:
    path = write(tmp_path, {**pod("p", "a", container(cpu="x")), "metadata": None})
    assert refusal(path).startswith(f"{path}: Pod default/: spec.containers[0].resources.requests[cpu]: ")


def test_init_containers_sidecars_overhead_and_pod_level_requests_count_as_the_scheduler_counts_them(
    tmp_path: Path,
) -> None:
    sidecar = {**container(cpu="1"), "restartPolicy": "Always"}
    limits = {"name": "x", "resources": {"limits": {"memory": "5"}}}
    path = write(
        tmp_path,
        pod("p", "a", container(cpu="2"), initContainers=[sidecar, container(cpu="4")], overhead={"cpu": "250m"}),
        pod("q", "b", container(cpu="2"), resources={"requests": {"cpu": "7"}}),
        pod("r", "c", container(cpu="2"), limits, initContainers=[container(cpu="4")]),
    )
    assert usage(read_pods([path], TABLE)) == {"pods": [1, 1, 1], "cpu": [5250, 7000, 4000], "memory": [0, 0, 5]}


def test_pods_with_equal_resources_but_other_names_are_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    requests = core.requests

    def counted(spec: core.PodSpec) -> dict[str, int]:
        calls.append(spec)
        return requests(spec)

    monkeypatch.setattr(core, "requests", counted)
    path = write(tmp_path, *(pod(f"p{i}", "a", {**container(cpu="1"), "image": f"i{i}"}) for i in range(50)))
    assert read_pods([path], TABLE).used["cpu"].tolist() == [50_000, 0, 0]
    assert len(calls) == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.lists(st.sampled_from(["1", "2", "500m"]), min_size=1, max_size=2),
            st.lists(st.tuples(st.sampled_from(["1", "4"]), st.booleans()), max_size=2),
            st.sampled_from([None, "1"]),
        ),
        max_size=8,
    )
)
def test_remembering_what_was_computed_never_changes_the_sum(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("pods")
    pods = []
    for number, (node, cpus, init, overhead) in enumerate(drawn):
        inits = [{**container(cpu=cpu), **({"restartPolicy": "Always"} if side else {})} for cpu, side in init]
        extra = {"overhead": {"cpu": overhead}} if overhead else {}
        pods.append(pod(f"p{number}", node, *(container(cpu=cpu) for cpu in cpus), initContainers=inits, **extra))
    together = read_pods([write(folder, *pods)], TABLE).used
    alone = [read_pods([write(folder, one)], TABLE).used for one in pods]
    for resource, column in together.items():
        assert column.tolist() == [sum(int(one[resource][row]) for one in alone) for row in range(3)]


def test_pods_on_nodes_that_were_not_given_are_warned_of(tmp_path: Path) -> None:
    path = write(tmp_path, *(pod(f"p{i}", f"x{i % 5}") for i in range(9)), pod("q"))
    read = read_pods([path], TABLE)
    assert (read.counted, read.elsewhere) == (1, 9)
    assert [str(warning) for warning in read.warnings] == [
        "pods on nodes that were not given: 9 (on x0, x1, x2 and 2 more); give all nodes, or leave those pods out"
    ]


def test_several_files_add_up_and_an_empty_list_adds_nothing(tmp_path: Path) -> None:
    paths = [write(tmp_path, pod("p"), name="1.json"), write(tmp_path, name="2.json"), write(tmp_path, pod("q"))]
    assert read_pods(paths, TABLE).used["pods"].tolist() == [2, 0, 0]
    assert usage(read_pods(paths[1:2], TABLE)) == {"pods": [0, 0, 0]}


def test_sums_beyond_what_can_be_counted_stay_at_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path, *(pod(f"p{i}", "a", container(memory="7Pi")) for i in range(5)))
    assert read_pods([path], TABLE).used["memory"].tolist() == [LIMIT, 0, 0]


@pytest.mark.parametrize(
    ("spec", "field", "said"),
    [
        ({}, "spec.containers[0].resources.requests[cpu]", '"x" is not a quantity; write a number with'),
        (
            {"containers": [{"resources": {"limits": {"cpu": "-1"}}}]},
            "spec.containers[0].resources.limits[cpu]",
            "-1 is negative; write zero or more",
        ),
        (
            {"containers": [], "initContainers": [container(), container(memory="99999Ei")]},
            "spec.initContainers[1].resources.requests[memory]",
            "99999Ei is too large: more than any machine has; check its suffix",
        ),
        ({"containers": [], "overhead": {"cpu": "1 m"}}, "spec.overhead[cpu]", '"1 m" is not a quantity; write'),
        (
            {"containers": [{"resources": {"requests": {"cpu": True}}}]},
            "spec.containers[0].resources.requests[cpu]",
            "expected int | float | str, got bool: true; write it as the Kubernetes API has it",
        ),
    ],
)
def test_a_bad_quantity_is_refused_with_pod_field_and_remedy(
    tmp_path: Path, spec: dict[str, Any], field: str, said: str
) -> None:
    path = write(tmp_path, pod("fine"), pod("bad", "a", container(cpu="x"), **spec))
    assert refusal(path).startswith(f"{path}: Pod team/bad: {field}: {said}")


def test_every_pod_with_a_mistake_counts_but_ten_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path, *(pod(f"p{i}", "a", container(cpu="x")) for i in range(12)))
    assert refusal(path).splitlines()[-1] == "and 2 more"


def test_a_label_that_is_a_number_is_refused(tmp_path: Path) -> None:
    one = pod("p")
    one["metadata"]["labels"] = {"rank": 0}
    path = write(tmp_path, one, name="pods.yaml")
    assert refusal(path) == f"{path}: Pod team/p: metadata.labels[rank]: must be text, but is read as 0; quote it"


def test_a_file_of_other_objects_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {"apiVersion": "v1", "kind": "Node"})
    assert refusal(path) == f"{path}: there is no Pod in it, only Node; give a file with Pods"
