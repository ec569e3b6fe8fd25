"""What `pyproject.toml` declares is what the package imports: nothing missing, nothing left over."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = re.compile(r"[A-Za-z0-9._-]+")


def imported(folder: Path) -> set[str]:
    """Top-level names of modules from elsewhere that files of a folder import, also inside functions."""
    names = {name for file in folder.rglob("*.py") for name in imports_of(ast.parse(file.read_text()))}
    return names - sys.stdlib_module_names - {"closeknit"}


def imports_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def normalized(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


def declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = [NAME.match(requirement) for requirement in project["dependencies"]]
    return {normalized(match.group()) for match in found if match}


@functools.cache
def needed() -> set[str]:
    """The distributions behind the imports; a module that no distribution has stands for itself."""
    of = packages_distributions()
    return {normalized(one) for module in imported(ROOT / "src") for one in of.get(module, [module])}


def test_every_import_is_a_declared_dependency() -> None:
    assert needed() - declared() == set()


def test_every_declared_dependency_is_imported() -> None:
    assert declared() - needed() == set()
