"""A rival writer that constantly writes to workloads, jobs and pods: annotations, and a condition of its own.

What was acknowledged has to exist at the end: a status write must preserve what other clients wrote.
"""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from closeknit.cluster import kinds
from contract.client import Api
from host.lab import condition
from stories.invariants import Broken

NOTE, CONDITION = "example.com/rival", "Rival"
BEGIN, WORDS = "2026-01-01T00:00:00Z", {"status": "True", "reason": "Rivalry", "message": ""}
KINDS = (kinds.WORKLOAD, kinds.JOB, kinds.POD)


class Rival:
    def __init__(self, kubeconfig: Path) -> None:
        self.api, self.written = Api.from_kubeconfig(kubeconfig), 0
        self.noted: dict[str, str] = {}
        self.judged: set[str] = set()
        self._over = Event()
        self._thread = Thread(target=self._write, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._over.is_set():
            for kind in KINDS:
                for raw in self.api.get(kind.path("default")).body["items"]:
                    if self._over.is_set():
                        return
                    self.written += 1
                    self._note(kind, raw["metadata"]["name"], str(self.written))
                    if kind is kinds.WORKLOAD:
                        self._judge(raw["metadata"]["name"])

    def _note(self, kind: kinds.Kind, name: str, text: str) -> None:
        answer = self.api.merge(kind.path("default", name), {"metadata": {"annotations": {NOTE: text}}})
        if answer.status == 200:
            self.noted[answer.body["metadata"]["uid"]] = text

    def _judge(self, name: str) -> None:
        body = {
            "apiVersion": kinds.WORKLOAD.api_version,
            "kind": kinds.WORKLOAD.kind,
            "metadata": {"name": name},
            "status": {"conditions": [{"type": CONDITION, "lastTransitionTime": BEGIN, **WORDS}]},
        }
        answer = self.api.apply(kinds.WORKLOAD.path("default", name, "status"), body, "rival")
        if answer.status == 200:
            self.judged.add(answer.body["metadata"]["uid"])

    def check(self) -> None:
        """Check that what it wrote last still exists."""
        for kind in KINDS:
            for raw in self.api.get(kind.path("default")).body["items"]:
                meta = raw["metadata"]
                if meta["uid"] in self.noted and meta["annotations"].get(NOTE) != self.noted[meta["uid"]]:
                    raise Broken(f"{kind.kind} {meta['name']} has lost a note: {meta['annotations']}")
                if meta["uid"] in self.judged and not condition(raw, CONDITION):
                    raise Broken(f"workload {meta['name']} has lost a condition: {raw['status']}")
        self.api.close()
