"""`closeknit extender`: make a stock kube-scheduler place pods by the NUMA zones of nodes."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from ..cluster.files import STDIN, documents, shown, stdin_kept
from ..deploy.extender import ExtenderUrl, permissions, scheduler_configuration
from ..deploy.marks import NAMESPACE
from ..dialects.field import Field
from ..dialects.nrt import arguments as match
from ..dialects.own_configuration import GROUP
from ..model.address import Address
from ..model.mistake import InputError, refuse
from ..model.numa_arguments import PLUGIN, MatchArguments
from ..model.numa_settings import NumaSettings
from .configuration import read_configuration
from .controller import LEVELS, cluster_of, read_address
from .exit_codes import YES
from .output import emit_manifests

if TYPE_CHECKING:
    from ..extender.zones import Zones

LISTEN = "127.0.0.1:8888"


@click.command()
@click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="Closeknit's Configuration with its section numa, or a KubeSchedulerConfiguration with the arguments of "
    "NodeResourceTopologyMatch, whose rules then decide.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    callback=read_address,
    default=LISTEN,
    show_default=True,
    help="Listen at this address.",
)
@click.option("--tls-cert", type=click.Path(), metavar="FILE", help="Serve https with this certificate.")
@click.option("--tls-key", type=click.Path(), metavar="FILE", help="The key of the certificate.")
@click.option(
    "--tls-client-ca",
    type=click.Path(),
    metavar="FILE",
    help="Serve only clients with a certificate of this authority.",
)
@click.option(
    "--reservation",
    type=click.FloatRange(1, 3600),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long nodes are reserved for a pod that the scheduler does not bind.",
)
@click.option(
    "--kubeconfig", type=click.Path(), metavar="FILE", help="The kubeconfig; default in a pod: the ServiceAccount."
)
@click.option("--context", metavar="NAME", help="The context in --kubeconfig, else in kubectl's kubeconfig.")
@click.option(
    "--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="Log this level and above."
)
@click.option("--print-config", is_flag=True, help="Print the configuration that kube-scheduler needs, and exit.")
@click.option("--print-rbac", is_flag=True, help="Print the permissions that the extender needs, and exit.")
def command(
    config: str | None,
    listen: Address,
    tls_cert: str | None,
    tls_key: str | None,
    tls_client_ca: str | None,
    reservation: float,
    kubeconfig: str | None,
    context: str | None,
    log_level: str,
    print_config: bool,
    print_rbac: bool,
) -> int:
    """Make a stock kube-scheduler place pods by the NUMA zones of nodes, as an HTTP extender of it.

    It filters and ranks nodes by what their kubelets would admit, and binds pods itself, so that no zone is promised
    twice. In a pod it uses the pod's ServiceAccount; elsewhere it needs --kubeconfig, --context or
    $CLOSEKNIT_KUBECONFIG. SIGTERM stops it.

    \b
      closeknit extender --kubeconfig ~/.kube/config --config config.yaml --listen 127.0.0.1:8888
      closeknit extender --print-config
      closeknit extender --print-rbac | kubectl apply -f -
    """
    if tls_key is not None and tls_cert is None:
        raise click.UsageError("--tls-key needs --tls-cert")
    if tls_client_ca is not None and tls_cert is None:
        raise click.UsageError("--tls-client-ca needs --tls-cert")
    if print_config or print_rbac:
        if print_config:
            click.echo(scheduler_configuration(ExtenderUrl(str(listen), tls_cert is not None)), nl=False)
        if print_rbac:
            emit_manifests(permissions(NAMESPACE), "yaml")
        return YES
    from .extending import ExtenderOptions, Extending

    zones = _zones(config)
    options = ExtenderOptions(listen, tls_cert, tls_key, tls_client_ca, reservation, log_level)
    sys.exit(asyncio.run(Extending(cluster_of(kubeconfig, context, "extender"), zones, options).live()))


def _zones(config: str | None) -> Zones:
    from ..extender.compat import CompatZones
    from ..extender.strict import StrictZones

    settings, arguments = read_settings(config)
    if settings.mode == "off":
        text = "is off, and the extender decides by nothing else"
        raise refuse(text, "use strict or compat", what="numa.mode")
    return StrictZones(settings) if settings.mode == "strict" else CompatZones(arguments)


def read_settings(config: str | None) -> tuple[NumaSettings, MatchArguments]:
    """The mode, and the arguments of the plug-in for compat; both documents may be in one file."""
    if config is None:
        return NumaSettings(), MatchArguments()
    with stdin_kept() if config == STDIN else nullcontext():
        found = list(documents(config))
        schedulers = [Field.root(raw, where, match.KIND) for where, raw in found if raw.get("kind") == match.KIND]
        own = [raw for _, raw in found if str(raw.get("apiVersion")).startswith(f"{GROUP}/")]
        settings = NumaSettings() if schedulers and not own else read_configuration(config).own.numa
    if not schedulers:
        return settings, MatchArguments()
    return NumaSettings("compat", settings.nodes), _arguments(schedulers[0], shown(config))


def _arguments(configuration: Field, where: str) -> MatchArguments:
    """Those of the first profile that uses the plug-in."""
    profiles = match.read_profiles(configuration)
    if configuration.report.mistakes:
        raise InputError(list(configuration.report.mistakes))
    used = [one for one in profiles if one.uses_plugin]
    if not used:
        text = f"has no profile that enables {PLUGIN}"
        raise refuse(text, "enable it in plugins.multiPoint, or give Closeknit's Configuration", where=where)
    return used[0].arguments
