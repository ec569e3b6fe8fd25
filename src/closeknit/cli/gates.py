"""`closeknit gates`: list the feature gates."""

from __future__ import annotations

import click

from ..model.gates import KUEUE_GATES, OUR_GATES
from .options import gate_options, gates_of
from .output import OUTPUT, emit


@click.command()
@gate_options
@OUTPUT
def command(feature_gates: str, profile: str, output: str | None) -> None:
    """List the feature gates, their defaults and effects.

    Kueue's gates keep Kueue's names and defaults. Closeknit's own gates are all off in `--profile kueue`. NOW shows
    the result of --profile and --feature-gates.

    \b
      closeknit gates
      closeknit gates --profile kueue -o json
      closeknit gates --feature-gates TASBalancedPlacement=true
    """
    on = gates_of(feature_gates, profile)
    gates = [
        {"name": gate.name, "default": gate.default, "on": gate.name in on, "owner": owner, "effect": gate.effect}
        for owner, table in (("closeknit", OUR_GATES), ("kueue", KUEUE_GATES))
        for gate in table
    ]
    if output in ("json", "yaml"):
        emit(gates, output)
        return
    width = max(len(str(gate["name"])) for gate in gates)
    click.echo(f"{'GATE':<{width}}  DEFAULT  NOW  OWNER      EFFECT")
    for gate in gates:
        default, now = ("on" if gate[key] else "off" for key in ("default", "on"))
        click.echo(f"{gate['name']:<{width}}  {default:<7}  {now:<3}  {gate['owner']:<9}  {gate['effect']}")
