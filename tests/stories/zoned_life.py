"""Runs a story on hosts with NUMA zones, whose agents report late, wrongly or never."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, ClassVar

from closeknit.cluster import kinds
from closeknit.dialects.nrt import keys
from closeknit.dialects.simulated_zones import NUMA
from host.lab import condition

from . import objects, zoned_objects
from .invariants import Broken
from .life import Life
from .promises import Promises
from .steps import QUEUES

Raw = dict[str, Any]
PREFIXES = {"wrong": "pfp0v001", "odd": "pfp9v999"}


class ZonedLife(Life):
    counts: ClassVar[Counter[str]] = Counter()
    """Over all stories: how much of what happened was checked."""

    def _look_on(self, decisions: int = 0) -> None:
        super()._look_on(decisions)
        self.promises = Promises(self.cluster, self.late, self.counts)
        self.cluster.add(self.promises)

    def _no_faults(self) -> None:
        if self.promises.broken is not None:
            raise self.promises.broken
        super()._no_faults()

    # Steps

    def _zoned_queues(self) -> None:
        for queue in QUEUES:
            self._quota(queue, 48)

    def _quota(self, queue: str, cpu: int) -> None:
        groups = zoned_objects.resource_groups(cpu)
        self.patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"resourceGroups": groups}})

    def _zone_host(self, node: str, numa: Raw) -> None:
        """A new machine of the same name, with zones."""
        raw = self.cluster.store.find(kinds.NODE, "", node)
        if raw is not None:
            rack = raw["metadata"]["labels"]["rack"]
            self.delete(kinds.NODE, "", node)
            self.submit(zoned_objects.host(objects.node(node, rack), numa))

    def _submit(self, **facts: Any) -> None:
        for raw in zoned_objects.submitted(facts):
            self.submit(raw)

    def _add_node(self, node: str, rack: str) -> None:
        self.submit(zoned_objects.host(objects.node(node, rack), None))

    def _exporter(self, node: str, delay: str) -> None:
        numa = self._numa(node)
        if numa is not None:
            self._annotate(node, json.dumps({**numa, "exporter": delay}))

    def _withdraw_zones(self, node: str) -> None:
        """An agent that reports no more deletes its report; the kubelet is as it was."""
        self._exporter(node, "never")
        self._drop_report(node)

    def _numa(self, node: str) -> Raw | None:
        raw = self.cluster.store.find(kinds.NODE, "", node)
        text = None if raw is None else (raw["metadata"].get("annotations") or {}).get(NUMA)
        return None if text is None else dict(json.loads(text))

    def _annotate(self, node: str, text: str) -> None:
        self.patch(kinds.NODE, "", node, {"metadata": {"annotations": {NUMA: text}}})

    def _drop_report(self, node: str) -> None:
        self.delete(kinds.NODE_TOPOLOGY, "", node)

    def _spoil_report(self, node: str, how: str) -> None:
        raw = self.cluster.store.find(kinds.NODE_TOPOLOGY, "", node)
        if raw is None:
            return
        others = [one for one in raw["attributes"] if one["name"] != keys.FINGERPRINT]
        more = [{"name": keys.FINGERPRINT, "value": PREFIXES[how] + "0123456789abcdef"}] if how in PREFIXES else []
        self.patch(kinds.NODE_TOPOLOGY, "", node, {"attributes": [*others, *more]})

    def _bind_pinned(self, **facts: Any) -> None:
        if self.cluster.store.find(kinds.NODE, "", facts["node"]) is not None:
            self.submit(zoned_objects.foreign_pod(facts))

    # Restarts

    def _restart(self) -> None:
        """Besides, the zones of nodes are the same where they are known before and afterwards."""
        before = self._zones()
        super()._restart()
        after = self._zones()
        for node in sorted(before.keys() & after.keys()):
            self.counts["zones rebuilt"] += 1
            if before[node] != after[node]:
                raise Broken(f"zones of {node} were {before[node]}, rebuilt {after[node]}")

    def _zones(self) -> dict[str, Raw]:
        mirror = self.cluster.control_plane.cache.world.mirror
        zones = mirror.columns.zones
        if zones is None:
            return {}
        return {
            node: {view: zones.admissions.free(int(states[row])) for view, states in zones.states.items()}
            for node, row in mirror.columns.row_of.items()
            if row not in mirror.columns.gone and self.promises.is_known(node)
        }

    # The end

    def heal(self) -> None:
        """Besides, agents report again. What no host could hold, and what is queued behind it, never starts."""
        for raw in list(self.cluster.store.all(kinds.NODE)):
            self._exporter(raw["metadata"]["name"], "1s")
        super().heal()

    def _never_ended(self, workload: Raw) -> bool:
        return super()._never_ended(workload) and condition(workload, "QuotaReserved")
