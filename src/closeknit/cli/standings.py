"""The state of workloads in a cluster: looked up, and for waiting workloads scheduled once more.

The scheduler runs again on the cluster as it is now, without letting anything finish, and its result is the answer for
a waiting workload. The control plane decides the same way, so a workload that is admitted here is about to start.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..cluster import kinds
from ..decide.obstacles import Obstacle, Obstacles, in_one_line
from ..decide.what_if import Story, WhatIfOptions, play
from ..lifecycle.starting import unstarted_for_long
from ..model.mistake import NotThere, not_there
from ..model.nearest import did_you_mean
from ..model.workload import Workload
from ..observe.loaded import LoadedCluster
from ..report.lines import date
from ..report.standing import Standing, finished, placed
from ..report.what_if import where
from .hints import hint
from .naming import Meant

PREEMPTOR = re.compile(r"\(UID: (?P<uid>[^,]+), .*?\) due to (?P<why>[^;]+)")
"""The preemptor and the cause in Kueue's message."""


class StandingQuery:
    """A cluster at one point in time; `given` has the file of each workload that was not submitted."""

    def __init__(self, state: LoadedCluster, now: float) -> None:
        self.state, self.now = state, now
        self.given: dict[str, str] = {}

    def find(self, asked: Meant) -> str | None:
        """The key of a workload by its own name or its job's; finished workloads are searched last."""
        for there in (self.state.workloads, self.state.finished):
            key = f"{asked.namespace}/{asked.name}"
            if key in there and asked.kind in (None, kinds.WORKLOAD):
                return key
            of_job = [each for each in there if self._is_job(each, asked)]
            if of_job:
                return max(of_job, key=lambda each: there[each].created)
        return None

    def _is_job(self, key: str, asked: Meant) -> bool:
        known = self.state.name_of(key)
        is_kind = asked.kind is None or asked.kind.kind == known.kind
        return is_kind and (known.namespace, known.name) == (asked.namespace, asked.name)

    def around(self, keys: Iterable[str]) -> set[str]:
        """These workloads, their jobs and their queues, by the names used in warnings."""
        names: set[str] = set()
        for key in keys:
            one = self.state.workloads.get(key) or self.state.finished[key]
            local = self.state.scheduler.pending.local_queues.get(one.local_queue)
            queue = "" if local is None else local.cluster_queue
            names |= {f"Workload {key}", str(self.state.name_of(key)), f"LocalQueue {one.local_queue}"}
            names.add(f"ClusterQueue {queue}")
        return names

    def not_found(self, word: str, asked: Meant) -> NotThere:
        there = [key for key in self.state.workloads if key.startswith(f"{asked.namespace}/")]
        known = [self.state.name_of(key).name for key in there] + [key.split("/", 1)[1] for key in there]
        others = [str(one) for key, one in self.state.names.items() if one.name == asked.name]
        text = f"no workload or job of this name in namespace {asked.namespace}"
        shown = hint("decisions", asked.name, "-n", asked.namespace)
        remedy = "use -n for another namespace" + (
            f"; if it was deleted, `{shown}` shows its decisions" if shown else ""
        )
        if others:
            remedy = f"use -n for its namespace: found {', '.join(others)}"
        return not_there(text, did_you_mean(asked.name, known) + remedy, what=word)


def standings(ask: StandingQuery, keys: Sequence[str]) -> list[Standing]:
    """The state of each workload, in order."""
    state, now = ask.state, ask.now
    found = {key: _ended(ask, key) for key in keys if key not in state.workloads}
    found |= {key: _placed(ask, key) for key in keys if key not in found and state.workloads[key].admitted}
    waiting = [key for key in keys if key not in found]
    if waiting:
        story = play(state.scheduler, state.workloads.values(), now, WhatIfOptions(False, state.pods_of))
        obstacles = Obstacles(state.scheduler, story, now, state.left_out, hint)
        found |= {key: _waiting(ask, story, obstacles, key) for key in waiting}
    return [found[key] for key in keys]


def _ended(ask: StandingQuery, key: str) -> Standing:
    return finished(ask.state.scheduler.world, ask.state.finished[key], ask.state.name_of(key), ask.now)


def _placed(ask: StandingQuery, key: str) -> Standing:
    world = ask.state.scheduler.world
    pods = (world.other_pods.get(pod) for pod in ask.state.pods_of.get(key, ()))
    on = Counter(pod.node for pod in pods if pod is not None)
    one = ask.state.workloads[key]
    late = unstarted_for_long(ask.state.cache.pods_of(key), one.status.conditions["Admitted"].since, ask.now)
    return replace(placed(world, one, ask.state.name_of(key), ask.now, on), unstarted=late)


def _waiting(ask: StandingQuery, story: Story, obstacles: Obstacles, key: str) -> Standing:
    one, name = story.workloads[key], ask.state.name_of(key)
    queue = ask.state.scheduler.pending.queue_of(one)
    standing = Standing(name, one, queue, past=_past(ask, ask.state.workloads[key]))
    if one.admitted:
        return replace(standing, workload=ask.state.workloads[key], obstacle=_about_to_start(ask, story, one))
    found, obstacle = obstacles.prospects(one), obstacles.of(one)
    if found is None:
        return replace(standing, obstacle=obstacle)
    return replace(standing, obstacle=obstacle._replace(remedy=in_one_line(found)), prospects=found)


def _past(ask: StandingQuery, one: Workload) -> str:
    """What evicted or preempted the workload's previous run; empty if it did not run before."""
    evicted, preempted = (one.status.conditions.get(kind) for kind in ("Evicted", "Preempted"))
    if evicted is None or not evicted.holds:
        return ""
    when = date(evicted.since)
    if evicted.reason != "Preempted":
        return f"it was evicted at {when}: {evicted.message or evicted.reason}"
    cause = preempted or evicted
    by = PREEMPTOR.search(cause.message)
    known = {each.uid: key for there in (ask.state.workloads, ask.state.finished) for key, each in there.items()}
    if by is None or by["uid"] not in known:
        return f"it was preempted at {when}: {cause.message}"
    return f"it was preempted at {when} by {ask.state.name_of(known[by['uid']])}: {by['why']}"


def _about_to_start(ask: StandingQuery, story: Story, one: Workload) -> Obstacle:
    """The obstacle of a workload that the next cycle admits: where it goes, and what it preempts."""
    victims = [str(ask.state.name_of(step.workload.key)) for step in story.steps if step.by and step.by.key == one.key]
    cost = f" after preempting {', '.join(victims)}" if victims else ""
    message = f"It would be admitted now{cost}: {where(ask.state.scheduler.world, one)}"
    play_it, doctor = hint("what-if"), hint("doctor")
    if one.key in ask.given:
        submit = hint("apply", "-f", ask.given[one.key])
        return Obstacle("NotSubmitted", message, f"submit it: `{submit}`" if submit else "submit it")
    remedy = f"wait: the next cycle admits it; `{play_it}` simulates that"
    if doctor:
        remedy += f". If it stays pending, `{doctor}` checks the control plane"
    return Obstacle("NotDecidedYet", message, remedy)
