"""Output for machines: one place that writes JSON and YAML."""

from __future__ import annotations

import json
from typing import Any

import click

OUTPUT = click.option(
    "-o", "--output", type=click.Choice(["json", "yaml", "wide"]), help="For machines: json or yaml; wide: more columns."
)


def emit(value: Any, form: str) -> None:
    """Write a plain value as JSON or YAML."""
    if form == "json":
        click.echo(json.dumps(value, indent=2))
        return
    import yaml

    click.echo(yaml.safe_dump(value, sort_keys=False, default_flow_style=False), nl=False)
