"""The file of --config: Kueue's Configuration, ours, or both, and the positions of its mistakes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from closeknit.cli.configuration import Configured, read_configuration
from closeknit.dialects.kueue.configuration_fields import FIELDS
from closeknit.dialects.kueue.jobs.kinds import FRAMEWORKS
from closeknit.dialects.own_configuration import FIELDS as OUR_FIELDS
from closeknit.model.mistake import InputError

KUEUE = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
featureGates: {PartialAdmission: false, TASBalancedPlacement: true}
waitForPodsReady:
  timeout: 5m
"""
OURS = """\
apiVersion: config.closeknit.dev/v1alpha1
kind: Configuration
profile: kueue
notReadyDelay: 3s
featureGates: {PartialAdmission: true}
"""


def read(tmp_path: Path, text: str) -> Configured:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    return read_configuration(str(file))


def refused(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    return [str(one).replace(f"{tmp_path}/", "") for one in error.value.mistakes]


def test_both_configurations_fit_in_one_file_and_ours_wins(tmp_path: Path) -> None:
    found = read(tmp_path, f"{KUEUE}---\n{OURS}")
    assert found.changes == {"PartialAdmission": True, "TASBalancedPlacement": True}
    assert found.settings.not_ready_delay == 3.0
    assert found.settings.pods_ready is not None
    assert found.settings.pods_ready.timeout == 300.0
    assert "VerifyBeforeAdmit" not in found.gates()
    assert "TASBalancedPlacement" in found.gates()


def test_the_command_line_overrides_the_file(tmp_path: Path) -> None:
    found = read(tmp_path, OURS)
    assert "VerifyBeforeAdmit" in found.gates("closeknit")
    assert "PartialAdmission" not in found.gates("", {"PartialAdmission": False})


@pytest.mark.parametrize("text", [KUEUE, OURS])
def test_one_of_them_is_enough(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) != Configured()


def test_kinds_of_jobs_are_all_of_ours_or_kueues_own_in_its_profile() -> None:
    assert Configured().managed().frameworks == FRAMEWORKS
    assert Configured().managed("kueue").frameworks == {"batch/job"}


def test_our_own_namespace_is_not_managed(tmp_path: Path) -> None:
    def in_home(found: Configured, home: str = "") -> bool:
        return found.managed("", home).namespaces.matches({"kubernetes.io/metadata.name": "home"})

    assert in_home(Configured())
    assert not in_home(Configured(), "home")
    assert not in_home(read(tmp_path, f"{KUEUE}namespace: home\n"))


def test_a_mistake_names_the_line_and_the_column_of_its_field(tmp_path: Path) -> None:
    text = f"{KUEUE}  recoveryTimout: 1m\n---\n{OURS}writesPerSecond: -5\n"
    assert refused(tmp_path, text) == [
        "config.yaml:6:3: Configuration: waitForPodsReady.recoveryTimout: is not a known field; "
        "did you mean recoveryTimeout?",
        "config.yaml:13:1: Configuration: writesPerSecond: is -5; use a number, 0 or more",
    ]


def test_a_mistake_inside_a_config_map_names_its_line_and_column(tmp_path: Path) -> None:
    inside = "".join(f"    {line}\n" for line in [*KUEUE.splitlines(), "  timeouts: 1m"])
    text = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  controller_manager_config.yaml: |\n{inside}"
    )
    (said,) = refused(tmp_path, text)
    assert said.startswith("config.yaml:11:7: Configuration: waitForPodsReady.timeouts: is not a known field")


def test_a_warning_names_its_line_and_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, f"{KUEUE}webhook: {{port: 9443}}\n")
    assert "config.yaml:6:1: Configuration: webhook: is ignored; it has no effect here" in capsys.readouterr().err


def test_standard_input_is_read_and_its_mistakes_are_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(f"{OURS}nope: 1\n".encode())

    monkeypatch.setattr("sys.stdin", Stdin)
    with pytest.raises(InputError, match="standard input:6:1: Configuration: nope: is not a known field"):
        read_configuration("-")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: Pod\n", "contains no Configuration; give one with apiVersion: config.kueue"),
        (
            "apiVersion: config.example.com/v1\nkind: Configuration\n",
            "config.yaml:1:1: Configuration: apiVersion: group config.example.com is not supported; use config.kueue",
        ),
        (
            f"{OURS}---\n{OURS}",
            "config.yaml:7:1: Configuration: apiVersion: is a second Configuration of config.closeknit",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  controller_manager_config.yaml: |\n    a: 1\n    b: [\n",
            "is not valid YAML: expected the node content, but found '<stream end>', in its line 3; fix the syntax",
        ),
        (f"{OURS}profile: closeknit\n", 'config.yaml:6:1: is not YAML: the key "profile" appears twice'),
    ],
)
def test_other_objects_are_rejected_as_configuration(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, text)[0]


PAGE = Path(__file__).parents[2] / "docs/reference/configuration.md"


def test_the_sample_in_the_reference_can_be_used_and_its_mistake_is_reported_as_printed(tmp_path: Path) -> None:
    page = PAGE.read_text()
    sample = page.partition("```yaml\n")[2].partition("```")[0]
    found = read(tmp_path, sample)
    assert found.settings.not_ready_delay == 20.0
    (said,) = refused(tmp_path, sample.replace("  timeout:", "  timout:"))
    assert f"error: {said}\n" in page


def test_every_field_that_is_read_or_named_is_in_the_reference() -> None:
    page = PAGE.read_text()
    names = (FIELDS.keys() | OUR_FIELDS.keys()) - {"apiVersion", "kind"}
    assert [name for name in sorted(names) if f"`{name}" not in page] == []
    kinds = (PAGE.parent / "job-kinds.md").read_text()
    assert [name for name in sorted(FRAMEWORKS) if f"`{name}`" not in kinds] == []
