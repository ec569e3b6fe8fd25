"""The changes of the workloads of a namespace, as a watch shows them.

Workloads are identified by the name of their job, since their own name ends in a part of its UID; UIDs in texts are
replaced by names too. So the results of two clusters can be compared.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType

from contract.client import Api, Watch
from contract.objects import path

from .marks import Mark, marks
from .views import steady
from .worlds import VERSION, Object

WORKLOADS = f"{VERSION}/workloads"


class WorkloadLog:
    """`held` has the workloads by job, `marks` what happened, `changed` the time of the last change.

    A new reason of a pending workload is no change: the head of a strict queue gets another one all the time.
    """

    def __init__(self, kubeconfig: Path, space: str) -> None:
        self._api, self._where = Api.from_kubeconfig(kubeconfig), path(WORKLOADS, space)
        self._names: dict[str, str] = {}
        self._watch: Watch | None = None
        self._stopping = False
        self.held: dict[str, Object] = {}
        self.marks: list[Mark] = []
        self.changed = monotonic()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> WorkloadLog:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping = True
        if self._watch is not None:
            self._watch.close()
        self._thread.join(timeout=10)

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def known(self, uid: str, name: str) -> None:
        """Note an object that texts may mention."""
        self._names[uid] = name

    def name_of(self, workload: str) -> str:
        """The name of a workload's job."""
        return self._names.get(workload, workload)

    def with_names(self, body: Object) -> Object:
        text = json.dumps(body)
        for uid, name in list(self._names.items()):
            text = text.replace(uid, name)
        named: Object = json.loads(text)
        return named

    def all(self) -> dict[str, Object]:
        """What is held, with names for UIDs."""
        return {job: self.with_names(body) for job, body in list(self.held.items())}

    def _follow(self) -> None:
        """Watch the workloads; a watch that is quiet for long is ended, and another continues where it was."""
        since = self._api.get(self._where).body["metadata"]["resourceVersion"]
        while not self._stopping:
            self._watch = self._api.watch(self._where, resourceVersion=since, timeoutSeconds=20)
            with suppress(AssertionError):
                while True:
                    since = self._heed(self._watch.next(within=60))

    def _heed(self, event: Object) -> str:
        if event["type"] == "ERROR":
            raise RuntimeError(f"the watch of workloads: {event['object']}")
        body = event["object"]
        metadata, job = body["metadata"], job_of(body)
        self.known(metadata["uid"], job)
        self.known(metadata["name"], job)
        before = self.held.get(job)
        if before is None or event["type"] == "DELETED" or steady(before) != steady(body):
            self.changed = monotonic()
        if event["type"] == "DELETED":
            self.held.pop(job, None)
        else:
            self.marks += marks(job, before or {}, body)
            self.held[job] = body
        version: str = metadata["resourceVersion"]
        return version


def job_of(workload: Object) -> str:
    metadata = workload["metadata"]
    owners: list[Object] = metadata.get("ownerReferences") or [metadata]
    name: str = owners[0]["name"]
    return name
