"""`closeknit controller`: run the control plane on a Kubernetes cluster."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..cluster.kube.in_cluster import in_cluster_config, is_in_cluster
from ..model.address import Address, address
from ..model.gates import parse_changes
from ..model.mistake import refuse
from ..model.settings import OWN_NAMESPACE
from .configuration import Configured, read_configuration
from .options import gate_options
from .program import is_plugin
from .rules import is_given
from .target import VARIABLE, kubectl_files

if TYPE_CHECKING:
    from ..cluster.kube.config import Config

LEVELS = ("debug", "info", "warning", "error")


def read_address(_context: click.Context, _option: click.Parameter, text: str | None) -> Address | None:
    try:
        return None if text is None else address(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="Kueue's Configuration or the ConfigMap that holds it, Closeknit's Configuration, or both.",
)
@click.option(
    "--kubeconfig", type=click.Path(), metavar="FILE", help="The kubeconfig; default in a pod: the ServiceAccount."
)
@click.option("--context", metavar="NAME", help="The context in --kubeconfig, else in kubectl's kubeconfig.")
@click.option("--no-leader-election", is_flag=True, help="Start deciding at once; safe only for a single replica.")
@click.option(
    "--health-address",
    metavar="[HOST]:PORT",
    callback=read_address,
    help="Serve /healthz and /readyz at this address; default: off.",
)
@click.option(
    "--metrics-address",
    metavar="[HOST]:PORT",
    callback=read_address,
    help="Serve /metrics, decisions and configuration at this address, to users that the API server authorises; "
    "default: off.",
)
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="Log this level and above."
)
@gate_options
def command(
    config: str | None,
    kubeconfig: str | None,
    context: str | None,
    no_leader_election: bool,
    health_address: Address | None,
    metrics_address: Address | None,
    log_level: str,
    feature_gates: str,
    profile: str,
) -> None:
    """Run the control plane on a Kubernetes cluster.

    In a pod it uses the pod's ServiceAccount; elsewhere it needs --kubeconfig, --context or $CLOSEKNIT_KUBECONFIG. With
    several replicas, one is elected leader and decides; the others stand by. SIGTERM stops it gracefully. It does not
    start while Kueue runs on the cluster.

    \b
      closeknit controller --kubeconfig ~/.kube/config --log-level debug
      closeknit controller --config config.yaml --health-address :8081 --metrics-address :8082
    """
    from .controlling import ControllerOptions, Controlling

    read = Configured() if config is None else read_configuration(config)
    given = profile if is_given("profile") else ""
    target = cluster_of(kubeconfig, context, "controller")
    home = _home(read, target)
    wishes = ControllerOptions(
        read,
        read.gates(given, parse_changes(feature_gates)),
        read.managed(given, home),
        home,
        read.kueue.election.wanted and not no_leader_election,
        health_address or read.kueue.health,
        metrics_address or read.kueue.metrics,
        log_level,
    )
    sys.exit(asyncio.run(Controlling(target, wishes).live()))


def cluster_of(kubeconfig: str | None, context: str | None, what: str) -> Config:
    """The cluster of a process that runs beside it, or inside; `what` is the command."""
    from ..cluster.kube.config import read_config

    given = kubeconfig or (None if context or is_plugin() else os.environ.get(VARIABLE))
    if given or context or is_plugin():
        return read_config([Path(given)] if given else kubectl_files(), context or "")
    if not is_in_cluster():
        raise refuse(
            "does not run in a pod, and no cluster is given",
            "give --kubeconfig FILE or --context NAME",
            what=what,
        )
    return in_cluster_config()


def _home(read: Configured, target: Config) -> str:
    """The namespace of the controller itself."""
    return (target.namespace if target.context == "in-cluster" else read.kueue.namespace) or OWN_NAMESPACE
