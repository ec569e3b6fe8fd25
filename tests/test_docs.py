"""The documents are true: links lead somewhere, and what they list is what the code has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.main import COMMANDS, main
from closeknit.cluster.kinds import LOCAL_QUEUE, WORKLOAD, kind_of
from closeknit.dialects.kai import keys as kai_keys
from closeknit.dialects.kueue import keys
from closeknit.host.demos import node_failure
from closeknit.model.gates import OUR_GATES
from closeknit.model.topology import HOSTNAME
from closeknit.observe.pool_form import RACK
from host.stage import Stage

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_that_exist(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert broken == []


def test_every_gate_of_ours_is_in_the_reference_with_its_default() -> None:
    text = (ROOT / "docs/reference/gates.md").read_text()
    for gate in OUR_GATES:
        assert f"| `{gate.name}` | {'on' if gate.default else 'off'} |" in text


def test_every_command_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/commands.md").read_text()
    assert [name for name in COMMANDS if f"| `{name}" not in text] == []


def test_every_annotation_that_is_read_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/annotations.md").read_text()
    assert [key for key in (*keys.TOPOLOGY_ANNOTATIONS, keys.SLICE_SIZE, keys.GROUP) if f"`{key}`" not in text] == []


def test_every_key_of_kai_that_is_read_is_in_the_reference() -> None:
    text = (ROOT / "docs/reference/kai.md").read_text()
    exclusive = (kai_keys.LWS_EXCLUSIVE, kai_keys.JOB_SET_EXCLUSIVE)
    read = (*kai_keys.ANNOTATIONS, *kai_keys.LABELS, *exclusive)
    assert [key for key in read if f"| `{key}` |" not in text] == []


def test_the_groups_in_the_recipe_for_kai_are_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/how-to/kai.md").read_text()
    monkeypatch.chdir(tmp_path)
    first, *_, second = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    Path("train.yaml").write_text(first)
    Path("groups.yaml").write_text(second)
    printed = re.findall(r"\$ closeknit group train.yaml\n(.*?)```", page, re.DOTALL)
    with pytest.raises(SystemExit):
        main(["group", "train.yaml"])
    assert [capsys.readouterr().out] == printed
    with pytest.raises(SystemExit) as ended:
        main(["group", "groups.yaml", "train.yaml"])
    assert ended.value.code == 0


def test_every_test_that_the_checklist_names_exists() -> None:
    text = (ROOT / "docs/reference/kueue-tas-checklist.md").read_text()
    named = re.findall(r"`(tests/[^`]+\.py)(?:::(\w+))?(?:::(\w+))?`", text)
    assert len(named) > 40
    assert [one for one in named if not _is_test(*one)] == []


def _is_test(file: str, *names: str) -> bool:
    path = ROOT / file
    code = path.read_text() if path.exists() else ""
    return bool(code) and all(re.search(rf"^ *(def|class) {name}\b", code, re.MULTILINE) for name in names if name)


def test_samples_in_the_readme_are_the_samples_that_ship() -> None:
    sample = (ROOT / "src/closeknit/samples/datacentre.yaml").read_text()
    readme = (ROOT / "README.md").read_text()
    assert [line for line in sample.splitlines() if line and not line.startswith("#") and line not in readme] == []


def test_what_is_typed_beside_make_up_is_true_whenever_it_is_typed() -> None:
    """Jobs of that demo come and go, so no command names one."""
    readme = (ROOT / "README.md").read_text()
    [block] = re.findall(r"While `make up` runs.*?```console\n(.*?)```", readme, re.DOTALL)
    assert "closeknit get jobs --data .venv/up" in block
    assert [name for name in node_failure.JOBS if name in block] == []


@pytest.mark.parametrize("name", ["hello", "train", "sliced", "pretrain"])
def test_a_sample_can_be_applied_to_a_cluster_that_takes_its_first_steps(name: str) -> None:
    """Its queue is there, and no job of the demo is called as it is."""
    raw = yaml.safe_load((ROOT / f"src/closeknit/samples/{name}.yaml").read_text())
    stage = Stage("first-steps")
    stage.advance(12)
    kind = kind_of(raw["apiVersion"], raw["kind"])
    assert kind is not None
    meta = {"namespace": "default", **raw["metadata"]}
    stage.store.create(kind, {**raw, "metadata": meta})
    stage.advance(2)
    owners = [one["metadata"]["ownerReferences"][0]["name"] for one in stage.store.all(WORKLOAD)]
    assert meta["name"] in owners
    queue = meta["labels"]["kueue.x-k8s.io/queue-name"]
    assert stage.store.find(LOCAL_QUEUE, meta["namespace"], queue) is not None


def test_the_recipe_for_more_nodes_works_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/how-to/what-if.md").read_text()
    monkeypatch.chdir(tmp_path)
    for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", page, re.DOTALL):
        Path(name).write_text(text)
    Path("nodes.json").write_text(json.dumps({"kind": "List", "items": [a_node("n1"), a_node("n2")]}))
    Path("pods.json").write_text('{"kind": "PodList", "items": []}')
    Path("job.yaml").write_text(
        (ROOT / "src/closeknit/samples/train.yaml").read_text().replace(RACK, "example.com/rack")
    )
    commands = [line for line in page.splitlines() if line.startswith(("$ closeknit place", "$ closeknit tree"))]
    for line in (line for line in commands if "more.yaml" in line or "cluster.yaml" in line):
        with pytest.raises(SystemExit) as ended:
            main(line.split()[2:])
        out = capsys.readouterr().out
        assert ended.value.code == 0
        assert "cluster.yaml" in line or "all in new/new-1 (example.com/rack)" in out
    assert "--levels …" not in page


def a_node(name: str) -> dict[str, Any]:
    labels = {HOSTNAME: name, "example.com/block": "b1", "example.com/rack": "r1"}
    ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "8", "pods": "110"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": ready}


@pytest.mark.parametrize(
    "command",
    [
        "tree --nodes datacentre.yaml --level rack",
        "place train.yaml --nodes datacentre.yaml",
        "place train.yaml --nodes datacentre.yaml -o hostfile",
        "place sliced.yaml --nodes datacentre.yaml",
        "explain pretrain.yaml --nodes datacentre.yaml",
        "what-if --cluster cluster urgent.yaml",
        "queue --cluster cluster",
    ],
)
def test_what_the_tour_shows_is_what_is_printed(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of the README's example up to the first that is cut short with an ellipsis."""
    monkeypatch.chdir(ROOT / "src/closeknit/samples")
    with pytest.raises(SystemExit):
        main(command.split())
    printed = capsys.readouterr().out.splitlines()
    readme = (ROOT / "README.md").read_text()
    shown = readme.split(f"$ closeknit {command}\n", 1)[1].split("```", 1)[0].splitlines()
    assert shown
    for expected, line in zip(shown, printed, strict=False):
        if expected == "…":
            break
        assert line.startswith(expected.removesuffix("…"))


