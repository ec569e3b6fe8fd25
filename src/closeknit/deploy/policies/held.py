"""Kinds with `suspend`: they are suspended at creation and validated alike, as their descriptors say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import Kind
from ...dialects.cel import PolicyCheck, all_of, at, given, negated, suspended, text, when
from ...dialects.kueue import keys
from ...dialects.kueue.jobs import marks
from ...dialects.kueue.jobs.job_kind import AdmissionHold, JobKind, Offset
from ...dialects.kueue.jobs.roles import ValidationRules
from . import standing, topology
from .conditions import is_held, judged, own
from .marking import note_on, only_if, put_all, put_on, within
from .policy import CREATE, UPDATE, Mutating, Validating


def suspending(settings: AdmissionSettings, job: JobKind, held: AdmissionHold) -> Mutating:
    """The policy that suspends a kind at creation."""
    steps = tuple(held.suspend.split("."))
    ready = all_of(is_held(settings), f"!({suspended(held.suspend)})", f"!({held.unless})", within(steps[:1]))
    patches = only_if(ready, put_all(steps[:-1], {steps[-1]: "true"}))
    if held.offset is not None and "TopologyAwareScheduling" in settings.gates:
        patches = f"{patches} + {_counted(held.offset)}"
    return Mutating(job.served.plural, [job.served], conditions=own(settings), patches=patches)


def _counted(offset: Offset) -> str:
    """The note that workers count from 1; in a topology group with their leader, they are counted together anyway."""
    worker = tuple(offset.worker.split("."))
    grouped = f"{text(keys.GROUP)} in {at(f'{offset.leader}.template.metadata.annotations', '{}')}"
    works = f"{at(offset.works, 'false')} == true"
    ready = all_of(works, given(offset.leader), within(worker), f"!({grouped})")
    return only_if(ready, put_on(worker, notes=[note_on(worker, marks.INDEX_OFFSET, text("1"))]))


def judging_suspended(settings: AdmissionSettings, job: JobKind, held: AdmissionHold) -> Validating:
    waits = is_held(settings)
    if held.unless != "false":
        waits = all_of(waits, negated(held.unless))
    guarded = [
        PolicyCheck(when("variables.held", one.ok), one.field, one.text, one.computed) for one in held.checks_when_held
    ]
    return judging(
        settings,
        job.served,
        negated(suspended(held.suspend)),
        job.rules,
        held.sets,
        [*held.checks, *guarded],
        {**({"held": waits} if guarded else {}), **held.variables},
        held.unbounded,
    )


def judging(
    settings: AdmissionSettings,
    kind: Kind,
    running: str,
    rules: ValidationRules = ValidationRules.NONE,
    sets: str = "",
    more: Sequence[PolicyCheck] = (),
    variables: Mapping[str, str] | None = None,
    unbounded: str = "false",
) -> Validating:
    """The policy that validates a kind; `sets` are its pod sets, for the topology rules, empty if it has none."""
    topological = topology.checks(settings.gates, rules, unbounded) if sets else []
    needed = topology.variables(sets, rules, settings.gates) if topological else {}
    return Validating(
        kind.plural,
        [kind],
        (CREATE, UPDATE),
        judged(settings),
        {**(variables or {}), **needed},
        checks=[*standing.checks(kind, running), *topological, *more],
    )
