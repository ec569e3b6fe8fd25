"""What was acknowledged to users, and whether it still holds on the server.

An acknowledged object exists until its deletion is acknowledged. If a response was lost, nothing is known of the
object. Pods of a Job, and the Workload of a job, exist once.
"""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.port import Key
from host.lab import condition
from stories.invariants import PREFIX, Broken, holds

Raw = dict[str, Any]
Acknowledged = dict[Key, str | None]
"""The uid of the created object; None: it was deleted."""
ENDED = ("Succeeded", "Failed")


class Accounts:
    """Shared by the threads that act and that check."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._uids: dict[Key, str | None] = {}
        self.counts: Counter[str] = Counter()

    def made(self, key: Key, uid: str) -> None:
        self._note(key, uid)

    def deleted(self, key: Key) -> None:
        self._note(key, None)

    def doubtful(self, key: Key) -> str | None:
        """Forget an object whose state is unknown; returns its uid, if it existed."""
        with self._lock:
            return self._uids.pop(key, None)

    def _note(self, key: Key, uid: str | None) -> None:
        with self._lock:
            self._uids[key] = uid

    @property
    def jobs(self) -> list[str]:
        """The jobs that exist as far as users know."""
        with self._lock:
            return [key.name for key, uid in self._uids.items() if uid and key.kind is kinds.JOB]

    def pods(self, name: str) -> list[Key]:
        """One of this name, or those of a group of this name."""
        with self._lock:
            found = [key for key, uid in self._uids.items() if uid and key.kind is kinds.POD]
        return [key for key in found if key.name == name or key.name.startswith(f"{name}-")]

    def copy(self) -> Acknowledged:
        """As they stand now."""
        with self._lock:
            return dict(self._uids)


def agreed(before: Acknowledged, after: Acknowledged) -> Acknowledged:
    """What was acknowledged before the server was read and still held afterwards."""
    return {key: uid for key, uid in before.items() if key in after and after[key] == uid}


def nothing_is_lost(acknowledged: Acknowledged, store: Store) -> None:
    """Every acknowledged object exists. Pods are excepted, since preemption and a lost node delete them."""
    for key, uid in acknowledged.items():
        found = store.find(*key)
        if uid is not None and key.kind is not kinds.POD and (found is None or found["metadata"]["uid"] != uid):
            raise Broken(f"{key} was acknowledged as {uid} and is gone")
        if uid is None and found is not None and "deletionTimestamp" not in found["metadata"]:
            raise Broken(f"{key} was deleted and is back")


def nothing_is_doubled(store: Store) -> None:
    """No job has two workloads, or more pods at a time than it asks for."""
    workloads = Counter[str]()
    for workload in store.all(kinds.WORKLOAD):
        if "deletionTimestamp" not in workload["metadata"] and not condition(workload, "Finished"):
            workloads.update(_owners(workload))
    for job in store.all(kinds.JOB):
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        if workloads[uid] > 1:
            raise Broken(f"{workloads[uid]} workloads of job {name}")
    for surplus in surplus_pods(store):
        raise Broken(surplus)


def surplus_pods(store: Store) -> list[str]:
    """Jobs with more live pods than they ask for."""
    pods = Counter[str]()
    for pod in store.all(kinds.POD):
        if "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] not in ENDED:
            pods.update(_owners(pod))
    found = [(job, pods[job["metadata"]["uid"]], job["spec"]["parallelism"]) for job in store.all(kinds.JOB)]
    return [
        f"{live} pods of job {job['metadata']['name']} live, it wants {wanted}"
        for job, live, wanted in found
        if live > wanted
    ]


def _owners(raw: Raw) -> list[str]:
    return [one["uid"] for one in raw["metadata"].get("ownerReferences") or ()]


def every_job_has_a_workload(store: Store) -> None:
    """At rest every job of a queue has a workload, and that of an ended job is finished and holds nothing."""
    by_owner: dict[str, list[Raw]] = {}
    for workload in store.all(kinds.WORKLOAD):
        for uid in _owners(workload):
            by_owner.setdefault(uid, []).append(workload)
    for job in store.all(kinds.JOB):
        meta = job["metadata"]
        if f"{PREFIX}queue-name" not in (meta.get("labels") or {}) or "deletionTimestamp" in meta:
            continue
        found = by_owner.get(meta["uid"], [])
        has_ended = condition(job, "Complete") or condition(job, "Failed")
        if len(found) != 1:
            raise Broken(f"job {meta['name']} has {len(found)} workloads")
        if has_ended and (not condition(found[0], "Finished") or holds(found[0])):
            raise Broken(f"job {meta['name']} has ended, its workload has not: {found[0]['status']}")
        if not has_ended and condition(found[0], "Finished"):
            raise Broken(f"job {meta['name']} goes on, its workload has finished")
