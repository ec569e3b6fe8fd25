"""The page docs/reference/job-kinds.md, which `make deploy` generates from the descriptors of the job kinds."""

from __future__ import annotations

from ..dialects.kueue.jobs.integration import Integration
from ..dialects.kueue.jobs.job_kind import JobKind
from ..dialects.kueue.jobs.kinds import JOB_KINDS
from ..dialects.kueue.jobs.roles import ValidationRules

_HEAD = (
    "# Kinds of jobs",
    "",
    "The kinds of jobs that can be placed, from a file or in a cluster. `make deploy` generates this page from the",
    "descriptors in `src/closeknit/dialects/kueue/jobs/kinds`. `framework` is the name in the configuration; the rules",
    "are those of [topology annotations](where-rules-are-enforced.md#topology-annotations-of-pod-templates). Kinds",
    "marked *files only* can be placed from files; the control plane ignores them.",
    "",
    "| kind | API | framework | held by | rules | |",
    "| --- | --- | --- | --- | --- | --- |",
)
_FIRST = 6
"""Rules 1 to 6 apply to every kind."""


def page() -> str:
    return "\n".join([*_HEAD, *(_row(one) for one in JOB_KINDS), ""])


def _row(one: JobKind) -> str:
    framework = f"`{one.framework}`" if one.framework else ""
    cells = (one.kind, f"`{one.served.api_version}`", framework, _waits(one), _rules(one), one.description)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _waits(one: JobKind) -> str:
    if not one.hosted:
        return "files only"
    if one.held is not None:
        return f"`{one.held.suspend}`"
    if isinstance(one, Integration) or one.framework:
        return "gates on its pods"
    return "its Jobs"


def _rules(one: JobKind) -> str:
    added = {7: ValidationRules.COUNT, 8: ValidationRules.GROUPS, 9: ValidationRules.ELASTIC}
    return ", ".join([f"1–{_FIRST}", *(str(number) for number, rule in added.items() if rule in one.rules)])
