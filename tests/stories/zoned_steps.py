"""Stories on hosts with NUMA zones: the story of a seed where hosts have zones, reports are unreliable and pods pin.

What zones add is drawn from a stream of its own, so that the story without them stays the same.
"""

from __future__ import annotations

from random import Random
from typing import Any

from .steps import HOSTS, RACKS, Step

Facts = dict[str, Any]

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
DELAYS = ("0s", "1s", "3s", "20s", "90s", "never")
DISTANCES = ([[10, 20], [20, 10]], [[10, 12, 20, 20], [12, 10, 20, 20], [20, 20, 10, 12], [20, 20, 12, 10]])

WEIGHTS = {"exporter": 4, "drop_report": 3, "spoil_report": 4, "bind_pinned": 4, "withdraw_zones": 1, "zone_host": 1}
"""Steps that only stories with zones have; one step in five is such a step."""
ZONED = frozenset({*WEIGHTS, "zoned_queues"})


def with_zones(story: list[Step], seed: int) -> list[Step]:
    return ZonedDrawer(seed).told(story)


class ZonedDrawer:
    def __init__(self, seed: int) -> None:
        self.random = Random(f"zones {seed}")
        self.nodes = [f"n{number:02d}" for number in range(RACKS * HOSTS)]
        self.pods = 0

    def told(self, story: list[Step]) -> list[Step]:
        zoned = [one for one in self.nodes if self.random.random() < 0.8]
        found = [Step("zoned_queues", {}), *(Step("zone_host", self._zone_host(one)) for one in zoned)]
        for step in story:
            while self.random.random() < 0.2:
                what = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
                found.append(Step(what, getattr(self, f"_{what}")()))
            found.append(Step(step.what, {**step.facts, **self._more(step)}))
            if step.what == "add_node":
                self.nodes.append(step.facts["node"])
                found.append(Step("zone_host", self._zone_host(step.facts["node"])))
        return found

    def _more(self, step: Step) -> Facts:
        """What pods ask for, in stories with zones."""
        if step.what != "submit":
            return {}
        found = {"pinned": self._pinned()}
        if step.facts["kind"] == "JobSet" and self.random.random() < 0.7:
            found["leader"] = self._pinned()
        return found

    def _pinned(self) -> Facts:
        draw = self.random.choice
        return {
            "cpu": draw((1, 1, 2, 2, 3, 4)),
            "gpu": draw((0, 0, 0, 1, 2)),
            "memory": draw((1, 1, 1, 4, 12, 20)),
            "guaranteed": self.random.random() < 0.85,
            "init": draw((0, 0, 0, 1, 3)),
            "sidecar": draw((0, 0, 0, 1)),
            "second": draw((0, 0, 0, 1, 2)),
            "policy": draw(("", "", "", "", "", "single-numa-node", "restricted")),
        }

    def _zone_host(self, node: str = "") -> Facts:
        zones = self.random.choice((1, 2, 2, 2, 4))
        found: Facts = {
            "zones": zones,
            "policy": self.random.choices(POLICIES, (1, 2, 3, 5))[0],
            "scope": self.random.choice(("container", "pod")),
            "exporter": self.random.choice(DELAYS[:-1]),
        }
        if zones > 1 and self.random.random() < 0.5:
            found["distances"] = DISTANCES[zones // 4]
        if self.random.random() < 0.3:
            found["options"] = {"prefer-closest-numa-nodes": True}
        return {"node": node or self._node(), "numa": found}

    def _node(self) -> str:
        return self.random.choice(self.nodes)

    def _exporter(self) -> Facts:
        return {"node": self._node(), "delay": self.random.choice(DELAYS)}

    def _drop_report(self) -> Facts:
        return {"node": self._node()}

    _withdraw_zones = _drop_report

    def _spoil_report(self) -> Facts:
        return {"node": self._node(), "how": self.random.choice(("wrong", "missing", "odd"))}

    def _bind_pinned(self) -> Facts:
        self.pods += 1
        seconds = self.random.choice((5, 30, 200))
        return {"node": self._node(), "name": f"f{self.pods}", "seconds": seconds, "pinned": self._pinned()}
