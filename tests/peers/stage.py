"""One world on both sides: each step is done on both, and awaited until nothing changes any more.

Kueue gathers what wakes workloads for a second, and a job that goes wakes them twice: a side counts as quiet when
nothing has changed for longer than that.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from time import monotonic, sleep
from types import TracebackType

from contract.expect import eventually
from contract.objects import path
from servers.manifests import address, apply, is_true
from servers.nodes import NODES, await_nodes, bring_back, silence, takes_pods

from .known import (
    AT_ONCE,
    SEVERAL,
    TIE,
    Pair,
    driven_out_again,
    explanation,
    explanation_of_order,
    is_at_once,
    is_back,
    is_old,
    is_tie,
)
from .marks import EVICTED, RESERVES, order
from .script import Create, Delete, Finish, Lose, Recover, Step, picked
from .sides import Ground, Side
from .views import is_moving, view, views, words
from .worlds import Object, World

APART = 1.1
"""Seconds between two creations, because creation times have a resolution of one second."""
QUIET, STILL = 2.5, 6.0
"""Seconds without a change after which equal sides count as done, and unequal ones as different."""
LIMIT = 60.0
LAST = 3
"""Events of a workload that count: one for each flavor in its queue, at most."""
NAMES = {RESERVES: "admissions", EVICTED: "evictions"}
SIGNS = {RESERVES: "+", EVICTED: "-"}
TAINT = {"key": "peers.closeknit.dev/broken", "effect": "NoExecute"}


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, for each side. `causes`: the explanation of each workload's or the order's difference, or None."""

    both: dict[str, Object]
    causes: dict[str, str | None]

    @property
    def is_explained(self) -> bool:
        return None not in self.causes.values()

    @property
    def goes_on(self) -> bool:
        """Whether the next steps can still be compared."""
        return self.is_explained and TIE not in self.causes.values()

    @property
    def outline(self) -> str:
        return f"differs in {', '.join(f'{what} ({cause})' if cause else what for what, cause in self.causes.items())}"


