"""What the API server itself says: every object as it was at one moment, and every change since another.

Lists of different kinds are taken at the same version, so that together they are one state of the cluster, however much
is going on. Changes come by watches of the test's own and are put into the server's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

from closeknit.cluster import kinds
from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.kinds import Kind
from contract.client import Answer, Api

Raw = dict[str, Any]

LEFT_OUT = (kinds.EVENT, kinds.SECRET, kinds.LEASE)
WATCHED = (kinds.CLUSTER_QUEUE, kinds.WORKLOAD)
UNSURE, PATIENCE = (429, 500, 503), 90.0
WAIT = 1.0
"""Seconds without a change after which a watch is started again."""
RESTLESS = (kinds.WORKLOAD, kinds.JOB, kinds.POD, kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE)
"""Kinds that change only while something happens; nodes change at rest, too."""


def listed(api: Api) -> Store:
    """All objects, of one moment."""
    store = Store(lambda: 0.0, RandomIds(1))
    version = _version(api)
    for kind in kinds.KINDS:
        if kind not in LEFT_OUT:
            for raw in _all(api, kind, version):
                store.restore(kind, raw)
    store.resume(int(version))
    return store


def _version(api: Api) -> str:
    version: str = _asked(api, kinds.WORKLOAD, limit=1).body["metadata"]["resourceVersion"]
    return version


def _all(api: Api, kind: Kind, version: str) -> Iterator[Raw]:
    answer = _asked(api, kind, resourceVersion=version, resourceVersionMatch="Exact")
    for raw in answer.body["items"] if answer.status == 200 else ():
        yield {"apiVersion": kind.api_version, "kind": kind.kind, **raw}


def _asked(api: Api, kind: Kind, **query: Any) -> Answer:
    """List a kind; a server that has just started may refuse for a moment."""
    end = monotonic() + PATIENCE
    while (answer := api.get(kind.path(), **query)).status in UNSURE and monotonic() < end:
        sleep(0.1)
    assert answer.status in (200, 404), f"{kind.resource}: {answer.body}"
    return answer


def fingerprint(store: Store) -> dict[str, str]:
    """What differs as soon as anything that matters has changed."""
    every = ((kind, raw["metadata"]) for kind in RESTLESS for raw in store.all(kind))
    return {f"{kind.kind} {meta['name']} {meta['uid']}": meta["resourceVersion"] for kind, meta in every}


class Seen(NamedTuple):
    """`at` is when it was seen here."""

    version: int
    type: str
    kind: Kind
    object: Raw
    at: float


class History:
    """Every change of some kinds since `store`, in the server's order. A watch that ends is resumed."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self.store = listed(Api.from_kubeconfig(kubeconfig))
        self._seen: list[Seen] = []
        self._lock, self._over, self._lost = Lock(), Event(), ""
        self._threads = [Thread(target=self._follow, args=(kind,), daemon=True) for kind in WATCHED]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def take(self) -> list[Seen]:
        """The changes since the last call, oldest first, after a moment for those still in flight."""
        sleep(0.2)
        assert not self._lost, self._lost
        with self._lock:
            taken, self._seen = sorted(self._seen, key=lambda one: one.version), []
        return taken

    def _follow(self, kind: Kind) -> None:
        api, version = Api.from_kubeconfig(self._kubeconfig), self.store.version
        known = {raw["metadata"]["uid"]: raw["metadata"]["resourceVersion"] for raw in self.store.all(kind)}
        while not self._over.is_set() and not self._lost:
            with (
                suppress(OSError, HTTPException, AssertionError),
                api.watch(kind.path(), resourceVersion=version) as watch,
            ):
                while not self._over.is_set():
                    event = watch.next(WAIT)
                    if event["type"] == "ERROR":
                        version = self._resumed(api, kind, known, event)
                        break
                    version = self._note(kind, event, known)
            self._over.wait(0.1)

    def _note(self, kind: Kind, event: Raw, known: dict[str, str]) -> int:
        meta = event["object"]["metadata"]
        version = int(meta["resourceVersion"])
        known[meta["uid"]] = meta["resourceVersion"]
        if event["type"] == "DELETED":
            del known[meta["uid"]]
        with self._lock:
            self._seen.append(Seen(version, event["type"], kind, event["object"], monotonic()))
        return version

    def _resumed(self, api: Api, kind: Kind, known: dict[str, str], error: Raw) -> int:
        """The version to go on from, if nothing has changed since the last event.

        A server forgets a kind's history whenever its definition changes, also where there is nothing to forget.
        """
        found = _asked(api, kind).body
        metas = [raw["metadata"] for raw in found["items"]]
        if {meta["uid"]: meta["resourceVersion"] for meta in metas} != known:
            self._lost = f"the server has forgotten what became of {kind.resource}: {error['object']}"
            raise AssertionError(self._lost)
        return int(found["metadata"]["resourceVersion"])
