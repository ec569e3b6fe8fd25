"""`closeknit numa simulate`: kubelets with NUMA zones for the nodes that KWOK simulates."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from typing import TYPE_CHECKING

import click

from ..deploy.marks import NAMESPACE
from ..deploy.numa_simulation import STAGE, STARTING, permissions
from ..dialects.simulated_zones import NEVER
from .controller import LEVELS, cluster_of
from .durations import seconds
from .exit_codes import YES
from .output import emit_manifests
from .selector import parse_selector
from .target import NoCluster

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.kube.config import Config
    from ..host.numa_simulation import Delay

log = logging.getLogger("closeknit")


def _delay(context: click.Context, option: click.Parameter, text: str | None) -> Delay | None:
    if text is None:
        return None
    from ..host.numa_simulation import Delay

    return Delay(None if text == NEVER else seconds(context, option, text))


@click.command()
@click.option("--kubeconfig", type=click.Path(), metavar="FILE", help="The kubeconfig; default: $CLOSEKNIT_KUBECONFIG.")
@click.option("--context", metavar="NAME", help="The context in --kubeconfig, else in kubectl's kubeconfig.")
@click.option(
    "--nodes",
    default="type=kwok",
    show_default=True,
    metavar="SELECTOR",
    help="Simulate the kubelets of nodes with these labels, KEY=VALUE,...; choose those that KWOK manages.",
)
@click.option(
    "--delay",
    callback=_delay,
    metavar="TIME|never",
    help="Report changes of a node after this time, such as 2s; default: what its annotation says.",
)
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="Log this and above.")
@click.option("--print-stage", is_flag=True, help="Print the Stage that makes KWOK wait for admission, and exit.")
@click.option("--install-stage", is_flag=True, help="Create this Stage on the cluster, or update it, and exit.")
@click.option("--print-rbac", is_flag=True, help="Print the permissions that the simulation needs, and exit.")
def simulate(
    kubeconfig: str | None,
    context: str | None,
    nodes: str,
    delay: Delay | None,
    log_level: str,
    print_stage: bool,
    install_stage: bool,
    print_rbac: bool,
) -> int:
    """Admit or refuse the pods of KWOK's nodes as kubelets with NUMA zones do, and report what their zones have free.

    A node has zones if it is annotated with closeknit.dev/numa. A pod that is bound to it is admitted, or fails with
    the reason and message of a kubelet, before KWOK starts it: give KWOK the Stage that --print-stage prints, in place
    of its own Stage pod-ready. Each node gets a NodeResourceTopology; `closeknit install` adds its definition. The
    state is on the pods, so the command may be stopped and started again. Run it once at a time.

    \b
      closeknit numa simulate --print-stage > stage.yaml          for `kwok --config stage.yaml`
      kubectl annotate node n1 'closeknit.dev/numa={zones: 2, policy: single-numa-node}'
      closeknit numa simulate --kubeconfig ~/.kube/config --nodes type=kwok --delay 2s
    """
    if print_stage or print_rbac:
        if print_stage:
            click.echo(STARTING, nl=False)
        if print_rbac:
            emit_manifests(permissions(NAMESPACE), "yaml")
        return YES
    labels = parse_selector([nodes], "--nodes")
    cluster = cluster_of(kubeconfig, context, "numa simulate")
    if install_stage:
        return asyncio.run(install(cluster))
    from .controlling import log_to_stderr

    log_to_stderr(log_level)
    sys.exit(asyncio.run(_live(cluster, labels, delay)))


async def install(cluster: Config) -> int:
    """Apply the Stage, where KWOK reads its stages from the server."""
    import yaml

    from ..cluster.errors import NotFound
    from ..cluster.kube.client import Client
    from ..cluster.kube.request import MANAGER
    from ..cluster.port import Key, Patch

    body = yaml.safe_load(STARTING)
    name = body["metadata"]["name"]
    async with Client(cluster) as client:
        try:
            await client.carry_out(Patch(Key(STAGE, "", name), body, "apply", owner=MANAGER))
        except NotFound:
            remedy = "start KWOK with --enable-crds=Stage, or give it the output of --print-stage with --config"
            raise NoCluster(f"the cluster does not serve KWOK's kind Stage; {remedy}") from None
    click.echo(f"Stage {name} is installed: KWOK starts pods once they are admitted")
    return YES


async def _live(cluster: Config, labels: dict[str, str], delay: Delay | None) -> int:
    """Run until a signal; return the exit code."""
    from ..cluster.kube.client import Client
    from ..cluster.kube.retries import Retries

    stopped = asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(one, stopped.set)
    async with Client(cluster, lambda text: log.debug("server warning: %s", text), retries=Retries()) as client:
        running = asyncio.create_task(_simulated(client, labels, delay))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
        running.cancel()
        stopping.cancel()
        results = await asyncio.gather(running, stopping, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result
    log.info("stopped")
    return YES


async def _simulated(client: Client, labels: dict[str, str], delay: Delay | None) -> None:
    from ..cluster.kube.arrival import arrival
    from ..host.numa_simulation import NumaSimulation

    await arrival(client, lambda why: log.warning("waiting for the API server, which does not answer yet: %s", why))
    log.info("listing nodes, pods and reports")
    await NumaSimulation(client, labels, delay).run()