class Stage:
    """A context manager that creates and removes the world. `count` counts the steps."""

    def __init__(self, grounds: tuple[Ground, Ground], world: World) -> None:
        self.world = world
        self.sides = Side(grounds[0], world.name), Side(grounds[1], world.name)
        self.count = Counter[str]()
        self._open = ExitStack()
        self._lost: dict[str, str] = {}
        self._bodies: dict[str, Object] = {}
        self._accepted: dict[str, Pair] = {}
        self._worded = set[tuple[str, str | None, str | None]]()
        self._since = (0, 0)
        self._created = 0.0

    def __enter__(self) -> Stage:
        self._on_both(self._set_up)
        for side in self.sides:
            self._open.enter_context(side.log)
        self._begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open:
            if kind is None:
                self.empty()
                self._on_both(self._tear_down)

    @property
    def outline(self) -> str:
        queues = [one for one in self.world.objects if one["kind"] == "ClusterQueue"]
        words = [f"{len(self.world.nodes)} nodes", f"{len(self.world.levels)} levels", f"{len(queues)} queues"]
        return ", ".join([*words, f"flavors {', '.join(flavors(queues[0]))}"])

    def standing(self) -> str:
        """The events of this step, and the numbers of running and pending jobs."""
        marks = self.sides[0].log.marks[self._since[0] :]
        self.count.update(NAMES[mark.what] for mark in marks)
        what = "".join(f" {SIGNS[mark.what]}{mark.job.rpartition('-')[2]}" for mark in marks)
        held = self.sides[0].log.all().values()
        running = sum(is_true(one, "Admitted") and not is_true(one, "Finished") for one in held)
        waiting = sum(not is_true(one, "QuotaReserved") and not is_true(one, "Finished") for one in held)
        return f"alike;{what} {running} run, {waiting} wait"

    # What is done

    def act(self, step: Step) -> str:
        """Take a step on both sides; returns its description."""
        self._begin()
        match step:
            case Create(body):
                return self._create(body)
            case Finish(pick):
                return self._finish(pick)
            case Delete(pick):
                return self._delete(pick)
            case Lose(pick, how):
                return self._lose(pick, how)
            case Recover():
                return self._recover()

    def _create(self, body: Object) -> str:
        sleep(max(0.0, self._created + APART - monotonic()))
        self._created = monotonic()
        name = body["metadata"]["name"]
        answers = []
        for side in self.sides:
            answer = side.api.post(address(side.api, body).rpartition("/")[0], body)
            answers.append(answer.status)
            if answer.status == 201:
                side.log.known(answer.body["metadata"]["uid"], name)
        if answers == [201, 201]:
            self._bodies[name] = body
            self._on_both(lambda side: eventually(lambda: name in side.log.held, LIMIT))
            self.count["workloads"] += 1
            return f"create {described(body)}"
        assert answers[0] == answers[1], f"{name}: {answers}"
        return f"create {name}: refused on both"

    def _finish(self, pick: float) -> str:
        name = picked(self._who(lambda one: is_true(one, "Admitted") and not is_true(one, "Finished")), pick)
        if name is None:
            return "finish nothing"
        try:
            self._on_both(lambda side: eventually(lambda: self._all_run(side, name), 15))
        except AssertionError:
            return f"finish nothing, since not all pods of {name} run"
        self.count["finishes"] += 1
        self._on_both(lambda side: self._succeed(side, name))
        return f"finish {name}"

    def _succeed(self, side: Side, name: str) -> None:
        """Let all its pods succeed, and those created later: a job admitted with fewer pods creates the rest now."""
        done = {"status": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}}
        over = set[str]()

        def is_finished() -> bool:
            for pod in self._pods(side, name):
                if pod["metadata"]["name"] not in over and pod["spec"].get("nodeName"):
                    side.api.merge(path("v1/pods", self.world.name, pod["metadata"]["name"], "status"), done)
                    over.add(pod["metadata"]["name"])
            return is_true(side.log.held[name], "Finished")

        try:
            eventually(is_finished, LIMIT)
        except AssertionError as error:
            error.add_note(f"{name} does not finish on the side of {side.name}: {self._standing(side, name)}")
            raise

    def _standing(self, side: Side, name: str) -> Object:
        listed = side.api.get(path("v1/pods", self.world.name)).body["items"]
        pods = {one["metadata"]["name"]: one["status"] for one in listed if job_name(one) == name}
        return {"workload": view(side.log.held[name]), "pods": pods}

    def _all_run(self, side: Side, name: str) -> bool:
        """Whether all its pods run; with a rack assigned but no hosts, they may find no room there."""
        assignments = side.log.held[name]["status"]["admission"]["podSetAssignments"]
        wanted: int = sum(one["count"] for one in assignments)
        return len(self._pods(side, name)) == wanted

    def _pods(self, side: Side, name: str) -> list[Object]:
        """The running pods of a job."""
        listed: list[Object] = side.api.get(path("v1/pods", self.world.name)).body["items"]
        alive = [one for one in listed if job_name(one) == name and not one["metadata"].get("deletionTimestamp")]
        return [one for one in alive if one["status"]["phase"] == "Running"]

    def _delete(self, pick: float) -> str:
        name = picked(self._who(lambda one: not is_true(one, "Finished")), pick)
        if name is None:
            return "delete nothing"
        self.count["deletions"] += 1
        self._on_both(lambda side: self._remove(side, name))
        return f"delete {name}"

    def _remove(self, side: Side, name: str) -> None:
        side.api.delete(address(side.api, self._bodies[name]), propagationPolicy="Background")
        eventually(lambda: name not in side.log.held, LIMIT)

    def _who(self, asked: Callable[[Object], bool]) -> list[str]:
        return [job for job, one in self.sides[0].log.all().items() if asked(one)]

    # Nodes

    def _lose(self, pick: float, how: str) -> str:
        """Lose a node that runs pods, if there is one."""
        used = {one["spec"].get("nodeName") for one in self._running()} - {None}
        name = picked([*used], pick) or picked([one["metadata"]["name"] for one in self.world.nodes], pick)
        assert name is not None
        self.count["lost nodes"] += 1
        self._lost[name] = how
        self._on_both(lambda side: lose(side, name, how))
        return f"node {name} is {how}"

    def _running(self) -> list[Object]:
        listed: list[Object] = self.sides[0].api.get(path("v1/pods", self.world.name)).body["items"]
        return [one for one in listed if one["status"]["phase"] == "Running"]

    def _recover(self) -> str:
        lost, self._lost = self._lost, {}
        bodies = [one for one in self.world.nodes if one["metadata"]["name"] in lost]
        self._on_both(lambda side: recover(side, bodies, lost))
        return f"{', '.join(lost)} back"

    # Until it is over

    def settle(self) -> Difference | None:
        """Wait until nothing changes; an explained difference is returned once and then accepted."""
        end = monotonic() + LIMIT
        while True:
            sleep(0.1)
            quiet = monotonic() - max(self._acted, *(side.log.changed for side in self.sides))
            assert all(side.log.is_alive for side in self.sides), "a watch of workloads has ended"
            over = monotonic() > end
            if (quiet < QUIET or self._is_moving()) and not over:
                continue
            difference = self._difference()
            if difference is None or quiet > STILL or over:
                self._accept(difference)
                return difference

    def _difference(self) -> Difference | None:
        first, second = (views(side.log.all()) for side in self.sides)
        happened = [side.log.marks[since:] for side, since in zip(self.sides, self._since, strict=True)]
        orders = [order(marks) for marks in happened]
        pairs = {job: (first.get(job), second.get(job)) for job in sorted(first.keys() | second.keys())}
        differ = {job: pair for job, pair in pairs.items() if pair[0] != pair[1]}
        unlike = {job: pair for job, pair in differ.items() if not is_old(self._accepted.get(job), pair)}
        if not unlike and orders[0] == orders[1]:
            return None
        said = [events(side, self.world.name) for side in self.sides]
        reasons = {job: [one.partition(":")[0] for one in lines[-LAST:]] for job, lines in said[0].items()}
        walking = {job for job, lines in said[1].items() if len(said[0].get(job, ())) > 1 and lines[-1] in said[0][job]}
        causes = {job: explanation(*pair, reasons.get(job, []), job in walking) for job, pair in unlike.items()}
        back = {job for job, pair in unlike.items() if is_back(*pair)}
        if orders[0] != orders[1]:
            at_once = AT_ONCE if is_at_once(happened) else None
            again = driven_out_again(orders[0], orders[1]) - unlike.keys()
            causes["the order"] = explanation_of_order(orders[0], orders[1], back | again) or at_once
        if causes.get("the order") == SEVERAL:
            causes.update(dict.fromkeys(back, SEVERAL))
        if is_tie([(side.log.marks, since) for side, since in zip(self.sides, self._since, strict=True)]):
            causes = {what: cause or TIE for what, cause in causes.items()}
        both = {
            side.name: {
                "order": in_order,
                "workloads": {job: one.get(job) for job in unlike},
                "events": {job: lines[-2 * LAST :] for job, lines in recorded.items() if job in unlike},
            }
            for side, in_order, one, recorded in zip(self.sides, orders, (first, second), said, strict=True)
        }
        return Difference(both, causes)

    def _is_moving(self) -> bool:
        return any(is_moving(one) for side in self.sides for one in list(side.log.held.values()))

    def _accept(self, difference: Difference | None) -> None:
        if difference is not None and difference.is_explained:
            first, second = (one["workloads"] for one in difference.both.values())
            self._accepted.update({job: (first[job], second[job]) for job in first})

    def wordings(self) -> list[tuple[str, str | None, str | None]]:
        """The pending workloads with different messages on the two sides; each case once."""
        first, second = (side.log.all() for side in self.sides)
        pairs = [(job, words(first.get(job)), words(second.get(job))) for job in sorted(first.keys() & second.keys())]
        new = [one for one in pairs if one[1] != one[2] and one not in self._worded]
        self._worded.update(new)
        return new

    def _begin(self) -> None:
        self._acted = monotonic()
        self._since = (len(self.sides[0].log.marks), len(self.sides[1].log.marks))

    # Coming and going

    def empty(self) -> None:
        """Delete all jobs and restore all nodes."""
        self._recover()
        self._on_both(self._clear)
        self._bodies.clear()

    def _clear(self, side: Side) -> None:
        for body in self._bodies.values():
            side.api.delete(address(side.api, body), propagationPolicy="Background")
        eventually(lambda: not side.log.held, LIMIT)

    def _set_up(self, side: Side) -> None:
        for body in self.world.nodes:
            apply(side.api, [body])
            add_status(side, body)
        await_nodes(side.api, [one["metadata"]["name"] for one in self.world.nodes])
        apply(side.api, self.world.objects)
        queues = [address(side.api, one) for one in self.world.objects if one["kind"] in ("ClusterQueue", "LocalQueue")]
        eventually(lambda: all(is_true(side.api.get(where).body, "Active") for where in queues), 30)

    def _tear_down(self, side: Side) -> None:
        for body in [*reversed(self.world.objects), *self.world.nodes]:
            side.api.delete(address(side.api, body))

    def _on_both(self, do: Callable[[Side], None]) -> None:
        """Run it on both sides concurrently, and raise what either raises."""
        raised: list[BaseException] = []

        def tried(side: Side) -> None:
            try:
                do(side)
            except BaseException as error:
                raised.append(error)

        threads = [threading.Thread(target=tried, args=(side,)) for side in self.sides]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._acted = monotonic()
        if raised:
            raise raised[0]


