"""Start and stop a job of any kind: set its templates, counts and suspend flag in as few writes as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .injection import Info, StartConflict, injected, restored
from .integration import Integration, JobWrite
from .raw import Raw, items, mapping


def started(
    integration: Integration, raw: Raw, infos: Sequence[Info], source: Raw | None = None
) -> Raw | StartConflict:
    """The unsuspended job with what its pod sets get. Infos and pod sets are matched by position."""
    sets = integration.pod_sets(raw, source)
    if len(sets) != len(infos):
        return StartConflict(f"invalid podset infos: expecting {len(sets)} podset, got {len(infos)}")
    notes = integration.notes(raw)
    full = [_with_notes(info, notes.get(one.name, {})) for one, info in zip(sets, infos, strict=True)]
    if integration.start is not None:
        return integration.start(raw, sets, full)
    templates = {}
    for one, info in zip(sets, full, strict=True):
        template = injected(one.template, info)
        if isinstance(template, StartConflict):
            return template
        templates[one.name] = template
    counts = {one.name: info.count for one, info in zip(sets, full, strict=True)}
    return integration.suspended(integration.with_templates(raw, templates, counts), False)


def stopping(integration: Integration, raw: Raw, workload: Raw | None, source: Raw | None = None) -> JobWrite | None:
    """The next write that suspends the job and restores it as submitted; None when both is done.

    Without a Workload the original is unknown, so the job is only suspended.
    """

    def restore(raw: Raw) -> Raw:
        return raw if workload is None else as_submitted(integration, raw, workload, source)

    if integration.stop is not None:
        return integration.stop(raw, restore)
    return None if integration.is_suspended(raw) else JobWrite(integration.suspended(restore(raw), True))


def as_submitted(integration: Integration, raw: Raw, workload: Raw, source: Raw | None = None) -> Raw:
    """The job with the templates and counts of its Workload, matched by position."""
    if integration.restore is not None:
        return integration.restore(raw)
    sets = integration.pod_sets(raw, source)
    originals = items(workload, "spec", "podSets")
    pairs = list(zip(sets, originals, strict=False))
    templates = {one.name: restored(one.template, mapping(original, "template")) for one, original in pairs}
    counts = {one.name: original.get("count", 1) for one, original in pairs}
    return integration.with_templates(raw, templates, counts)


def _with_notes(info: Info, notes: dict[str, str]) -> Info:
    return replace(info, annotations={**info.annotations, **notes}) if notes else info
