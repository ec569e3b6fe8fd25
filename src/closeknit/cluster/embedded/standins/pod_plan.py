"""How long a pod starts and runs, and how it ends: what its annotations say, or what is usual for its kind.

The annotations are those of `dialects.own_marks`. Jobs come with few different templates, so what a set of them means
is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from ....dialects.durations import Duration, duration
from ....dialects.own_marks import EXIT_CODE, FAIL_AFTER, RUN_TIME, START_TIME, exit_code
from ...port import Raw
from .children import controller_of
from .settings import Settings

T = TypeVar("T")

FAILURE = 1
"""The exit code of what fails and does not say how."""

SERVICES = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "LeaderWorkerSet", "RayCluster", "MPIJob"})
"""Pods of these run until somebody ends them."""


class Plan(NamedTuple):
    """`wrong` says what could not be read; there the usual holds."""

    start: Duration
    run: Duration
    exit_code: int = 0
    fail_after: Duration | None = None
    wrong: tuple[str, ...] = ()


class Course(NamedTuple):
    """What will become of one pod: after `start` seconds it runs for `run` seconds and ends with `exit_code`.

    None stands for ever: it never starts, or never ends.
    """

    start: float | None
    run: float | None
    exit_code: int


def plan_of(pod: Raw, settings: Settings) -> Plan:
    notes = pod["metadata"].get("annotations") or {}
    return _plan(
        notes.get(START_TIME), notes.get(RUN_TIME), notes.get(EXIT_CODE), notes.get(FAIL_AFTER), serves(pod), settings
    )


def course(plan: Plan, share: float) -> Course:
    """The plan with its draws made; `share` is one between 0 and 1."""
    run = plan.run.drawn(share)
    fails = None if plan.fail_after is None else plan.fail_after.drawn(share)
    start = plan.start.drawn(share)
    if fails is not None and (run is None or fails <= run):
        return Course(start, fails, plan.exit_code or FAILURE)
    return Course(start, run, plan.exit_code)


def is_drawn(plan: Plan) -> bool:
    """Whether anything is left to chance."""
    return bool(plan.start.spread or plan.run.spread or (plan.fail_after and plan.fail_after.spread))


def serves(pod: Raw) -> bool:
    """Whether it is there to stay: restarted always, or kept by a controller of services."""
    if pod["spec"].get("restartPolicy", "Always") == "Always":
        return True
    owner = controller_of(pod)
    return owner is not None and owner["kind"] in SERVICES


@lru_cache(maxsize=1024)
def _plan(
    start: str | None, run: str | None, code: str | None, fails: str | None, stays: bool, settings: Settings
) -> Plan:
    wrong: list[str] = []

    def read(name: str, reader: Callable[[str], T], text: str | None, usual: T) -> T:
        if text is None:
            return usual
        try:
            return reader(text)
        except ValueError as error:
            wrong.append(f"annotation {name}: {error}")
            return usual

    return Plan(
        read(START_TIME, duration, start, Duration(settings.start_time)),
        read(RUN_TIME, duration, run, Duration(None if stays else settings.run_time)),
        read(EXIT_CODE, exit_code, code, 0),
        None if fails is None else read(FAIL_AFTER, duration, fails, Duration(None)),
        tuple(wrong),
    )
