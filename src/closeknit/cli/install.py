"""`closeknit install`: apply everything that a Kubernetes cluster needs, in order; running it again upgrades."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from ..cluster.embedded.rules.settings import AdmissionSettings
from ..cluster.errors import Conflict, NotFound
from ..cluster.files import STDIN, documents, read_text, stdin_kept
from ..cluster.positions import place_of, positions
from ..deploy import rbac
from ..deploy.bundle import stages
from ..deploy.marks import NAME, NAMESPACE, label
from ..deploy.objects import REPLICAS, InstallOptions, default_image
from ..dialects.kueue.configuration import FILE
from ..model.mistake import InputError, refuse
from .configuration import read_configuration
from .exit_codes import YES
from .hints import hint
from .output import emit_manifests, write, yaml_lines
from .target import NoCluster, announce, is_embedded, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw
    from ..deploy.plan import PlanStep

SHOWN = 3
WORDS = {
    "left as it is": "kept and used: not installed by Closeknit",
    "skipped": "skipped: the server does not serve the kind",
}
CALLED = "the configuration"
HOME = click.option(
    "-n", "--namespace", default=NAMESPACE, show_default=True, metavar="NAME", help="The controller's namespace."
)


@click.command()
@click.option("--dry-run", is_flag=True, help="Ask the server what would change, and change nothing.")
@click.option("--config", type=click.Path(), metavar="FILE", help="Kueue's Configuration; default: the installed one.")
@click.option("--image", metavar="REFERENCE", help="The controller's image; default: closeknit:<this version>.")
@click.option(
    "--replicas", type=click.IntRange(1, 9), help="One leads, the others stand by; default: as installed, or 2."
)
@click.option("--service-monitor", is_flag=True, help="Also install a Service and a ServiceMonitor for Prometheus.")
@click.option(
    "--adopt-crds", is_flag=True, help="Take over Kueue's definitions: drop the conversion webhook and v1beta1."
)
@click.option("--force-conflicts", is_flag=True, help="Overwrite fields changed by other field managers.")
@HOME
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "wide"]),
    help="yaml, json: print the manifests without a cluster; wide: also list every permission with its reason.",
)
@target_options
def command(
    dry_run: bool,
    config: str | None,
    image: str | None,
    replicas: int | None,
    service_monitor: bool,
    adopt_crds: bool,
    force_conflicts: bool,
    namespace: str,
    output: str | None,
    **target: Any,
) -> int:
    """Install Closeknit on a Kubernetes cluster, or upgrade it.

    Applies, in this order: the namespace, Kueue's CustomResourceDefinitions, permissions, admission policies, the
    configuration, the controller. Everything is tried as a dry run first: if the server rejects anything, nothing is
    changed. Existing definitions that Closeknit did not install are kept and used. Run it again to upgrade, or with
    another --config to change the configuration; an older version never replaces a newer one.

    --adopt-crds is for a cluster from which Kueue was removed: its definitions still call a conversion webhook that no
    longer answers. Adoption requires that all objects are stored as v1beta2.

    \b
      closeknit install --context lab --dry-run
      closeknit install --context lab --image registry.example.com/closeknit:0.1.0
      closeknit install --context lab --config kueue.yaml
      closeknit install -o yaml > closeknit.yaml
    """
    text = None if config is None else configuration_text(config)
    wishes = InstallOptions(
        image or default_image(), namespace, replicas=replicas or REPLICAS, monitored=service_monitor
    )
    wishes = configured(wishes, text or wishes.configuration)
    if output in ("yaml", "json"):
        emit_manifests([one for stage in stages(wishes) for one in stage.objects], output)
        return YES
    chosen = target_of(**target)
    announce(chosen)
    given = {name for name, value in (("config", text), ("image", image), ("replicas", replicas)) if value is not None}
    installation = Installation(wishes, given, force_conflicts)
    return run(chosen, lambda client: installation.run(client, dry_run, adopt_crds, output == "wide"))


def configuration_text(path: str) -> str:
    """The text of a valid configuration file, as the controller will read it."""
    with stdin_kept() if path == STDIN else nullcontext():
        read_configuration(path)
        for _, raw in documents(path):
            data = raw.get("data")
            if raw.get("kind") == "ConfigMap" and isinstance(data, dict) and FILE in data:
                return str(data[FILE])
        return read_text(path)


def configured(wishes: InstallOptions, text: str) -> InstallOptions:
    """The options with this configuration and the objects' settings from it; raises InputError if it is invalid."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        file.write_text(text)
        read = read_configuration(str(file), called=CALLED)
    managed, election = read.managed(namespace=wishes.namespace), read.kueue.election
    if election.namespace not in ("", wishes.namespace):
        said = f"is {election.namespace}, but the controller may only use a Lease in its own namespace"
        field = "leaderElection.resourceNamespace"
        at = place_of(next(iter(positions(text)), {}), field)
        where = CALLED if at is None else f"{CALLED}:{at[0]}:{at[1]}"
        raise refuse(said, "remove it", where, "Configuration", field)
    rules = AdmissionSettings(
        read.gates(), managed.frameworks, managed.namespaces, managed.without_queue, trusted=read.own.trusted
    )
    return replace(wishes, configuration=text, rules=rules, lease=election.name)


