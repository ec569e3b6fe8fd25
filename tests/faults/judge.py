"""Checks the invariants on the API's objects alone, and the running state against the one rebuilt from the objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any

from closeknit.cli.configuration import Configured, read_configuration
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.port import Change
from closeknit.deploy.marks import NAMESPACE
from closeknit.host.embedded import EmbeddedCluster, EmbeddedOptions
from closeknit.observe.dump import Document, dump
from contract.client import Api
from stories.invariants import Broken, Invariants, holds, placed, same
from stories.steps import QUEUES

from .accounts import Accounts, agreed, every_job_has_a_workload, nothing_is_doubled, nothing_is_lost, surplus_pods
from .evidence import History, Seen, fingerprint, listed
from .replica import Replica
from .users import NODES, machine

Raw = dict[str, Any]
STILL = 1.0
"""Seconds without a change after which the cluster is at rest."""
PATIENCE = 240.0
LAG = 5.0
"""Seconds for which a decision may still use a quota that has been lowered."""


class Witness(Invariants):
    """Judges decisions one after another, as they were written, by what was promised before each.

    A node that is gone still counts as it was: neither racks nor sizes ever change here.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store, late=True)
        self._now = monotonic()
        self._totals: deque[tuple[float, int]] = deque([(self._now, self._total())])

    def replay(self, seen: list[Seen]) -> None:
        for one in seen:
            key = one.object["metadata"].get("namespace", ""), one.object["metadata"]["name"]
            old = self.store.find(one.kind, *key)
            if one.type == "DELETED":
                self.store.objects[one.kind].pop(key, None)
            else:
                self.store.objects[one.kind][key] = one.object
            if one.kind is kinds.CLUSTER_QUEUE:
                self._totals.append((one.at, self._total()))
            elif one.kind is kinds.WORKLOAD and one.type == "MODIFIED":
                self._now = one.at
                self.see(Change(one.version, "MODIFIED", one.kind, one.object, old))

    def stands(self) -> None:
        """Check everything promised now: complete, together as asked, and no machine over its capacity."""
        for workload in self.store.all(kinds.WORKLOAD):
            if holds(workload):
                name = workload["metadata"]["name"]
                for pod_set, given, hosts in placed(workload):
                    self._is_whole(workload, pod_set, given, hosts)
                    self._is_together(name, pod_set, hosts)
                    for host in hosts:
                        self._has_room(name, host)

    def _decided(self, workload: Raw, before: Raw | None) -> None:
        super()._decided(workload, before)
        name = workload["metadata"]["name"]
        for pod_set, _, hosts in placed(workload):
            self._is_together(name, pod_set, hosts)
        if before is None:
            self._is_within_quota(name, workload)

    def _node(self, host: str) -> Raw | None:
        return machine(host) if host in NODES else None

    def _total(self) -> int:
        return sum(self._nominal(queue) for queue in QUEUES)

    def _is_within_quota(self, name: str, workload: Raw) -> None:
        """The highest recent quota counts: a decision cannot know one that is lowered at the same moment."""
        while len(self._totals) > 1 and self._totals[1][0] < self._now - LAG:
            self._totals.popleft()
        allowed = max(total for _, total in self._totals)
        used = sum(self._usage(one) for one in self.store.all(kinds.WORKLOAD) if holds(one))
        if used > allowed:
            raise Broken(f"{name}: {used}m are in use, quota is {allowed}m")


class Judge:
    """`config` is the file that the controllers were given."""

    def __init__(self, kubeconfig: Path, accounts: Accounts, config: Path) -> None:
        self.api, self.accounts = Api.from_kubeconfig(kubeconfig), accounts
        self.configured = read_configuration(str(config))
        self.history: History | None = History(kubeconfig)
        self.witness = Witness(self.history.store)

    def look_away(self) -> None:
        """Stop judging history, which is about to be lost; from now on only the present state counts."""
        if self.history is not None:
            self.witness.replay(self.history.take())
            self.history.close()
            self.history = None

    def close(self) -> None:
        if self.history is not None:
            self.history.close()
        self.api.close()

    def now(self) -> None:
        """Judge at any moment, whatever is in progress."""
        acknowledged, store = self.accounts.copy(), listed(self.api)
        nothing_is_lost(agreed(acknowledged, self.accounts.copy()), store)
        nothing_is_doubled(store)
        snapshot = Witness(store)
        snapshot.quiet(set(dump(rebuilt(store, self.configured))["holdings"]))
        snapshot.stands()
        if self.history is not None:
            self.witness.replay(self.history.take())

    def has_no_surplus_pods(self) -> bool:
        """Whether Kubernetes' Job controller has deleted pods that it created twice, because an answer was lost."""
        return not surplus_pods(listed(self.api))

    def holders(self) -> list[str]:
        """Workloads that hold quota now."""
        found = self.api.get(kinds.WORKLOAD.path()).body["items"]
        return [one["metadata"]["name"] for one in found if holds(one)]

    def at_rest(self, leader: Callable[[], Replica]) -> Document:
        """Judge at rest: when nothing changes any more, the controller's state is the one rebuilt from the objects.

        It may be slower than we are, so it is asked again for a while; what must hold at any time has no second try.
        """
        end, last = monotonic() + PATIENCE, Broken("nothing was compared")
        while monotonic() < end:
            store = self._still(end)
            believed = leader().dump()
            if believed is None or not believed["leads"] or fingerprint(listed(self.api)) != fingerprint(store):
                continue
            self.now()
            try:
                every_job_has_a_workload(store)
                same(believed, dump(rebuilt(store, self.configured)))
                return believed
            except Broken as broken:
                last = broken
        raise last

    def _still(self, end: float) -> Store:
        """The objects once nothing has changed for a moment."""
        store, since = listed(self.api), monotonic()
        while monotonic() - since < STILL:
            sleep(0.2)
            later = listed(self.api)
            changed = fingerprint(later).items() ^ fingerprint(store).items()
            assert not changed or monotonic() < end, f"no rest within {PATIENCE:.0f} s: {sorted(changed)}"
            if changed:
                since = monotonic()
            store = later
        return store


def rebuilt(store: Store, configured: Configured) -> Any:
    """The dump of a control plane that is shown these objects and nothing else."""
    options = EmbeddedOptions(configured.gates(), configured.settings, configured.managed("", NAMESPACE))
    cluster = EmbeddedCluster(time, options)
    for kind in kinds.KINDS:
        for raw in store.all(kind):
            cluster.store.restore(kind, raw)
    cluster.begin()
    return cluster.control_plane.cache
