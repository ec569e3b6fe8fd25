"""The documents are true: links lead somewhere, and what they list is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from closeknit.cli.main import COMMANDS
from closeknit.dialects.kueue import keys
from closeknit.model.gates import OUR_GATES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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


def test_samples_in_the_readme_are_the_samples_that_ship() -> None:
    sample = (ROOT / "src/closeknit/samples/datacentre.yaml").read_text()
    readme = (ROOT / "README.md").read_text()
    assert [line for line in sample.splitlines() if line and not line.startswith("#") and line not in readme] == []
