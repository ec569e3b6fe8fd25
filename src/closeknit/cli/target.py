"""Which cluster a command works on, and how it gets there.

    --kubeconfig, --context  ▶  --data  ▶  $CLOSEKNIT_KUBECONFIG  ▶  the embedded host of the default folder
    as a plug-in of kubectl:    --data  ▶  the current context of kubectl

The first that is given counts. The kubeconfig of kubectl is used only where somebody says so, by --context or by
calling us as its plug-in, so that nobody who tries something out changes a cluster that others work on. Commands that
change something say on stderr which cluster that is.
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
"""What the embedded host writes into its folder."""

OPTIONS = (
    click.option(
        "--kubeconfig",
        type=click.Path(),
        metavar="FILE",
        callback=remember,
        help=f"The cluster of this kubeconfig; default: ${VARIABLE}.",
    ),
    click.option(
        "--context",
        metavar="NAME",
        callback=remember,
        help="A context of it, or of the kubeconfig that kubectl uses.",
    ),
    click.option(
        "--data",
        type=click.Path(file_okay=False),
        metavar="DIR",
        callback=remember,
        help="The embedded host that keeps its state here; default: ~/.local/state/closeknit.",
    ),
)
NAMESPACE = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    shell_complete=complete_names(kinds.NAMESPACE),
    help="Default: that of the context.",
)


class Target(NamedTuple):
    """`words` say which cluster it is; `remedy` helps where it does not answer."""

    config: Config
    words: str
    remedy: str


class NoCluster(Exception):  # noqa: N818 - said to the user as it is
    """There is nothing to work on."""


def target_options(command: F) -> F:
    """The options above, as keyword arguments that `target_of` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def data_folder(data: str | None = None) -> Path:
    """Where the embedded host keeps its state."""
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
        unread = (
            "; $KUBECONFIG is kubectl's, and is looked at with --context alone" if "KUBECONFIG" in os.environ else ""
        )
        raise NoCluster(f"no cluster runs in {folder}; {start}, or name another by --kubeconfig or --context{unread}")
    return Target(read_config([file]), f"the embedded host of {folder}", start)


def kubectl_files() -> list[Path]:
    listed = [Path(one) for one in os.environ.get("KUBECONFIG", "").split(os.pathsep) if one]
    return listed or [Path("~/.kube/config").expanduser()]


def run(target: Target, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
    """Do something with a client of the target; what the server says besides its answers goes to stderr."""
    import asyncio

    from ..cluster.kube.client import Client

    async def connected() -> T:
        async with Client(target.config, lambda text: click.echo(f"warning: {text}", err=True)) as client:
            return await work(client)

    _survive_broken_connections()
    try:
        return asyncio.run(connected())
    except NoCredentials as error:
        raise NoCluster(f"{target.words} was not asked: {error.why}") from error
    except Unreachable as error:
        raise NoCluster(f"{target.words} does not answer: {error}; {target.remedy}") from error


def follow(target: Target, work: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    """The same for something that goes on until the user has seen enough."""
    try:
        run(target, work)
    except KeyboardInterrupt:
        sys.exit(0)


def announce(target: Target) -> None:
    click.echo(f"on {target.words}", err=True)


def _survive_broken_connections() -> None:
    """A pipe that nobody reads ends most commands quietly; here the same signal may come from a connection."""
    if hasattr(signal, "SIGPIPE") and signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


async def is_embedded(client: Client) -> bool:
    """Whether the cluster is simulated by a host of ours, which is the only one whose machines can be told to fail."""
    version = await client.tree("GET", "/version")
    return "closeknit" in str(version.get("gitVersion", ""))
