"""`closeknit node`: take nodes, or whole racks, out of service and back; on a simulated host, let them fail."""

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
from .target import announce, is_embedded, run, target_of, target_options
from .whereabouts import levels_of

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw

F = TypeVar("F", bound=Callable[..., Any])

FAILED = "closeknit.dev/failed"
NODES = click.argument("nodes", nargs=-1, required=True, metavar="NODE|RACK...", shell_complete=complete_domains)


@click.group()
def command() -> None:
    """Cordon, drain, or let fail nodes and whole racks.

    RACK is a value of any level of a topology and means all nodes in it; b1/r1 is the path to one where its value
    alone is not enough, and KEY=VALUE any label of nodes.

    \b
      closeknit node cordon b01-r01-n01
      closeknit node drain b01-r02
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
    """Place no more pods on nodes; what runs there stays.

    \b
      closeknit node cordon b01-r01-n01 b01-r02
    """
    return _on_nodes(nodes, target, lambda client, found: _mark(client, found, cordoned=True))


@command.command()
@NODES
@target_options
def uncordon(nodes: tuple[str, ...], **target: Any) -> int:
    """Place pods on nodes again.

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
@click.option("--timeout", callback=seconds, default="5m", show_default=True, help="How long to try.")
@click.option("--force", is_flag=True, help="Evict pods too that nothing would make again.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods too whose emptyDir volumes would be lost.")
@target_options
def drain(nodes: tuple[str, ...], timeout: float, force: bool, delete_emptydir_data: bool, **target: Any) -> int:
    """Cordon nodes, and evict their pods as far as PodDisruptionBudgets allow.

    Pods of DaemonSets stay. Pods that a budget holds back are tried again until the time is up; then the exit code is
    3, and the nodes stay cordoned. A drain that would lose something is refused before anything is done.

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


# Failures


@command.command()
@NODES
@target_options
def fail(nodes: tuple[str, ...], **target: Any) -> int:
    """Let nodes of a simulated host fail: no heartbeat, and what ran there is lost.

    Says who is hit, and what becomes of it. Nothing happens before the node was silent for a while and counts as lost.

    \b
      closeknit node fail b01-r02
    """
    return _on_nodes(nodes, target, _fail)


@command.command()
@NODES
@target_options
def recover(nodes: tuple[str, ...], **target: Any) -> int:
    """Bring nodes of a simulated host back that had failed.

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
        click.echo("nobody is hit: no pods run there")
    for one in found:
        there = f"{number_of(one.trouble.pods, 'pod')} on {one.trouble.node}"
        click.echo(f"hit: {one.key}, {there}; when the node counts as NotReady: {one.trouble.then}")
    if pods and not found:
        click.echo(f"hit: {number_of(len(pods), 'pod')} that belong to no workload")
    return YES


async def _recover(client: Client, nodes: Sequence[Raw]) -> int:
    await _switch(client, nodes, fails=False)
    return YES


async def _switch(client: Client, nodes: Sequence[Raw], fails: bool) -> list[str]:
    """The names of those that were otherwise before."""
    if not await is_embedded(client):
        text = "only simulated machines can be told to fail or to recover, and those of this cluster are real"
        raise refuse(text, "try it on an embedded host: closeknit up")
    done, same = ("failed", "had failed already") if fails else ("recovered", "had not failed")
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
