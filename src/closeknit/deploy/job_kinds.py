"""The kinds of jobs, for people: docs/reference/job-kinds.md, made from their descriptors by `make deploy`."""

from __future__ import annotations

from ..dialects.kueue.jobs.integration import Integration
from ..dialects.kueue.jobs.job_kind import JobKind
from ..dialects.kueue.jobs.kinds import JOB_KINDS
from ..dialects.kueue.jobs.roles import Rules

_HEAD = (
    "# Kinds of jobs",
    "",
    "What can be placed, from a file or in a cluster. Made by `make deploy` from the descriptors in",
    "`src/closeknit/dialects/kueue/jobs/kinds`. `framework` is the name in the configuration; the rules are those of",
    "[topology annotations](where-rules-are-enforced.md#topology-annotations-of-pod-templates). A kind that is only",
    "placed is read from files, and the control plane leaves it alone.",
    "",
    "| kind | API | framework | how it waits | rules | |",
    "| --- | --- | --- | --- | --- | --- |",
)
_FIRST = 6
"""Rules 1 to 6 are run by all."""


def page() -> str:
    return "\n".join([*_HEAD, *(_row(one) for one in JOB_KINDS), ""])


def _row(one: JobKind) -> str:
    framework = f"`{one.framework}`" if one.framework else ""
    cells = (one.kind, f"`{one.served.api_version}`", framework, _waits(one), _rules(one), one.says)
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def _waits(one: JobKind) -> str:
    if not one.hosted:
        return "is only placed"
    if one.held is not None:
        return f"`{one.held.suspend}`"
    if isinstance(one, Integration) or one.framework:
        return "pods behind gates"
    return "by what it makes"


def _rules(one: JobKind) -> str:
    added = {7: Rules.COUNT, 8: Rules.GROUPS, 9: Rules.ELASTIC}
    return ", ".join([f"1–{_FIRST}", *(str(number) for number, rule in added.items() if rule in one.rules)])
