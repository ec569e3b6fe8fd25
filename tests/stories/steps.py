"""The steps of stories as plain values, drawn at random depending on the state of the cluster."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

RACKS, HOSTS = 4, 4
"""The initial number of racks, and of hosts in each."""
CPU = 8
QUEUES = ("red", "blue", "strict")
LEVELS = ("rack", "kubernetes.io/hostname")


class Step(NamedTuple):
    """The name of a step, and its parameters."""

    what: str
    facts: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.what} {' '.join(f'{key}={value}' for key, value in self.facts.items())}".strip()


WEIGHTS = {
    "submit": 22,
    "advance": 30,
    "jump": 3,
    "delete": 4,
    "fail": 4,
    "recover": 5,
    "remove_node": 2,
    "add_node": 3,
    "cordon": 3,
    "uncordon": 4,
    "taint": 3,
    "untaint": 4,
    "stop_queue": 2,
    "resume_queue": 4,
    "quota": 2,
    "deactivate": 2,
    "activate": 3,
    "other_pod": 3,
    "remove_other_pod": 3,
    "daemon_set": 1,
    "restart": 2,
    "kill": 4,
}


class Drawer:
    """Draws steps; remembers only which names it has used."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"story {seed}")
        self.nodes = [f"n{number:02d}" for number in range(RACKS * HOSTS)]
        self.jobs: list[str] = []
        self.pods: list[str] = []
        self.count = 0

    def story(self, length: int) -> list[Step]:
        return [self.step() for _ in range(length)]

    def step(self) -> Step:
        what = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        return Step(what, getattr(self, f"_{what}")())

    def _name(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def _node(self) -> dict[str, Any]:
        return {"node": self.random.choice(self.nodes)}

    def _submit(self) -> dict[str, Any]:
        name = self._name("j")
        self.jobs.append(name)
        pods = self.random.choice((1, 1, 2, 3, 4, 6, 8))
        kind = self.random.choices(("Job", "JobSet", "group", "Pod"), (10, 2, 2, 1))[0]
        if kind == "Pod":
            pods = 1
        if kind == "JobSet":
            pods = max(2, pods // 2 * 2)
        wish = self.random.choices(("required", "preferred", "unconstrained", "slices", ""), (5, 4, 3, 2, 2))[0]
        if wish == "slices" and (pods % 2 or kind == "Pod"):
            wish = "preferred"
        return {
            "name": name,
            "kind": kind,
            "pods": pods,
            "cpu": self.random.choice((1, 2, 2, 4)),
            "wish": wish,
            "level": self.random.choice(LEVELS[:1] if pods > 2 else LEVELS),
            "queue": self.random.choice(QUEUES),
            "priority": self.random.choice(("", "", "low", "high")),
            "seconds": self.random.choice((0, 5, 20, 60, 300)),
            "fails": self.random.random() < 0.05,
        }

    def _advance(self) -> dict[str, Any]:
        return {"seconds": self.random.choice((0.2, 1, 1, 3, 10, 30, 90))}

    def _jump(self) -> dict[str, Any]:
        return {"seconds": self.random.choice((5, 60, 400))}

    def _delete(self) -> dict[str, Any]:
        return {"name": self.random.choice(self.jobs) if self.jobs else ""}

    _fail = _recover = _remove_node = _cordon = _uncordon = _node

    def _add_node(self) -> dict[str, Any]:
        name = self._name("x")
        self.nodes.append(name)
        return {"node": name, "rack": f"r{self.random.randrange(RACKS)}"}

    def _taint(self) -> dict[str, Any]:
        return {**self._node(), "effect": self.random.choice(("NoSchedule", "NoExecute"))}

    _untaint = _node

    def _stop_queue(self) -> dict[str, Any]:
        return {"queue": self.random.choice(QUEUES), "policy": self.random.choice(("Hold", "HoldAndDrain"))}

    def _resume_queue(self) -> dict[str, Any]:
        return {"queue": self.random.choice(QUEUES)}

    def _quota(self) -> dict[str, Any]:
        return {"queue": self.random.choice(QUEUES), "cpu": self.random.choice((16, 32, 48, 64))}

    _deactivate = _activate = _delete

    def _other_pod(self) -> dict[str, Any]:
        name = self._name("o")
        self.pods.append(name)
        return {**self._node(), "name": name, "cpu": self.random.choice((1, 2, 4))}

    def _remove_other_pod(self) -> dict[str, Any]:
        return {"name": self.random.choice(self.pods) if self.pods else ""}

    def _daemon_set(self) -> dict[str, Any]:
        return {"name": self.random.choice(("d1", "d2")), "there": self.random.random() < 0.6}

    def _restart(self) -> dict[str, Any]:
        return {}

    def _kill(self) -> dict[str, Any]:
        return {"changes": self.random.randint(1, 25)}
