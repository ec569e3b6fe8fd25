"""The live view: a picture of a running cluster as a `rich` renderable, for a screen of a given size.

    head          address, how to connect, the demo's commentary
    hosts │ jobs  side by side, or one below the other
    queues
    decisions     the newest last

A small screen shows less of each part, and how much is left out. On a very small one the connection details and the
blank lines between the parts are dropped first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..model.quota import UNLIMITED
from ..model.resources import rough
from .bars import BORROWED, FREE, USED, bar
from .host_grid import BAD, GREY, LEGEND, UNICODE, Drawn, Marks, colour, grid
from .lines import clock
from .picture import DecisionLine, Picture, PictureJob, Queue

OUTCOMES = {"Admitted": "green", "Moved": "cyan", "Preempted": "red", "Evicted": "red", "Waits": GREY}
SPACIOUS = 20
"""The height in lines from which everything is shown."""
OPENING = "couldn't assign flavors to pod set main: "
"""How most reasons begin; dropped to save space."""


def view(picture: Picture, width: int, height: int, marks: Marks = UNICODE) -> RenderableType:
    """Render what fits into the given columns and lines."""
    is_spacious = height >= SPACIOUS
    head = list(_head(picture, width, height, marks) if is_spacious else _small_head(picture, width, height, marks))
    queues = _cut(list(_queues(picture.queues, width)), max(1, height // 4), "queue", marks)
    gap = [Text()] if is_spacious else []
    left = height - len(head) - len(queues) - len(gap)
    told = min(len(picture.decisions), 3 if is_spacious else 1) + 1
    hosts = grid(picture.blocks, width, max(1, left - told - (0 if is_spacious or not picture.jobs else 1)), marks)
    body, tall = _body(picture, hosts, width, left - told, marks)
    return Group(
        *head,
        body,
        *gap,
        *queues,
        *_decisions(picture.decisions, width, left - tall, is_spacious, marks, picture.access.options),
    )


def _body(picture: Picture, hosts: Drawn, width: int, most: int, marks: Marks) -> tuple[RenderableType, int]:
    """Hosts and jobs, and their height in lines."""
    jobs, more = [_job(job, marks) for job in picture.jobs], picture.more_jobs
    if hosts.beside:
        shown = _cut(jobs, max(hosts.height, min(len(jobs) + bool(more), most)), "job", marks, more)
        return _side_by_side(hosts.drawn, shown), max(hosts.height, len(shown))
    left = most - hosts.height
    most_jobs = max(1, left - min(len(picture.decisions), left // 2))
    column = min(LEGEND, max((job.cell_len for job in jobs), default=0) + 2)
    shown = _cut(jobs, most_jobs * max(1, width // column), "job", marks, more)
    lines = list(_in_columns(shown, column, width))
    return Group(hosts.drawn, *lines), hosts.height + len(lines)


def _cut(lines: list[Text], most: int, noun: str, marks: Marks, beyond: int = 0) -> list[Text]:
    """At most `most` lines; the last one counts what is left out, including `beyond` left out before."""
    more = beyond
    if len(lines) + bool(beyond) > most:
        more += len(lines) - most + 1
        lines = lines[: most - 1]
    counted = _counted(more, f"more {noun}" if lines else noun)
    return [*lines, Text(f"{marks.more} {counted}", GREY)] if more else lines


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _side_by_side(hosts: RenderableType, jobs: Sequence[Text]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_row(hosts, Group(*(_one_line(job, LEGEND) for job in jobs)))
    return table


def _in_columns(jobs: Sequence[Text], column: int, width: int) -> Iterator[Text]:
    across = max(1, width // column)
    for first in range(0, len(jobs), across):
        line = Text(no_wrap=True)
        for job in jobs[first : first + across]:
            line.append_text(_one_line(job, column - 2))
            line.append(" " * (column - job.cell_len))
        yield _one_line(line, width)


# The head


def _head(picture: Picture, width: int, height: int, marks: Marks) -> Iterator[Text]:
    access = picture.access
    top = Text.assemble(("closeknit ", "bold"), picture.version, "  ", (access.address, "cyan"), "  ")
    yield _one_line(top.append_text(_counts(picture)), width)
    more = f" {access.options}" if access.options else ""
    yield from _wrapped(Text(f"export KUBECONFIG={access.kubeconfig}", GREY), width)
    words = ["Ctrl-C stops, state is kept", f"closeknit explain JOB{more}", f"closeknit get jobs{more}"]
    while len(words) > 1 and len("   ".join(words)) > width:
        words.pop()  # a command that is cut cannot be typed
    yield _one_line(Text("   ".join(words), GREY), width)
    for note in picture.notes:
        yield from _wrapped(Text(f"note: {note}", "yellow"), width)
    yield Text()
    if picture.demo:
        said = Text.assemble((f"{picture.demo}  ", "bold"), (picture.says, "bold yellow"))
        yield from _cut_text(said, width, height // 3, marks)
        yield Text()


def _small_head(picture: Picture, width: int, height: int, marks: Marks) -> Iterator[Text]:
    yield _one_line(_counts(picture).append(f"  ({SPACIOUS} lines or more show everything)", GREY), width)
    if picture.says:
        yield from _cut_text(Text(picture.says, "bold yellow"), width, max(1, height // 3), marks)


def _counts(picture: Picture) -> Text:
    states = [host.state for host in picture.hosts()]
    lost = sum(state in ("lost", "silent") for state in states)
    text = Text(_counted(len(states), "host"))
    if lost:
        text.append(f", {lost} failed", BAD)
    return text.append(f"  {_counted(picture.pods, 'pod')}")


def _one_line(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    text.no_wrap = True
    return text


def _wrapped(text: Text, width: int) -> list[Text]:
    return list(text.wrap(Console(width=width), width))


def _cut_text(text: Text, width: int, most: int, marks: Marks) -> list[Text]:
    lines = _wrapped(text, width)
    if len(lines) > most:
        lines = lines[:most]
        lines[-1].append(f" {marks.more} {marks.more}")
        _one_line(lines[-1], width)
    return lines


# Jobs, queues, decisions


def _job(job: PictureJob, marks: Marks) -> Text:
    line = Text(no_wrap=True)
    if job.waits:
        line.append(f"{marks.idle * 2} {job.name}", "bold")
        line.append(f"  {_counted(job.pods, 'pod')} waiting", "yellow")
        return line
    line.append(f"{marks.of_job(job.colour)} ", colour(job.colour))
    line.append(job.name, "bold")
    line.append(f"  {_counted(job.pods, 'pod')}" + (f" in {job.where}" if job.where else ""), GREY)
    return line


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
        if queue.trouble:
            line.append(f"  {queue.trouble}", BAD)
        yield _one_line(line, width)


def _bar(queue: Queue, width: int) -> Iterator[tuple[str, str]]:
    own = min(queue.used, queue.quota)
    drawn = bar([(USED, own), (BORROWED, queue.borrowed), (FREE, max(0, queue.quota - own))], width)
    for mark, style in ((USED, "green3"), (BORROWED, "orange1"), (FREE, GREY)):
        yield mark * drawn.count(mark), style


def _decisions(
    decisions: Sequence[DecisionLine], width: int, most: int, gap: bool, marks: Marks, options: str
) -> Iterator[Text]:
    """The last decisions below a line that counts the earlier ones; with `gap`, below a blank line otherwise."""
    shown = len(decisions) if len(decisions) + gap <= most else max(0, most - 1)
    newest = decisions[len(decisions) - shown :]
    if shown < len(decisions):
        count = _counted(len(decisions) - shown, "earlier decision")
        earlier = f"{marks.more} {count}: closeknit decisions{f' {options}' if options else ''}"
        yield _one_line(Text(earlier, GREY), width)
    elif gap:
        yield Text()
    longest = max((len(one.job) for one in newest), default=0)
    for one in newest:
        line = Text(no_wrap=True)
        line.append(f"{clock(one.at)}  ", GREY)
        line.append(f"{one.outcome:<10}", OUTCOMES.get(one.outcome, ""))
        line.append(f"{one.job:<{longest}}  ", "bold")
        line.append(one.text.partition(OPENING)[2] or one.text)
        yield _one_line(line, width)
