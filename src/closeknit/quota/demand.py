"""What a workload needs of quota: per pod set a count and totals, after excluded and transformed resources.

Placement uses the pods' own requests; quota may count something else: GPU memory for GPUs, credits for cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..model.quantity import saturate
from ..model.quota import FlavorResource, plus
from ..model.request import PodSet
from ..model.resources import CPU, Resources, times
from ..model.settings import Settings, Transformation
from ..model.workload import Admission, Status, Workload, WorkloadPodSet

_NANO = 10**9


@dataclass(frozen=True)
class Demand:
    """`count` pods of a pod set; `per_pod` is what quota counts for each."""

    part: WorkloadPodSet
    pod_set: PodSet
    count: int
    per_pod: Resources

    @property
    def name(self) -> str:
        return self.part.name

    @cached_property
    def total(self) -> Resources:
        return times(self.per_pod, self.count)

    def of(self, count: int) -> Demand:
        return self if count == self.count else Demand(self.part, self.pod_set, count, self.per_pod)


def demands(workload: Workload, settings: Settings, reclaim: bool = True) -> tuple[Demand, ...]:
    """One demand per pod set, without pods that are finished."""
    done = workload.status.reclaimable if reclaim else {}
    sets = {one.name: one for one in workload.request.pod_sets}
    return tuple(
        Demand(part, one, max(0, one.count - done.get(one.name, 0)), counted(part.requests, settings))
        for part in workload.parts
        for one in (sets[part.name],)
    )


def counted(requests: Resources, settings: Settings) -> Resources:
    """What quota counts for a pod with these requests."""
    if not settings.exclude_prefixes and not settings.transformations:
        return requests
    left_out = settings.exclude_prefixes
    kept = {name: value for name, value in requests.items() if not (left_out and name.startswith(left_out))}
    by_input = {one.input: one for one in settings.transformations}
    result: dict[str, int] = {}
    derived: dict[str, int] = {}
    for name, value in kept.items():
        rule = by_input.get(name)
        if rule is None or rule.retain:
            result[name] = result.get(name, 0) + value
        if rule is not None:
            for output, amount in _outputs(rule, value, kept).items():
                derived[output] = derived.get(output, 0) + amount
    for name, amount in derived.items():
        result[name] = saturate(result.get(name, 0) + max(0, amount))
    return {name: max(0, value) for name, value in result.items()}


def _outputs(rule: Transformation, value: int, requests: Resources) -> dict[str, int]:
    """Factor times input, each in its own unit: cpu counts in milli-units."""
    factor = requests.get(rule.multiply_by, 1) if rule.multiply_by else 1
    if rule.multiply_by == CPU:
        factor = -(-factor // 1000)
    result = {}
    for output, nanos in rule.outputs.items():
        exact = value * nanos * factor * (1000 if output == CPU else 1)
        result[output] = saturate(-(-exact // (_NANO * (1000 if rule.input == CPU else 1))))
    return result


def held(workload: Workload, admission: Admission, status: Status, reclaim: bool = True) -> dict[FlavorResource, int]:
    """The quota that an admitted workload holds: its stored usage, less what finished pods released."""
    done = status.reclaimable if reclaim else {}
    usage: dict[FlavorResource, int] = {}
    for one in admission.pod_sets:
        pod_set = workload.pod_set(one.name)
        count = one.count
        if pod_set is not None:
            count = min(count, max(0, pod_set.count - done.get(one.name, 0)))
        for resource, amount in one.usage.items():
            flavor = one.flavors.get(resource)
            if flavor is not None:
                scaled = amount if count == one.count else amount // max(1, one.count) * count
                key = FlavorResource(flavor, resource)
                usage[key] = plus(usage.get(key, 0), scaled)
    return usage


def sum_requests(members: Sequence[Demand]) -> dict[str, int]:
    """What the members of a group request together."""
    if len(members) == 1:
        return dict(members[0].total)
    result: dict[str, int] = {}
    for member in members:
        for name, value in member.total.items():
            result[name] = saturate(result.get(name, 0) + value)
    return result
