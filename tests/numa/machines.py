"""Machines and pods for tests of the kubelet."""

from __future__ import annotations

from typing import Any

from closeknit.model.container import Container, Kind
from closeknit.numa.admission import KubeletSettings, Machine, NodeAdmission
from closeknit.numa.cpus import CpuPlaces
from closeknit.numa.demand import PodDemand
from closeknit.numa.masks import mask_of

GI = 1 << 30


def machine(*cpus: int, memory: int = 64, gpus: tuple[int, ...] = (), threads: int = 1) -> Machine:
    """Zones with so many CPUs, Gi of memory and GPUs each; every zone is a socket."""
    zones, cores, first = {}, [], 0
    for zone, count in enumerate(cpus):
        zones[zone] = mask_of(range(first, first + count))
        cores += [mask_of(range(cpu, cpu + threads)) for cpu in range(first, first + count, threads)]
        first += count
    devices = {"nvidia.com/gpu": {1 << zone: count for zone, count in enumerate(gpus)}} if gpus else {}
    places = CpuPlaces(zones, tuple(cores), tuple(zones.values()))
    return Machine(places, {zone: {"memory": memory * GI} for zone in zones}, devices)


def kubelet(on: Machine, policy: Any = "single-numa-node", scope: Any = "container", **more: Any) -> NodeAdmission:
    return NodeAdmission(on, KubeletSettings(policy, scope, **more))


def container(cpu: float = 1, memory: float = 1, kind: Kind = "app", **more: int) -> Container:
    """A container whose limits are its requests; GPUs as `gpu=2`."""
    amounts = {"cpu": round(cpu * 1000), "memory": round(memory * GI)}
    if "gpu" in more:
        amounts["nvidia.com/gpu"] = more["gpu"]
    return Container.of(amounts, amounts, kind)


def pod(*containers: Container) -> PodDemand:
    return PodDemand.of(containers)
