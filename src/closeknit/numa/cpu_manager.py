"""The CPUs of a machine while pods come and go: free ones, and those that each pod holds.

What an init container had stays with its pod until the pod is gone, whether a later container takes it or not.
"""

from __future__ import annotations

from collections import defaultdict

from ..model.container import Kind
from ..model.resources import CPU
from .cpus import CpuOptions, CpuPlaces, cpu_hints, take
from .hints import Answer
from .refusal import SMT, AdmissionRefusal, unexpected


class CpuManager:
    def __init__(self, places: CpuPlaces, reserved: int, options: CpuOptions) -> None:
        self.places, self.reserved, self.options = places, reserved, options
        self.free = places.everything & ~reserved
        self.held: defaultdict[str, int] = defaultdict(int)
        self.reusable = 0
        """What ended init containers leave to the pod that is being admitted."""

    def hints(self, count: int) -> Answer:
        if not count:
            return {}
        return {CPU: cpu_hints(self.places, self.free, self.reusable, count, self.options.align_by_socket)}

    def allocate(self, uid: str, kind: Kind, count: int, mask: int | None) -> AdmissionRefusal | None:
        """Give a container its CPUs, those of ended init containers first where they are in the same zone."""
        available = self.free | self.reusable
        aligned = 0 if mask is None else self.places.aligned(mask, self.options.align_by_socket)
        refusal = self._refusal(available, count, (aligned & available).bit_count())
        if refusal is None:
            cpus = take(self.places, available, count, aligned)
            self.free &= ~cpus
            self.held[uid] |= cpus
            self.reusable = self.reusable | cpus if kind == "init" else self.reusable & ~cpus
        return refusal

    def _refusal(self, available: int, count: int, aligned: int) -> AdmissionRefusal | None:
        """Why there are too few CPUs. The kubelet counts what is missing after those that are aligned with the hint."""
        threads, there = self.places.threads, available.bit_count()
        if self.options.full_pcpus_only:
            cores = (self.free & ~self.places.cores_with(self.reserved)).bit_count()
            if count % threads:
                return AdmissionRefusal(
                    SMT, f"SMT Alignment Error: requested {count} cpus not multiple cpus per core = {threads}"
                )
            if cores < count:
                return AdmissionRefusal(
                    SMT,
                    f"SMT Alignment Error: not enough free physical CPUs: available physical CPUs = {cores}"
                    f", requested CPUs = {count}, CPUs per core = {threads}",
                )
        if there < count:
            numbers = f"requested={count - aligned}, available={there - aligned}"
            return unexpected(f"not enough cpus available to satisfy request: {numbers}")
        return None

    def remove(self, uid: str) -> None:
        self.free |= self.held.pop(uid, 0)
