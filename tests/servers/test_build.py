"""The recipe without its long part: what is written for Go to build, and where the result goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.build import binary, built, cache, module_file
from servers.versions import SERVERS, Module, Server

HOME = """module example.com/server

go 1.26.0

toolchain go1.26.1

require example.com/part v0.0.0

replace example.com/part => ./staging/src/example.com/part

replace (
\texample.com/other => ../other
\texample.com/never => ./FORBIDDEN_DEPENDENCY
)
"""


def test_folders_beside_the_module_become_published_versions() -> None:
    text = module_file(HOME, Module("example.com/server", "v1.2.3", siblings="v0.2.3"))
    assert "replace example.com/part => example.com/part v0.2.3\n" in text
    assert "\texample.com/other => example.com/other v0.2.3\n" in text
    assert "FORBIDDEN" not in text


def test_the_module_is_required_under_another_modules_name() -> None:
    text = module_file(HOME, Module("example.com/server", "v1.2.3", siblings="v0.2.3"))
    assert text.startswith("module servers\n")
    assert text.endswith("require example.com/server v1.2.3\n")
    assert "toolchain" not in text


def test_a_binary_is_named_by_program_and_version() -> None:
    assert SERVERS["kube-apiserver"].file == "kube-apiserver-1.36.3"
    assert SERVERS["etcd"].file == "etcd-3.6.8"


def test_a_finished_binary_is_used_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSEKNIT_CACHE", str(tmp_path))
    folder = tmp_path / "closeknit" / "servers"
    folder.mkdir(parents=True)
    (folder / "etcd-3.6.8").write_bytes(b"")
    assert binary("etcd") == folder / "etcd-3.6.8"


def test_the_cache_is_outside_the_work_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLOSEKNIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache() == tmp_path / "closeknit" / "servers"


def test_the_tests_of_a_package_are_built_as_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a go command that records its arguments."""
    monkeypatch.setenv("CLOSEKNIT_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tool = tmp_path / "go"
    tool.write_text('#!/bin/sh\nfor word; do [ "$last" = -o ] && echo "$@" > "$word"; last=$word; done\n')
    tool.chmod(0o755)
    module = Module("example.com/server", "v1.2.3")
    home = tmp_path / "closeknit" / "servers" / "example.com-server-v1.2.3"
    home.mkdir(parents=True)
    (home / "go.mod").write_text("module servers\n")
    done = built(Server("bench", module, "example.com/server/pkg", is_test=True))
    assert done.name == "bench-1.2.3"
    words = done.read_text().split()
    assert words[:2] == ["test", "-c"]
    assert words[-1] == "example.com/server/pkg"


def test_a_version_that_no_proxy_serves_becomes_one_that_is_served() -> None:
    text = (
        "module m\n\nreplace (\n\texample.com/a => example.com/a v1.2.3\n\texample.com/ab => example.com/ab v1.2.3\n)\n"
    )
    found = module_file(text, Module("example.com/m", "v1.2.3", served=(("example.com/a", "v1.2.1"),)))
    assert "\texample.com/a => example.com/a v1.2.1\n" in found
    assert "\texample.com/ab => example.com/ab v1.2.3\n" in found
