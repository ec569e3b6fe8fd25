"""Validation of a job's queueing labels and annotations, and which of them may change when.

`running` is an expression: whether the job has been started. Starting a job does not change its queue or class, so the
write that starts it passes.
"""

from __future__ import annotations

from ...cluster.kinds import Kind
from ...dialects.cel import (
    IS_UPDATE,
    PolicyCheck,
    all_of,
    any_of,
    has_label,
    has_note,
    is_count,
    is_name,
    label,
    negated,
    note,
    when,
)
from ...dialects.kueue import keys
from ...dialects.kueue.jobs.kinds import LIVE

RUNS = "cannot be changed while the job runs; stop the job first"


def field_of(key: str, part: str = "labels") -> str:
    return f"metadata.{part}[{key}]"


def checks(kind: Kind, running: str) -> list[PolicyCheck]:
    """The checks of a kind that is suspended or gated."""
    return [*_names(), *_changes(running), *_elastic(kind)]


def serving_checks(kind: Kind, running: str) -> list[PolicyCheck]:
    """The checks of a kind that waits by its pods: its queue cannot be removed."""
    removed = all_of(IS_UPDATE, f'{label(keys.QUEUE, "oldObject")} != ""', f'{label(keys.QUEUE)} == ""')
    kept = PolicyCheck(negated(removed), field_of(keys.QUEUE), "cannot be removed; name another queue")
    return [_queue(), *_changes(running), kept, *_elastic(kind)]


def _queue() -> PolicyCheck:
    name = label(keys.QUEUE)
    message = "is not the name of a queue; use lower-case letters, digits, dashes and dots"
    return PolicyCheck(any_of(f'{name} == ""', is_name(name)), field_of(keys.QUEUE), message)


def _names() -> list[PolicyCheck]:
    seconds = label(keys.MAX_SECONDS)
    message = "is not the name of a Workload; use lower-case letters, digits, dashes and dots"
    by_note, by_label = note(keys.PREBUILT), label(keys.PREBUILT)
    return [
        _queue(),
        PolicyCheck(
            when(has_label(keys.MAX_SECONDS), is_count(seconds)),
            field_of(keys.MAX_SECONDS),
            "must be a whole number of seconds above 0, in quotes",
        ),
        PolicyCheck(any_of(f'{by_note} == ""', is_name(by_note)), field_of(keys.PREBUILT, "annotations"), message),
        PolicyCheck(
            any_of(has_note(keys.PREBUILT), f'{by_label} == ""', is_name(by_label)), field_of(keys.PREBUILT), message
        ),
    ]


def _changes(running: str) -> list[PolicyCheck]:
    return [
        *(_frozen(key, running) for key in (keys.QUEUE, keys.PREBUILT, keys.MAX_SECONDS)),
        PolicyCheck(
            when(
                all_of(IS_UPDATE, f'{label(keys.PRIORITY_CLASS, "oldObject")} != ""'),
                f'{label(keys.PRIORITY_CLASS)} != ""',
            ),
            field_of(keys.PRIORITY_CLASS),
            "cannot be removed; name another class",
        ),
        PolicyCheck(
            when(
                all_of(IS_UPDATE, running, f'{label(keys.PRIORITY_CLASS, "oldObject")} == ""'),
                f'{label(keys.PRIORITY_CLASS)} == ""',
            ),
            field_of(keys.PRIORITY_CLASS),
            "cannot be added to a running job; stop the job first",
        ),
    ]


def _frozen(key: str, running: str) -> PolicyCheck:
    same = f"{label(key)} == {label(key, 'oldObject')}"
    return PolicyCheck(when(all_of(IS_UPDATE, running), same), field_of(key), RUNS)


def _elastic(kind: Kind) -> list[PolicyCheck]:
    field, is_elastic = field_of(keys.ELASTIC, "annotations"), f'{note(keys.ELASTIC)} == "true"'
    was = f'{note(keys.ELASTIC, "oldObject")} == "true"'
    message = "cannot be changed; delete the job and create it again"
    found = [PolicyCheck(when(IS_UPDATE, f"({is_elastic}) == ({was})"), field, message)]
    known = LIVE.get((kind.group, kind.kind))
    if known is None or not known.may_be_elastic:
        found.append(PolicyCheck(negated(is_elastic), field, f"{kind.with_article} cannot be elastic; remove it"))
    return found
