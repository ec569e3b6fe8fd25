"""`closeknit demo`: a guided tour of the commands on the sample data centre that comes with the package."""

from __future__ import annotations

import shlex
import sys
from importlib.resources import as_file, files
from pathlib import Path

import click

from .escaped_stream import unescaped
from .main import cli
from .options import gate_options

STEPS = (
    (
        "A data centre of 128 GPU nodes, just over half in use. Node labels reveal its levels.",
        "topology suggest --nodes datacentre.yaml",
    ),
    ("How much is free, and where? The bars count GPUs.", "tree --nodes datacentre.yaml --level rack {levels}"),
    (
        "A job's 24 pods must share one rack. Where would they go?",
        "place train.yaml --nodes datacentre.yaml {levels}",
    ),
    (
        "The same plan as a hostfile for mpirun. Neighbouring ranks are placed next to each other.",
        "place train.yaml --nodes datacentre.yaml {levels} -o hostfile",
    ),
    (
        "Slices: 32 pods in one block if possible, each slice of eight on one host.",
        "place sliced.yaml --nodes datacentre.yaml {levels}",
    ),
    ("48 pods do not fit into one rack.", "place pretrain.yaml --nodes datacentre.yaml {levels}"),
    ("Why, and what would help?", "explain pretrain.yaml --nodes datacentre.yaml {levels}"),
    ("Validate manifests before placing anything.", "check train.yaml sliced.yaml pretrain.yaml"),
    ("A cluster with queues: which queue uses how much, and which one borrows?", "queue --cluster cluster"),
    (
        "An urgent job needs 16 pods in one rack. Where would it be admitted, and what would it preempt?",
        "what-if --cluster cluster urgent.yaml",
    ),
)
LEVELS = "--levels cloud.provider.com/topology-block,cloud.provider.com/topology-rack,kubernetes.io/hostname"


@click.command()
@click.option("--pause/--no-pause", default=None, help="Wait for Enter between steps; default: only on a terminal.")
@click.option("--step", type=click.IntRange(1, len(STEPS)), help="Show only this step.")
@gate_options
def command(pause: bool | None, step: int | None, feature_gates: str, profile: str) -> None:
    """Take a guided tour on a sample data centre.

    Runs a series of closeknit commands on sample files and shows their output. Nothing is written.

    \b
      closeknit demo
      closeknit demo --step 3
    """
    gates = ["--profile", profile, "--feature-gates", feature_gates]
    waits = sys.stdin.isatty() and sys.stdout.isatty() if pause is None else pause
    with as_file(files("closeknit") / "samples") as folder:
        for number, (text, line) in enumerate(STEPS, start=1):
            if step in (None, number):
                _show(number, text, line.replace("{levels}", LEVELS), folder, gates)
                if waits and step is None and number < len(STEPS) and not _goes_on():
                    break
        if step is None:
            click.echo(_farewell(folder))


def _show(number: int, text: str, line: str, folder: Path, gates: list[str]) -> None:
    out = unescaped(sys.stdout)
    click.secho(f"\n[{number}/{len(STEPS)}] {text}", out, color=out.isatty(), bold=True)
    click.secho(f"$ closeknit {line.replace(LEVELS, '--levels …')}", out, color=out.isatty(), fg="cyan")
    words = [str(folder / word) if (folder / word).exists() else word for word in shlex.split(line)]
    cli.main([*words, *gates], prog_name="closeknit", standalone_mode=False)


def _goes_on() -> bool:
    """Wait for Enter; q, Ctrl-C or end of input ends the tour."""
    try:
        return not input(click.style("\n-- Enter for the next step, q to end --\n", dim=True)).lower().startswith("q")
    except (EOFError, KeyboardInterrupt):
        click.echo()
        return False


def _farewell(folder: Path) -> str:
    return f"""
End of the tour. The sample files are in {folder}: copy and edit them. To try it with your own cluster:

  kubectl get nodes -o json > nodes.json
  kubectl get pods -A -o json > pods.json
  closeknit tree --nodes nodes.json --pods pods.json
  closeknit place YOUR-JOB.yaml --nodes nodes.json --pods pods.json

`closeknit --help` lists the commands; `closeknit COMMAND --help` has examples."""
