"""RefusalPauses for nodes whose kubelets refuse pods that should fit: each refusal in a row doubles the pause.

          begin()                 ended()                    begin() within REMEMBERED: doubled
    ∅ ────────────▶ paused 10 s ────────────▶ remembered ─────────────────────────────────────▶ paused 20 s, …
                                                  └── REMEMBERED later ──▶ ∅

What is known of the node is wrong until it reports again. Without a pause, the job's controller makes a pod after each
refusal, which the kubelet refuses at once, without end.
"""

from __future__ import annotations

from typing import NamedTuple

from ...numa.demand import PodDemand

FIRST, LONGEST, REMEMBERED = 10.0, 600.0, 300.0


class Pause(NamedTuple):
    seconds: float
    until: float


class RefusalPauses:
    """By node and demand: pods of other demands may go there."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, PodDemand], Pause] = {}
        self._past: dict[tuple[str, PodDemand], Pause] = {}

    def begin(self, node: str, demand: PodDemand, now: float) -> float:
        """A kubelet has refused a pod; several refusals in one pause count once. The seconds that are left of it."""
        at = node, demand
        running, past = self._running.get(at), self._past.pop(at, None)
        if running is not None and now < running.until:
            return running.until - now
        last = running or past
        again = last is not None and now < last.until + REMEMBERED
        seconds = min(2 * last.seconds, LONGEST) if last is not None and again else FIRST
        self._running[at] = Pause(seconds, now + seconds)
        return seconds

    def on(self, node: str, now: float) -> frozenset[PodDemand]:
        """The demands that a node is paused for."""
        return frozenset(demand for (at, demand), one in self._running.items() if at == node and now < one.until)

    def every(self, now: float) -> list[tuple[str, PodDemand, float]]:
        """Each pause in force: the node, the demand, and the seconds that are left."""
        found = [(node, demand, one.until - now) for (node, demand), one in self._running.items() if now < one.until]
        return sorted(found, key=lambda one: (one[0], one[2]))

    @property
    def due(self) -> float | None:
        """When the next pause ends."""
        return min((one.until for one in self._running.values()), default=None)

    def ended(self, now: float) -> set[str]:
        """The nodes with pauses that are over since this was asked last."""
        over = {at: one for at, one in self._running.items() if now >= one.until}
        self._past = {at: one for at, one in self._past.items() if now < one.until + REMEMBERED} | over
        self._running = {at: one for at, one in self._running.items() if at not in over}
        return {node for node, _ in over}
