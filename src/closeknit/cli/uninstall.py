"""`closeknit uninstall`: remove what `install` created, in an order that leaves no object stuck."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ..deploy.objects import InstallOptions
from ..model.mistake import InputError, refuse
from .controller_pod import outside_leader
from .exit_codes import YES
from .install import HOME, configured, installed_configuration
from .target import announce, is_embedded, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..deploy.uninstall import Left

MOST = 20
PURGED = "their assignments are deleted, and the next installation stops and requeues them"
RESTART = "install again, or restart each: suspend it, remove the gate kueue.x-k8s.io/topology, unsuspend it"


@click.command()
@click.option("--purge", is_flag=True, help="Also delete Closeknit's own CRDs, WITH EVERY QUEUE AND WORKLOAD.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@HOME
@target_options
def command(purge: bool, dry_run: bool, namespace: str, **target: Any) -> int:
    """Remove Closeknit from a Kubernetes cluster.

    Removes the admission policies first, so that the server no longer suspends new jobs; then the permissions and the
    controller; then Closeknit's finalizers, so that every object can be deleted. Lists the jobs that stay suspended,
    because no controller will start them, and the running jobs whose replacement pods would stay gated.
    CustomResourceDefinitions, queues, workloads and the configuration are kept for the next installation; --purge
    deletes them too, except definitions that Kueue installed. Running pods keep running.

    \b
      closeknit uninstall --context lab --dry-run
      closeknit uninstall --context lab
      closeknit uninstall --context lab --purge
    """
    chosen = target_of(**target)
    announce(chosen)
    _tell(run(chosen, lambda client: _uninstall(client, namespace, purge, dry_run)), purge)
    if not purge:
        click.echo("definitions, queues, workloads and the configuration are kept; --purge deletes them", err=True)
    return YES


async def _uninstall(client: Client, namespace: str, purge: bool, dry_run: bool) -> Left:
    from ..deploy.uninstall import Uninstalling

    if await is_embedded(client):
        text = "the embedded host runs its own control plane: there is nothing to uninstall"
        raise refuse(text, "give a Kubernetes cluster with --kubeconfig or --context")
    leader = await outside_leader(client)
    if leader:
        words = "if it still runs, stop it, or it will restore what is removed"
        click.echo(f"warning: {leader} holds or held the Lease and is not a pod of this cluster: {words}", err=True)
    note = " (dry run)" if dry_run else ""
    wishes = InstallOptions(namespace=namespace)
    with suppress(InputError):
        wishes = configured(wishes, await installed_configuration(client, namespace) or wishes.configuration)
    return await Uninstalling(client, wishes, lambda line: click.echo(f"{line}{note}"), dry_run).run(purge)


def _tell(left: Left, purge: bool) -> None:
    if not left.held:
        click.echo("nothing stays suspended")
    else:
        click.echo(f"{len(left.held)} stay suspended, and no controller will start them:")
        _list([f"{one.what}: {one.remedy}" for one in left.held])
    if left.gated:
        what = f"{len(left.gated)} run, but their replacement pods will wait forever for a placement"
        click.echo(f"{what}; {PURGED if purge else RESTART}:")
        _list(left.gated)


def _list(lines: list[str]) -> None:
    for one in lines[:MOST]:
        click.echo(f"  {one}")
    if len(lines) > MOST:
        click.echo(f"  and {len(lines) - MOST} more")
