"""The memory of a machine's zones while pods come and go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from ..model.container import Kind
from .hints import Answer, Hint
from .memory import Amounts, MemoryBlock, ZoneMemory, choose, give_back, memory_hints, reserve
from .refusal import AdmissionRefusal, unexpected


class MemoryManager:
    """`blocks` are what each container of a pod holds, in start order, with the kind of the container."""

    def __init__(self, zones: Mapping[int, Amounts]) -> None:
        self.zones = {
            zone: ZoneMemory(1 << zone, allocatable=dict(sizes), free=dict(sizes)) for zone, sizes in zones.items()
        }
        self.blocks: defaultdict[str, list[tuple[Kind, list[MemoryBlock]]]] = defaultdict(list)
        self.reusable: dict[int, dict[str, int]] = {}
        """What ended init containers leave to the pod that is being admitted."""

    def hints(self, request: Amounts) -> Answer:
        """No opinion where no set of zones has enough; the pod is then refused when memory is assigned."""
        hints = memory_hints(self.zones, request, self.reusable) if request else []
        return dict.fromkeys(request, hints) if hints else {}

    def allocate(self, uid: str, kind: Kind, request: Amounts, hint: Hint) -> AdmissionRefusal | None:
        if not request:
            return None
        mask = choose(self.zones, request, self.reusable, hint)
        if isinstance(mask, str):
            return unexpected(f"[memorymanager] {mask}")
        blocks = [MemoryBlock(name, mask, size) for name, size in request.items()]
        again = self.reusable.setdefault(mask, {})
        for block in blocks:
            reserve(self.zones, replace(block, size=max(0, block.size - again.get(block.resource, 0))))
        self._shrink_init_blocks(uid, blocks)
        for block in blocks:
            left = again.get(block.resource, 0)
            again[block.resource] = max(left, block.size) if kind == "init" else max(0, left - block.size)
        self.blocks[uid].append((kind, blocks))
        return None

    def _shrink_init_blocks(self, uid: str, taken: list[MemoryBlock]) -> None:
        """Count memory once that a container takes over from init containers before it."""
        left = {(block.resource, block.mask): block.size for block in taken}
        for kind, blocks in self.blocks[uid]:
            if kind == "init":
                blocks[:] = [self._shrunk(block, left) for block in blocks]

    @staticmethod
    def _shrunk(block: MemoryBlock, left: dict[tuple[str, int], int]) -> MemoryBlock:
        key = (block.resource, block.mask)
        part = min(block.size, left.get(key, 0))
        if part:
            left[key] -= part
        return replace(block, size=block.size - part)

    def init_ended(self, uid: str) -> None:
        """Free what the init containers of a pod still have, as the kubelet does when the next container starts."""
        for kind, blocks in self.blocks.get(uid, ()):
            if kind == "init":
                self._free(blocks)
                blocks.clear()

    def remove(self, uid: str) -> None:
        for _, blocks in self.blocks.pop(uid, ()):
            self._free(blocks)

    def _free(self, blocks: list[MemoryBlock]) -> None:
        for block in blocks:
            give_back(self.zones, block)