def add_status(side: Side, body: Object) -> None:
    where = path(NODES, None, body["metadata"]["name"], "status")
    assert side.api.merge(where, {"status": body["status"]}).status == 200


def lose(side: Side, name: str, how: str) -> None:
    """Lose a node; returns when the server has noticed and is evicting its pods."""
    where = path(NODES, None, name)
    if how == "deleted":
        side.api.delete(where)
        return
    if how == "tainted":
        side.api.merge(where, {"spec": {"taints": [TAINT]}})
    else:
        silence(side.api, name)
        eventually(lambda: not takes_pods(side.api.get(where).body), 40)
    eventually(lambda: not staying(side, name), 40)


def staying(side: Side, node: str) -> list[Object]:
    """Pods on a node that are not being deleted."""
    found: list[Object] = side.api.get(path("v1/pods"), fieldSelector=f"spec.nodeName={node}").body["items"]
    return [one for one in found if not one["metadata"].get("deletionTimestamp")]


def recover(side: Side, bodies: Sequence[Object], lost: dict[str, str]) -> None:
    for body in bodies:
        name = body["metadata"]["name"]
        if lost[name] == "deleted":
            apply(side.api, [body])
            add_status(side, body)
        elif lost[name] == "tainted":
            side.api.merge(path(NODES, None, name), {"spec": {"taints": None}})
        else:
            bring_back(side.api, name)
    await_nodes(side.api, [one["metadata"]["name"] for one in bodies])


