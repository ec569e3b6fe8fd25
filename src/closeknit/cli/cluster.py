"""Loads a whole cluster for the commands about queues, from a running cluster or from manifests.

Invalid objects are reported as warnings on stderr; only unreadable input is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..cluster.files import STDIN, shown
from ..model.gates import Gates
from ..model.mistake import Mistake, refuse
from ..observe.loaded import LoadedCluster
from ..observe.loader import load as load_objects
from ..observe.manifests import Manifests, read_manifests
from .hints import hint, remember
from .options import GATES
from .progress import Progress
from .rules import EffectiveRules, Given
from .target import OPTIONS as TARGET
from .target import run, target_of

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

F = TypeVar("F", bound=Callable[..., Any])

MOST_WARNINGS = 20

KUBECTL = (
    "kubectl get nodes,pods,namespaces,limitranges,runtimeclasses,priorityclasses,daemonsets,"
    "persistentvolumeclaims,persistentvolumes,storageclasses,jobs,resourceflavors,topologies.kueue.x-k8s.io,"
    "clusterqueues,localqueues,cohorts,admissionchecks,"
    "provisioningrequestconfigs,workloadpriorityclasses,workloads.kueue.x-k8s.io -A -o yaml > cluster.yaml"
)
"""The command that saves a whole cluster to a file."""

CONFIG = click.option(
    "--config",
    type=click.Path(),
    metavar="FILE",
    help="Kueue's Configuration or the ConfigMap that holds it, Closeknit's Configuration, or both.",
)
WHOLE = (
    click.option(
        "--cluster",
        multiple=True,
        type=click.Path(),
        metavar="FILE|DIR|-",
        callback=remember,
        help="Manifests of a whole cluster, as `kubectl get -o yaml` prints them, instead of a running cluster.",
    ),
    CONFIG,
    click.option("--fair-sharing", is_flag=True, help="Decide as if fair sharing were enabled in the configuration."),
)
OPTIONS = (*WHOLE, *GATES, *TARGET)


@dataclass(frozen=True, slots=True)
class GivenCluster:
    """`newest` is the latest timestamp in any object, if there is one; for a running cluster it is now."""

    state: LoadedCluster
    found: Manifests

    @property
    def newest(self) -> float | None:
        return self.found.newest


def cluster_options(command: F) -> F:
    """Add the options above; `load` takes them as keyword arguments."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def check_stdin(cluster: Sequence[str], jobs: Sequence[str] = (), config: str | None = None) -> None:
    """Raise if more than one argument reads standard input, which can be read only once."""
    asked = [("JOB.yaml", path) for path in jobs] + [("--cluster", path) for path in cluster]
    wanting = [name for name, path in [*asked, ("--config", config)] if path == STDIN]
    if len(wanting) > 1:
        text = f"standard input can be read only once, but {' and '.join(wanting)} read it"
        raise refuse(text, "put all but one of them into files", what=STDIN)


def load(
    cluster: Sequence[str],
    config: str | None,
    fair_sharing: bool,
    feature_gates: str,
    profile: str,
    **target: str | None,
) -> tuple[GivenCluster, Gates]:
    """Read the whole cluster, and warn about invalid objects."""
    given = Given.of(config, fair_sharing, feature_gates, profile)
    check_target(cluster, target)
    if cluster:
        rules = given.alone()
        with Progress("objects") as tick:
            found = read_manifests(cluster, tick, rules.managed.without_queue)
        where, remedy = ", ".join(map(shown, cluster)), f"save a cluster with: {KUBECTL}"
    else:
        from .live import manifests

        async def both(client: Client) -> tuple[EffectiveRules, Manifests]:
            told = await given.on(client)
            return told, await manifests(client, told.managed.without_queue)

        chosen = target_of(**target)
        rules, found = run(chosen, both)
        where, remedy = chosen.words, f"create one: {hint('apply', '-f', 'queues.yaml')}"
    if not found.of("ClusterQueue") and not found.of("LocalQueue"):
        raise refuse("no ClusterQueue and no LocalQueue found", remedy, where=where)
    return GivenCluster(load_objects(found, rules.gates, rules.settings, rules.managed), found), rules.gates


def home_of(options: Mapping[str, Any]) -> str:
    """The default namespace for names given without one."""
    if options["cluster"]:
        return "default"
    return target_of(*(options[name] for name in ("kubeconfig", "context", "data"))).config.namespace


def check_target(files: Sequence[str], target: Mapping[str, str | None], option: str = "--cluster") -> None:
    """Raise if options for files and options for a running cluster are combined."""
    for name, value in target.items():
        if files and value is not None:
            raise refuse(f"cannot be combined with --{name}", "give one of the two", what=option)


def tell(state: LoadedCluster, about: Container[str] | None = None) -> None:
    """Print notes and warnings, at most `MOST_WARNINGS` of them.

    With `about`, warnings about other objects are dropped, unless those objects were left out.
    """
    for note in state.notes:
        click.echo(f"note: {note}", err=True)
    warnings = [one for one in state.warnings if _concerns(one, about, state.left_out)]
    for warning in warnings[:MOST_WARNINGS]:
        click.echo(f"warning: {warning}", err=True)
    if len(warnings) > MOST_WARNINGS:
        click.echo(f"warning: and {len(warnings) - MOST_WARNINGS} more", err=True)
    if state.left_out:
        names = sorted(state.left_out)
        more = f" and {len(names) - MOST_WARNINGS} more" if len(names) > MOST_WARNINGS else ""
        click.echo(f"warning: ignored because they are invalid: {', '.join(names[:MOST_WARNINGS])}{more}", err=True)


def _concerns(warning: Mistake, about: Container[str] | None, left_out: Container[str]) -> bool:
    return about is None or not warning.what or warning.what in about or warning.what in left_out
