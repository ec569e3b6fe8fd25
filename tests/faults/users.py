"""A stream of user actions on a cluster, over the network, as fast as it allows.

Steps are drawn like those of stories. Responses go into the accounts, and so do requests without a response. Machines
break, are tainted, removed and added again; at the end they are repaired.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.kinds import Kind, kind_of
from closeknit.cluster.port import Key
from contract.client import TIMEOUT, Answer, Api
from servers.components import MANAGED
from stories import objects
from stories.steps import HOSTS, QUEUES, RACKS, Drawer, Step

from .accounts import Accounts

Raw = dict[str, Any]

WEIGHTS = {
    "submit": 40,
    "delete": 18,
    "suspend": 3,
    "fail": 2,
    "recover": 4,
    "remove_node": 1,
    "add_node": 3,
    "cordon": 2,
    "uncordon": 4,
    "taint": 2,
    "untaint": 4,
    "stop_queue": 1,
    "resume_queue": 4,
    "quota": 3,
    "deactivate": 2,
    "activate": 3,
    "other_pod": 2,
    "remove_other_pod": 3,
}
PAUSE = 0.08
NODES = {f"n{number:02d}": f"r{number // HOSTS}" for number in range(RACKS * HOSTS)}
BLOCKS = {f"r{rack}": f"b{rack // 2}" for rack in range(RACKS)}
MOST_JOBS = 40
RUN_TIMES = (0, 0, 1, 3, 300)
EXPECTED = (403, 404, 409, 429)
"""Refusals that are expected: a conflict, or not allowed now."""


class Stream(Drawer):
    """Steps for users of a real cluster: fewer kinds, shorter times, and blocks of racks."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.random = Random(f"users {seed}")
        self.prefix = f"u{seed}-"

    def step(self) -> Step:
        what = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        return Step(what, getattr(self, f"_{what}")())

    def _name(self, prefix: str) -> str:
        return super()._name(self.prefix + prefix)

    def _submit(self) -> Raw:
        facts = super()._submit()
        facts |= {"seconds": self.random.choice(RUN_TIMES), "fails": False}
        if facts["kind"] == "JobSet":
            facts["kind"] = "Job"
        if facts["wish"] == "preferred" and self.random.random() < 0.5:
            facts["level"] = "block"
        return facts

    def _add_node(self) -> Raw:
        return {"node": self.random.choice(self.nodes)}

    _suspend = Drawer._delete


class OneTry(Api):
    """A client that does not retry a request without a response: a second response would be about the first request."""

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        if self.connection is None:
            self.connection = HTTPSConnection(self.host, self.port, context=self.context, timeout=TIMEOUT)
        self.connection.request(method, target, body=data, headers=dict(headers))
        response = self.connection.getresponse()
        return response, response.read()


