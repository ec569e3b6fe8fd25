"""A slow reader never blocks the writer, and a line reports how many lines were dropped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from time import monotonic

import pytest

from closeknit.cli.ticker import Ticker


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    for end in (read, write):
        try:
            os.close(end)
        except OSError:
            continue


def everything(read: int) -> str:
    pieces = []
    while piece := os.read(read, 1 << 16):
        pieces.append(piece)
    return b"".join(pieces).decode()


def test_lines_come_out_in_order(pipe: tuple[int, int]) -> None:
    read, write = pipe
    ticker = Ticker(write)
    for number in range(100):
        ticker.say(f"line {number}")
    assert ticker.end()
    os.close(write)
    assert everything(read).splitlines() == [f"line {number}" for number in range(100)]


def test_a_slow_reader_never_blocks_the_writer_and_sees_how_many_lines_were_dropped(pipe: tuple[int, int]) -> None:
    read, write = pipe
    ticker = Ticker(write, most=2_000)
    begin = monotonic()
    for number in range(20_000):
        ticker.say(f"line {number} {'x' * 100}")
    assert monotonic() - begin < 5
    assert not ticker.end()
    seen, missed, text = 0, 0, ""
    while seen + missed < 20_000:
        text += os.read(read, 1 << 16).decode()
        *lines, text = text.split("\n")
        seen += sum(line.startswith("line ") for line in lines)
        missed += sum(
            int(line[1:].split()[0]) for line in lines if line.endswith("lines dropped: the reader was too slow)")
        )
    assert seen + missed == 20_000
    assert missed > 10_000


def test_a_closed_pipe_is_no_error(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.close(read)
    ticker = Ticker(write)
    for number in range(1000):
        ticker.say(f"line {number}")
    assert ticker.end()
    ticker.say("never read")


def test_the_end_waits_for_buffered_lines(pipe: tuple[int, int]) -> None:
    read, write = pipe
    ticker = Ticker(write)
    ticker.say("last words: µs ✗")
    assert ticker.end()
    os.close(write)
    assert everything(read) == "last words: µs ✗\n"
