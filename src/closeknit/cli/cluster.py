"""A whole cluster as the commands about queues read it: one that runs, or manifests of one.

What is odd about it goes to stderr as warnings; only what cannot be read at all is refused.
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
from .hints import hint
from .options import GATES
from .progress import Progress
from .rules import Given, Rules
from .target import OPTIONS as TARGET
from .target import run, target_of

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

F = TypeVar("F", bound=Callable[..., Any])

MOST_WARNINGS = 20

KUBECTL = (
    "kubectl get nodes,pods,namespaces,limitranges,runtimeclasses,priorityclasses,daemonsets,jobs,"
    "resourceflavors,topologies.kueue.x-k8s.io,clusterqueues,localqueues,cohorts,admissionchecks,"
    "provisioningrequestconfigs,workloadpriorityclasses,workloads.kueue.x-k8s.io -A -o yaml > cluster.yaml"
)
"""The one line that writes a cluster down."""

WHOLE = (
    click.option(
        "--cluster",
        multiple=True,
        type=click.Path(),
        metavar="FILE|DIR|-",
        help="Manifests of a whole cluster, as `kubectl get -o yaml` prints them, instead of one that runs.",
    ),
    click.option(
        "--config",
        type=click.Path(),
        metavar="FILE",
        help="A Configuration of Kueue, or the ConfigMap that holds it, or one of Closeknit, or both.",
    ),
    click.option("--fair-sharing", is_flag=True, help="As if Kueue were configured with fair sharing."),
)
OPTIONS = (*WHOLE, *GATES, *TARGET)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`newest` is the latest time that any object mentions, if any does; of a running cluster it is now."""

    state: LoadedCluster
    found: Manifests

    @property
    def newest(self) -> float | None:
        return self.found.newest


def cluster_options(command: F) -> F:
    """The options above, as keyword arguments that `load` takes."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def check_stdin(cluster: Sequence[str], jobs: Sequence[str] = (), config: str | None = None) -> None:
    """Standard input is gone once it was read: only one may ask for it."""
    asked = [("JOB.yaml", path) for path in jobs] + [("--cluster", path) for path in cluster]
    wanting = [name for name, path in [*asked, ("--config", config)] if path == STDIN]
    if len(wanting) > 1:
        text = f"standard input can be read only once, but {' and '.join(wanting)} ask for it"
        raise refuse(text, "put all but one of them into files", what=STDIN)


def load(
    cluster: Sequence[str],
    config: str | None,
    fair_sharing: bool,
    feature_gates: str,
    profile: str,
    **target: str | None,
) -> tuple[Loaded, Gates]:
    """Read everything, and warn of what is odd."""
    given = Given.of(config, fair_sharing, feature_gates, profile)
    check_target(cluster, target)
    if cluster:
        rules = given.alone()
        with Progress("objects") as tick:
            found = read_manifests(cluster, tick, rules.managed.without_queue)
        where, remedy = ", ".join(map(shown, cluster)), f"fill it so: {KUBECTL}"
    else:
        from .live import manifests

        async def both(client: Client) -> tuple[Rules, Manifests]:
            told = await given.on(client)
            return told, await manifests(client, told.managed.without_queue)

        chosen = target_of(**target)
        rules, found = run(chosen, both)
        where, remedy = chosen.words, f"apply one: {hint('apply', '-f', 'queues.yaml')}"
    if not found.of("ClusterQueue") and not found.of("LocalQueue"):
        raise refuse("there is no ClusterQueue and no LocalQueue in it", remedy, where=where)
    return Loaded(load_objects(found, rules.gates, rules.settings, rules.managed), found), rules.gates


def home_of(options: Mapping[str, Any]) -> str:
    """The namespace of names that do not say theirs."""
    if options["cluster"]:
        return "default"
    return target_of(*(options[name] for name in ("kubeconfig", "context", "data"))).config.namespace


def check_target(files: Sequence[str], target: Mapping[str, str | None], option: str = "--cluster") -> None:
    """Files and a running cluster are two different things to ask about."""
    for name, value in target.items():
        if files and value is not None:
            raise refuse(f"does not go with --{name}", "give one of the two", what=option)


def tell(state: LoadedCluster, about: Container[str] | None = None) -> None:
    """Notes and warnings, the first of them if there are many.

    Where somebody asks about some objects alone, what is odd about others is not told, unless they were left out.
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
        click.echo(f"warning: left out for their mistakes: {', '.join(names[:MOST_WARNINGS])}{more}", err=True)


def _concerns(warning: Mistake, about: Container[str] | None, left_out: Container[str]) -> bool:
    return about is None or not warning.what or warning.what in about or warning.what in left_out
