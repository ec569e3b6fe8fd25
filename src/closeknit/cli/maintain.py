"""`closeknit node maintain`: reserve nodes or whole racks for maintenance between two times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING

import click

from ..cluster import kinds
from ..cluster.errors import Conflict, NotFound
from ..dialects.timestamps import show
from ..model.label_names import MAX_NAME
from ..model.mistake import not_there, refuse
from ..model.number import number_of
from .columns import listed
from .domains import labels_meant, nodes_meant
from .drain import ENDED, pods_on
from .exit_codes import YES
from .hints import hint
from .placements import levels_of
from .rules import Given

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw

GATE = "MaintenanceWindows"


def window(name: str, domains: Sequence[dict[str, str]], begin: float, end: float, drain: bool) -> Raw:
    """The object; refuses an end that is not after the begin, or that has passed."""
    if end <= begin:
        raise refuse(f"{show(int(end))} is not after --from {show(int(begin))}", "give a later time", what="--until")
    if end <= time():
        raise refuse(f"{show(int(end))} has passed", "give a later time", what="--until")
    spec: Raw = {
        "domains": [{"nodeLabels": one} for one in domains],
        "from": show(int(begin)),
        "until": show(int(end)),
        "drain": drain,
    }
    kind = kinds.MAINTENANCE
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


def name_for(words: Sequence[str], begin: float) -> str:
    """A name for the window: name_for(["b1/r2"], 0) == "b1-r2-19700101-0000"."""
    stem = re.sub(r"[^a-z0-9]+", "-", words[0].rpartition("=")[2].lower()).strip("-")[: MAX_NAME - 14].strip("-")
    return f"{stem or 'nodes'}-{show(int(begin))[:16].replace('-', '').replace(':', '').replace('T', '-')}"


async def maintain(client: Client, words: Sequence[str], name: str, begin: float, end: float, drain: bool) -> int:
    nodes = await client.list(kinds.NODE)
    topologies = [levels_of(one) for one in await listed(client, kinds.TOPOLOGY)]
    names = nodes_meant(words, nodes, topologies)
    body = window(name or name_for(words, begin), labels_meant(words, nodes, topologies), begin, end, drain)
    try:
        made = await client.create(kinds.MAINTENANCE, "", body)
    except NotFound:
        remedy = f"`{hint('install')}` installs the definition of the kind Maintenance"
        raise refuse("is not served by this cluster", remedy, what=kinds.MAINTENANCE.resource) from None
    except Conflict:
        there = body["metadata"]["name"]
        remedy = f"choose another --name, or cancel it: `{hint('node', 'maintain', '--cancel', there)}`"
        raise refuse("exists already", remedy, what=f"maintenance/{there}") from None
    spec = made["spec"]
    click.echo(
        f"maintenance/{made['metadata']['name']} created: {number_of(len(names), 'node')} "
        f"from {spec['from']} until {spec['until']}"
    )
    await _tell(client, names, drain, spec["from"])
    return YES


async def _tell(client: Client, names: Sequence[str], drain: bool, begin: str) -> None:
    """What happens to the pods that run there now, and whether the control plane will act at all."""
    rules = await Given("", {}, None, False).on(client)
    if GATE not in rules.gates:
        click.echo(f"warning: it has no effect: the feature gate {GATE} of the control plane is off", err=True)
        return
    running = [pod for pod in await pods_on(client, names) if (pod.get("status") or {}).get("phase") not in ENDED]
    if running:
        then = "their workloads are evicted and requeued if they still run" if drain else "they keep running"
        more = "" if drain else "; --drain evicts them"
        click.echo(f"{number_of(len(running), 'pod')} run there now; at {begin} {then}{more}")


async def cancel(client: Client, names: Sequence[str]) -> int:
    known = {one["metadata"]["name"] for one in await listed(client, kinds.MAINTENANCE)}
    names = [name.rpartition("/")[2] for name in names]  # also as `get -o name` prints it
    for name in names:
        if name not in known:
            remedy = f"`{hint('get', 'maintenances')}` lists them"
            raise not_there("there is no such Maintenance", remedy, what=f"maintenance/{name}")
    for name in names:
        await client.delete(kinds.MAINTENANCE, "", name)
        click.echo(f"maintenance/{name} cancelled")
    return YES


def check_options(words: Sequence[str], end: str | None, cancelled: Sequence[str], *more: object) -> None:
    """Refuse options that do not go together."""
    if cancelled and (words or end or any(more)):
        raise refuse("cancels windows by name and takes nothing else", "remove the other arguments", what="--cancel")
    if not cancelled and not words:
        raise refuse("is missing", "name nodes, racks or blocks, or use --cancel NAME", what="NODE|RACK")
    if not cancelled and not end:
        raise refuse("is missing", "say when the maintenance ends, such as --until +4h", what="--until")
