"""Random machines with pods that come and go, for our kubelet and, as JSON, for the real one."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from closeknit.model.container import Container, Kind
from closeknit.model.numa import TopologyPolicy, TopologyScope
from closeknit.numa.admission import KubeletSettings, Machine, NodeAdmission
from closeknit.numa.cpus import CpuOptions, CpuPlaces
from closeknit.numa.demand import PodDemand
from closeknit.numa.masks import mask_of

GI = 1 << 30
RESERVED = GI // 4
SCOPES: tuple[TopologyScope, ...] = ("container", "pod")
POLICIES: tuple[TopologyPolicy, ...] = ("none", "best-effort", "restricted", "single-numa-node")
PAGE = 1 << 20
"""KiB of a huge page of 1Gi."""


@dataclass(frozen=True)
class Zone:
    """Cores as lists of CPU ids, the socket, memory in Gi, huge pages of 1Gi, distances to all zones."""

    cores: tuple[tuple[int, ...], ...]
    socket: int
    memory: int
    pages: int
    distances: tuple[int, ...]


@dataclass(frozen=True)
class Sequence:
    """`steps` are pods by uid that arrive, or None for one that goes."""

    zones: tuple[Zone, ...]
    settings: KubeletSettings
    steps: tuple[tuple[str, tuple[Container, ...] | None], ...]

    def kubelet(self) -> NodeAdmission:
        zones = {at: mask_of(cpu for core in zone.cores for cpu in core) for at, zone in enumerate(self.zones)}
        sockets = {zone.socket: 0 for zone in self.zones}
        for at, zone in enumerate(self.zones):
            sockets[zone.socket] |= zones[at]
        cores = tuple(mask_of(core) for zone in self.zones for core in zone.cores)
        memory = {
            at: {"memory": (zone.memory - zone.pages) * GI - RESERVED, "hugepages-1Gi": zone.pages * GI}
            for at, zone in enumerate(self.zones)
        }
        distances = {at: zone.distances for at, zone in enumerate(self.zones)}
        places = CpuPlaces(zones, cores, tuple(sockets.values()))
        return NodeAdmission(Machine(places, memory, reserved_cpus=1, distances=distances), self.settings)

    def outcomes(self) -> list[tuple[str, str]]:
        """For each pod that arrives the reason and the message of its refusal, both empty if it is admitted."""
        kubelet, found = self.kubelet(), []
        for uid, containers in self.steps:
            if containers is None:
                kubelet.remove(uid)
            else:
                verdict = kubelet.admit(uid, PodDemand.of(containers))
                found.append((verdict.reason, verdict.message))
        return found

    def wire(self) -> Any:
        """As the program around the kubelet's own code reads it."""
        one, cpu = self.settings, self.settings.cpu_options
        options = {"prefer-closest-numa-nodes": "true"} if one.closest else {}
        flags = {
            "full-pcpus-only": cpu.full_pcpus_only,
            "align-by-socket": cpu.align_by_socket,
            "distribute-cpus-across-numa": cpu.distribute_across_zones,
        }
        return {
            "zones": [_zone(zone, number) for number, zone in enumerate(self.zones)],
            "policy": one.policy,
            "scope": one.scope,
            "options": options,
            "cpuOptions": {name: "true" for name, on in flags.items() if on},
            "reservedCPUs": [0],
            "reservedMemory": RESERVED,
            "steps": [{"remove": uid} if pod is None else {"admit": _pod(uid, pod)} for uid, pod in self.steps],
        }


def _zone(zone: Zone, number: int) -> Any:
    cores = [{"id": core[0], "socket": zone.socket, "threads": list(core)} for core in zone.cores]
    pages = {str(PAGE): zone.pages}
    return {"memory": zone.memory * GI, "hugePages": pages, "cores": cores, "distances": list(zone.distances)}