@pytest.mark.parametrize("page", ["kubernetes-pod-groups", "volcano", "grove"])
def test_what_a_page_on_groups_shows_of_check_is_what_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / f"docs/how-to/{page}.md").read_text()
    (manifest, name), *_ = re.findall(r"```yaml\n(# (\S+)\n.*?)```", text, re.DOTALL)
    [shown] = re.findall(rf"\$ closeknit check {re.escape(name)}\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(manifest)
    with pytest.raises(SystemExit):
        main(["check", name])
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("page", ["kai", "kubernetes-pod-groups", "volcano", "grove"])
def test_what_a_page_on_groups_shows_of_placing_them_is_what_is_printed(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / f"docs/how-to/{page}.md").read_text()
    monkeypatch.chdir(tmp_path)
    for name, manifest in re.findall(r"```yaml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(manifest)
        if name == "serve.yaml":
            Path("wide.yaml").write_text(manifest.replace('segment-size: "3"', 'segment-size: "5"'))
    shown = re.findall(r"\$ closeknit ((?:place|explain|tree) .*)\n((?s:.*?))```", text)
    assert shown
    for command, printed in shown:
        with pytest.raises(SystemExit):
            main(command.split())
        assert capsys.readouterr().out == printed, command


def test_the_manifest_in_the_recipe_for_replicas_passes_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest, *_ = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/how-to/place-replicas.md").read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("train.yaml").write_text(manifest)
    with pytest.raises(SystemExit) as ended:
        main(["check", "train.yaml"])
    assert ended.value.code == 0, capsys.readouterr().out