async def installed_configuration(client: Client, namespace: str) -> str:
    """The installed configuration; empty if there is none."""
    from ..cluster.kinds import CONFIG_MAP as CONFIG_MAPS
    from ..deploy.objects import CONFIG_MAP

    found = await _found(client, CONFIG_MAPS, namespace, CONFIG_MAP)
    return str((found.get("data") or {}).get(FILE) or "")


async def api_server_cidrs(client: Client) -> tuple[str, ...]:
    """The addresses of the API server, from which it connects to pods; none if they are not published."""
    from ..deploy.kinds import ENDPOINT_SLICE

    found = await _found(client, ENDPOINT_SLICE, "default", "kubernetes")
    addresses = (address for one in found.get("endpoints") or () for address in one.get("addresses") or ())
    return tuple(sorted(f"{one}/{128 if ':' in one else 32}" for one in addresses))


class Installation:
    """One run: plan, report, apply. `given` names the options given; the others stay as installed."""

    def __init__(self, wishes: InstallOptions, given: Collection[str], force: bool) -> None:
        self.wishes, self.given, self.force = wishes, given, force

    async def run(self, client: Client, dry_run: bool, adopt: bool, wide: bool) -> int:
        from ..deploy.install import NotEstablished, install
        from ..deploy.plan import plan

        if await is_embedded(client):
            text = "the embedded host runs its own control plane: there is nothing to install"
            raise refuse(text, "give a Kubernetes cluster with --kubeconfig or --context")
        await self._complete(client)
        self.wishes = replace(self.wishes, api_server=await api_server_cidrs(client))
        await self._warn_of_kueue(client)
        adopted = await _to_adopt(client) if adopt else []
        try:
            steps = await plan(client, stages(self.wishes), self.force)
        except Conflict as refused:
            remedy = "keep these fields, or overwrite them with --force-conflicts"
            raise NoCluster(f"{refused.message}; {remedy}") from refused
        said = StageLines(steps, wide, " (dry run)" if dry_run else "")
        if dry_run:
            for step in steps:
                said.say(step)
        else:
            try:
                await install(client, steps, said.say, self.force)
            except NotEstablished as error:
                raise NoCluster(str(error)) from error
        await _adopt(client, adopted, dry_run)
        if wide:
            write(_permissions())
        click.echo(_farewell(steps, self.wishes, dry_run), err=True)
        return YES

    async def _complete(self, client: Client) -> None:
        from ..cluster.kinds import DEPLOYMENT

        home = self.wishes.namespace
        kept, deployment = await installed_configuration(client, home), await _found(client, DEPLOYMENT, home, NAME)
        if kept and "config" not in self.given:
            self.wishes = configured(self.wishes, kept)
            click.echo("configuration: keeping the installed one; --config FILE replaces it", err=True)
        if deployment and "replicas" not in self.given:
            self.wishes = replace(self.wishes, replicas=deployment["spec"].get("replicas", REPLICAS))
        if "image" not in self.given:
            image = _upgraded(_image_of(deployment), self.wishes.version) or self.wishes.image
            self.wishes = replace(self.wishes, image=image)
            click.echo(f"image: {image}; --image REFERENCE sets another, such as one in your registry", err=True)

    async def _warn_of_kueue(self, client: Client) -> None:
        from ..deploy.doctor.kueue import leases

        for lease in await leases(client):
            if (lease.get("spec") or {}).get("holderIdentity"):
                where = f"{lease['metadata']['namespace']}/{lease['metadata']['name']}"
                click.echo(f"warning: Kueue may be running: it holds the Lease {where}; stop one of the two", err=True)