def _pod(uid: str, containers: tuple[Container, ...]) -> Any:
    found: dict[str, list[Any]] = {"initContainers": [], "containers": []}
    for number, one in enumerate(containers):
        resources = {"requests": _quantities(one.requests), "limits": _quantities(one.limits)}
        wire: dict[str, Any] = {"name": f"c{number}", "resources": resources}
        if one.kind == "sidecar":
            wire["restartPolicy"] = "Always"
        found["containers" if one.kind == "app" else "initContainers"].append(wire)
    return {"metadata": {"name": uid, "namespace": "default", "uid": uid}, "spec": found}


def _quantities(amounts: tuple[tuple[str, int], ...]) -> dict[str, str]:
    return {name: f"{value}m" if name == "cpu" else str(value) for name, value in amounts}


def random_sequence(seed: int) -> Sequence:
    draw = Random(seed)
    zones = _zones(draw)
    closest = draw.random() < 0.3
    threads = len(zones[0].cores[0])
    policy, scope = draw.choice(POLICIES), draw.choice(SCOPES)
    by_socket = policy in ("best-effort", "restricted") and draw.random() < 0.2
    options = CpuOptions(full_pcpus_only=threads > 1 and draw.random() < 0.3, align_by_socket=by_socket)
    settings = KubeletSettings(policy, scope, closest, cpu_options=options)
    size = sum(len(zone.cores) for zone in zones) * threads // len(zones)
    steps: list[tuple[str, tuple[Container, ...] | None]] = []
    there: list[str] = []
    for number in range(draw.randint(3, 14)):
        if there and draw.random() < 0.25:
            steps.append((there.pop(draw.randrange(len(there))), None))
        uid = f"p{number}"
        there.append(uid)
        steps.append((uid, _containers(draw, size, len(zones), zones[0].memory, threads)))
    return Sequence(zones, settings, tuple(steps))


def _zones(draw: Random) -> tuple[Zone, ...]:
    count, threads, cores = (
        draw.choices((1, 2, 3, 4, 6, 8), (2, 12, 6, 12, 2, 1))[0],
        draw.choice((1, 1, 2)),
        draw.choice((2, 4, 8)),
    )
    per_socket = draw.choice([n for n in (1, 2, 4) if count % n == 0])
    pages, memory, found, cpu = draw.choice((0, 0, 2)), draw.choice((4, 8, 16)), [], 0
    for zone in range(count):
        every = []
        for _ in range(cores):
            every.append(tuple(range(cpu, cpu + threads)))
            cpu += threads
        near = tuple(10 if zone == other else draw.choice((11, 12, 21)) for other in range(count))
        found.append(Zone(tuple(every), zone // per_socket, memory, pages, near))
    return tuple(found)


def _containers(draw: Random, size: int, zones: int, memory: int, threads: int) -> tuple[Container, ...]:
    kinds: list[Kind] = ["app"] * draw.choice((1, 1, 1, 2, 3))
    kinds = [*(draw.choice(("init", "init", "sidecar")) for _ in range(draw.choice((0, 0, 0, 1, 2)))), *kinds]
    guaranteed = draw.random() < 0.85
    most = max(1, size * draw.choice((1, 1, 1, 2, zones)) // draw.choice((1, 2, 4)))
    found = []
    for kind in kinds:
        cpu = draw.randint(1, most) * 1000
        if threads > 1 and draw.random() < 0.8:
            cpu = -(-cpu // (1000 * threads)) * 1000 * threads
        if draw.random() < 0.08:
            cpu += 500
        amounts = {"cpu": cpu, "memory": draw.randint(1, max(1, memory * draw.choice((1, 2, 4)) // 4)) * GI // 2}
        if draw.random() < 0.15:
            amounts["hugepages-1Gi"] = draw.randint(0, 3) * GI
        limits = amounts if guaranteed else {"memory": amounts["memory"]}
        found.append(Container.of(amounts, limits, kind))
    return tuple(found)
