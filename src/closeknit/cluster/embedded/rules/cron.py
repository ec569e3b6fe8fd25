"""Validation of CronJobs and their schedules.

A schedule is five fields (minute, hour, day, month, day of the week), each a list of numbers, ranges and steps, or one
word such as @hourly. Whether a time matches it is not decided here.
"""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

from ....dialects.field import Field
from .causes import Causes
from .job_checks import check_job_spec
from .names import at_most

WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
POLICIES = ("Allow", "Forbid", "Replace")
NAME = at_most(52)
"""The names of its Jobs are longer by eleven characters."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: tuple[tuple[str, int, int, tuple[str, ...]], ...] = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 6, _DAYS),
)
_DURATION = re.compile(r"@every (?:[0-9]*\.?[0-9]+(?:ns|us|µs|ms|s|m|h))+")


def check_cron_job(job: Field, causes: Causes) -> None:
    spec = job.at("spec")
    if not spec.at("schedule").text():
        causes.required(spec.at("schedule"))
    else:
        wrong = schedule_mistake(spec.at("schedule").text())
        if wrong:
            causes.invalid(spec.at("schedule"), wrong)
    if spec.at("timeZone").given:
        _check_zone(spec.at("timeZone"), causes)
    causes.one_of(spec.at("concurrencyPolicy"), POLICIES)
    for key in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        causes.at_least(spec.at(key), 0)
    template = spec.at("jobTemplate")
    if template.at("spec", "manualSelector").value is True:
        causes.unsupported(template.at("spec", "manualSelector"), ("nil", "false"))
    if template.at("spec", "selector").given:
        causes.invalid(template.at("spec", "selector"), "is generated for each Job; remove it")
    check_job_spec(template.at("spec"), causes)


def schedule_mistake(text: str) -> str:
    """The problem with a schedule; empty if it is valid."""
    text = text.strip()
    if "TZ=" in text:
        return "specify the time zone in `timeZone`"
    if text.startswith("@"):
        return "" if text in WORDS or _DURATION.fullmatch(text) else f"not one of {', '.join(WORDS)} or @every 1h"
    fields = text.split()
    if len(fields) != len(_BOUNDS):
        return f"has {len(fields)} fields instead of {len(_BOUNDS)}"
    for field, (what, least, most, words) in zip(fields, _BOUNDS, strict=True):
        for entry in filter(None, field.split(",")):
            if not _is_entry(entry, least, most, words):
                return (
                    f"{entry!r} is not a {what}: use {least} to {most}, ranges such as {least}-{most}, steps as in */5"
                )
    return ""


def _is_entry(entry: str, least: int, most: int, words: tuple[str, ...]) -> bool:
    span, slash, step = entry.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step[:9]) > 0):
        return False
    if span in ("*", "?"):
        return True
    first, dash, last = span.partition("-")
    ends = [_number(end, least, words) for end in ((first, last) if dash else (first,))]
    numbers = [end for end in ends if end is not None and least <= end <= most]
    return len(numbers) == len(ends) and numbers == sorted(numbers)


def _number(text: str, least: int, words: tuple[str, ...]) -> int | None:
    if text.lower() in words:
        return words.index(text.lower()) + least
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _check_zone(zone: Field, causes: Causes) -> None:
    name = zone.text()
    if not name or name.lower() == "local":
        causes.invalid(zone, "specify a time zone such as Europe/Berlin")
        return
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        causes.invalid(zone, f"unknown time zone {name}")
