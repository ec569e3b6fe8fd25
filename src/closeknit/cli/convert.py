"""`closeknit convert`: convert Kueue manifests from v1beta1 and v1alpha1 to v1beta2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from ..cluster.files import STDIN, documents, identity
from ..cluster.mistakes import Mistakes
from ..dialects.kueue.objects import to_v1beta2
from ..dialects.kueue.objects.versions import OLD_VERSIONS
from ..model.mistake import Mistake, refuse
from .exit_codes import YES
from .old_versions import tell
from .output import emit_manifests

Raw = dict[str, Any]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="The output format."
)
def command(files: tuple[str, ...], output: str) -> int:
    """Convert kueue.x-k8s.io/v1beta1 and v1alpha1 manifests to v1beta2, and print them.

    FILE is a YAML or JSON manifest, a directory of manifests, or - for standard input. Objects of other kinds and
    versions are printed unchanged; Lists are split into their items, and comments are lost. Clusters serve only
    v1beta2. `closeknit apply` and all commands that read manifests convert automatically, so use this to update files
    in a repository, or before `kubectl apply`.

    \b
      closeknit convert queues.yaml > queues-v1beta2.yaml
      kubectl kustomize overlays/lab | closeknit convert - | kubectl apply -f -
    """
    if files.count(STDIN) > 1:
        raise refuse("standard input can be read only once", "give it once", what=STDIN)
    mistakes, old = Mistakes(), Counter[tuple[str, str]]()
    objects = [one for path in files for one in _converted(path, mistakes, old)]
    mistakes.check()
    emit_manifests(objects, output)
    tell(old, "written")
    if not old:
        click.echo("note: no objects of v1beta1 or v1alpha1 found", err=True)
    return YES


def _converted(path: str, mistakes: Mistakes, old: Counter[tuple[str, str]]) -> Iterator[Raw]:
    for where, raw in documents(path):
        if raw["apiVersion"] not in OLD_VERSIONS:
            yield raw
            continue
        try:
            yield to_v1beta2(raw)
        except ValueError as error:
            mistakes.add(Mistake(str(error), "correct it as the API of that version requires", where, identity(raw)))
        old[raw["apiVersion"], str(raw["kind"])] += 1
