"""Hosts in their racks as cells of a grid: filled by the host's usage, coloured by the job with most pods there.

Racks are rows of cells, in one box per block. If the screen is too small for every host, each cell is a rack, as
the title states; if not even racks fit, one line counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil
from typing import NamedTuple

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .picture import IDLE, OTHER, Block, Host, Rack

COLOURS = (
    "dodger_blue1",
    "orange1",
    "green3",
    "medium_purple1",
    "gold1",
    "deep_pink2",
    "turquoise2",
    "chartreuse2",
    "salmon1",
    "orchid",
    "sky_blue2",
    "dark_olive_green3",
    "cornflower_blue",
    "indian_red1",
    "sea_green2",
    "plum1",
    "khaki1",
    "dark_cyan",
    "dark_orange3",
    "slate_blue1",
)
GREY, BAD, HELD = "grey50", "bold red", "yellow"
ROOMY = 3
"""Columns per host if there is room: two for the host, and a gap."""
LEGEND = 40
"""Columns of the job list beside the hosts."""
FRAME = 2
"""Lines that a box adds to its rows."""
MERGED = "one cell per rack"
LETTERS = "abcdefghijklmnopqrstuvwyzABCDEFGHIJKLMNOPQRSTUVWYZ"
"""Letters for jobs if there are no colours; x is reserved for lost hosts."""


class Marks(NamedTuple):
    """Characters for hosts that the terminal supports; `letters` stand for jobs if there are no colours."""

    heights: str = "▁▂▃▄▅▆▇"
    idle: str = "·"
    lost: str = "✗"
    held: str = "–"
    more: str = "…"
    letters: str = ""

    def of_job(self, number: int, share: float = 1.0) -> str:
        """The two columns of a host with pods of that job: Marks(letters="ab").of_job(1) == "b▇"."""
        tall = len(self.heights)
        height = self.heights[max(0, min(tall, ceil(share * tall)) - 1)]
        if not self.letters:
            return height * 2
        return (self.letters[number % len(self.letters)] if number >= 0 else "+") + height


UNICODE, PLAIN = Marks(), Marks("1234567", ".", "x", "-", "...")


class Drawn(NamedTuple):
    """`beside`: whether there is room for a legend on the right."""

    drawn: RenderableType
    height: int
    beside: bool = True


def grid(blocks: Sequence[Block], width: int, most: int, marks: Marks) -> Drawn:
    """Draw the hosts in their racks, in at most `most` lines if possible."""
    if not blocks:
        return Drawn(Text("no hosts yet", GREY), 1)
    whole = merged(blocks)
    for shown, frame in ((blocks, FRAME), (whole, FRAME), (whole, 0)):
        for cell in (ROOMY, 1):
            for beside in (True, False):
                fitting = _fitting(shown, width - LEGEND - 2 if beside else width, most, cell, frame)
                if fitting is not None:
                    return Drawn(_boxes(shown, fitting, marks), fitting.height, beside)
    racks = sum(len(block.racks) for block in blocks)
    return Drawn(Text(f"screen too small for {racks:,} racks in {len(blocks):,} blocks", GREY, no_wrap=True), 1, False)


class GridLayout(NamedTuple):
    """`cell` columns for a host, `long` hosts in a line, `across` racks side by side, `beside` boxes side by side."""

    cell: int
    long: int
    across: int
    beside: int
    name: int
    height: int
    frame: int


def _fitting(blocks: Sequence[Block], width: int, most: int, cell: int, frame: int) -> GridLayout | None:
    """A layout that shows everything, with as few racks side by side as the height allows; None if none fits."""
    name = max(len(rack.name) for block in blocks for rack in block.racks)
    longest = max(len(rack.hosts) for block in blocks for rack in block.racks)
    long = min(longest, max(1, (width - 6 - name) // cell))
    rack_width = name + 1 + long * cell + 1
    lines = max(sum(ceil(len(rack.hosts) / long) for rack in block.racks) for block in blocks)
    racks = max(len(block.racks) for block in blocks)
    for across in range(1, racks + 1):
        box_width = across * rack_width + 3
        if box_width > width:
            return None
        beside = min(len(blocks), max(1, width // box_width))
        height = ceil(len(blocks) / beside) * (ceil(lines / across) + frame)
        if height <= most:
            return GridLayout(cell, long, across, beside, name, height, frame)
    return None


def _boxes(blocks: Sequence[Block], layout: GridLayout, marks: Marks) -> RenderableType:
    table = Table.grid(padding=(0, 0))
    for first in range(0, len(blocks), layout.beside):
        table.add_row(*(_box(block, layout, marks) for block in blocks[first : first + layout.beside]))
    return table


def _box(block: Block, layout: GridLayout, marks: Marks) -> RenderableType:
    lines = [line for rack in block.racks for line in _rack(rack, layout, marks)]
    rows = Table.grid(padding=(0, 1))
    tall = ceil(len(lines) / layout.across)
    for row in range(tall):
        rows.add_row(*lines[row::tall])
    if not layout.frame:
        return Group(rows)
    return Panel(rows, title=block.name or None, title_align="left", box=box.ROUNDED, border_style=GREY, expand=False)


def _rack(rack: Rack, layout: GridLayout, marks: Marks) -> Iterator[Text]:
    for first in range(0, len(rack.hosts), layout.long):
        line = Text(f"{rack.name if first == 0 else '':<{layout.name}} ", GREY, no_wrap=True, end="")
        cells = (_mark(host, marks) for host in rack.hosts[first : first + layout.long])
        for (mark, style), alike in groupby(cells):
            line.append(f"{mark[: layout.cell]}{' ' * (layout.cell - 2)}" * sum(1 for _ in alike), style)
        yield line


def _mark(host: Host, marks: Marks) -> tuple[str, str]:
    if host.state in ("lost", "silent"):
        return marks.lost * 2, BAD if host.state == "lost" else "bold yellow"
    if host.colour == IDLE:
        return (marks.held * 2, HELD) if host.state == "held" else (marks.idle * 2, GREY)
    return marks.of_job(host.colour, host.share), colour(host.colour)


def colour(number: int) -> str:
    return GREY if number in (IDLE, OTHER) else COLOURS[number % len(COLOURS)]


def merged(blocks: Sequence[Block]) -> list[Block]:
    """One level less: racks become cells, blocks become rows of one box."""
    return [Block(MERGED, tuple(Rack(block.name, tuple(_as_host(rack) for rack in block.racks)) for block in blocks))]


def _as_host(rack: Rack) -> Host:
    up = [host for host in rack.hosts if host.state in ("up", "held")]
    if not up:
        return Host(rack.name, "lost")
    used = [host.colour for host in up if host.colour != IDLE]
    share = sum(host.share for host in up) / len(up)
    return Host(rack.name, "up", max(set(used), key=used.count) if used else IDLE, share)
