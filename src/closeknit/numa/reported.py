"""A kubelet's admission as its node's report lets us know it.

A NodeResourceTopology tells how much each zone has and how much of it is free, not which CPUs these are, nor which
zones share memory. The lowest CPUs of a zone count as reserved, those above as taken, and cores as having one thread.
What decides and is not reported is named in `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..model.numa import NodeZones
from ..model.resources import CPU
from .admission import NodeAdmission
from .demand import PodDemand
from .layout import CLOSEST, MOST_ZONES, POD_LEVEL, STATIC, KubeletRules
from .resource_kinds import is_affine, is_native
from .zone_state import kubelet_of, state_of_report

BY_CPU_ID = {
    "full-pcpus-only": "which CPUs share a core",
    "align-by-socket": "which zones share a socket",
    "distribute-cpus-across-numa": "how CPUs of several zones are divided",
    "prefer-align-cpus-by-uncorecache": "which CPUs share a cache",
}
"""Options of the CPU manager that go by more than counts, and what they go by."""


def reported_admission(node: NodeZones, rules: KubeletRules = STATIC) -> NodeAdmission:
    """The kubelet of a node, with everything taken that its report says is taken."""
    return kubelet_of(state_of_report(node, rules))


def unknown(node: NodeZones, rules: KubeletRules = STATIC, demand: PodDemand | None = None) -> list[str]:
    """What may decide about this node's admissions, of pods of a demand, and is not in its report."""
    found = []
    if demand is not None and demand.pod_level is not None:
        managed = rules.option(node, POD_LEVEL)
        found += [f"whether {POD_LEVEL} is on"] if managed is None else []
        found += ["how containers share what the pod has"] if managed == "true" else []
    if node.manager.policy != "none" and rules.option(node, CLOSEST) is None and len(node.zones) > 2:
        found.append(f"whether {CLOSEST} is on")
    if rules.pins_memory and any(
        one.available < one.allocatable
        for zone in node.zones
        for name, one in zone.resources.items()
        if _is_memory(name) and name not in rules.ignored
    ):
        found.append("which zones share memory")
    found += [what for option, what in BY_CPU_ID.items() if rules.option(node, option) == "true"]
    return found + [f"{what} of more than {MOST_ZONES} zones" for what in _in_many_zones(node, rules)]


def _in_many_zones(node: NodeZones, rules: KubeletRules) -> Iterator[str]:
    listed = [name for zone in node.zones for name in zone.resources if name not in rules.ignored]
    if rules.pins_memory and sum(1 for zone in node.zones if any(map(_is_memory, zone.resources))) > MOST_ZONES:
        yield "memory"
    names = sorted({name for name in listed if not is_native(name) or (name == CPU and rules.pins_cpus)})
    yield from (name for name in names if listed.count(name) > MOST_ZONES)


def _is_memory(name: str) -> bool:
    return name != CPU and is_affine(name)
