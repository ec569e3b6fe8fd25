"""`closeknit convert`: manifests of Kueue's v1beta1 as v1beta2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from ..cluster.files import STDIN, documents, identity
from ..cluster.mistakes import Mistakes
from ..dialects.kueue.objects import to_v1beta2
from ..dialects.kueue.objects.versions import V1BETA1
from ..model.mistake import Mistake, refuse
from .exit_codes import YES
from .old_versions import tell
from .output import emit_manifests

Raw = dict[str, Any]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="The form; yaml unless given."
)
def command(files: tuple[str, ...], output: str) -> int:
    """Print manifests of kueue.x-k8s.io/v1beta1 as v1beta2.

    FILE is a YAML or JSON manifest, a directory of them, or - for standard input. Objects of other kinds and versions
    pass as they are; lists are taken apart, and comments are lost. Clusters serve v1beta2 alone; `closeknit apply` and
    all commands that read manifests convert by themselves, so this is for files that are kept, and for kubectl.

    \b
      closeknit convert queues.yaml > queues-v1beta2.yaml
      kubectl kustomize overlays/lab | closeknit convert - | kubectl apply -f -
    """
    if files.count(STDIN) > 1:
        raise refuse("standard input can be read only once", "give it once", what=STDIN)
    mistakes, old = Mistakes(), Counter[str]()
    objects = [one for path in files for one in _converted(path, mistakes, old)]
    mistakes.check()
    emit_manifests(objects, output)
    tell(old, "written")
    if not old:
        click.echo("note: nothing was of v1beta1", err=True)
    return YES


def _converted(path: str, mistakes: Mistakes, old: Counter[str]) -> Iterator[Raw]:
    for where, raw in documents(path):
        if raw["apiVersion"] != V1BETA1:
            yield raw
            continue
        try:
            yield to_v1beta2(raw)
        except ValueError as error:
            mistakes.add(Mistake(str(error), "write it as the API has it", where, identity(raw)))
        old[str(raw["kind"])] += 1
