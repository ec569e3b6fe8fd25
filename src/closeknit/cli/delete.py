"""`closeknit delete`: delete objects by name, by label or by manifest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..cluster.errors import NotFound, Refused
from ..cluster.kinds import Kind
from ..model.mistake import refuse
from ..model.number import number_of
from .columns import listed
from .completion import complete_kinds_and_names
from .durations import seconds
from .exit_codes import NOT_NOW
from .get import name_of
from .hints import hint
from .labels import label_query
from .naming import Named, objects_named
from .progress import Progress
from .refusals import complain
from .target import NAMESPACE, announce, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Propagation, Raw

EVERY = 0.1
"""Seconds between checks whether the objects are gone."""


class Doomed(NamedTuple):
    kind: Kind
    namespace: str
    name: str


@click.command()
@click.argument("what", nargs=-1, metavar="[KIND NAME...]", shell_complete=complete_kinds_and_names)
@click.option(
    "-f", "--filename", multiple=True, type=click.Path(), metavar="FILE|DIR|-", help="Delete the objects in manifests."
)
@NAMESPACE
@click.option("-l", "--selector", metavar="KEY=VALUE,...", help="Delete all objects of the kind with these labels.")
@click.option("--all", "everything", is_flag=True, help="Delete all objects of the kind in the namespace.")
@click.option(
    "--cascade",
    type=click.Choice(["background", "foreground", "orphan"]),
    default="background",
    show_default=True,
    help="Delete dependents after their owner, before it, or not at all.",
)
@click.option("--grace-period", type=click.IntRange(0), metavar="SECONDS", help="How long pods get to shut down.")
@click.option("--ignore-not-found", is_flag=True, help="Treat a missing object as deleted.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until the objects are gone.")
@click.option("--timeout", callback=seconds, default="60s", show_default=True, help="How long to wait.")
@target_options
def command(
    what: tuple[str, ...],
    filename: tuple[str, ...],
    namespace: str | None,
    selector: str | None,
    everything: bool,
    cascade: str,
    grace_period: int | None,
    ignore_not_found: bool,
    wait: bool,
    timeout: float,
    **target: Any,
) -> int:
    """Delete objects, and by default their dependents, such as the pods of a Job.

    The exit code is 4 if an object does not exist or the cluster refuses to delete it, and 3 if an object still exists
    when the timeout expires.

    \b
      closeknit delete job train
      closeknit delete job/train workload/old
      closeknit delete -f job.yaml
      closeknit delete pods -l app=probe --no-wait
    """
    asked = objects_named(what) if what else []
    _check(asked, filename, selector, everything)
    labels = label_query(selector)
    chosen = target_of(**target)
    place = namespace or chosen.config.namespace
    doomed = [Doomed(one.kind, place if one.kind.namespaced else "", one.name) for one in asked if one.name]
    if filename:
        from .manifests import read_objects

        objects = read_objects(filename, place, namespace_given=namespace is not None)
        doomed += [Doomed(one.kind, one.namespace, one.name) for one in reversed(objects) if one.name]
    announce(chosen)
    how = _How(
        cascade.capitalize(),  # type: ignore[arg-type]
        grace_period,
        ignore_not_found,
        timeout if wait else 0.0,
    )
    several = [one for one in asked if not one.name]
    return run(chosen, lambda client: _delete(client, doomed, several, place, labels, how))


class _How(NamedTuple):
    propagation: Propagation
    grace: int | None
    may_be_missing: bool
    seconds: float


def _check(asked: Sequence[Named], filename: Sequence[str], selector: str | None, everything: bool) -> None:
    several = any(not one.name for one in asked)
    if not asked and not filename:
        raise refuse("is missing", "write KIND NAME, KIND/NAME, or -f FILE", what="KIND")
    if several and not selector and not everything:
        raise refuse("is missing", "give names, -l SELECTOR, or --all", what="NAME")
    if (selector or everything) and not several:
        raise refuse("need a kind without names", "remove the names or the option", what="--selector, --all")


async def _delete(
    client: Client, doomed: list[Doomed], several: Sequence[Named], namespace: str, labels: dict[str, str], how: _How
) -> int:
    chosen = dict.fromkeys([each for one in several for each in await _chosen(client, one.kind, namespace, labels)])
    if several and not chosen:
        click.echo(f"no {', '.join(one.kind.plural for one in several)} to delete", err=True)
    going: list[tuple[Doomed, Raw]] = []
    code = 0
    for each in [*doomed, *chosen]:
        try:
            raw = await client.get(*each)
            await client.delete(*each, propagation=how.propagation, grace=how.grace, uid=raw["metadata"].get("uid", ""))
        except NotFound as missing:
            if not how.may_be_missing and each not in chosen:
                code = complain(missing)
        except Refused as refused:
            code = complain(refused)
        else:
            click.echo(f"{name_of(raw)} deleted")
            going.append((each, raw))
    return code or await _wait(client, going, how.seconds)


async def _chosen(client: Client, kind: Kind, namespace: str, labels: dict[str, str]) -> list[Doomed]:
    """All selected objects of a kind; one that its owner's deletion removes first is no error."""
    home = namespace if kind.namespaced else ""
    return [Doomed(kind, home, raw["metadata"]["name"]) for raw in await listed(client, kind, home, **labels)]


async def _wait(client: Client, going: list[tuple[Doomed, Raw]], limit: float) -> int:
    end = monotonic() + limit
    with Progress("objects") as progress:
        while going and limit:
            going = [pair for pair in going if await _is_there(client, *pair)]
            if not going:
                break
            if monotonic() > end:
                _name_leftovers(going, limit)
                return NOT_NOW
            progress.tell(partial("waiting for {} to be deleted".format, number_of(len(going), "object")))
            await asyncio.sleep(EVERY)
    return 0


async def _is_there(client: Client, one: Doomed, raw: Raw) -> bool:
    try:
        found = await client.get(*one)
    except NotFound:
        return False
    return bool(found["metadata"].get("uid") == raw["metadata"].get("uid"))


def _name_leftovers(going: Sequence[tuple[Doomed, Raw]], limit: float) -> None:
    names = ", ".join(name_of(raw) for _, raw in going[:3]) + (f" and {len(going) - 3} more" if len(going) > 3 else "")
    one, raw = going[0]
    show = hint("describe", name_of(raw), *(["-n", one.namespace] if one.namespace else []))
    remedy = f"`{show}` shows what blocks the deletion; a longer --timeout waits longer"
    click.echo(f"error: not deleted within {limit:g} s: {names}; {remedy}", err=True)
