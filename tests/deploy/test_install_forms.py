"""What lies in deploy/ is what `closeknit install` sends; whether helm and kustomize agree is asked in tests/real."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml

from closeknit.cli.main import main

ROOT = Path(__file__).parents[2]
BASE = ROOT / "deploy/kustomize/base"
Raw = dict[str, Any]


def files() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("make", ROOT / "deploy/make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: dict[str, str] = module.files()
    return found


def by_name(objects: list[Raw]) -> dict[tuple[str, str], Raw]:
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def kustomized(folder: Path) -> list[Raw]:
    """Every object of a kustomization and of those that it names."""
    found: list[Raw] = []
    for name in yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]:
        path = folder / name
        found += kustomized(path) if path.is_dir() else list(yaml.load_all(path.read_text(), yaml.CSafeLoader))
    return found


def test_generated_files_are_up_to_date() -> None:
    """If this fails: make deploy."""
    stale = [path for path, text in files().items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    assert stale == []


def test_the_kustomize_base_is_what_install_sends(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["install", "-o", "yaml"])
    assert ended.value.code == 0
    sent = list(yaml.load_all(capsys.readouterr().out, yaml.CSafeLoader))
    assert by_name(kustomized(BASE)) == by_name(sent)


def test_monitoring_is_an_overlay() -> None:
    more = set(by_name(kustomized(BASE.parent / "overlays/monitoring"))) - set(by_name(kustomized(BASE)))
    assert {kind for kind, _ in more} == {"Service", "ServiceMonitor"}


def test_no_registry_and_no_latest_is_in_an_image_reference() -> None:
    [deployment] = [one for one in kustomized(BASE) if one["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    name, _, tag = container["image"].partition(":")
    assert "/" not in name
    assert tag not in ("", "latest")