def events(side: Side, space: str) -> dict[str, list[str]]:
    """The events of each job's workload in order: reasons and messages."""
    answer = side.api.get(path("v1/events", space), fieldSelector="involvedObject.kind=Workload")
    found = defaultdict[str, list[str]](list)
    for one in sorted(answer.body["items"], key=lambda one: int(one["metadata"]["resourceVersion"])):
        found[side.log.name_of(one["involvedObject"]["name"])].append(f"{one['reason']}: {one['message']}")
    return found


def job_name(pod: Object) -> str:
    labels = pod["metadata"].get("labels") or {}
    name: str = labels.get("jobset.sigs.k8s.io/jobset-name") or labels.get("job-name", "")
    return name


def flavors(queue: Object) -> list[str]:
    return [one["name"] for group in queue["spec"]["resourceGroups"] for one in group["flavors"]]


def described(body: Object) -> str:
    """w1-j07 in w1-q2 of p10: main 4 × 2"""
    labels, spec = body["metadata"]["labels"], body["spec"]
    queue, priority = (one.rpartition("-")[2] for one in labels.values())
    parts = [(one["name"], one["template"]["spec"]) for one in spec.get("replicatedJobs", [])] or [("main", spec)]
    sizes = ", ".join(f"{name} {one['parallelism']} × {cpu(one)}" for name, one in parts)
    notes = {key.partition("/")[2]: value for key, value in asked(parts[0][1]).items()}
    ways = " ".join(f"{key.removeprefix('podset-')}={value}" for key, value in notes.items())
    return f"{body['metadata']['name']} in {queue} {priority}: {sizes} {ways}".rstrip()


def cpu(job: Object) -> str:
    amount: str = job["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"]
    return amount


def asked(job: Object) -> dict[str, str]:
    notes: dict[str, str] = job["template"]["metadata"]["annotations"]
    return {key: value for key, value in notes.items() if "podset" in key}
