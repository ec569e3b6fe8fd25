"""Manifests in files: every form is read, every bad input is refused with file, place and remedy."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from closeknit.cluster.files import documents, stdin_kept
from closeknit.model.mistake import InputError

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"


def names(path: Path | str) -> list[str]:
    return [raw["metadata"]["name"] for _, raw in documents(str(path))]


def write(folder: Path, text: str | bytes, name: str = "input.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refusal(path: Path | str) -> str:
    with pytest.raises(InputError) as caught:
        list(documents(str(path)))
    return str(caught.value)


def test_a_file_of_several_documents_gives_them_in_order(tmp_path: Path) -> None:
    path = write(tmp_path, f"{JOB}---\n{JOB.replace('train', 'tune')}---\n")
    assert names(path) == ["train", "tune"]


def test_each_object_comes_with_the_name_of_its_file(tmp_path: Path) -> None:
    path = write(tmp_path, JOB)
    assert [where for where, _ in documents(str(path))] == [str(path)]


def test_a_directory_gives_its_manifests_sorted_by_name(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml"):
        write(tmp_path, JOB.replace("train", name[0]), name)
    write(tmp_path, '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}}', "c.json")
    write(tmp_path, "not read", "notes.txt")
    assert names(tmp_path) == ["a", "b", "c"]


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(JOB.encode())))
    assert [where for where, _ in documents("-")] == ["standard input"]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: a}}\n"
        "- apiVersion: v1\n  kind: List\n  items: [{apiVersion: v1, kind: Node, metadata: {name: b}}]\n",
        "kind: NodeList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n",
        '{"kind": "NodeList", "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}',
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}\n'
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}',
        '[{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}},'
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}}]',
    ],
    ids=["list in a list", "typed list", "typed list in JSON", "one object a line", "array"],
)
def test_lists_of_every_form_are_taken_apart(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert [(raw["kind"], raw["metadata"]["name"]) for _, raw in documents(str(path))] == [
        ("Node", "a"),
        ("Node", "b"),
    ]


@pytest.mark.parametrize("items", ["[]", "null"])
def test_an_empty_list_gives_nothing_and_is_no_mistake(tmp_path: Path, items: str) -> None:
    assert names(write(tmp_path, f"apiVersion: v1\nkind: List\nitems: {items}\n")) == []
    assert names(write(tmp_path, f'{{"apiVersion": "v1", "kind": "List", "items": {items}}}')) == []


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    assert names(write(tmp_path, b"\xef\xbb\xbf" + JOB.encode())) == ["train"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nodes.yaml"
    assert refusal(path) == f"{path}: there is no such file; check the path"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, JOB) / "below"
    assert refusal(path) == f"{path}: cannot be read: Not a directory; check the path and its permissions"


@pytest.mark.parametrize("text", ["", " \n\n", "# only a comment\n", "---\n---\n"])
def test_an_empty_file_is_refused(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)
    assert refusal(path) == f"{path}: holds nothing; give a file with Kubernetes objects"


def test_empty_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO()))
    assert refusal("-") == "standard input: holds nothing; pipe something into it, and use - only once"


def test_a_directory_without_manifests_is_refused(tmp_path: Path) -> None:
    assert "holds no manifests; put *.yaml, *.yml or *.json files into it" in refusal(tmp_path)


def test_bad_yaml_is_refused_with_line_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, JOB + "spec: [1, 2\nx: 1\n")
    said = refusal(path)
    assert said.startswith(f"{path}:5:2: is not YAML: ")
    assert said.endswith("; fix the text there")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "kind": "Job",\n  "spec": tru\n}', ":3:11: is not JSON: Expecting value; fix the text there"),
        (
            '{"kind": "List", "items": [\n{"apiVersion": "v1", "kind": "Job"},\n{"kind" "Job"}]}',
            ":3:9: is not JSON: Expecting ':' delimiter",
        ),
        ('{"kind": "List", "items": [{"kind": 1 2}]}', ":1:39: is not JSON: Expecting ',' delimiter"),
        ('{"kind": "List", "items": [\n', ":2:1: the JSON ends too early; the file was truncated: write it again"),
        ('{"kind": "List",\n "metadata": {', ":2:15: the JSON ends too early"),
        ('{"kind": "List",\n "meta', ":2:2: the JSON ends inside the string that begins here; close it, or write"),
        ('{"kind": "List", "items": [\n{"apiVersion": "v1", "kind": "Job"}', ":2:36: the JSON ends too early"),
    ],
)
def test_bad_json_is_refused_with_line_and_column(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text, "input.json")
    assert refusal(path).startswith(f"{path}{said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", ":1: is not a Kubernetes object but a string"),
        ("42", ":1: is not a Kubernetes object but a number"),
        ("- 1\n- 2", ":1: is not a Kubernetes object but a number"),
        ('["a", "b"]', ":1: is not a Kubernetes object but a list"),
        ("kind: Job", ":1: is not a Kubernetes object: it has no apiVersion"),
        (f"{JOB}---\nname: x\n", ":5: is not a Kubernetes object: it has no apiVersion and kind"),
    ],
)
def test_a_value_that_is_no_kubernetes_object_is_rejected_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    assert refusal(path) == f"{path}{said}; give a manifest, such as kubectl get -o yaml prints"


@pytest.mark.parametrize(
    "text", [JOB.encode("utf-16"), b"kind: J\xf6b\n", b'{"kind": "J\xf6b"}', b"kind: Job\0"], ids=range(4)
)
def test_text_that_is_not_utf8_is_refused(tmp_path: Path, text: bytes) -> None:
    path = write(tmp_path, text)
    said = refusal(path)
    assert said.startswith(str(path))
    assert "is not UTF-8 text" in said
    assert "save it as UTF-8 text" in said


@pytest.mark.parametrize(("value", "said"), [("7", "7"), ("yes", "true"), ("1.5", "1.5"), ("", "null")])
@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        ("metadata: {name: train, labels: {rack: VALUE}}", "metadata.labels[rack]"),
        (
            "metadata: {name: train}\nspec: {template: {metadata: {annotations: {rack: VALUE}}}}",
            "spec.template.metadata.annotations[rack]",
        ),
        ("metadata: {name: train}\nspec: {nodeSelector: {rack: VALUE}}", "spec.nodeSelector[rack]"),
    ],
)
def test_a_label_that_yaml_does_not_read_as_text_is_refused(
    tmp_path: Path, value: str, said: str, manifest: str, field: str
) -> None:
    path = write(tmp_path, f"apiVersion: batch/v1\nkind: Job\n{manifest.replace('VALUE', value)}\n")
    assert refusal(path) == f"{path}: Job train: {field}: must be text, but is read as {said}; quote it"


def test_mistakes_in_labels_are_collected_and_valid_objects_still_come(tmp_path: Path) -> None:
    wrong = "".join(
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{i}, labels: {{a: {i}}}}}\n" for i in range(13)
    )
    path = write(tmp_path, JOB + wrong)
    got: list[dict[str, Any]] = []
    with pytest.raises(InputError) as caught:
        got.extend(raw for _, raw in documents(str(path)))
    assert [raw["metadata"]["name"] for raw in got] == ["train"]
    assert len(caught.value.mistakes) == 11
    assert str(caught.value.mistakes[-1]) == "and 3 more"


def test_standard_input_that_is_kept_can_be_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(JOB.encode())))
    with stdin_kept():
        assert list(documents("-")) == list(documents("-"))
    with pytest.raises(InputError, match="standard input: holds nothing"):
        list(documents("-"))
