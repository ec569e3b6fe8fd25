"""Runs a story: takes its steps on an embedded cluster whose clock jumps from event to event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.embedded.loop import Worker
from closeknit.cluster.errors import Refused
from closeknit.host.embedded import EmbeddedOptions
from closeknit.observe.dump import dump
from host.lab import Lab, condition
from host.late import Late

from . import objects
from .invariants import Broken, Invariants, same
from .steps import QUEUES, Step

Raw = dict[str, Any]

SHOWN, WRITTEN = 1.5, 0.4
"""The longest delay in seconds until the control plane sees a change, or a write is applied."""


class Life(Lab):
    """One cluster for the duration of a story."""

    def __init__(self, seed: int = 0, late: bool = False) -> None:
        self.late, self._doom = late, 0
        super().__init__(EmbeddedOptions(seed=seed * 1000))
        self._look_on()
        self._slow_down()
        for raw in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}, *objects.data_centre()):
            self.submit(raw)
        self.settle()

    def _look_on(self, decisions: int = 0) -> None:
        self.invariants = Invariants(self.cluster.store, self.late, decisions)
        self.cluster.add(self.invariants)

    def _slow_down(self) -> None:
        self._line = Late(self.cluster, SHOWN, WRITTEN, self.options.seed or 0) if self.late else None

    def _rest(self) -> None:
        """Advance until nothing is in flight."""
        while self._line is not None and not self._line.is_quiet:
            self.advance(0.1)

    def submit(self, raw: Raw) -> None:
        """Submit objects; those that exist already or may not be created now are skipped."""
        try:
            self.create(raw)
        except Refused as refused:
            if refused.code not in (403, 409):
                what = f"{raw['kind']} {raw['metadata']['name']}"
                raise Broken(f"creating {what} was refused: {refused.message}") from None

    # Steps

    def tell(self, step: Step) -> None:
        action: Callable[..., None] = getattr(self, f"_{step.what}")
        if step.what == "restart":
            self._rest()
            self._no_faults()
        action(**step.facts)
        self.settle()
        if self._line is not None and not self._line.is_quiet:
            return
        self._no_faults()
        self.invariants.quiet(set(self.cluster.control_plane.cache.world.ledger.holdings))

    def _no_faults(self) -> None:
        """Exceptions do not end the cluster, so they are looked for here."""
        raised = dict(self.cluster.control_plane.faults.counts)
        workers = [one for one in self.cluster.loop.participants if isinstance(one, Worker) and one.faults]
        raised |= {type(one.standin).__name__: one.faults for one in workers}
        if raised or self.cluster.loop.faults:
            raise Broken(f"exceptions were raised: {raised or self.cluster.loop.faults}; see the log")

    def _submit(self, **facts: Any) -> None:
        for raw in objects.submitted(facts):
            self.submit(raw)

    def _advance(self, seconds: float) -> None:
        self.advance(seconds)

    def _jump(self, seconds: float) -> None:
        self.clock.time += seconds

    def _delete(self, name: str) -> None:
        for kind in (kinds.JOB, kinds.JOB_SET, kinds.POD):
            self.delete(kind, "default", name)
        for pod in list(self.cluster.store.all(kinds.POD, "default")):
            if (pod["metadata"].get("labels") or {}).get("kueue.x-k8s.io/pod-group-name") == name:
                self.delete(kinds.POD, "default", pod["metadata"]["name"])

    def _fail(self, node: str) -> None:
        self.patch(kinds.NODE, "", node, {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})

    def _recover(self, node: str) -> None:
        self.patch(kinds.NODE, "", node, {"metadata": {"annotations": {"closeknit.dev/failed": None}}})

    def _remove_node(self, node: str) -> None:
        self.delete(kinds.NODE, "", node)

    def _add_node(self, node: str, rack: str) -> None:
        self.submit(objects.node(node, rack))

    def _cordon(self, node: str) -> None:
        self.patch(kinds.NODE, "", node, {"spec": {"unschedulable": True}})

    def _uncordon(self, node: str) -> None:
        self.patch(kinds.NODE, "", node, {"spec": {"unschedulable": None}})

    def _taint(self, node: str, effect: str) -> None:
        self._set_taint(node, [{"key": "broken", "effect": effect}])

    def _untaint(self, node: str) -> None:
        self._set_taint(node, [])

    def _set_taint(self, node: str, wanted: list[Raw]) -> None:
        raw = self.cluster.store.find(kinds.NODE, "", node)
        if raw is not None:
            others = [one for one in (raw.get("spec") or {}).get("taints") or () if one["key"] != "broken"]
            self.patch(kinds.NODE, "", node, {"spec": {"taints": [*others, *wanted]}})

    def _stop_queue(self, queue: str, policy: str) -> None:
        self.patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"stopPolicy": policy}})

    def _resume_queue(self, queue: str) -> None:
        self.patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"stopPolicy": "None"}})

    def _quota(self, queue: str, cpu: int) -> None:
        groups = objects.cluster_queue(queue, cpu)["spec"]["resourceGroups"]
        self.patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"resourceGroups": groups}})

    def _deactivate(self, name: str) -> None:
        self._set_active(name, False)

    def _activate(self, name: str) -> None:
        self._set_active(name, True)

    def _set_active(self, name: str, active: bool) -> None:
        for workload in list(self.cluster.store.all(kinds.WORKLOAD, "default")):
            owners = workload["metadata"].get("ownerReferences") or ()
            if any(one["name"] == name for one in owners) or workload["metadata"]["name"] == name:
                self.patch(kinds.WORKLOAD, "default", workload["metadata"]["name"], {"spec": {"active": active}})

    def _other_pod(self, **facts: Any) -> None:
        if self.cluster.store.find(kinds.NODE, "", facts["node"]) is not None:
            self.submit(objects.other_pod(facts))

    def _remove_other_pod(self, name: str) -> None:
        self.delete(kinds.POD, "other", name)

    def _daemon_set(self, name: str, there: bool) -> None:
        if there:
            self.submit(objects.daemon_set(name))
        else:
            self.delete(kinds.DAEMON_SET, "other", name)

    def _kill(self, changes: int) -> None:
        """Kill the host that many changes later, at any point; a late control plane is killed only at rest."""
        self._doom = 0 if self.late else changes

    def settle(self) -> float | None:
        if self._doom:
            before = self.cluster.store.version
            killed = self.run_until(self._doom)
            self._doom -= min(self._doom, self.cluster.store.version - before)
            if killed:
                self.restart()
        return super().settle()

    def restart(self) -> None:
        super().restart()
        self._look_on(self.invariants.decisions)

    def _restart(self) -> None:
        """Restart the host; the control plane's cache has to be the same afterwards."""
        before = dump(self.cluster.control_plane.cache)
        self.restart()
        after = dump(self.cluster.control_plane.cache)
        self._slow_down()
        same(before, after)

    # The end

    def heal(self) -> None:
        """Repair everything and let enough time pass: then every job that can finish has finished.

        Lost pods of a group would have to be created again by their creator, which does not happen here.
        """
        store = self.cluster.store
        for node in [raw["metadata"]["name"] for raw in store.all(kinds.NODE)]:
            self._recover(node)
            self._uncordon(node)
            self._untaint(node)
        for number in range(16):
            name = f"n{number:02d}"
            if store.find(kinds.NODE, "", name) is None:
                self.submit(objects.node(name, f"r{number // 4}"))
        for queue in QUEUES:
            self._resume_queue(queue)
            self._quota(queue, 64)
        for name in ("d1", "d2"):
            self.delete(kinds.DAEMON_SET, "other", name)
        for pod in list(store.all(kinds.POD, "other")):
            self.delete(kinds.POD, "other", pod["metadata"]["name"])
        for workload in list(store.all(kinds.WORKLOAD)):
            self.patch(kinds.WORKLOAD, "default", workload["metadata"]["name"], {"spec": {"active": True}})
        self.advance(4 * 3600)
        self._rest()
        self._no_faults()
        self.invariants.quiet(set(self.cluster.control_plane.cache.world.ledger.holdings))
        self.invariants.rid()
        for workload in self.cluster.store.all(kinds.WORKLOAD):
            if self._never_ended(workload):
                said = [
                    f"{one['type']}={one['status']} {one['reason']}: {one['message']}"
                    for one in (workload.get("status") or {}).get("conditions") or ()
                ]
                raise Broken(f"{workload['metadata']['name']} never ended: {said}")

    def _never_ended(self, workload: Raw) -> bool:
        return not condition(workload, "Finished") and not condition(workload, "WaitingForReplacementPods")
