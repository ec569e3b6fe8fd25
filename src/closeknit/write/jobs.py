"""Starting and stopping a job: its pod templates with what its workload was assigned, or as they were submitted."""

from __future__ import annotations

from collections.abc import Sequence

from ..cluster.kinds import Kind
from ..cluster.port import Delete, Raw, Update, Write, key_of
from ..dialects.kueue.jobs.injection import Info, StartConflict
from ..dialects.kueue.jobs.integration import Integration
from ..dialects.kueue.jobs.starting import started, stopping


def start(
    kind: Kind, integration: Integration, raw: Raw, infos: Sequence[Info], source: Raw | None
) -> Write | StartConflict:
    body = started(integration, raw, infos, source)
    return body if isinstance(body, StartConflict) else Update(kind, body)


def held(kind: Kind, integration: Integration, raw: Raw) -> Write:
    """Suspend a job and change nothing else: its pod templates belong to the job that owns it."""
    return Update(kind, integration.suspended(raw, True))


def stop(kind: Kind, integration: Integration, raw: Raw, workload: Raw | None, source: Raw | None) -> Write | None:
    """The next write needed to stop a job; None if it is stopped."""
    step = stopping(integration, raw, workload, source)
    if step is None:
        return None
    if step.deletes:
        return Delete(key_of(kind, raw), raw["metadata"]["uid"])
    return Update(kind, step.body, step.subresource)
