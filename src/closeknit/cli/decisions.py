"""`closeknit decisions`: show scheduling decisions: what, when, why, and at what cost."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from datetime import datetime
from shutil import get_terminal_size
from time import time
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..cluster import kinds
from ..cluster.errors import Forbidden, NotFound, Refused
from ..model.mistake import not_there
from ..model.nearest import did_you_mean
from .columns import listed, owner_named
from .completion import complete_names
from .controller_pod import VARIABLE, request_error, way_to_controller
from .durations import seconds
from .hints import hint
from .naming import Meant, meant
from .output import OUTPUT, emit, write
from .placements import short_level
from .target import NAMESPACE, NoCluster, follow, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..report.table import Columns

PATH = "/closeknit/decisions"
SHOWN = 3
HEADERS = ("Time", "Workload", "Outcome", "Queue", "Cost", "Level", "Where or why")


class DecisionRow(msgspec.Struct):
    """A decision as the host serves it: `at` in seconds since 1970, `cost` in microseconds."""

    at: float
    workload: str
    outcome: str
    queue: str = ""
    level: str = ""
    domains: list[str] = []
    reason: str = ""
    cost: int = 0
    job: str = ""


_decision = msgspec.json.Decoder(DecisionRow)


@click.command()
@click.argument(
    "workload", required=False, metavar="[[KIND/]NAME]", shell_complete=complete_names(kinds.JOB, kinds.WORKLOAD)
)
@click.option(
    "--since", callback=seconds, metavar="10m", help="Only decisions newer than this; default: all that are kept."
)
@click.option("-w", "--watch", is_flag=True, help="Keep running and show each new decision; Ctrl-C stops.")
@click.option(
    "--controller",
    default="",
    metavar="URL",
    help=f"The --metrics-address of a controller that runs outside the cluster; default: ${VARIABLE}.",
)
@NAMESPACE
@OUTPUT
@target_options
def command(
    workload: str | None,
    since: float | None,
    watch: bool,
    controller: str,
    namespace: str | None,
    output: str | None,
    **target: Any,
) -> None:
    """Show scheduling decisions: what, when, why, and at what cost; the newest last.

    NAME limits them to one workload, by its own name or the name of its job, even after both are deleted. QUEUE is the
    ClusterQueue; COST is the duration of the cycle, in microseconds, divided by the number of its decisions. LEVEL is
    the lowest level at which one domain holds all pods, as in `get jobs`; next to it are the hosts, or the flavor if
    no topology is used. On a terminal, long lines are truncated, except with -o wide.

    The embedded host keeps its latest decisions in its data folder. The controller on a Kubernetes cluster keeps them
    until it exits; the command reads them through the API server, which requires the Role closeknit-reader in the
    controller's namespace. For a controller outside the cluster, give its address with --controller.

    \b
      closeknit decisions --since 10m
      closeknit decisions job/train
      closeknit decisions -w -o wide
    """
    chosen = target_of(**target)
    place = namespace or chosen.config.namespace

    async def show(client: Client) -> None:
        query: dict[str, str | int] = {} if since is None else {"since": f"{time() - since:.3f}"}
        asked = None if workload is None else meant(workload, place)
        if asked is not None:
            query["workload"] = f"{asked.namespace}/{asked.name}"
            await _check(client, controller, asked)
        if watch:
            query["watch"] = "true"
        await _Printer(output, watch, asked).run(_records(client, controller, query))

    if watch:
        follow(chosen, show)
    else:
        run(chosen, show)


async def _records(client: Client, controller: str, query: dict[str, str | int]) -> AsyncIterator[DecisionRow]:
    """Decisions of the embedded host, or of the controller on a Kubernetes cluster."""
    if not controller:
        try:
            async for one in _read(client, PATH, query):
                yield one
            return
        except (NotFound, Forbidden):
            pass
    try:
        async with way_to_controller(client, PATH, controller) as (asked, path):
            async for one in _read(asked, path, query):
                yield one
    except Refused as error:
        raise _without(request_error(error)) from None
    except NoCluster as error:
        raise _without(error) from None


def _without(error: NoCluster) -> NoCluster:
    return NoCluster(f"{error}; `{hint('describe', 'workload', 'NAME')}` shows the events of a workload")


async def _read(client: Client, path: str, query: dict[str, str | int]) -> AsyncIterator[DecisionRow]:
    async for line in client.lines(path, query, idle=3600.0):
        if line:
            yield client.read(_decision, line)


async def _check(client: Client, controller: str, asked: Meant) -> None:
    """Raise NotThere unless a workload or job of this name exists or has a decision."""
    known: dict[str, None] = {}
    async for one in _records(client, controller, {}):
        if _is_meant(one, asked):
            return
        if one.workload.startswith(f"{asked.namespace}/"):
            known |= dict.fromkeys([one.job.partition("/")[2], one.workload.partition("/")[2]])
    for raw in await listed(client, kinds.WORKLOAD, asked.namespace):
        kind = "" if asked.kind in (None, kinds.WORKLOAD) else asked.kind.kind
        name = raw["metadata"]["name"]
        if owner_named(raw, asked.name, kind) or (name == asked.name and not kind):
            return
        known[name] = None
    remedy = did_you_mean(asked.name, filter(None, known)) or "use -n for another namespace; "
    text = f'no workload or job named "{asked.name}" in namespace {asked.namespace}'
    raise not_there(text, f"{remedy}`{hint('decisions')}` shows all decisions")


def _is_meant(one: DecisionRow, asked: Meant) -> bool:
    """Whether a decision matches, by its workload's name or by its job's name and kind."""
    kind, _, job = one.job.partition("/")
    namespace, _, workload = one.workload.partition("/")
    wanted = asked.kind
    by_itself = workload == asked.name and wanted in (None, kinds.WORKLOAD)
    by_job = job == asked.name and (wanted in (None, kinds.WORKLOAD) or wanted.kind == kind)
    return namespace == asked.namespace and (by_itself or by_job)


class _Printer:
    def __init__(self, output: str | None, watches: bool, asked: Meant | None) -> None:
        self.output, self.watches, self.asked = output, watches, asked
        self._kept: list[DecisionRow] = []
        self._columns: Columns | None = None

    async def run(self, decisions: AsyncIterator[DecisionRow]) -> None:
        async for one in decisions:
            if self.asked is None or _is_meant(one, self.asked):
                self._take(one)
        self._end()

    def _take(self, one: DecisionRow) -> None:
        if not self.watches:
            self._kept.append(one)
        elif self.output in ("json", "yaml"):
            if self.output == "yaml":
                click.echo("---")
            emit(msgspec.to_builtins(one), self.output)
        else:
            self._tell([one])
        sys.stdout.flush()

    def _end(self) -> None:
        if self.output in ("json", "yaml"):
            emit([msgspec.to_builtins(one) for one in self._kept], self.output)
        elif self._kept:
            self._tell(self._kept)
        elif not self.watches:
            told = f"`{hint('explain', 'NAME')}` explains why a job waits"
            click.echo(f"no decisions found; {told}", err=True)

    def _tell(self, decisions: list[DecisionRow]) -> None:
        from ..report.table import Columns

        is_first = self._columns is None
        self._columns = columns = self._columns or Columns(HEADERS)
        lines = list(columns.lines(_row(one, wide=self.output == "wide") for one in decisions))
        if is_first:
            click.echo(columns.heading())
        write(lines if self.output == "wide" else map(fitting, lines))


def fitting(line: str) -> str:
    """The line, truncated to the terminal's width; unchanged if stdout is no terminal."""
    width = get_terminal_size().columns if sys.stdout.isatty() else 0
    return f"{line[: width - 1]}…" if 0 < width < len(line) else line


def _row(one: DecisionRow, wide: bool) -> tuple[str, ...]:
    """The cells of a decision; `wide` names all domains."""
    moment = datetime.fromtimestamp(one.at).strftime("%Y-%m-%d %H:%M:%S.%f" if wide else "%H:%M:%S")
    named = one.domains if wide else one.domains[:SHOWN]
    more = len(one.domains) - len(named)
    where = ", ".join(named) + (f" and {more} more" if more else "")
    said = "; ".join(part for part in (where, one.reason) if part)
    return moment, one.workload, one.outcome, one.queue, f"{one.cost} µs", short_level(one.level), said
