"""`closeknit up`: run a complete cluster on this machine, with a control plane, an API for kubectl and a live view."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import click

from ..cluster.embedded.folder import Folder, FolderInUse
from ..cluster.embedded.store import FolderLostError, NotKeptError
from ..host.demos import DEMOS
from ..host.demos.demo import PACE
from ..host.embedded import EmbeddedOptions
from ..model.gates import parse_changes
from .configuration import Configured, read_configuration
from .drawing import is_in_foreground
from .hosting import FIRST, Hosting, UpOptions, check_port, stops
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
    help="Start with these nodes: as `kubectl get nodes -o json` prints them, or pools in the compact form (blocks, "
    "racksPerBlock, …).",
)
@click.option(
    "--demo", type=click.Choice(list(DEMOS)), help=f"Start with this demo; default for an empty folder: {FIRST}."
)
@click.option(
    "--data",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Keep the state in this folder; default: ~/.local/state/closeknit.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port of 127.0.0.1; default: the port of the previous run, or any free port.",
)
@click.option("--fsync", is_flag=True, help="Sync the disk after every change, to survive a power failure.")
@click.option("--lines", is_flag=True, help="Print a line per decision instead of the live view.")
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="Kueue's Configuration or the ConfigMap that holds it, Closeknit's Configuration, or both.",
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
    """Run a complete cluster on this machine.

    One process runs the control plane, an API server for kubectl, and simulated nodes. Its state is kept in a folder,
    and the next run continues from there. On a terminal it shows a live view; otherwise it prints a line per decision.
    Ctrl-C stops it.

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
    host = EmbeddedOptions(gates, read.settings, read.managed(given), PACE)
    wishes = UpOptions(port, fsync, lines or not _is_terminal(), demo or "", own, host)
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
        except FolderLostError as error:
            text = "nothing written since then is saved; restore the folder, or choose another with --data"
            raise NoCluster(f"{error}; {text}") from error
        except NotKeptError as error:
            text = "all acknowledged changes are saved; free disk space and start it again"
            raise NoCluster(f"{error}; {text}") from error


def _is_terminal() -> bool:
    if sys.stdout is None or not sys.stdout.isatty() or not is_in_foreground(1):
        return False
    return os.environ.get("TERM", "") not in ("", "dumb")


def _end_quietly() -> None:
    """Exit with 0 on a stop signal, even during startup, and ignore broken pipes and connections."""
    for one in stops():
        signal.signal(one, lambda *_: sys.exit(0))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
