"""`install`, `uninstall` and `doctor` as they are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.live import Live
from closeknit.cli.install import configuration_text
from closeknit.cli.main import main

FILE = "controller_manager_config.yaml"
CONFIGURATION = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
# Only these.
integrations:
  frameworks: [batch/job]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIGURATION)
    return file


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def manifests(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    code, out, _ = ran(capsys, "install", "-o", "yaml", *words)
    assert code == 0
    return list(yaml.load_all(out, yaml.CSafeLoader))


def test_manifests_are_printed_without_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    made = manifests(capsys, "--image", "example.com/closeknit:9", "--replicas", "3", "--service-monitor")
    [deployment] = [one for one in made if one["kind"] == "Deployment"]
    assert deployment["spec"]["replicas"] == 3
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/closeknit:9"
    assert "ServiceMonitor" in {one["kind"] for one in made}


def test_warnings_about_a_configuration_are_shown_once_with_its_file(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(CONFIGURATION + "webhook: {port: 9443}\n")
    _, _, err = ran(capsys, "install", "-o", "json", "--config", str(config))
    assert [line for line in err.splitlines() if "webhook" in line] == [
        f"warning: {config}:6:1: Configuration: webhook: is ignored; it has no effect here"
    ]


def test_manifests_in_json_are_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ran(capsys, "install", "-o", "json")
    assert json.loads(out)["kind"] == "List"


def test_a_configuration_is_kept_word_for_word_and_decides_the_policies(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = manifests(capsys, "--config", str(config))
    [held] = [one["data"][FILE] for one in made if one["kind"] == "ConfigMap"]
    assert held == CONFIGURATION
    policies = {one["metadata"]["name"] for one in made if one["kind"] == "MutatingAdmissionPolicy"}
    assert "closeknit-jobs" in policies
    assert "closeknit-jobsets" not in policies


def test_kueues_own_config_map_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config"}}
    file.write_text(yaml.safe_dump({**body, "data": {FILE: CONFIGURATION}}))
    assert configuration_text(str(file)) == CONFIGURATION


def test_a_configuration_that_cannot_be_used_is_refused_before_anything_is_done(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config.write_text(CONFIGURATION.replace("batch/job", "batch/jop"))
    code, out, err = ran(capsys, "install", "-o", "yaml", "--config", str(config))
    assert (code, out) == (2, "")
    assert "batch/jop" in err


def test_a_lease_in_another_namespace_is_refused(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.write_text(CONFIGURATION + "leaderElection: {resourceNamespace: other}\n")
    code, _, err = ran(capsys, "install", "-o", "yaml", "--config", str(config))
    assert code == 2
    assert "the configuration:6:18: Configuration: leaderElection.resourceNamespace: is other" in err


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_an_embedded_host_needs_no_installation(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = Live(tmp_path / "host")
    try:
        code, _, err = ran(capsys, command, "--kubeconfig", live.kubeconfig)
    finally:
        live.stop()
    assert code == 2
    assert "the embedded host runs its own control plane" in err
