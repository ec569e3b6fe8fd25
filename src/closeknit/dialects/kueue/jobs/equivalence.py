"""Whether a job still matches its Workload.

It compares the owner, the maximum execution time, and for each pod set, by position, the count, the minimum count, the
containers, and, until the workload is admitted, the tolerations. It ignores names, selectors, affinity, labels,
annotations and topology: a change to those alone keeps the Workload.

Starting a job changes its templates, so a job with quota is compared with the Workload after the same changes; if it is
suspended, it may also match the Workload as submitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ....model.shape import whole_number
from .. import keys
from .injection import Info, injected
from .integration import Integration, PodSetForm
from .raw import Raw, at, condition, items, mapping
from .workload_object import with_last_values


def is_same(
    raw: Raw,
    integration: Integration,
    workload: Raw,
    infos: Sequence[Info] | None = None,
    source: Raw | None = None,
    partial: bool = True,
) -> bool:
    """Whether the job matches. `infos` is what the pod sets of a Workload with quota get; None without quota.

    `partial`: whether partial admission is enabled; otherwise Workloads have no minimum counts.
    """
    if not owns(raw, workload):
        return False
    if at(workload, "spec", "maximumExecutionTimeSeconds") != _max_seconds(raw):
        return False
    sets = integration.pod_sets(raw, source)
    if not partial:
        sets = tuple(replace(one, least=None) for one in sets)
    return same_sets(sets, workload, infos, integration.is_suspended(raw))


def _max_seconds(raw: Raw) -> int | None:
    return whole_number(str(at(raw, "metadata", "labels", keys.MAX_SECONDS) or ""))


def same_sets(sets: Sequence[PodSetForm], workload: Raw, infos: Sequence[Info] | None, suspended: bool) -> bool:
    submitted = items(workload, "spec", "podSets")
    tolerant = condition(workload, "Admitted") is not None
    if infos is not None and _all_same(sets, running(submitted, infos), tolerant):
        return True
    return (infos is None or suspended) and _all_same(sets, submitted, tolerant)


def owns(raw: Raw, workload: Raw) -> bool:
    """Whether this object owns the Workload, by name and uid."""
    named = at(raw, "metadata", "name"), at(raw, "metadata", "uid") or ""
    return any(
        (one.get("name"), one.get("uid")) == named and one.get("kind") == raw.get("kind")
        for one in items(workload, "metadata", "ownerReferences")
    )


def running(submitted: Sequence[Raw], infos: Sequence[Info]) -> list[Raw]:
    """The pod sets of a Workload as injected into the running job, with the admitted counts where they may be lower."""
    found = []
    for one, info in zip(submitted, infos, strict=False):
        template = injected(mapping(one, "template"), info)
        count = info.count if one.get("minCount") is not None else one.get("count", 1)
        found.append({**one, "count": count, "template": template if isinstance(template, dict) else one["template"]})
    return found


def _all_same(sets: Sequence[PodSetForm], wanted: Sequence[Raw], tolerant: bool) -> bool:
    if len(sets) != len(wanted):
        return False
    return all(_is_same(one, other, tolerant) for one, other in zip(sets, wanted, strict=True))


def _is_same(one: PodSetForm, other: Raw, tolerant: bool) -> bool:
    if one.count != other.get("count", 1) or one.least != other.get("minCount"):
        return False
    ours, theirs = mapping(with_last_values(one.template), "spec"), mapping(other, "template", "spec")
    compared = ("containers", "initContainers") if tolerant else ("containers", "initContainers", "tolerations")
    return all(items(ours, key) == items(theirs, key) for key in compared)
