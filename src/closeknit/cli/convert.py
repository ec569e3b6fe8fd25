"""`closeknit convert`: convert manifests to served versions of their API, or groups to another scheduler's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import click

from ..cluster.files import STDIN, documents, identity, stdin_kept
from ..cluster.files import files as files_of
from ..cluster.mistakes import Mistakes
from ..model.mistake import Mistake, refuse
from .exit_codes import YES
from .group_conversion import TARGETS, converted_groups
from .old_versions import OLD_VERSIONS, converted, tell
from .output import emit_manifests

Raw = dict[str, Any]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    help="Write groups of pods for another scheduler instead: KAI, Kubernetes' own (upstream), Volcano or Kueue.",
)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="The output format."
)
def command(files: tuple[str, ...], target: str | None, output: str) -> int:
    """Convert kueue.x-k8s.io/v1beta1 and v1alpha1 manifests to v1beta2, or groups of pods with --to, and print them.

    FILE is a YAML or JSON manifest, a directory of manifests, or - for standard input. NodeResourceTopologies of
    topology.node.k8s.io/v1alpha1 become v1alpha2. Objects of other kinds and versions are printed unchanged; Lists are
    split into their items, and comments are lost. Clusters serve only the new versions. `closeknit apply` and all
    commands that read manifests convert Kueue's kinds automatically, so use this to update files in a repository, or
    before `kubectl apply`.

    With --to, groups of KAI, Kubernetes (scheduling.k8s.io), Volcano and Grove are written for the named scheduler, and
    their pods get the marks of the new group. What that scheduler cannot say is left out, and listed on standard
    error: the group, the field, the reason.

    \b
      closeknit convert queues.yaml > queues-v1beta2.yaml
      kubectl kustomize overlays/lab | closeknit convert - | kubectl apply -f -
      closeknit convert --to upstream podgroup.yaml pods.yaml
    """
    if files.count(STDIN) > 1:
        raise refuse("standard input can be read only once", "give it once", what=STDIN)
    if target is not None:
        return _convert_groups(files, target, output)
    mistakes, old = Mistakes(), Counter[tuple[str, str]]()
    objects = [one for path in files for one in _converted(path, mistakes, old)]
    mistakes.check()
    emit_manifests(objects, output)
    tell(old, "written")
    if not old:
        click.echo("note: no objects of v1beta1 or v1alpha1 found", err=True)
    return YES


def _convert_groups(files: Sequence[str], target: str, output: str) -> int:
    every = [file for path in files for file in files_of(path)]
    with stdin_kept() if STDIN in every else nullcontext():
        objects = [one for file in every for one in documents(file)]
        emit_manifests(list(converted_groups(objects, target)), output)
    return YES


def _converted(path: str, mistakes: Mistakes, old: Counter[tuple[str, str]]) -> Iterator[Raw]:
    for where, raw in documents(path):
        if raw["apiVersion"] not in OLD_VERSIONS:
            yield raw
            continue
        try:
            yield converted(raw)
        except ValueError as error:
            mistakes.add(Mistake(str(error), "correct it as the API of that version requires", where, identity(raw)))
        old[raw["apiVersion"], str(raw["kind"])] += 1
