"""Output for machines: one place that writes JSON and YAML."""

from __future__ import annotations

from typing import Any

import click
import msgspec

OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml", "wide"]),
    help="For machines: json or yaml; wide: more columns.",
)


def emit(value: Any, form: str) -> None:
    """Write a plain value as JSON or YAML."""
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
        return
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    click.echo(yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False), nl=False)
