"""`closeknit gates`: the table of feature gates."""

from __future__ import annotations

import click

from ..model.gates import KUEUE_GATES, OUR_GATES
from .output import OUTPUT, emit


@click.command()
@OUTPUT
def command(output: str | None) -> None:
    """The feature gates, their defaults and what they do.

    Gates of Kueue keep its names and defaults. Gates of ours are all off in `--profile kueue`.
    """
    gates = [
        {"name": gate.name, "default": gate.default, "owner": owner, "effect": gate.effect}
        for owner, table in (("closeknit", OUR_GATES), ("kueue", KUEUE_GATES))
        for gate in table
    ]
    if output in ("json", "yaml"):
        emit(gates, output)
        return
    width = max(len(str(gate["name"])) for gate in gates)
    click.echo(f"{'GATE':<{width}}  DEFAULT  OWNER      EFFECT")
    for gate in gates:
        state = "on" if gate["default"] else "off"
        click.echo(f"{gate['name']:<{width}}  {state:<7}  {gate['owner']:<9}  {gate['effect']}")
