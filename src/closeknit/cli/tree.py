"""`closeknit tree`: the data centre with free and used room per domain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..model.mistake import refuse
from ..model.nearest import did_you_mean
from ..report.census import Census
from ..report.outline import default_level, outline, outline_json
from ..report.svg import draw
from .inputs import cluster_options, load
from .output import OUTPUT, emit


@click.command()
@cluster_options
@click.option("--level", help="The lowest level to show; default: as low as fits on a screen.")
@click.option("--resource", help="What the bars count; default: accelerators if there are any, else cpu.")
@click.option("--svg", type=click.Path(dir_okay=False), help="Also draw the tree into this SVG file.")
@OUTPUT
def command(level: str | None, resource: str | None, svg: str | None, output: str | None, **cluster: Any) -> None:
    """The data centre with free and used room per domain.

    \b
      closeknit tree --nodes nodes.yaml
      closeknit tree --nodes nodes.yaml --level cloud.provider.com/topology-rack --resource cpu
      closeknit tree --nodes nodes.json --pods pods.json --svg cluster.svg
    """
    loaded = load(**cluster)
    census = Census.of(loaded.snapshot)
    chosen = resource or census.main_resource()
    if chosen not in census.resources:
        raise _unknown("--resource", "resource", chosen, census.resources)
    deepest = _level(level, loaded.topology.levels)
    if svg:
        picture = draw(census, chosen, deepest)
        Path(svg).write_text(picture, encoding="utf-8")
        click.echo(f"wrote {svg}", err=True)
    shown = default_level(census) if deepest is None else deepest
    if output in ("json", "yaml"):
        emit(outline_json(census, loaded.topology.lowest if deepest is None else deepest), output)
        return
    for line in outline(census, shown, chosen, wide=output == "wide"):
        click.echo(line)
    if deepest is None and shown < loaded.topology.lowest:
        below = loaded.topology.levels[shown + 1]
        click.echo(f"--level {below} shows {len(census.nodes[shown + 1])} domains more", err=True)


def _level(key: str | None, levels: tuple[str, ...]) -> int | None:
    """A level by its key, or by the end of it: `rack` for example.com/topology-rack."""
    if key is None:
        return None
    exact = [number for number, level in enumerate(levels) if level == key]
    ending = [number for number, level in enumerate(levels) if level.endswith(("/" + key, "-" + key))]
    found = exact or ending
    if len(found) != 1:
        raise _unknown("--level", "level", key, list(levels))
    return found[0]


def _unknown(option: str, kind: str, given: str, known: list[str]) -> Exception:
    remedy = f"{did_you_mean(given, known)}known: {', '.join(known)}"
    return refuse(f'there is no {kind} "{given}" here', remedy, what=option)
