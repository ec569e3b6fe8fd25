"""Options that every command takes: which feature gates are on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..model.gates import PROFILES, Gates, parse_changes

F = TypeVar("F", bound=Callable[..., Any])

GATES = (
    click.option("--feature-gates", metavar="NAME=BOOL,...", default="", help="Switch gates; see `closeknit gates`."),
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        default=PROFILES[0],
        show_default=True,
        help="kueue: what Kueue does, without our gates.",
    ),
)


def gate_options(command: F) -> F:
    """Adds both, as keyword arguments that `gates_of` takes."""
    for option in reversed(GATES):
        command = option(command)
    return command


def gates_of(feature_gates: str = "", profile: str = PROFILES[0], **_: Any) -> Gates:
    """The gates that are on; options of other kinds may come along."""
    return Gates.profile(profile, parse_changes(feature_gates))
