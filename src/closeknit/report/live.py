"""The live view: a picture of a running cluster as something that `rich` can draw, for a screen of a given size.

Every host is a cell, as high as it is full and coloured by the job that has most pods there; racks are rows of cells,
in a box for every block. On a small screen fewer decisions, jobs and queues are shown; where not even all hosts fit, a
cell stands for a rack.
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

from ..model.quota import UNLIMITED
from ..model.resources import rough
from .bars import bar
from .lines import clock
from .picture import IDLE, OTHER, Block, Host, Job, Picture, Queue, Rack, Told

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
OUTCOMES = {"Admitted": "green", "Moved": "cyan", "Preempted": "red", "Evicted": "red", "Waits": GREY}
ROOMY = 3
"""Columns of a host where there is room: two of it, and a gap."""
LEGEND = 40
"""Columns that the jobs take beside the hosts."""
LEAST_DECISIONS = 3
GAPS = 2
OPENING = "couldn't assign flavors to pod set main: "
"""How most reasons begin, and nobody needs to read again."""


class Marks(NamedTuple):
    """Characters for hosts, as the terminal has them."""

    heights: str = "▁▂▃▄▅▆▇"
    idle: str = "·"
    lost: str = "✗"
    held: str = "–"


UNICODE, PLAIN = Marks(), Marks("1234567", ".", "x", "-")


def view(picture: Picture, width: int, height: int, marks: Marks = UNICODE) -> RenderableType:
    """Everything that fits into so many columns and lines."""
    head, queues = list(_head(picture, width)), list(_queues(picture.queues, width))
    queues = queues[: max(1, height // 4)]
    left = height - 1 - len(head) - len(queues) - GAPS
    hosts = grid(picture.blocks, width, max(3, left - LEAST_DECISIONS), marks)
    jobs = [_job(job, marks) for job in picture.jobs]
    if hosts.beside:
        tall = max(hosts.height, min(len(jobs), left - LEAST_DECISIONS))
        body = _side_by_side(hosts.drawn, jobs[:tall])
    else:
        lines = list(_in_columns(jobs, width))[: max(1, (left - hosts.height) // 2)]
        tall, body = hosts.height + len(lines), Group(hosts.drawn, *lines)
    told = _decisions(picture.decisions, width, max(0, left - tall))
    return Group(*head, body, Text(), *queues, Text(), *told)


def _side_by_side(hosts: RenderableType, jobs: Sequence[Text]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_row(hosts, Group(*(_one_line(job, LEGEND) for job in jobs)))
    return table


def _in_columns(jobs: Sequence[Text], width: int) -> Iterator[Text]:
    across = max(1, width // LEGEND)
    for first in range(0, len(jobs), across):
        line = Text(no_wrap=True)
        for job in jobs[first : first + across]:
            line.append_text(_one_line(job, LEGEND - 2))
            line.append(" " * (LEGEND - job.cell_len))
        yield _one_line(line, width)


# The head


def _head(picture: Picture, width: int) -> Iterator[Text]:
    access = picture.access
    states = [host.state for host in picture.hosts()]
    lost = sum(state in ("lost", "silent") for state in states)
    top = Text.assemble(("closeknit ", "bold"), picture.version, "  ", (access.address, "cyan"))
    top.append(f"  {len(states):,} hosts")
    if lost:
        top.append(f", {lost} failed", BAD)
    top.append(f"  {picture.pods:,} pods")
    yield _one_line(top, width)
    more = f" {access.options}" if access.options else ""
    yield from _wrapped(Text(f"export KUBECONFIG={access.kubeconfig}", GREY), width)
    yield _one_line(
        Text(f"closeknit get jobs{more}   closeknit explain JOB{more}   Ctrl-C ends, all is kept", GREY), width
    )
    yield Text()
    if picture.demo:
        said = Text.assemble((f"{picture.demo}  ", "bold"), (picture.says, "bold yellow"))
        yield from _wrapped(said, width)
        yield Text()


def _one_line(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    text.no_wrap = True
    return text


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    from rich.console import Console

    yield from text.wrap(Console(width=width), width)


# Hosts


class Drawn(NamedTuple):
    """`beside`: there is room for a legend on the right."""

    drawn: RenderableType
    height: int
    beside: bool = True


def grid(blocks: Sequence[Block], width: int, most: int, marks: Marks) -> Drawn:
    """The hosts in their racks, in at most so many lines if that can be done."""
    if not blocks:
        return Drawn(Text("no hosts yet", GREY), 1)
    for shown in (blocks, merged(blocks)):
        for cell in (ROOMY, 1):
            for beside in (True, False):
                fitting = _fitting(shown, width - LEGEND - 2 if beside else width, most, cell)
                if fitting is not None:
                    return Drawn(_boxes(shown, fitting, marks), fitting.height, beside)
    return Drawn(Text(f"{len(blocks):,} blocks are more than this screen can show", GREY), 1)


class Layout(NamedTuple):
    """`cell` columns for a host, `long` hosts in a line, `across` racks side by side, `beside` boxes side by side."""

    cell: int
    long: int
    across: int
    beside: int
    name: int
    height: int


def _fitting(blocks: Sequence[Block], width: int, most: int, cell: int) -> Layout | None:
    """How racks can lie so that all is seen: as few side by side as there is height for."""
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
        height = ceil(len(blocks) / beside) * (ceil(lines / across) + 2)
        if height <= most:
            return Layout(cell, long, across, beside, name, height)
    return None


def _boxes(blocks: Sequence[Block], layout: Layout, marks: Marks) -> RenderableType:
    table = Table.grid(padding=(0, 0))
    for first in range(0, len(blocks), layout.beside):
        table.add_row(*(_box(block, layout, marks) for block in blocks[first : first + layout.beside]))
    return table


def _box(block: Block, layout: Layout, marks: Marks) -> RenderableType:
    lines = [line for rack in block.racks for line in _rack(rack, layout, marks)]
    rows = Table.grid(padding=(0, 1))
    tall = ceil(len(lines) / layout.across)
    for row in range(tall):
        rows.add_row(*lines[row::tall])
    return Panel(rows, title=block.name or None, title_align="left", box=box.ROUNDED, border_style=GREY, expand=False)


def _rack(rack: Rack, layout: Layout, marks: Marks) -> Iterator[Text]:
    for first in range(0, len(rack.hosts), layout.long):
        line = Text(f"{rack.name if first == 0 else '':<{layout.name}} ", GREY, no_wrap=True, end="")
        cells = (_mark(host, marks) for host in rack.hosts[first : first + layout.long])
        for (mark, style), alike in groupby(cells):
            line.append(f"{mark * min(layout.cell, 2)}{' ' * (layout.cell - 2)}" * sum(1 for _ in alike), style)
        yield line


def _mark(host: Host, marks: Marks) -> tuple[str, str]:
    if host.state in ("lost", "silent"):
        return marks.lost, BAD if host.state == "lost" else "bold yellow"
    if host.colour == IDLE:
        return (marks.held, HELD) if host.state == "held" else (marks.idle, GREY)
    tall = len(marks.heights)
    return marks.heights[max(0, min(tall, ceil(host.share * tall)) - 1)], colour(host.colour)


def colour(number: int) -> str:
    return GREY if number in (IDLE, OTHER) else COLOURS[number % len(COLOURS)]


def merged(blocks: Sequence[Block]) -> list[Block]:
    """Racks as cells of one row a block, and blocks as rows of one box: one level less."""
    return [Block("", tuple(Rack(block.name, tuple(_as_host(rack) for rack in block.racks)) for block in blocks))]


def _as_host(rack: Rack) -> Host:
    up = [host for host in rack.hosts if host.state in ("up", "held")]
    if not up:
        return Host(rack.name, "lost")
    used = [host.colour for host in up if host.colour != IDLE]
    share = sum(host.share for host in up) / len(up)
    return Host(rack.name, "up", max(set(used), key=used.count) if used else IDLE, share)


# Jobs, queues, decisions


def _job(job: Job, marks: Marks) -> Text:
    line = Text(no_wrap=True)
    if job.waits:
        line.append(f"{marks.idle * 2} {job.name}", "bold")
        line.append(f"  {_pods(job.pods)} waiting", "yellow")
        return line
    line.append(f"{marks.heights[-1] * 2} ", colour(job.colour))
    line.append(job.name, "bold")
    line.append(f"  {_pods(job.pods)}" + (f" in {job.where}" if job.where else ""), GREY)
    return line


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count:,} pods"


def _queues(queues: Sequence[Queue], width: int) -> Iterator[Text]:
    longest = max((len(queue.name) for queue in queues), default=0)
    for queue in queues:
        line = Text(no_wrap=True)
        line.append(f"{queue.name:<{longest}}  ", "bold")
        for part, style in _bar(queue, min(24, width // 5)):
            line.append(part, style)
        whole = "unlimited" if queue.quota >= UNLIMITED else rough(queue.resource, queue.quota)
        line.append(f"  {rough(queue.resource, queue.used)} of {whole} {queue.resource}")
        if queue.borrowed:
            line.append(f", {rough(queue.resource, queue.borrowed)} borrowed", "orange1")
        line.append(f"  {queue.running} running")
        if queue.waiting:
            line.append(f"  {queue.waiting} waiting", "yellow")
        yield _one_line(line, width)


def _bar(queue: Queue, width: int) -> Iterator[tuple[str, str]]:
    own = min(queue.used, queue.quota)
    drawn = bar([("█", own), ("▒", queue.borrowed), ("░", max(0, queue.quota - own))], width)
    for mark, style in (("█", "green3"), ("▒", "orange1"), ("░", GREY)):
        yield mark * drawn.count(mark), style


def _decisions(decisions: Sequence[Told], width: int, most: int) -> Iterator[Text]:
    newest = decisions[len(decisions) - most :] if most < len(decisions) else decisions
    longest = max((len(one.job) for one in newest), default=0)
    for one in newest if most else ():
        line = Text(no_wrap=True)
        line.append(f"{clock(one.at)}  ", GREY)
        line.append(f"{one.outcome:<10}", OUTCOMES.get(one.outcome, ""))
        line.append(f"{one.job:<{longest}}  ", "bold")
        line.append(one.text.partition(OPENING)[2] or one.text)
        yield _one_line(line, width)
