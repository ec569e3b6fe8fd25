"""The devices of a machine while pods come and go."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from ..model.container import Kind
from .devices import Devices, device_hints, take_devices
from .hints import Answer
from .refusal import AdmissionRefusal, unexpected


class DeviceManager:
    """Counts by resource and by the set of zones that the devices are in; 0 for devices without a zone."""

    def __init__(self, total: Mapping[str, Mapping[int, int]]) -> None:
        self.total = total
        self.free = {name: Counter(counts) for name, counts in total.items()}
        self.held: defaultdict[str, dict[str, Counter[int]]] = defaultdict(dict)
        self.reusable: dict[str, Counter[int]] = {}
        """What ended init containers leave to the pod that is being admitted."""

    def hints(self, request: Mapping[str, int]) -> Answer:
        return {name: device_hints(self._devices(name), count) for name, count in request.items()}

    def allocate(self, uid: str, kind: Kind, request: Mapping[str, int], mask: int | None) -> AdmissionRefusal | None:
        for name, count in request.items():
            taken = take_devices(self._devices(name), count, mask)
            if taken is None:
                there = self._devices(name).available
                return unexpected(
                    f"requested number of devices unavailable for {name}. Requested: {count}, Available: {there}"
                )
            again, fresh = map(Counter, taken)
            self.free[name] -= fresh
            self.held[uid].setdefault(name, Counter()).update(fresh)
            reusable = self.reusable.setdefault(name, Counter())
            if kind == "init":
                reusable.update(fresh)
            else:
                reusable.subtract(again)
        return None

    def _devices(self, name: str) -> Devices:
        return Devices(self.total[name], self.free[name], self.reusable.get(name, {}))

    def remove(self, uid: str) -> None:
        for name, devices in self.held.pop(uid, {}).items():
            self.free[name].update(devices)
