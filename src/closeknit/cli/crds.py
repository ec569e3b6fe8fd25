"""`closeknit crds`: print the CustomResourceDefinitions of Kueue's kinds, for clusters without Kueue."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..cluster.kinds import Kind
from ..deploy.crds import DEFINED, definition
from ..model.mistake import refuse
from ..model.nearest import did_you_mean
from .exit_codes import YES
from .output import emit_manifests


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="The output format."
)
def command(names: tuple[str, ...], output: str) -> int:
    """Print the CustomResourceDefinitions of kueue.x-k8s.io and closeknit.dev.

    Those of Kueue serve v1beta2. All include defaults and validation rules. NAME is a kind, its plural or its short
    name; without NAME, all are printed. A cluster with Kueue already has Kueue's definitions: keep those.

    \b
      closeknit crds | kubectl apply --server-side -f -
      closeknit crds clusterqueue -o json
    """
    emit_manifests([definition(kind) for kind in _kinds(names)], output)
    return YES


def _kinds(names: Sequence[str]) -> Sequence[Kind]:
    if not names:
        return DEFINED
    known = {word: kind for kind in DEFINED for word in (kind.singular, kind.plural, kind.resource, *kind.short)}
    for name in names:
        if name.lower() not in known:
            remedy = f"{did_you_mean(name, known)}use one of: {', '.join(kind.plural for kind in DEFINED)}"
            raise refuse("is not a kind that Closeknit defines", remedy, what=name)
    return list(dict.fromkeys(known[name.lower()] for name in names))
