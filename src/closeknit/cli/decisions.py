"""`closeknit decisions`: what was decided, when, why, and at what cost."""

from __future__ import annotations

import sys
from datetime import datetime
from time import time
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..cluster import kinds
from ..cluster.errors import NotFound
from ..model.mistake import refuse
from .completion import complete_names
from .durations import seconds
from .output import OUTPUT, emit, write
from .target import NAMESPACE, NoCluster, follow, run, target_of, target_options
from .whereabouts import short_level

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..report.table import Columns

PATH = "/closeknit/decisions"
SHOWN, LONGEST = 3, 100
HEADERS = ("Time", "Workload", "Outcome", "Queue", "Cost", "Level", "Where or why")


class Decision(msgspec.Struct):
    """As the host keeps them: `at` in seconds since 1970, `cost` in microseconds."""

    at: float
    workload: str
    outcome: str
    queue: str = ""
    level: str = ""
    domains: list[str] = []
    reason: str = ""
    cost: int = 0


_decision = msgspec.json.Decoder(Decision)


@click.command()
@click.argument("workload", required=False, metavar="[[KIND/]NAME]", shell_complete=complete_names(kinds.WORKLOAD))
@click.option(
    "--since", callback=seconds, metavar="10m", help="Only what was decided in this time; default: all that is kept."
)
@click.option("-w", "--watch", is_flag=True, help="Go on, and show every decision as it is taken; Ctrl-C ends it.")
@NAMESPACE
@OUTPUT
@target_options
def command(
    workload: str | None, since: float | None, watch: bool, namespace: str | None, output: str | None, **target: Any
) -> None:
    """What was decided, when, why, and at what cost; the newest last.

    Of one workload, or of all. NAME is that of the Workload or of its job. COST is what it took to decide, in
    microseconds. The embedded host keeps its latest decisions; on a cluster of Kubernetes the events of a workload say
    what became of it: `closeknit describe`.

    \b
      closeknit decisions --since 10m
      closeknit decisions job/train
      closeknit decisions -w -o wide
    """
    chosen = target_of(**target)
    place = namespace or chosen.config.namespace

    async def show(client: Client) -> None:
        query: dict[str, str | int] = {} if since is None else {"since": f"{time() - since:.3f}"}
        if workload is not None:
            query["workload"] = await workload_key(client, workload, place)
        if watch:
            query["watch"] = "true"
        await _Printer(client, output, watch).run(query)

    if watch:
        follow(chosen, show)
    else:
        run(chosen, show)


async def workload_key(client: Client, word: str, namespace: str) -> str:
    """The Workload that somebody means by a name: its own, or that of its job."""
    from .columns import listed
    from .naming import meant

    kind, home, name = meant(word, namespace)
    workloads = await listed(client, kinds.WORKLOAD, home)
    for one in sorted(workloads, key=lambda raw: raw["metadata"].get("creationTimestamp") or "", reverse=True):
        owners = one["metadata"].get("ownerReferences") or ()
        is_it = kind in (None, kinds.WORKLOAD) and one["metadata"]["name"] == name
        if is_it or any(
            owner.get("name") == name and (kind is None or owner.get("kind") == kind.kind) for owner in owners
        ):
            return f"{home}/{one['metadata']['name']}"
    if kind in (None, kinds.WORKLOAD):
        return f"{home}/{name}"  # it may be gone, and what was decided about it is kept
    assert kind is not None
    await client.get(kind, home, name)  # or it says that there is none
    raise refuse("has no Workload", "give it a queue, and a control plane makes one", what=f"{kind.kind} {home}/{name}")


class _Printer:
    def __init__(self, client: Client, output: str | None, watches: bool) -> None:
        self.client, self.output, self.watches = client, output, watches
        self._kept: list[Decision] = []
        self._columns: Columns | None = None

    async def run(self, query: dict[str, str | int]) -> None:
        try:
            async for line in self.client.lines(PATH, query, idle=3600.0):
                if line:
                    self._take(self.client.read(_decision, line))
        except NotFound:
            text = "this cluster keeps no decisions; `closeknit describe` shows the events of a workload"
            raise NoCluster(text) from None
        self._end()

    def _take(self, one: Decision) -> None:
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
            click.echo("nothing was decided in that time", err=True)

    def _tell(self, decisions: list[Decision]) -> None:
        from ..report.table import Columns

        is_first = self._columns is None
        self._columns = columns = self._columns or Columns(HEADERS)
        lines = list(columns.lines(_row(one, wide=self.output == "wide") for one in decisions))
        if is_first:
            click.echo(columns.heading())
        write(lines)


def _row(one: Decision, wide: bool) -> tuple[str, ...]:
    """With `wide` nothing is cut short."""
    moment = datetime.fromtimestamp(one.at).strftime("%Y-%m-%d %H:%M:%S.%f" if wide else "%H:%M:%S")
    named = one.domains if wide else one.domains[:SHOWN]
    more = len(one.domains) - len(named)
    where = ", ".join(named) + (f" and {more} more" if more else "")
    said = "; ".join(part for part in (where, one.reason) if part)
    if len(said) > LONGEST and not wide:
        said = f"{said[: LONGEST - 1]}…"
    return moment, one.workload, one.outcome, one.queue, f"{one.cost} µs", short_level(one.level), said
