"""Selects the cluster that a command works on, and connects to it.

    --kubeconfig, --context  ▶  --data  ▶  $CLOSEKNIT_KUBECONFIG  ▶  the embedded host in the default folder
    as a kubectl plug-in:       --data  ▶  kubectl's current context

The first one given wins. kubectl's kubeconfig is used only with --context or as a plug-in, so that an experiment never
changes a shared cluster by accident. Commands that change something print the cluster on stderr.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..cluster import kinds
from ..cluster.kube.unreachable import NoCredentials, Unreachable
from ..host.garbage import collect_rarely
from .completion import complete_names
from .hints import hint, remember
from .program import is_plugin

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.kube.config import Config

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

VARIABLE = "CLOSEKNIT_KUBECONFIG"
KUBECONFIG = "kubeconfig"
"""The kubeconfig file in the folder of the embedded host."""

OPTIONS = (
    click.option(
        "--kubeconfig",
        type=click.Path(),
        metavar="FILE",
        callback=remember,
        help=f"Use the cluster of this kubeconfig; default: ${VARIABLE}.",
    ),
    click.option(
        "--context",
        metavar="NAME",
        callback=remember,
        help="Use this context of --kubeconfig, else of kubectl's kubeconfig.",
    ),
    click.option(
        "--data",
        type=click.Path(file_okay=False),
        metavar="DIR",
        callback=remember,
        help="Use the embedded host in this folder; default: ~/.local/state/closeknit.",
    ),
)
NAMESPACE = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    shell_complete=complete_names(kinds.NAMESPACE),
    help="The namespace; default: the namespace of the context.",
)


class Target(NamedTuple):
    """The chosen cluster: `words` name it in messages; `remedy` is given if it does not answer."""

    config: Config
    words: str
    remedy: str


class NoCluster(Exception):  # noqa: N818 - printed to the user as it is
    """No cluster is available; the message is printed as it is."""


def target_options(command: F) -> F:
    """Add the options above; `target_of` takes them as keyword arguments."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def data_folder(data: str | None = None) -> Path:
    """The folder of the embedded host."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(data).expanduser() if data else Path(state).expanduser() / "closeknit"


def target_of(kubeconfig: str | None, context: str | None, data: str | None) -> Target:
    from ..cluster.kube.config import read_config

    by_kubectl = is_plugin() and not data
    given = kubeconfig or (None if data or context or by_kubectl else os.environ.get(VARIABLE))
    if given or context or by_kubectl:
        config = read_config([Path(given)] if given else kubectl_files(), context or "")
        return Target(config, f"context {config.context} of {config.source}", "check that the cluster runs")
    folder = data_folder(data)
    file = folder / KUBECONFIG
    start = f"start it: {hint('up')}"
    if not file.exists():
        unread = "; $KUBECONFIG is kubectl's and is used only with --context" if "KUBECONFIG" in os.environ else ""
        raise NoCluster(f"no cluster runs in {folder}; {start}, or give another with --kubeconfig or --context{unread}")
    return Target(read_config([file]), f"the embedded host in {folder}", start)


def kubectl_files() -> list[Path]:
    listed = [Path(one) for one in os.environ.get("KUBECONFIG", "").split(os.pathsep) if one]
    return listed or [Path("~/.kube/config").expanduser()]


def run(target: Target, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with a client of the target; the server's warnings go to stderr."""
    import asyncio

    from ..cluster.kube.client import Client

    found: list[T] = []

    async def connected() -> None:
        """Returns nothing: asyncio.run would put the result into words, all objects of a cluster, for a message."""
        async with Client(target.config, lambda text: click.echo(f"warning: {text}", err=True)) as client:
            found.append(await work(client))

    _survive_broken_connections()
    try:
        asyncio.run(connected())
        return found[0]
    except NoCredentials as error:
        raise NoCluster(f"cannot authenticate to {target.words}: {error.why}") from error
    except Unreachable as error:
        raise NoCluster(f"{target.words} does not answer: {error}; {target.remedy}") from error


def follow(target: Target, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """Like `run`, for work that continues until Ctrl-C, which is no error."""
    collect_rarely()
    try:
        run(target, work)
    except KeyboardInterrupt:
        sys.exit(0)


def announce(target: Target) -> None:
    click.echo(f"on {target.words}", err=True)


def _survive_broken_connections() -> None:
    """Ignore SIGPIPE, which otherwise ends a command quietly: here it may come from a lost connection."""
    if hasattr(signal, "SIGPIPE") and signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


async def is_embedded(client: Client) -> bool:
    """Whether the cluster is an embedded host, with simulated nodes and its own control plane."""
    version = await client.tree("GET", "/version")
    return "closeknit" in str(version.get("gitVersion", ""))
