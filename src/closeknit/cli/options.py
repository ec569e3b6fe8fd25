"""The options for feature gates, which many commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..model.gates import PROFILES, Gates, parse_changes

F = TypeVar("F", bound=Callable[..., Any])

GATES = (
    click.option(
        "--feature-gates",
        metavar="NAME=BOOL,...",
        default="",
        help="Enable or disable feature gates; `closeknit gates` lists them.",
    ),
    click.option(
        "--profile",
        type=click.Choice(PROFILES),
        default=PROFILES[0],
        show_default=True,
        help="kueue: decide as Kueue does, with all of Closeknit's own gates off; kueue-0.14: as that version did.",
    ),
)


def gate_options(command: F) -> F:
    """Add both options; `gates_of` takes them as keyword arguments."""
    for option in reversed(GATES):
        command = option(command)
    return command


def gates_of(feature_gates: str = "", profile: str = PROFILES[0], config: str | None = None, **_: Any) -> Gates:
    """The enabled gates; those of the command line override the file of --config. Other options are ignored."""
    if config is None:
        return Gates.profile(profile, parse_changes(feature_gates))
    from .configuration import configured
    from .rules import is_given

    return configured(config).gates(profile if is_given("profile") else "", parse_changes(feature_gates))
