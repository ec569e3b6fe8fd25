"""A whole cluster as the commands about queues read it: one that runs, or manifests of one; and Kueue's configuration.

What is odd about it goes to stderr as warnings; only what cannot be read at all is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click
import yaml

from ..cluster.files import STDIN, documents, shown
from ..dialects.field import Field
from ..dialects.kueue.configuration import FILE, KIND, Configuration, configuration
from ..model.gates import Gates, parse_changes
from ..model.mistake import InputError, Mistake, refuse
from ..model.settings import FAIR, Settings
from ..observe.cluster_state import ClusterState, cluster_state
from ..observe.manifests import read_manifests
from .options import GATES
from .progress import Progress
from .target import OPTIONS as TARGET
from .target import run, target_of

F = TypeVar("F", bound=Callable[..., Any])

MOST_WARNINGS = 20

KUBECTL = (
    "kubectl get nodes,pods,namespaces,limitranges,runtimeclasses,priorityclasses,jobs,"
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
        help="Kueue's Configuration, or the ConfigMap that holds it: fair sharing, resources, feature gates.",
    ),
    click.option("--fair-sharing", is_flag=True, help="As if Kueue were configured with fair sharing."),
)
OPTIONS = (*WHOLE, *GATES, *TARGET)


@dataclass(frozen=True, slots=True)
class Loaded:
    """`newest` is the latest time that any object mentions, if any does; of a running cluster it is now."""

    state: ClusterState
    newest: float | None


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
    gates, settings = rules(config, fair_sharing, feature_gates, profile)
    check_target(cluster, target)
    if cluster:
        with Progress("objects") as tick:
            found = read_manifests(cluster, tick)
        where, remedy = ", ".join(map(shown, cluster)), f"fill it so: {KUBECTL}"
    else:
        from .live import manifests

        chosen = target_of(**target)
        found = run(chosen, manifests)
        where, remedy = chosen.words, "apply one: closeknit apply -f queues.yaml"
    if not found.of("ClusterQueue") and not found.of("LocalQueue"):
        raise refuse("there is no ClusterQueue and no LocalQueue in it", remedy, where=where)
    return Loaded(cluster_state(found, gates, settings), found.newest), gates


def rules(config: str | None, fair_sharing: bool, feature_gates: str, profile: str) -> tuple[Gates, Settings]:
    """How the cluster decides, as far as options and Kueue's configuration say."""
    chosen = Configuration(Settings()) if config is None else read_configuration(config)
    gates = Gates.profile(profile, {**chosen.gates, **parse_changes(feature_gates)})
    settings = chosen.settings
    if fair_sharing and not settings.fair_sharing:
        settings = replace(settings, fair_sharing=FAIR)
    return gates, settings


def check_target(files: Sequence[str], target: Mapping[str, str | None], option: str = "--cluster") -> None:
    """Files and a running cluster are two different things to ask about."""
    for name, value in target.items():
        if files and value is not None:
            raise refuse(f"does not go with --{name}", "give one of the two", what=option)


def tell(state: ClusterState) -> None:
    """Notes and warnings, the first of them if there are many."""
    for note in state.notes:
        click.echo(f"note: {note}", err=True)
    for warning in state.warnings[:MOST_WARNINGS]:
        click.echo(f"warning: {warning}", err=True)
    if len(state.warnings) > MOST_WARNINGS:
        click.echo(f"warning: and {len(state.warnings) - MOST_WARNINGS} more", err=True)
    if state.left_out:
        names = sorted(state.left_out)
        more = f" and {len(names) - MOST_WARNINGS} more" if len(names) > MOST_WARNINGS else ""
        click.echo(f"warning: left out for their mistakes: {', '.join(names[:MOST_WARNINGS])}{more}", err=True)


def read_configuration(path: str) -> Configuration:
    """Kueue's configuration, by itself or inside a ConfigMap."""
    found = [(where, _opened(where, raw)) for where, raw in documents(path)]
    chosen = [(where, raw) for where, raw in found if raw.get("kind") == KIND]
    if len(chosen) != 1:
        text = "there is no Configuration in it" if not chosen else f"there are {len(chosen)} Configurations in it"
        remedy = f"give one of kind: {KIND}, or the ConfigMap kueue-manager-config with {FILE} in its data"
        raise refuse(text, remedy, where=shown(path))
    where, raw = chosen[0]
    root = Field.root(raw, where, KIND)
    read = configuration(root)
    for warning in root.report.warnings:
        click.echo(f"warning: {warning}", err=True)
    if root.report:
        raise InputError(root.report.mistakes)
    return read


def _opened(where: str, raw: dict[str, Any]) -> dict[str, Any]:
    """What a ConfigMap holds; other objects as they are."""
    data = raw.get("data")
    text = data.get(FILE) if raw.get("kind") == "ConfigMap" and isinstance(data, dict) else None
    if not isinstance(text, str):
        return raw
    try:
        inside = yaml.safe_load(text)
    except yaml.YAMLError as error:
        said = str(error).replace("\n", " ")
        raise InputError([Mistake(f"is not YAML: {said}", "mend it", where, "ConfigMap", f"data[{FILE}]")]) from error
    return inside if isinstance(inside, dict) else raw