class Users:
    """Acts until `stop` is called."""

    def __init__(self, kubeconfig: Path, seed: int, accounts: Accounts) -> None:
        self.api, self.accounts, self.stream = OneTry.from_kubeconfig(kubeconfig), accounts, Stream(seed)
        self.failure: Exception | None = None
        self._over = Event()
        self._thread = Thread(target=self._live, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _live(self) -> None:
        try:
            while not self._over.wait(PAUSE):
                self.act(self.stream.step())
        except Exception as error:  # raised again in `stop`
            self.failure = error

    def stop(self) -> None:
        """Returns when the last step is done; raises what went wrong in one."""
        self._over.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def act(self, step: Step) -> None:
        action: Callable[..., None] = getattr(self, f"_{step.what}")
        self.accounts.counts[step.what] += 1
        action(**step.facts)

    def repair(self) -> None:
        """Restore everything but the jobs to its initial state."""
        for node in NODES:
            self._add_node(node)
            self._recover(node)
            self._uncordon(node)
            self._untaint(node)
        for queue in QUEUES:
            self._resume_queue(queue)
            self._quota(queue, 48)
        for name in self.stream.pods:
            self._remove_other_pod(name)

    # One request

    def _asked(self, ask: Callable[[], Answer]) -> Answer | None:
        """The response, if there was one."""
        try:
            answer = ask()
        except (OSError, HTTPException):
            self.accounts.counts["unanswered"] += 1
            self.api.close()
            return None
        assert answer.status < 400 or answer.status in EXPECTED or answer.status >= 500, answer.body
        return answer

    def _create(self, raw: Raw) -> None:
        kind = kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None
        key = Key(kind, raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        answer = self._asked(lambda: self.api.post(kind.path(key.namespace), raw))
        if answer is not None and answer.status == 201:
            self.accounts.made(key, answer.body["metadata"]["uid"])

    def _patch(self, kind: Kind, namespace: str, name: str, body: Raw) -> None:
        self._asked(lambda: self.api.merge(kind.path(namespace, name), body))

    def _remove(self, kind: Kind, namespace: str, name: str) -> None:
        """Delete an object; its state is unknown until there is a response."""
        key, where = Key(kind, namespace, name), kind.path(namespace, name)
        uid = self.accounts.doubtful(key)
        answer = self._asked(lambda: self.api.delete(where, {"propagationPolicy": "Background"}))
        if answer is not None and answer.status in (200, 202):
            self.accounts.deleted(key)
        elif answer is not None and answer.status < 500 and uid:
            self.accounts.made(key, uid)

    # Steps

    def _submit(self, **facts: Any) -> None:
        jobs = self.accounts.jobs
        if len(jobs) > MOST_JOBS:
            self._delete(self.stream.random.choice(jobs))
        for raw in objects.submitted(facts):
            self._create(raw)

    def _delete(self, name: str) -> None:
        """Delete whatever has this name: a job, a pod, or the pods of a group."""
        if not name:
            return
        self._remove(kinds.JOB, "default", name)
        for key in self.accounts.pods(name):
            self._remove(*key)

    def _suspend(self, name: str) -> None:
        if name:
            self._patch(kinds.JOB, "default", name, {"spec": {"suspend": True}})

    def _fail(self, node: str) -> None:
        self._patch(kinds.NODE, "", node, {"metadata": {"labels": {MANAGED[0]: None}}})

    def _recover(self, node: str) -> None:
        self._patch(kinds.NODE, "", node, {"metadata": {"labels": {MANAGED[0]: MANAGED[1]}}})

    def _remove_node(self, node: str) -> None:
        self._asked(lambda: self.api.delete(kinds.NODE.path("", node)))

    def _add_node(self, node: str) -> None:
        self._asked(lambda: self.api.post(kinds.NODE.path(), machine(node)))

    def _cordon(self, node: str) -> None:
        self._patch(kinds.NODE, "", node, {"spec": {"unschedulable": True}})

    def _uncordon(self, node: str) -> None:
        self._patch(kinds.NODE, "", node, {"spec": {"unschedulable": None}})

    def _taint(self, node: str, effect: str) -> None:
        self._set_taint(node, [{"key": "broken", "effect": effect}])

    def _untaint(self, node: str) -> None:
        self._set_taint(node, [])

    def _set_taint(self, node: str, wanted: list[Raw]) -> None:
        found = self._asked(lambda: self.api.get(kinds.NODE.path("", node)))
        if found is None or found.status != 200:
            return
        meta, taints = found.body["metadata"], found.body["spec"].get("taints") or []
        others = [one for one in taints if one["key"] != "broken"]
        if [*others, *wanted] != taints:
            body = {
                "metadata": {"resourceVersion": meta["resourceVersion"]},
                "spec": {"taints": [*others, *wanted] or None},
            }
            self._patch(kinds.NODE, "", node, body)

    def _stop_queue(self, queue: str, policy: str) -> None:
        self._patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"stopPolicy": policy}})

    def _resume_queue(self, queue: str) -> None:
        self._patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"stopPolicy": "None"}})

    def _quota(self, queue: str, cpu: int) -> None:
        groups = objects.cluster_queue(queue, cpu)["spec"]["resourceGroups"]
        self._patch(kinds.CLUSTER_QUEUE, "", queue, {"spec": {"resourceGroups": groups}})

    def _deactivate(self, name: str) -> None:
        self._set_active(name, False)

    def _activate(self, name: str) -> None:
        self._set_active(name, True)

    def _set_active(self, name: str, active: bool) -> None:
        where = kinds.WORKLOAD.path("default")
        found = self._asked(lambda: self.api.get(where))
        for workload in found.body["items"] if found is not None and found.status == 200 else ():
            meta = workload["metadata"]
            if name in (meta["name"], *(one["name"] for one in meta.get("ownerReferences") or ())):
                self._patch(kinds.WORKLOAD, "default", meta["name"], {"spec": {"active": active}})

    def _other_pod(self, **facts: Any) -> None:
        """A pod of another scheduler, bound by hand: nothing is expected of it."""
        raw = objects.other_pod(facts)
        self._asked(lambda: self.api.post(kinds.POD.path("other"), raw))

    def _remove_other_pod(self, name: str) -> None:
        if name:
            where = kinds.POD.path("other", name)
            self._asked(lambda: self.api.delete(where, {"gracePeriodSeconds": 0}))


def machine(name: str) -> Raw:
    """A simulated machine in its rack and block; it reports its own readiness."""
    rack = NODES[name]
    raw = objects.node(name, rack)
    raw["metadata"]["labels"] |= {"block": BLOCKS[rack], MANAGED[0]: MANAGED[1]}
    del raw["status"]["conditions"]
    return raw
