"""`closeknit extender`: what it prints, and what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from closeknit.cli.extender import command, read_settings
from closeknit.model.mistake import InputError
from closeknit.model.numa_settings import NumaSettings

OURS = "apiVersion: config.closeknit.dev/v1alpha1\nkind: Configuration\nnuma: {mode: MODE}\n"
SCHEDULER = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: other
- schedulerName: numa
  plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch}]}}
  pluginConfig:
  - name: NodeResourceTopologyMatch
    args: {scoringStrategy: {type: MostAllocated}}
"""


def printed(*words: str) -> str:
    result = CliRunner().invoke(command, words, standalone_mode=False)
    assert result.exception is None
    return result.output


def test_the_printed_configuration_is_what_a_scheduler_reads() -> None:
    found = yaml.safe_load(printed("--print-config", "--listen", "127.0.0.1:9000"))
    assert found["kind"] == "KubeSchedulerConfiguration"
    assert found["percentageOfNodesToScore"] == 100
    (extender,) = found["extenders"]
    assert extender == {
        "urlPrefix": "http://127.0.0.1:9000",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "bindVerb": "bind",
        "preemptVerb": "preempt",
        "weight": 1,
        "nodeCacheCapable": True,
        "httpTimeout": "5s",
        "ignorable": False,
    }
    (safe,) = yaml.safe_load(printed("--print-config", "--tls-cert", "a.pem"))["extenders"]
    assert safe["urlPrefix"].startswith("https://")
    assert safe["enableHTTPS"] is True


def test_the_printed_permissions_are_the_least_that_are_needed() -> None:
    _, role, binding = yaml.safe_load_all(printed("--print-rbac"))
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    rules = {(rule["apiGroups"][0], *rule["resources"]): rule["verbs"] for rule in role["rules"]}
    assert rules == {
        ("", "nodes"): ["list", "watch"],
        ("", "pods"): ["get", "list", "watch"],
        ("", "pods/binding"): ["create"],
        ("topology.node.k8s.io", "noderesourcetopologies"): ["get", "list", "watch"],
        ("apiextensions.k8s.io", "customresourcedefinitions"): ["list", "watch"],
    }


def settings(folder: Path, text: str) -> tuple[NumaSettings, str]:
    file = folder / "config.yaml"
    file.write_text(text)
    found, arguments = read_settings(str(file))
    return found, arguments.strategy


def test_a_scheduler_configuration_means_compat_with_its_arguments(tmp_path: Path) -> None:
    assert read_settings(None)[0] == NumaSettings("strict")
    assert settings(tmp_path, SCHEDULER) == (NumaSettings("compat"), "MostAllocated")
    assert settings(tmp_path, OURS.replace("MODE", "compat")) == (NumaSettings("compat"), "LeastAllocated")
    both = f"{SCHEDULER}---\n{OURS.replace('MODE', 'strict')}"
    assert settings(tmp_path, both) == (NumaSettings("compat"), "MostAllocated")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SCHEDULER.replace("MostAllocated", "Most"), "invalid ScoringStrategyType"),
        (SCHEDULER.replace("enabled", "disabled"), "has no profile that enables NodeResourceTopologyMatch"),
        (OURS.replace("MODE", "lax"), 'numa.mode: is "lax"; use one of: strict, compat, off'),
    ],
)
def test_mistakes_name_field_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        settings(tmp_path, text)
    assert said in str(error.value)


def test_without_zones_there_is_nothing_to_decide(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(OURS.replace("MODE", "off"))
    result = CliRunner().invoke(command, ["--config", str(file)], standalone_mode=False)
    assert "numa.mode: is off" in str(result.exception)
    assert CliRunner().invoke(command, ["--tls-key", "a"]).exit_code == 2
