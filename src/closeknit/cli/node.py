"""`closeknit node`: cordon and drain nodes or whole racks; on an embedded host, simulate their failure."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..cluster import kinds
from ..model.mistake import refuse
from ..model.number import number_of
from .completion import complete_domains
from .domains import nodes_meant
from .drain import ENDED, check, evict, pods_on
from .durations import seconds
from .exit_codes import YES
from .placements import levels_of
from .target import announce, is_embedded, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw
    from ..report.node_trouble import Trouble

F = TypeVar("F", bound=Callable[..., Any])

FAILED = "closeknit.dev/failed"
NODES = click.argument("nodes", nargs=-1, required=True, metavar="NODE|RACK...", shell_complete=complete_domains)


@click.group()
def command() -> None:
    """Cordon, drain, maintain or fail nodes and whole racks.

    RACK is a value of any topology level and selects all nodes in that domain; use the path b1/r1 if the value alone is
    ambiguous. KEY=VALUE selects nodes by any label.

    \b
      closeknit node cordon b01-r01-n01
      closeknit node drain b01-r02
      closeknit node maintain b01-r02 --from 22:00 --until 02:00 --drain
      closeknit node fail example.com/rack=r1
      closeknit node recover example.com/rack=r1
    """


async def _chosen(client: Client, words: Sequence[str]) -> list[Raw]:
    from .columns import listed

    nodes = await client.list(kinds.NODE)
    topologies = [levels_of(one) for one in await listed(client, kinds.TOPOLOGY)]
    names = set(nodes_meant(words, nodes, topologies))
    return [node for node in nodes if node["metadata"]["name"] in names]


def _on_nodes(
    words: Sequence[str], target: dict[str, Any], work: Callable[[Client, list[Raw]], Coroutine[Any, Any, int]]
) -> int:
    chosen = target_of(**target)
    announce(chosen)

    async def connected(client: Client) -> int:
        return await work(client, await _chosen(client, words))

    return run(chosen, connected)


# Cordon


@command.command()
@NODES
@target_options
def cordon(nodes: tuple[str, ...], **target: Any) -> int:
    """Mark nodes as unschedulable; running pods stay.

    \b
      closeknit node cordon b01-r01-n01 b01-r02
    """
    return _on_nodes(nodes, target, lambda client, found: _mark(client, found, cordoned=True))


@command.command()
@NODES
@target_options
def uncordon(nodes: tuple[str, ...], **target: Any) -> int:
    """Mark nodes as schedulable again.

    \b
      closeknit node uncordon b01-r01-n01 b01-r02
    """
    return _on_nodes(nodes, target, lambda client, found: _mark(client, found, cordoned=False))


async def _mark(client: Client, nodes: Sequence[Raw], cordoned: bool) -> int:
    done = "cordoned" if cordoned else "uncordoned"
    for node in nodes:
        name = node["metadata"]["name"]
        if bool((node.get("spec") or {}).get("unschedulable")) == cordoned:
            click.echo(f"node/{name} already {done}")
            continue
        await client.patch(kinds.NODE, "", name, {"spec": {"unschedulable": True if cordoned else None}})
        click.echo(f"node/{name} {done}")
    return 0


# Drain


@command.command()
@NODES
@click.option("--timeout", callback=seconds, default="5m", show_default=True, help="How long to retry evictions.")
@click.option("--force", is_flag=True, help="Also evict pods that no controller would recreate.")
@click.option("--delete-emptydir-data", is_flag=True, help="Also evict pods with emptyDir volumes; their data is lost.")
@target_options
def drain(nodes: tuple[str, ...], timeout: float, force: bool, delete_emptydir_data: bool, **target: Any) -> int:
    """Cordon nodes and evict their pods.

    DaemonSet pods stay. Evictions that a PodDisruptionBudget blocks are retried until the timeout expires; then the
    exit code is 3 and the nodes stay cordoned. If the drain would lose pods or data, it is rejected before anything
    changes.

    \b
      closeknit node drain b01-r01-n01
      closeknit node drain b01-r02 --timeout 30m
    """

    async def work(client: Client, found: list[Raw]) -> int:
        pods = await pods_on(client, [node["metadata"]["name"] for node in found])
        check(pods, force, delete_emptydir_data)
        await _mark(client, found, cordoned=True)
        return await evict(client, pods, timeout)

    return _on_nodes(nodes, target, work)


# Maintenance


@command.command()
@click.argument("nodes", nargs=-1, metavar="[NODE|RACK...]", shell_complete=complete_domains)
@click.option("--from", "begin", metavar="TIME", help="When it begins; default: now.")
@click.option("--until", "end", metavar="TIME", help="When it ends.")
@click.option("--drain", is_flag=True, help="Evict the workloads that still run there when it begins.")
@click.option("--name", default="", help="The name of the Maintenance; default: from the first domain and the time.")
@click.option("--cancel", multiple=True, metavar="NAME", help="Cancel this Maintenance instead; may be repeated.")
@target_options
def maintain(
    nodes: tuple[str, ...],
    begin: str | None,
    end: str | None,
    drain: bool,
    name: str,
    cancel: tuple[str, ...],
    **target: Any,
) -> int:
    """Reserve nodes for maintenance between two times.

    Until it begins, only workloads that are sure to end before (spec.maximumExecutionTimeSeconds) are placed there;
    until it ends, none. With --drain, each workload that still runs there at the begin is evicted as a whole and
    queued again. Nodes that join a rack later are included. TIME is 2026-11-18T22:00:00Z, 22:00 (the next time it is
    that late here; after --from for --until), +2h (from now) or now.

    \b
      closeknit node maintain b01-r02 --from 22:00 --until 02:00 --drain
      closeknit node maintain b01-r01-n01 b01-r01-n02 --until +4h
      closeknit get maintenances
      closeknit node maintain --cancel b01-r02-20261118-2200
    """
    from time import time

    from . import maintain as windows
    from .times import time_of

    windows.check_options(nodes, end, cancel, begin, drain, name)
    chosen, now = target_of(**target), time()
    start = time_of(begin or "now", "--from", now)
    stop = time_of(end, "--until", now, after=start) if end else now
    announce(chosen)

    async def work(client: Client) -> int:
        if cancel:
            return await windows.cancel(client, cancel)
        return await windows.maintain(client, nodes, name, start, stop, drain)

    return run(chosen, work)


# Failures


@command.command()
@NODES
@target_options
def fail(nodes: tuple[str, ...], **target: Any) -> int:
    """Simulate the failure of nodes, on an embedded host only.

    The nodes stop sending heartbeats, and their pods are lost. As on a real cluster, the control plane reacts only
    after missed heartbeats have turned a node NotReady. Shows the affected workloads and what will happen to them.

    \b
      closeknit node fail b01-r02
    """
    return _on_nodes(nodes, target, _fail)


@command.command()
@NODES
@target_options
def recover(nodes: tuple[str, ...], **target: Any) -> int:
    """End the simulated failure of nodes.

    \b
      closeknit node recover b01-r02
    """
    return _on_nodes(nodes, target, _recover)


async def _fail(client: Client, nodes: Sequence[Raw]) -> int:
    from .lost_nodes import hits_of

    names = await _switch(client, nodes, fails=True)
    if not names:
        return YES
    pods = [pod for pod in await pods_on(client, names) if (pod.get("status") or {}).get("phase") not in ENDED]
    found = await hits_of(client, names, pods, is_to_come=True)
    if not pods:
        click.echo("no workload is affected: no pods run there")
    together: dict[tuple[str, str], list[Trouble]] = {}
    for one in found:
        together.setdefault((one.key, one.trouble.then), []).append(one.trouble)
    for (key, then), several in together.items():
        there = f"{number_of(sum(one.pods for one in several), 'pod')} on {', '.join(one.node for one in several)}"
        they = "node is" if len(several) == 1 else "nodes are"
        click.echo(f"affected: {key}, {there}; once the {they} NotReady: {then}")
    if pods and not found:
        click.echo(f"affected: {number_of(len(pods), 'pod')} without a workload")
    return YES


async def _recover(client: Client, nodes: Sequence[Raw]) -> int:
    await _switch(client, nodes, fails=False)
    return YES


async def _switch(client: Client, nodes: Sequence[Raw], fails: bool) -> list[str]:
    """Set or clear the failure annotation; return the names of the nodes that changed."""
    if not await is_embedded(client):
        text = "only simulated nodes can fail and recover on command, but the nodes of this cluster are real"
        raise refuse(text, "try it on an embedded host: closeknit up")
    done, same = ("failed", "already failed") if fails else ("recovered", "had not failed")
    changed: list[str] = []
    for node in nodes:
        name, notes = node["metadata"]["name"], node["metadata"].get("annotations") or {}
        if (notes.get(FAILED) == "true") == fails:
            click.echo(f"node/{name} {same}")
            continue
        await client.patch(kinds.NODE, "", name, {"metadata": {"annotations": {FAILED: "true" if fails else None}}})
        click.echo(f"node/{name} {done}")
        changed.append(name)
    return changed
