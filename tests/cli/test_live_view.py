"""The live view in a terminal, as a user sees it: at any size, resized, and at its end."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli.terminal import Terminal

Start = Callable[..., Terminal]
SIZES = [(200, 60), (120, 40), (80, 24), (60, 15), (40, 10)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, which fits on a line."""
    with TemporaryDirectory(prefix="ck") as path:
        yield Path(path) / "s"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    started: list[Terminal] = []

    def begin(columns: int = 100, lines: int = 30, demo: str = "first-steps", **environment: str) -> Terminal:
        command = [sys.executable, "-m", "closeknit", "up", "--demo", demo, "--data", str(folder)]
        started.append(Terminal(command, columns, lines, **environment))
        return started[-1]

    yield begin
    for one in started:
        one.close()


def has(words: str) -> Callable[[str], bool]:
    return lambda text: words in text


def test_a_terminal_shows_the_cluster_live(start: Start, folder: Path) -> None:
    terminal = start()
    text = terminal.until(has("▇▇ tune  10 pods in b1-r2"))
    lines = text.split("\n")
    assert lines[0].startswith("closeknit 0.1.0  https://127.0.0.1:")
    assert lines[1] == f"export KUBECONFIG={folder}/kubeconfig"
    assert "╭─ b1 ─" in text


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_at_the_end_the_terminal_is_restored_with_one_more_line(start: Start, folder: Path, number: int) -> None:
    terminal = start(120, 30)
    terminal.until(has("Submitting train"))
    assert (terminal.glass.other is None, terminal.glass.has_cursor) == (False, False)
    assert terminal.modes() != terminal.before
    assert terminal.end(number) == 0
    assert (terminal.glass.other, terminal.glass.has_cursor, terminal.glass.wraps) == (None, True, True)
    assert terminal.modes() == terminal.before
    assert [line for line in terminal.glass.lines if line] == [
        f"stopped; the cluster is saved in {folder}; continue with: closeknit up --data {folder}"
    ]


def test_a_screen_that_is_resized_shows_what_one_of_that_size_shows(start: Start) -> None:
    """No part of the previous picture is left, and none of the new one is missing."""
    terminal = start(200, 60, demo="rank-drift")
    terminal.until(has("Submitting pair"))
    seen = {}
    for size in (*SIZES, (100, 30), *SIZES):
        terminal.resize(*size)
        terminal.look(0.8)
        lines = terminal.glass.lines
        assert len(lines) == size[1]
        frames = [line for line in lines if "╭" in line or "╰" in line]
        assert len(frames) in (0, 2), frames
        assert sum("hosts" in line and "pods" in line for line in lines) == 1
        seen[size] = lines[0]
    assert terminal.end() == 0
    assert len(seen) == 6


@pytest.mark.parametrize("size", SIZES)
def test_in_every_size_there_is_the_story_the_hosts_and_what_was_decided(start: Start, size: tuple[int, int]) -> None:
    terminal = start(*size)
    text = terminal.until(lambda text: "Submitting tune" in text and re.search(r"Admitted +(train|tune)", text))
    assert "8 hosts" in text
    assert re.search(r"^(│ r1|b1) ", text, re.MULTILINE)
    assert re.search(r"^team ", text, re.MULTILINE)


def test_a_screen_that_is_just_full_shows_the_newest_decision_last(start: Start) -> None:
    terminal = start(80, 24, demo="node-failure")
    terminal.until(has("sweep is pending"))
    terminal.look(0.6)
    assert re.match(r"\d\d:\d\d:\d\d  Waits     sweep  ", terminal.glass.lines[-1])


def test_nothing_is_drawn_while_nothing_changes(start: Start) -> None:
    terminal = start()
    terminal.until(has("pretrain is pending"))
    terminal.look(2.0)
    before = len(terminal.raw)
    terminal.look(4.0)
    assert terminal.raw[before:] == ""


def test_keys_that_are_typed_leave_no_trace(start: Start) -> None:
    terminal = start()
    terminal.until(has("Submitting train"))
    terminal.type("ls\n\n")
    terminal.until(has("Submitting tune"))
    assert terminal.text().startswith("closeknit 0.1.0")
    assert "ls" not in [line.strip() for line in terminal.glass.lines]


def test_without_colours_none_are_sent_and_jobs_have_letters(start: Start) -> None:
    terminal = start(NO_COLOR="1")
    text = terminal.until(has("b▇ tune"))
    assert "a▇ train" in text
    assert "│ r1 a▇ a▇ ·· ··  │" in text
    assert not re.search(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|9[0-7]|4[0-8])[;m]", terminal.raw)


def test_a_terminal_without_such_characters_gets_plain_ones(start: Start) -> None:
    terminal = start(PYTHONIOENCODING="ascii")
    text = terminal.until(has("77 tune"))
    assert text.isascii()
    assert "| r1 77 77 .. ..  |" in text
    assert "?" not in text
    assert terminal.end() == 0


def test_a_dumb_terminal_gets_lines(start: Start) -> None:
    terminal = start(TERM="dumb")
    terminal.until(has("Submitting train"))
    assert "\x1b" not in terminal.raw
    assert terminal.end() == 0
    assert "continue with: closeknit up" in terminal.text().replace("\n", "")


def test_a_stopped_process_restores_the_terminal_and_draws_again_when_continued(start: Start) -> None:
    terminal = start()
    terminal.until(has("Submitting train"))
    terminal.process.send_signal(signal.SIGTSTP)
    _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    terminal.look(0.3)
    assert (terminal.glass.other, terminal.glass.has_cursor) == (None, True)
    assert terminal.modes() == terminal.before
    terminal.process.send_signal(signal.SIGCONT)
    assert terminal.until(has("Submitting ")).startswith("closeknit 0.1.0")
    assert terminal.end() == 0


def test_ignored_options_are_noted_in_the_live_view(start: Start) -> None:
    first = start(demo="rank-drift")
    first.until(has("3 hosts in 1 rack"))
    assert first.end() == 0
    text = start(demo="gpu-block").until(has("note: "))
    assert "--demo gpu-block is ignored" in text
