"""`closeknit up`: a whole cluster on this machine, with the control plane, an API for kubectl, and a view of it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import click

from ..cluster.embedded.folder import Folder, FolderInUse
from ..cluster.embedded.store import NotKeptError
from ..host.demos import DEMOS
from ..host.demos.demo import PACE
from ..host.embedded import Options
from ..model.gates import parse_changes
from .configuration import Configured, read_configuration
from .drawing import is_in_foreground
from .hosting import FIRST, Hosting, Wishes, check_port, stops
from .options import gate_options
from .own_nodes import OwnCluster, cluster_of
from .rules import is_given
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
    help="A Configuration of Kueue, or the ConfigMap that holds it, or one of Closeknit, or both.",
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
        raise click.UsageError("--nodes cannot be combined with --demo: give one of the two")
    own = cluster_of(nodes) if nodes else OwnCluster()
    read = Configured() if config is None else read_configuration(config)
    given = profile if is_given("profile") else ""
    gates = read.gates(given, parse_changes(feature_gates))
    host = Options(gates, read.settings, read.managed(given), PACE)
    wishes = Wishes(port, fsync, lines or not _is_terminal(), demo or "", own, host)
    path = data_folder(data).absolute()
    if port and not path.exists():
        check_port(port)
    _end_quietly()
    try:
        folder = Folder(path)
    except FolderInUse as error:
        raise NoCluster(str(error)) from error
    with folder:
        try:
            asyncio.run(Hosting(folder, wishes).live())
        except NotKeptError as error:
            text = "everything that was acknowledged is kept; make room on the disk and start it again"
            raise NoCluster(f"{error}; {text}") from error


def _is_terminal() -> bool:
    if sys.stdout is None or not sys.stdout.isatty() or not is_in_foreground(1):
        return False
    return os.environ.get("TERM", "") not in ("", "dumb")


def _end_quietly() -> None:
    """Whenever it is asked to end, that is what was wanted; a broken pipe or connection is no reason to."""
    for one in stops():
        signal.signal(one, lambda *_: sys.exit(0))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
