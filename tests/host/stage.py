"""A demo in virtual time: the cluster, the player and the live state."""

from __future__ import annotations

from closeknit.cluster import kinds
from closeknit.controller.decision_log import Record
from closeknit.host.demos import DEMOS
from closeknit.host.demos.demo import PACE
from closeknit.host.demos.player import Player, begin
from closeknit.host.demos.views import JOB_NAME
from closeknit.host.embedded import EmbeddedCluster, EmbeddedOptions
from closeknit.host.live_state import LiveState
from closeknit.report.picture import Access
from host.lab import START, Lab, Raw, condition

ACCESS = Access("https://127.0.0.1:6443", "/state", "/state/kubeconfig")


class Stage(Lab):
    """`said` has every sentence with the second at which it was shown, `records` every decision."""

    max_steps = 100_000

    def __init__(self, demo: str, seed: int = 1) -> None:
        self.said: list[tuple[float, str]] = []
        self.records: list[Record] = []
        super().__init__(EmbeddedOptions(seed=seed, pace=PACE), prepare=self._prepare_cluster)
        self.decisions.listeners.append(self._keep)
        begin(self.store, DEMOS[demo])

    def _prepare_cluster(self, cluster: EmbeddedCluster) -> None:
        self.player = Player(cluster.store, DEMOS, self.hear)
        self.live_state = LiveState(cluster, ACCESS)
        cluster.add(self.player)
        cluster.watch(self.live_state)

    def hear(self, text: str) -> None:
        self.said.append((self.second, text))

    def _keep(self, record: Record) -> None:
        self.records.append(record)
        self.live_state.add(record)

    @property
    def second(self) -> float:
        return self.clock.time - START

    def until(self, words: str, seconds: float = 120.0) -> str:
        """Advance until a sentence with these words is shown, and return it."""
        end = self.clock.time + seconds
        before = len(self.said)
        while self.clock.time < end:
            self.advance(0.5)
            for _, text in self.said[before:]:
                if words in text:
                    return text
        raise AssertionError(f'no sentence with "{words}" in: {[text for _, text in self.said[before:]]}')

    def hosts(self, job: str) -> list[str]:
        """The hosts of a job's pods by rank, without pods that are being deleted."""
        found = []
        for pod in self.pods():
            meta = pod["metadata"]
            if meta["labels"].get(JOB_NAME) == job and "deletionTimestamp" not in meta and pod["spec"].get("nodeName"):
                found.append((int(meta["labels"]["batch.kubernetes.io/job-completion-index"]), pod["spec"]["nodeName"]))
        return [node for _, node in sorted(found)]

    def domains(self, job: str, level: str) -> set[str]:
        """The racks or blocks in which the job's pods run."""
        key = f"cloud.provider.com/topology-{level}"
        return {self.get(kinds.NODE, node)["metadata"]["labels"][key] for node in self.hosts(job)}

    def workload(self, job: str) -> Raw:
        found = [one for one in self.workloads() if one["metadata"]["ownerReferences"][0]["name"] == job]
        assert len(found) == 1
        return found[0]

    def is_admitted(self, job: str) -> bool:
        return condition(self.workload(job), "Admitted")
