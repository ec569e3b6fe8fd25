"""What all kinds with `suspend` have in common: they are suspended at creation, and validated alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...cluster.embedded.rules.settings import Settings
from ...cluster.kinds import Kind
from ...dialects.kueue.jobs.roles import Rules
from . import standing, topology
from .cel import all_of, at
from .conditions import is_held, judged, own
from .marking import NOTHING, only_if, put_all, within
from .policy import CREATE, UPDATE, Check, Mutating, Validating


def suspended(path: str) -> str:
    return f"{at(path, 'false')} == true"


def suspending(settings: Settings, kind: Kind, path: str, unless: str = "false", more: str = NOTHING) -> Mutating:
    """The policy that suspends a kind; `more` are additional patches, applied whether it is suspended or not."""
    steps = tuple(path.split("."))
    ready = all_of(is_held(settings), f"!({suspended(path)})", f"!({unless})", within(steps[:1]))
    patches = only_if(ready, put_all(steps[:-1], {steps[-1]: "true"}))
    patches = patches if more == NOTHING else f"{patches} + {more}"
    return Mutating(kind.plural, [kind], conditions=own(settings), patches=patches)


def judging(
    settings: Settings,
    kind: Kind,
    running: str,
    rules: Rules = Rules.NONE,
    sets: str = "",
    more: Sequence[Check] = (),
    variables: Mapping[str, str] | None = None,
    unbounded: str = "false",
) -> Validating:
    """The policy that validates a kind; `sets` are its pod sets, for the topology rules, empty if it has none."""
    topological = topology.checks(settings.gates, rules, unbounded) if sets else []
    needed = topology.variables(sets, rules) if topological else {}
    return Validating(
        kind.plural,
        [kind],
        (CREATE, UPDATE),
        judged(settings),
        {**(variables or {}), **needed},
        checks=[*standing.checks(kind, running), *topological, *more],
    )
