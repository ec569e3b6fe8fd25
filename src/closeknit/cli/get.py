"""`closeknit get`: list objects as tables, JSON, YAML or names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import aclosing
from time import time
from typing import TYPE_CHECKING, Any

import click

from ..cluster.errors import NotFound, Refused
from ..cluster.kinds import Kind
from ..model.mistake import refuse
from .completion import complete_kinds_and_names
from .exit_codes import YES
from .hints import hint
from .labels import label_query
from .naming import Named, kinds_of_all, lacks_namespace, objects_named
from .output import emit, write
from .target import NAMESPACE, follow, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.kube.informer import InformerEvent
    from ..cluster.port import Raw

MOST_NOTES = 5
FORMS = ("table", "wide", "json", "yaml", "name")


@click.command()
@click.argument("what", nargs=-1, required=True, metavar="KIND [NAME...]", shell_complete=complete_kinds_and_names)
@NAMESPACE
@click.option("-A", "--all-namespaces", is_flag=True, help="List objects in all namespaces.")
@click.option("-l", "--selector", metavar="KEY=VALUE,...", help="Only objects with these labels.")
@click.option("-w", "--watch", is_flag=True, help="Keep running and show every change; Ctrl-C stops.")
@click.option("-o", "--output", type=click.Choice(FORMS), default="table", help="wide: more columns; name: KIND/NAME.")
@target_options
def command(
    what: tuple[str, ...],
    namespace: str | None,
    all_namespaces: bool,
    selector: str | None,
    watch: bool,
    output: str,
    **target: Any,
) -> int:
    """List objects.

    Shows kubectl's columns and adds where pods are and what workloads wait for: QUEUE, LEVEL (the lowest level at
    which one domain holds all pods), DOMAINS, WAITING FOR. KIND is any name of a kind: Job, jobs, jobs.batch. `all`
    lists everything that runs or waits.

    \b
      closeknit get workloads
      closeknit get jobs -A -w
      closeknit get nodes -l example.com/rack=r1
      closeknit get workload/job-train-1a2b3 -o yaml
      closeknit get clusterqueues,localqueues
      closeknit get all -n team-a

    If some of several names do not exist, the others are still shown and the exit code is 4.
    """
    asked = objects_named(what)
    if watch and len(asked) > 1:
        raise refuse("watches one kind or one object", "give only one", what="--watch")
    if selector and any(one.name for one in asked):
        raise refuse("cannot be combined with names", "give one of the two", what="--selector")
    if (namespace or all_namespaces) and all(not one.kind.namespaced for one in asked):
        raise lacks_namespace(asked[0].kind)
    if all_namespaces and any(one.name for one in asked):
        raise refuse("cannot be combined with names", "give their namespace with -n", what="--all-namespaces")
    labels = label_query(selector)
    chosen = target_of(**target)
    place = "" if all_namespaces else namespace or chosen.config.namespace
    if watch:
        follow(chosen, lambda client: _Watch(client, asked[0], place, labels, output).run())
        return 0
    if output in ("json", "yaml", "name"):
        return run(chosen, lambda client: _whole(client, asked, place, labels, output))
    return run(chosen, lambda client: _tables(client, asked, place, labels, output))


def _query(one: Named, labels: dict[str, str]) -> dict[str, str]:
    return {**labels, "fieldSelector": f"metadata.name={one.name}"} if one.name else labels


def _home(kind: Kind, namespace: str) -> str:
    return namespace if kind.namespaced else ""


class _Missing:
    """Named objects that do not exist, reported after the others are shown."""

    def __init__(self) -> None:
        self._refusals: list[Refused] = []

    def add(self, refused: Refused) -> None:
        self._refusals.append(refused)

    def complain(self) -> int:
        from .refusals import complain

        return max(map(complain, self._refusals), default=YES)


# As objects


async def _whole(client: Client, asked: Sequence[Named], namespace: str, labels: dict[str, str], output: str) -> int:
    objects: list[Raw] = []
    missing = _Missing()
    for one in asked:
        home = _home(one.kind, namespace)
        try:
            if one.name:
                objects.append(await client.get(one.kind, home, one.name))
            else:
                objects += await client.list(one.kind, home, **labels)
        except NotFound as refused:
            if one.name or len(asked) == 1:
                missing.add(refused)
    if output == "name":
        write(name_of(raw) for raw in objects)
    elif len(asked) == 1 and asked[0].name:
        for raw in objects:
            emit(plain(raw), output)
    else:
        emit({"apiVersion": "v1", "kind": "List", "items": [plain(raw) for raw in objects]}, output)
    return missing.complain()


def plain(raw: Raw) -> Raw:
    """The object without its managedFields."""
    meta = {field: value for field, value in raw["metadata"].items() if field != "managedFields"}
    return {**raw, "metadata": meta}


def name_of(raw: Raw) -> str:
    """The object's name in kubectl's form: job.batch/train."""
    group = raw["apiVersion"].rpartition("/")[0]
    kind = f"{raw['kind'].lower()}.{group}" if group else raw["kind"].lower()
    return f"{kind}/{raw['metadata']['name']}"


def kind_word(kind: Kind) -> str:
    return f"{kind.singular}.{kind.group}" if kind.group else kind.singular


# As tables


async def _tables(client: Client, asked: Sequence[Named], namespace: str, labels: dict[str, str], output: str) -> int:
    """Print one table per kind. With several kinds, names have the form KIND/NAME."""
    from ..report.table import table

    shown, missing = 0, _Missing()
    workloads: list[Raw] = []
    every = list(dict.fromkeys(one.kind for one in asked))
    for kind in every:
        names = [one.name for one in asked if one.kind is kind and one.name]
        rows = _Rows(client, kind, _home(kind, namespace), output == "wide", is_one_of_many=len(every) > 1)
        try:
            cells = await rows.of_names(names, missing) if names else await rows.of_all(labels)
        except NotFound:
            if len(every) == 1:
                raise
            continue
        if cells and shown:
            click.echo()
        write(table(rows.headers, cells))
        shown += len(cells)
        workloads += rows.around.seen
    await _tell_of_lost_nodes(client, workloads)
    code = missing.complain()
    if not shown and not code:
        where = f" in namespace {namespace}" if namespace and any(kind.namespaced for kind in every) else ""
        what = "nothing runs or waits" if every == kinds_of_all() else f"no {_plurals(every)} found"
        click.echo(f"{what}{where}", err=True)
    return code


def _plurals(every: Sequence[Kind]) -> str:
    return ", ".join(kind.plural for kind in every)


async def _tell_of_lost_nodes(client: Client, workloads: Sequence[Raw]) -> None:
    """Print a note for each workload on a failing node, which the tables do not show."""
    from .lost_nodes import hits, sentence

    found = await hits(client, list({raw["metadata"]["uid"]: raw for raw in workloads}.values()))
    for one in found[:MOST_NOTES]:
        click.echo(f"note: {one.key}: {sentence(one, time())}", err=True)
    if len(found) > MOST_NOTES:
        show = hint("describe", "node", "NODE")
        click.echo(f"note: and {len(found) - MOST_NOTES} more; `{show}` lists them", err=True)


class _Rows:
    """The server's columns and ours, for one kind."""

    def __init__(self, client: Client, kind: Kind, namespace: str, wide: bool, is_one_of_many: bool = False) -> None:
        from .columns import HEADERS, Around

        self.client, self.kind, self.namespace, self.wide = client, kind, namespace, wide
        self.around, self.prefix = Around(client), f"{kind_word(kind)}/" if is_one_of_many else ""
        self.shows_namespace = kind.namespaced and not namespace
        self._own = HEADERS.get(kind, ())
        self._shown: list[int] = []
        self.headers: list[str] = []

    async def of_all(self, query: dict[str, str]) -> list[list[Any]]:
        import msgspec

        from ..cluster.kube.client import TABLE, path

        query = {**query, "includeObject": "Object"}
        listing = await self.client.listing(path(self.kind, self.namespace), TABLE, query)
        self.learn_columns(listing.columns)
        rows = [msgspec.json.decode(item) for item in listing.items]
        await self.around.learn(self.kind, [row["object"] for row in rows], self.namespace)
        rows.sort(key=lambda row: not self.around.is_late(self.kind, row["object"]))
        return [self.cells(row["object"], row["cells"]) for row in rows]

    async def of_names(self, names: Sequence[str], missing: _Missing) -> list[list[Any]]:
        found: list[list[Any]] = []
        for name in names:
            try:
                await self.client.get(self.kind, self.namespace, name)  # raises NotFound with the missing name
                found += await self.of_all({"fieldSelector": f"metadata.name={name}"})
            except NotFound as refused:
                missing.add(refused)
        return found

    def learn_columns(self, columns: Sequence[Raw]) -> None:
        """Choose the columns; one of ours that the server's wide table already has is not repeated."""
        self._shown = [at for at, one in enumerate(columns) if self.wide or not one.get("priority")]
        given = [columns[at]["name"].upper() for at in self._shown]
        self._added = [at for at, name in enumerate(self._own) if name.upper() not in given]
        space = ["Namespace"] if self.shows_namespace else []
        self.headers = [*space, *given, *(self._own[at] for at in self._added)]

    def cells(self, raw: Raw, cells: Sequence[Any]) -> list[Any]:
        space = [raw["metadata"].get("namespace", "")] if self.shows_namespace else []
        own = self.around.cells(self.kind, raw)
        given = [f"{self.prefix}{cells[at]}" if at == 0 else cells[at] for at in self._shown]
        return [*space, *given, *(own[at] for at in self._added)]