async def _found(client: Client, kind: Any, namespace: str, name: str) -> Raw:
    try:
        return await client.get(kind, namespace, name)
    except NotFound:
        return {}


def _image_of(deployment: Raw) -> str:
    containers = ((deployment.get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or [{}]
    return str(containers[0].get("image") or "")


def _upgraded(image: str, version: str) -> str:
    """The same repository with this version's tag; an image pinned by digest stays."""
    if not image or "@" in image:
        return image
    folder, slash, last = image.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}:{version}"


# Kueue's definitions


async def _to_adopt(client: Client) -> list[Raw]:
    from ..deploy.definitions import needs_adoption, not_adoptable, of_kueue

    wanted = [one for one in await of_kueue(client) if needs_adoption(one)]
    mistakes = [mistake for one in wanted for mistake in not_adoptable(one)]
    if mistakes:
        raise InputError(mistakes)
    if not wanted:
        click.echo("no definition needs to be adopted", err=True)
    return wanted


async def _adopt(client: Client, wanted: Sequence[Raw], dry_run: bool) -> None:
    from ..deploy.definitions import adopt

    for one in wanted:
        await adopt(client, one, **({"dryRun": "All"} if dry_run else {}))
        note = " (dry run)" if dry_run else ""
        click.echo(f"{label({**one, 'kind': 'CustomResourceDefinition'})} adopted: v1beta2 only, no conversion{note}")


# Output


class StageLines:
    """Prints one line per stage and outcome as soon as its objects are done; with `wide`, one line per object.

    A dry run also shows the differences in existing objects.
    """

    def __init__(self, steps: Sequence[PlanStep], wide: bool, note: str) -> None:
        self.left = Counter((step.stage, step.word) for step in steps)
        self.names: dict[tuple[str, str], list[str]] = {}
        self.wide, self.note = wide, note

    def say(self, step: PlanStep) -> None:
        same = step.stage, step.word
        self.left[same] -= 1
        self.names.setdefault(same, []).append(label(step.sent))
        if self.wide or not self.left[same]:
            click.echo(f"{step.stage:<14} {WORDS.get(step.word, step.word)}{self.note}: {_few(self.names.pop(same))}")
        if self.note:
            write(_differences(step))


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def _differences(step: PlanStep) -> Iterator[str]:
    from ..deploy.plan import plain

    if step.word == "changed" and step.before is not None and step.after is not None:
        old, new = (list(yaml_lines(plain(one), "")) for one in (step.before, step.after))
        yield f"  {label(step.sent)}"
        yield from (f"    {line.rstrip()}" for line in list(difflib.unified_diff(old, new, n=1, lineterm=""))[2:])


def _permissions() -> Iterator[str]:
    yield ""
    yield f"permissions of {NAME}:"
    for where, grant in rbac.table():
        yield f"  {', '.join(grant.verbs)} on {', '.join(rbac.names(grant))} in {where}: {grant.reason}"


def _farewell(steps: Sequence[PlanStep], wishes: InstallOptions, dry_run: bool) -> str:
    from ..deploy.plan import summary

    counts = ", ".join(f"{count} {word}" for word, count in summary(steps).items())
    if dry_run:
        return f"dry run: {counts}; nothing was changed"
    return f"closeknit {wishes.version} is installed: {counts}; check its health: {hint('doctor')}"
