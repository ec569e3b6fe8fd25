"""Objects of one kind read straight into structs: other kinds are skipped, wrong types are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from closeknit.cluster.mistakes import Mistakes
from closeknit.cluster.typed import objects
from closeknit.dialects import core
from closeknit.model.mistake import InputError


class FileNode(core.WireNode):
    kind: str | None = None


def read(path: Path, text: str) -> list[str]:
    path.write_text(text)
    mistakes = Mistakes()
    found = [node.metadata.name or "" for _, _, node in objects(str(path), FileNode, "Node", mistakes)]
    mistakes.check()
    return found


def refusal(path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(path, text)
    return str(caught.value)


def test_other_kinds_are_skipped_even_where_their_fields_differ(tmp_path: Path) -> None:
    text = "kind: Other\nspec: {taints: 5}\n---\nkind: Node\nmetadata: {name: a}\n"
    assert read(tmp_path / "x.yaml", text) == ["a"]


def test_items_without_a_kind_are_what_their_list_says(tmp_path: Path) -> None:
    items = '"items": [{"metadata": {"name": "a"}}]}'
    assert read(tmp_path / "x.json", '{"kind": "NodeList", ' + items) == ["a"]
    assert read(tmp_path / "x.json", "{" + items) == ["a"]
    said = refusal(tmp_path / "x.json", '{"kind": "PodList", ' + items)
    assert said.endswith("x.json: there is no Node in it, only Pod; give a file with Nodes")


@pytest.mark.parametrize(
    "text", ['{"kind": "NodeList", "items": null}', "kind: List\nitems:\n", "kind: NodeList\nitems: []"]
)
def test_a_list_whose_items_are_null_is_an_empty_one(tmp_path: Path, text: str) -> None:
    assert read(tmp_path / "x", f"{text}\n") == []


def test_a_list_whose_items_are_not_a_list_is_not_one(tmp_path: Path) -> None:
    assert "there is no Node in it, only NodeList" in refusal(tmp_path / "x", '{"kind": "NodeList", "items": 5}')


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "metadata: {name: a, labels: {ok: x, rack: 7}}",
            "Node a: metadata.labels[rack]: must be text, but is read as 7; quote it",
        ),
        (
            "metadata: {name: a, labels: {rack: null}}",
            "Node a: metadata.labels[rack]: must be text, but is read as null; quote it",
        ),
        (
            "metadata: {name: a}\nspec: {taints: [{key: k, value: true}]}",
            "Node a: spec.taints[0].value: must be text, but is read as true; quote it",
        ),
        (
            "metadata: {name: a}\nstatus: {allocatable: {cpu: 1, pods: true}}",
            "Node a: status.allocatable[pods]: expected int | float | str, got bool: true; "
            "write it as the Kubernetes API has it",
        ),
        (
            "metadata: {name: a}\nstatus: 5",
            "Node a: status: expected object, got int: 5; write it as the Kubernetes API has it",
        ),
        (
            "metadata: {name: [1]}",
            "Node [1]: metadata.name: must be text, but is read as [1]; write text there",
        ),
    ],
)
def test_a_field_of_the_wrong_type_is_named_with_its_object(tmp_path: Path, body: str, said: str) -> None:
    path = tmp_path / "x.yaml"
    assert refusal(path, f"kind: Node\n{body}\n") == f"{path}: {said}"


def test_an_object_without_a_kind_is_an_error(tmp_path: Path) -> None:
    said = refusal(tmp_path / "x.yaml", "kind: Node\nmetadata: {name: a}\n---\nname: a\n")
    assert "x.yaml:4: is not a Kubernetes object: it has no apiVersion and kind" in said


def test_progress_is_reported_with_the_form_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("kind: Node\n")
    ticks: list[tuple[str, int, int, str]] = []
    list(objects(str(path), FileNode, "Node", Mistakes(), lambda *tick: ticks.append(tick)))
    assert ticks == [(str(path), 0, 11, "YAML")]