class _Watch:
    """Shows what exists, then a row, an object or a name for every change."""

    def __init__(self, client: Client, asked: Named, namespace: str, labels: dict[str, str], output: str) -> None:
        self.client, self.asked, self.output = client, asked, output
        self.namespace, self.query = _home(asked.kind, namespace), _query(asked, labels)
        self.is_table = output in ("table", "wide")

    async def run(self) -> None:
        from ..cluster.kube.informer import Informer, Listed
        from ..report.table import Columns

        if self.asked.name:
            await self.client.get(self.asked.kind, self.namespace, self.asked.name)
        informer = Informer(
            self.client,
            self.asked.kind,
            self.namespace,
            rows=self.is_table,
            selectors=self.query,
            complain=lambda error: click.echo(f"note: {error}; retrying", err=True),
        )
        rows = _Rows(self.client, self.asked.kind, self.namespace, self.output == "wide")
        waiting: list[InformerEvent] = []
        columns: Columns | None = None
        async with aclosing(informer.events()) as events:
            async for event in events:
                if isinstance(event, Listed) and columns is None:
                    rows.learn_columns(event.columns)
                    columns = Columns(rows.headers)
                    await self._show(rows, columns, waiting, is_first=True)
                elif not isinstance(event, Listed):
                    waiting.append(event)
                    if columns is not None:
                        await self._show(rows, columns, waiting)

    async def _show(self, rows: _Rows, columns: Any, events: list[InformerEvent], is_first: bool = False) -> None:
        """Print all events that are not shown yet."""
        if self.is_table:
            await rows.around.learn(self.asked.kind, [one.object for one in events], self.namespace)
            lines = list(columns.lines(rows.cells(one.object, one.cells or []) for one in events))
            if is_first:
                click.echo(columns.heading())
            write(lines)
        else:
            for one in events:
                self._tell(one)
        events.clear()
        sys.stdout.flush()

    def _tell(self, event: InformerEvent) -> None:
        if self.output == "name":
            click.echo(name_of(event.object))
            return
        if self.output == "yaml":
            click.echo("---")
        emit(plain(event.object), self.output)
