"""All jobs of the corpus."""

from __future__ import annotations

from dataclasses import replace

from corpus import annotation_faults, changed_jobs, held_jobs, wrong_jobs
from corpus.job_case import JobCase

PARTS = (
    held_jobs.holding,
    held_jobs.serving,
    held_jobs.lone_pods,
    wrong_jobs.names,
    wrong_jobs.levels,
    wrong_jobs.slices,
    wrong_jobs.groups,
    wrong_jobs.partial,
    wrong_jobs.ray,
    wrong_jobs.spark,
    annotation_faults.cases,
    changed_jobs.standing,
    changed_jobs.changes,
    changed_jobs.sets,
    changed_jobs.children,
)


def cases() -> list[JobCase]:
    """With the kind in front, so that every title is there once."""
    found = [replace(one, title=f"{one.kind.kind}: {one.title}") for part in PARTS for one in part()]
    titles = [one.title for one in found]
    assert len(set(titles)) == len(titles), sorted(one for one in titles if titles.count(one) > 1)
    return found
