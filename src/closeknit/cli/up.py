"""`closeknit up`: a whole cluster on this machine, with the control plane, an API for kubectl, and a view of it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace

import click

from ..cluster.embedded.folder import Folder, FolderInUse
from ..dialects.kueue.configuration import Configuration
from ..host.demos import DEMOS
from ..host.demos.demo import PACE
from ..host.embedded import Options
from ..model.gates import Gates, parse_changes
from ..observe.live_jobs import Managed
from .cluster import read_configuration
from .hosting import FIRST, Hosting, Wishes, stops
from .options import gate_options
from .own_nodes import cluster_of
from .target import NoCluster, data_folder


@click.command(
    epilog="\b\nDemos:\n" + "\n".join(f"  {one.name:<13} {one.line}" for one in DEMOS.values()),
)
@click.option(
    "--nodes",
    multiple=True,
    type=click.Path(),
    metavar="FILE|DIR|-",
    help="Begin with these nodes: as `kubectl get nodes -o json` prints them, or pools in the compact form.",
)
@click.option("--demo", type=click.Choice(list(DEMOS)), help=f"Begin with this demo; an empty folder has {FIRST}.")
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep the state here; default: ~/.local/state/closeknit.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port of 127.0.0.1; default: that of last time, or any that is free.",
)
@click.option("--fsync", is_flag=True, help="Survive a power cut too: wait for the disk after every change.")
@click.option("--lines", is_flag=True, help="A line for every decision, in a terminal too.")
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="Kueue's Configuration, or the ConfigMap that holds it: fair sharing, waitForPodsReady, gates.",
)
@gate_options
def command(
    nodes: tuple[str, ...],
    demo: str | None,
    data: str | None,
    port: int,
    fsync: bool,
    lines: bool,
    config: str | None,
    feature_gates: str,
    profile: str,
) -> None:
    """Run a whole cluster on this machine.

    The control plane, an API server that kubectl talks to, and simulated machines, in one process. Its state is in a
    folder and goes on where it ended. A terminal shows it live; elsewhere there is a line for every decision. Ctrl-C
    ends it.

    \b
      closeknit up
      closeknit up --demo node-failure
      closeknit up --nodes nodes.json --data ./mine
      export KUBECONFIG=~/.local/state/closeknit/kubeconfig; kubectl get nodes
    """
    if nodes and demo:
        raise click.UsageError("--nodes does not go with --demo: give one of the two")
    own = cluster_of(nodes) if nodes else None
    for note in own.notes if own is not None else ():
        click.echo(f"note: {note}", err=True)
    read = read_configuration(config) if config is not None else None
    gates = Gates.profile(profile, {**(read.gates if read is not None else {}), **parse_changes(feature_gates)})
    objects = own.objects if own is not None else ()
    wishes = Wishes(port, fsync, lines or not _is_terminal(), demo or "", objects, _options(read, gates))
    _end_quietly()
    try:
        folder = Folder(data_folder(data).absolute())
    except FolderInUse as error:
        raise NoCluster(str(error)) from error
    with folder:
        asyncio.run(Hosting(folder, wishes).live())


def _options(read: Configuration | None, gates: Gates) -> Options:
    if read is None:
        return Options(gates, pace=PACE)
    settings = replace(read.settings, pods_ready=read.pods_ready, keep_finished=read.keep_finished)
    return Options(gates, settings, Managed(without_queue=read.without_queue), PACE)


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")


def _end_quietly() -> None:
    """Whenever it is asked to end, that is what was wanted; a broken pipe or connection is no reason to."""
    for one in stops():
        signal.signal(one, lambda *_: sys.exit(0))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
