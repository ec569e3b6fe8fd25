"""Hostile files: `closeknit check` refuses each with a sentence, in bounded time and memory."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

HEAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
ROOM = 3 << 30
SECONDS = 20


class Ran(NamedTuple):
    code: int
    said: str


def checked(file: str, data: bytes | None = None) -> Ran:
    """`closeknit check` with bounded memory and processor time."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    command = [sys.executable, "-m", "closeknit", "check", file]
    ran = subprocess.run(command, input=data, capture_output=True, timeout=300, preexec_fn=bound)
    return Ran(ran.returncode, (ran.stdout + ran.stderr).decode())


def sexagesimal() -> str:
    return f"{HEAD}data:\n  a: 1{':59' * 300_000}\n  b: !!float 1:30.5\n"


def aliases() -> str:
    lines = [HEAD, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    return "\n".join([*lines, *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))])


def long_aliases() -> str:
    return f"{HEAD}a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 100_000)}]"


def merged() -> str:
    lines = [HEAD, "a0: &a0 {a: b}"]
    return "\n".join([*lines, *(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 60))])


def nested() -> str:
    return f"{HEAD}data: {'[' * 100_000}"


def chained() -> str:
    return "\n".join([HEAD, "a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5_000))])


def long_numbers() -> str:
    return f"{HEAD}a: {'1' * 100_000}\nb: 0x{'f' * 380}\nc: 0x_\nd: 0b{'1' * 100_000}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (sexagesimal, "cannot be read as"),
        (aliases, "the aliases expand to more than 16 MiB"),
        (long_aliases, "the aliases expand to more than 16 MiB"),
        (merged, "the aliases expand to more than 16 MiB"),
        (nested, "is nested too deeply"),
        (chained, "1 object"),
        (long_numbers, "1 object"),
    ],
)
def test_a_hostile_manifest_gets_a_sentence(text: Callable[[], str], said: str, tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    file.write_text(text())
    ran = checked(str(file))
    assert ran.code in (0, 2), ran
    assert said in ran.said
    assert "internal error" not in ran.said
    assert "Traceback" not in ran.said


@pytest.mark.parametrize("start", [b"# a comment\n", b'{"kind": "List", "items": ['])
def test_a_manifest_of_a_gigabyte_is_refused_by_its_size(start: bytes, tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    with file.open("wb") as stream:
        stream.write(start * 8_000)
        stream.truncate(1 << 30)
    ran = checked(str(file))
    assert ran.code == 2
    assert "has more than 100 MiB, which is too large for a manifest; split it into several files" in ran.said


def test_a_manifest_on_standard_input_is_read_up_to_the_limit() -> None:
    ran = checked("-", b"# a comment, and a long one\n" * 4_000_000)
    assert ran.code == 2
    assert "standard input: has more than 100 MiB" in ran.said
