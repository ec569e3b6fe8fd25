"""How the workloads that somebody asks about stand in a cluster: looked up, and, if they wait, tried once more.

Whoever waits is put before the scheduler again, as the cluster is now and with nothing running to its end; what it
says then is the answer. That is also what the control plane would say, so a workload that gets in here is about to.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..decide.obstacles import FEW, Obstacle, Obstacles
from ..decide.what_if import Options, Story, play
from ..model.mistake import InputError, refuse
from ..model.nearest import did_you_mean
from ..model.workload import Workload
from ..observe.cluster_state import ClusterState
from ..report.standing import Standing, placed
from ..report.what_if import where
from .naming import meant


class Ask:
    """A cluster at a time, and what its workloads are called."""

    def __init__(self, state: ClusterState, now: float) -> None:
        self.state, self.now = state, now

    def named(self, word: str, namespace: str) -> str:
        """The key of the workload that somebody means by `[KIND/]NAME`: its own name, or that of its job."""
        kind, home, name = meant(word, namespace)
        key = f"{home}/{name}"
        if key in self.state.workloads and (kind is None or kind.kind == "Workload"):
            return key
        for key, known in self.state.names.items():
            is_kind = kind is None or kind.kind == known.kind
            if is_kind and key in self.state.workloads and (known.namespace, known.name) == (home, name):
                return key
        raise self._nobody(word, home, name)

    def _nobody(self, word: str, namespace: str, name: str) -> InputError:
        there = [key for key in self.state.workloads if key.startswith(f"{namespace}/")]
        known = [self.state.name_of(key).name for key in there] + [key.split("/", 1)[1] for key in there]
        others = [str(one) for key, one in self.state.names.items() if one.name == name and key in self.state.workloads]
        remedy = did_you_mean(name, known)
        if others:
            remedy = f"say where: {', '.join(others)} is there"
        text = f"no workload of namespace {namespace} that has not finished is called so, and no job with one"
        return refuse(text, remedy or "a job without a queue has none; -n names another namespace", what=word)


def standings(ask: Ask, keys: Sequence[str]) -> list[Standing]:
    """One for each, in order."""
    state, now = ask.state, ask.now
    for one in state.workloads.values():
        state.scheduler.put(one, now)
    found = {key: _placed(ask, state.workloads[key]) for key in keys if state.workloads[key].admitted}
    waiting = [key for key in keys if key not in found]
    if waiting:
        story = play(state.scheduler, state.workloads.values(), now, Options(False, state.pods_of))
        obstacles = Obstacles(state.scheduler, story, now, state.left_out)
        found |= {key: _waiting(ask, story, obstacles, key) for key in waiting}
    return [found[key] for key in keys]


def _placed(ask: Ask, one: Workload) -> Standing:
    return placed(ask.state.scheduler.world, one, ask.state.name_of(one.key))


def _waiting(ask: Ask, story: Story, obstacles: Obstacles, key: str) -> Standing:
    one, name = story.workloads[key], ask.state.name_of(key)
    queue = ask.state.scheduler.lines.queue_of(one)
    if one.admitted:
        return Standing(name, one, queue, obstacle=_about_to_start(ask, story, one))
    why, obstacle = tuple(obstacles.explanations(one)), obstacles.of(one)
    helps = ", or ".join(str(remedy) for each in why for remedy in each.remedies[:FEW])
    return Standing(name, one, queue, obstacle=obstacle._replace(remedy=helps or obstacle.remedy), why=why)


def _about_to_start(ask: Ask, story: Story, one: Workload) -> Obstacle:
    """It gets in as soon as it is looked at: where, and at whose cost."""
    victims = [str(ask.state.name_of(step.workload.key)) for step in story.steps if step.by and step.by.key == one.key]
    cost = f" once {', '.join(victims)} gave way" if victims else ""
    message = f"It would be admitted now{cost}: {where(ask.state.scheduler.world, one)}"
    return Obstacle("NotDecidedYet", message, "nothing: it is about to start; `closeknit what-if` plays it through")
