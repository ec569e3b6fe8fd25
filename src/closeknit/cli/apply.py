"""`closeknit apply`: create or update objects from manifests by server-side apply."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..cluster import kinds
from ..cluster.errors import Conflict, Forbidden, NotFound, Refused, Unauthorized
from ..cluster.kinds import Kind
from ..model.mistake import refuse
from .exit_codes import UNAVAILABLE, YES
from .manifests import Manifest, only_embedded, read_objects
from .output import emit
from .progress import Progress
from .refusals import sentences
from .target import NAMESPACE, announce, is_embedded, run, target_of, target_options

if TYPE_CHECKING:
    from ..cluster.kube.client import Client
    from ..cluster.port import Raw

IN_FLIGHT = 16
LAST = 4
_ORDER: tuple[tuple[Kind, ...], ...] = (
    (kinds.NAMESPACE,),
    (kinds.PRIORITY_CLASS, kinds.RUNTIME_CLASS, kinds.WORKLOAD_PRIORITY_CLASS, kinds.TOPOLOGY, kinds.NODE),
    (kinds.RESOURCE_FLAVOR, kinds.ADMISSION_CHECK, kinds.PROVISIONING_CONFIG, kinds.COHORT, kinds.LIMIT_RANGE),
    (kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE, kinds.SERVICE_ACCOUNT, kinds.CONFIG_MAP, kinds.SECRET),
)
_RANK = {kind: rank for rank, of in enumerate(_ORDER) for kind in of}
"""Dependencies are applied first. All other kinds come last in file order, so jobs queue in the order written."""


class Applied(NamedTuple):
    manifest: Manifest
    word: str = ""
    raw: Raw | None = None
    refused: Refused | None = None


@click.command()
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE...]")
@click.option("-f", "--filename", multiple=True, type=click.Path(), metavar="FILE|DIR|-", help="The same as FILE.")
@NAMESPACE
@click.option("--dry-run", is_flag=True, help="Let the cluster validate everything without changing it.")
@click.option("--force-conflicts", is_flag=True, help="Take over fields owned by other field managers.")
@click.option("-o", "--output", type=click.Choice(["name", "json", "yaml"]), help="Print the resulting objects.")
@target_options
def command(
    files: tuple[str, ...],
    filename: tuple[str, ...],
    namespace: str | None,
    dry_run: bool,
    force_conflicts: bool,
    output: str | None,
    **target: Any,
) -> int:
    """Create or update objects from manifests.

    FILE is a YAML or JSON manifest, a directory of manifests, or - for standard input. All files are read first: if one
    cannot be parsed or has an unknown kind, nothing is sent. Namespaces, topologies, nodes and queues are applied
    before jobs, and jobs in the order in which they are written. Kueue v1beta1 and v1alpha1 objects are sent as
    v1beta2. Unknown fields are rejected. On an embedded host, pools in the compact form create nodes.

    If the cluster rejects an object, the others are still applied and the exit code is 4.

    \b
      closeknit apply -f queues.yaml -f job.yaml
      closeknit apply cluster/
      kubectl kustomize overlays/lab | closeknit apply -f -
    """
    paths = [*files, *filename]
    if not paths:
        raise refuse("is missing", "give at least one file, or - for standard input", what="FILE")
    chosen = target_of(**target)
    objects = read_objects(paths, namespace or chosen.config.namespace, namespace_given=namespace is not None)
    announce(chosen)
    query = {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}
    if force_conflicts:
        query["force"] = "true"
    outcomes = run(chosen, lambda client: _all(client, objects, query))
    return _report(outcomes, output, " (dry run)" if dry_run else "")


async def _all(client: Client, objects: Sequence[Manifest], query: dict[str, str]) -> list[Applied]:
    if any(one.is_pool for one in objects):
        only_embedded(objects, await is_embedded(client))
    done: list[Applied] = []
    ordered = sorted(objects, key=_rank)
    with Progress("objects") as progress:
        for rank, batch in groupby(ordered, key=_rank):
            width = 1 if rank == LAST else IN_FLIGHT
            todo = list(batch)
            for start in range(0, len(todo), width):
                sent = (_one(client, one, query) for one in todo[start : start + width])
                done.extend(await asyncio.gather(*sent))
                progress.tell(lambda: f"applied {len(done):,} of {len(objects):,} objects")
    return done


def _rank(one: Manifest) -> int:
    return _RANK.get(one.kind, LAST)


async def _one(client: Client, one: Manifest, query: dict[str, str]) -> Applied:
    try:
        if not one.name:
            creating = {key: value for key, value in query.items() if key != "force"}
            return Applied(one, "created", await client.create(one.kind, one.namespace, one.raw, **creating))
        before = await _before(client, one)
        raw = await client.patch(one.kind, one.namespace, one.name, one.raw, "apply", **query)
    except Refused as refused:
        return Applied(one, refused=refused)
    if before is None:
        return Applied(one, "created", raw)
    same = raw["metadata"].get("resourceVersion") == before["metadata"].get("resourceVersion")
    return Applied(one, "unchanged" if same and "dryRun" not in query else "configured", raw)


async def _before(client: Client, one: Manifest) -> Raw | None:
    try:
        return await client.get(one.kind, one.namespace, one.name)
    except NotFound:
        return None


def _report(outcomes: Sequence[Applied], output: str | None, note: str) -> int:
    from .get import name_of, plain

    refused = [one for one in outcomes if one.refused is not None]
    objects = [one.raw for one in outcomes if one.raw is not None]
    if output in ("json", "yaml"):
        shown = [plain(raw) for raw in objects]
        emit(shown[0] if len(shown) == 1 else {"apiVersion": "v1", "kind": "List", "items": shown}, output)
    else:
        for one in outcomes:
            if one.raw is not None:
                label = name_of(one.raw)
                click.echo(label if output == "name" else f"{label} {one.word}{note}")
    for one in refused:
        _complain(one)
    if refused and len(outcomes) > 1:
        click.echo(f"{len(objects)} of {len(outcomes)} objects applied, {len(refused)} refused", err=True)
    return UNAVAILABLE if refused else YES


def _complain(one: Applied) -> None:
    """Print the server's errors, then the findings of our own validation, which name remedies."""
    assert one.refused is not None
    place = f"{one.manifest.where}: {one.manifest.label}"
    for sentence in sentences(one.refused):
        click.echo(f"error: {place}: {sentence}", err=True)
    if not isinstance(one.refused, Conflict | Forbidden | NotFound | Unauthorized):
        for advice in _advice(one.manifest):
            click.echo(f"  {advice}", err=True)


def _advice(manifest: Manifest) -> list[str]:
    from dataclasses import replace

    from ..dialects.kueue.admin import CHECKS
    from ..dialects.kueue.jobs import read
    from ..model.gates import Gates

    readings = read([(manifest.where, manifest.raw)], Gates.profile(), CHECKS)
    found = [mistake for reading in readings for mistake in (*reading.mistakes, *reading.warnings)]
    return [str(replace(mistake, where="", what="")) for mistake in found]
