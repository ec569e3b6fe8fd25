"""How long a pod starts and runs, and how it ends: by its annotations, or else the default for its kind.

The annotations are those of `dialects.own_marks`. There are few distinct templates, so the result is cached.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from ....dialects.durations import Duration, duration
from ....dialects.own_marks import EXIT_CODE, FAIL_AFTER, RUN_TIME, START_TIME, exit_code
from ...port import Raw
from .children import controller_of
from .settings import StandinSettings

T = TypeVar("T")

FAILURE = 1
"""The exit code of a failure without an exit code of its own."""

SERVICES = frozenset({"ReplicaSet", "StatefulSet", "DaemonSet", "LeaderWorkerSet", "RayCluster", "MPIJob"})
"""Pods of these kinds run until they are deleted."""


class PodPlan(NamedTuple):
    """`wrong` reports annotations that cannot be parsed; defaults replace them."""

    start: Duration
    run: Duration
    exit_code: int = 0
    fail_after: Duration | None = None
    wrong: tuple[str, ...] = ()


class Course(NamedTuple):
    """The course of one pod: after `start` seconds it runs for `run` seconds and ends with `exit_code`.

    None means that it never starts, or never ends.
    """

    start: float | None
    run: float | None
    exit_code: int


def plan_of(pod: Raw, settings: StandinSettings) -> PodPlan:
    notes = pod["metadata"].get("annotations") or {}
    return _plan(
        notes.get(START_TIME), notes.get(RUN_TIME), notes.get(EXIT_CODE), notes.get(FAIL_AFTER), serves(pod), settings
    )


def course(plan: PodPlan, share: float) -> Course:
    """The plan with its random durations drawn; `share` is a number between 0 and 1."""
    run = plan.run.drawn(share)
    fails = None if plan.fail_after is None else plan.fail_after.drawn(share)
    start = plan.start.drawn(share)
    if fails is not None and (run is None or fails <= run):
        return Course(start, fails, plan.exit_code or FAILURE)
    return Course(start, run, plan.exit_code)


def is_drawn(plan: PodPlan) -> bool:
    """Whether any duration is random."""
    return bool(plan.start.spread or plan.run.spread or (plan.fail_after and plan.fail_after.spread))


def serves(pod: Raw) -> bool:
    """Whether the pod runs until it is deleted: it is always restarted, or controlled by a serving kind."""
    if pod["spec"].get("restartPolicy", "Always") == "Always":
        return True
    owner = controller_of(pod)
    return owner is not None and owner["kind"] in SERVICES


@lru_cache(maxsize=1024)
def _plan(
    start: str | None, run: str | None, code: str | None, fails: str | None, stays: bool, settings: StandinSettings
) -> PodPlan:
    wrong: list[str] = []

    def read(name: str, reader: Callable[[str], T], text: str | None, usual: T) -> T:
        if text is None:
            return usual
        try:
            return reader(text)
        except ValueError as error:
            wrong.append(f"annotation {name}: {error}")
            return usual

    return PodPlan(
        read(START_TIME, duration, start, Duration(settings.start_time)),
        read(RUN_TIME, duration, run, Duration(None if stays else settings.run_time)),
        read(EXIT_CODE, exit_code, code, 0),
        None if fails is None else read(FAIL_AFTER, duration, fails, Duration(None)),
        tuple(wrong),
    )
