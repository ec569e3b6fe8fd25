"""`closeknit uninstall`: what `install` made goes, in an order that leaves nobody stuck."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from ..deploy.objects import Wishes
from ..model.mistake import InputError, refuse
from .controller_pod import outsider
from .exit_codes import YES
from .install import HOME, configured, installed_configuration
from .target import announce, is_embedded, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..deploy.uninstall import Left

MOST = 20
ENDED = "their places are forgotten, and the next installation stops them and queues them again"
MENDED = "install again, or start each anew: suspend it, take the gate kueue.x-k8s.io/topology off, unsuspend it"


@click.command()
@click.option("--purge", is_flag=True, help="Also the definitions that are ours, WITH EVERY QUEUE AND WORKLOAD.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and change nothing.")
@HOME
@target_options
def command(purge: bool, dry_run: bool, namespace: str, **target: Any) -> int:
    """Take closeknit off a cluster of Kubernetes.

    Policies go first, so that the server holds nothing back any more; then permissions and the controller; then our
    finalizers come off, so that every object can be deleted. What stays suspended, because nobody will start it, is
    listed, and so are jobs whose pods were given places: their next pods would wait for one. Definitions, queues,
    workloads and the configuration stay for the next installation; --purge deletes them, but not definitions that are
    Kueue's. Pods that run go on.

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
    leader = await outsider(client)
    if leader:
        words = "if it runs, stop it, or it puts back what is taken off"
        click.echo(f"warning: {leader} leads, or did, and is in no pod of this cluster: {words}", err=True)
    note = " (dry run)" if dry_run else ""
    wishes = Wishes(namespace=namespace)
    with suppress(InputError):
        wishes = configured(wishes, await installed_configuration(client, namespace) or wishes.configuration)
    return await Uninstalling(client, wishes, lambda line: click.echo(f"{line}{note}"), dry_run).run(purge)


def _tell(left: Left, purge: bool) -> None:
    if not left.held:
        click.echo("nothing stays suspended")
    else:
        click.echo(f"{len(left.held)} stay suspended, and nobody will start them:")
        _list([f"{one.what}: {one.remedy}" for one in left.held])
    if left.gated:
        what = f"{len(left.gated)} run, and a pod of theirs that is replaced will wait for ever"
        click.echo(f"{what}; {ENDED if purge else MENDED}:")
        _list(left.gated)


def _list(lines: list[str]) -> None:
    for one in lines[:MOST]:
        click.echo(f"  {one}")
    if len(lines) > MOST:
        click.echo(f"  and {len(lines) - MOST} more")
