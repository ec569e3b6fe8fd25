"""What the NUMA zones of each node have free, by row of the columns, while pods come and go.

What is free in the zones of a node is one state, and a state is a number (`Admissions`): nodes in equal states share
all counts. The kubelet of a node decides in which zones a pod is, so pods that are taken here get zones as it would
choose them, and the same zones are given back when the pods go, are tried elsewhere, or when a trial is rolled back.

    set()               apply(+)                     apply(-)                    commit()
  ∅ ────▶ reported ─────────────▶ held, with zones ─────────────▶ lifted ─────────────▶ ∅
                                        ▲  apply(+): the same zones  │
                                        └────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ...model.shape import Shape
from ...numa.admission import Verdict
from ...numa.admitting import Admitting, RefusedPod
from ...numa.counting import Costs
from ...numa.demand import PodDemand
from ...numa.zone_state import ZonedAmounts
from ..table import BoolArray, IntArray

NO_ZONES = -1
View = Literal["now", "room", "empty"]
"""What is taken: everything; everything but admitted workloads; nothing."""
Zoned = tuple[ZonedAmounts, ...]
"""What each of some equal pods has, by zone."""
Seat = tuple[str, int]
"""The pods of a holder on a row."""


class RowZones(NamedTuple):
    """The states of a node in the three views, and the zones of what holders have there.

    No pod goes there of the demands that are `paused`.
    """

    now: int = NO_ZONES
    room: int = NO_ZONES
    empty: int = NO_ZONES
    held: Mapping[str, Zoned] = {}
    paused: Collection[PodDemand] = ()


class Before(NamedTuple):
    """What a change replaced."""

    rows: IntArray
    states: Mapping[View, IntArray]
    seats: Mapping[Seat, tuple[Zoned, Zoned]]


class ZoneStates:
    """`held` are the zones of pods, `lifted` those of pods that are taken away for a trial."""

    def __init__(
        self,
        admissions: Admitting,
        demand_of: Callable[[Shape], PodDemand],
        rows: int,
        unknown_on: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        self.admissions, self.demand_of, self.unknown_on = admissions, demand_of, unknown_on
        self.states: dict[View, IntArray] = {view: np.full(rows, NO_ZONES) for view in ("now", "room", "empty")}
        self.held: dict[Seat, Zoned] = {}
        self.lifted: dict[Seat, Zoned] = {}
        self._holders: dict[int, set[str]] = {}
        self._paused: dict[PodDemand, set[int]] = {}

    # What the fit asks

    def on(self, rows: IntArray, view: View) -> IntArray:
        """The states of some rows."""
        states: IntArray = self.states[view][rows]
        return states

    def admitted(self, rows: IntArray, zones: IntArray, shape: Shape, at_most: IntArray) -> IntArray:
        """How many pods the kubelets of these rows admit one after another, in these states."""
        demand = self.demand_of(shape)
        pods = self.admissions.counts(zones, demand, at_most)
        paused = self._paused.get(demand.of_kubelet)
        if paused:
            pods[np.isin(rows, list(paused))] = 0
        return pods

    def cost(self, zones: IntArray, shape: Shape) -> Costs:
        """What the first pod of a shape costs in these states."""
        return self.admissions.cost(zones, self.demand_of(shape))

    def beside(self, zones: IntArray, shape: Shape, where: BoolArray) -> IntArray:
        """The states after one pod of a shape."""
        at = np.flatnonzero(where & (zones != NO_ZONES))
        if not len(at):
            return zones
        demand, after = self.demand_of(shape), zones.copy()
        distinct, inverse = np.unique(zones[at], return_inverse=True)
        states = [self.admissions.fill(number, demand, 1)[0] for number in distinct.tolist()]
        after[at] = np.array(states, dtype=np.int64)[inverse]
        return after

    def refusal(self, number: int, shape: Shape) -> Verdict | None:
        """Why the kubelet of a node in this state refuses a pod; None if it admits it."""
        found = self.admissions.admit(number, self.demand_of(shape), 1)
        return found.verdict if isinstance(found, RefusedPod) else None

    def has_all(self, at: IntArray, counts: IntArray, holder: str) -> bool:
        """Whether so many pods of a holder, at least, have zones on these rows; rows without zones do not matter."""
        zoned = self.states["now"][at] != NO_ZONES
        seats = zip(at[zoned].tolist(), counts[zoned].tolist(), strict=True)
        return all(len(self.held.get((holder, row), ())) >= count for row, count in seats)

    # What changes it

    def set(self, row: int, zones: RowZones) -> None:
        """What is known of a node now; nothing is being tried."""
        for view, state in zip(("now", "room", "empty"), zones[:3], strict=True):
            self.states[view][row] = state  # type: ignore[index]
        for holder in self._holders.pop(row, ()):
            self.held.pop((holder, row), None)
        for holder, given in zones.held.items():
            self.held[holder, row] = given
        if zones.held:
            self._holders[row] = set(zones.held)
        for demand in [one for one, rows in self._paused.items() if row in rows and one not in zones.paused]:
            self._paused[demand].discard(row)
        for demand in zones.paused:
            self._paused.setdefault(demand, set()).add(row)

    def apply(self, views: Iterable[View], at: IntArray, counts: IntArray, shape: Shape, holder: str) -> Before | None:
        """Add pods of a holder, or remove them; a pod that its kubelet would refuse takes nothing."""
        zoned = self.states["now"][at] != NO_ZONES
        if not zoned.any():
            return None
        rows, changes = at[zoned], counts[zoned].tolist()
        seats = [(holder, row) for row in rows.tolist()]
        before = Before(
            rows,
            {view: self.states[view][rows] for view in views},
            {seat: (self.held.get(seat, ()), self.lifted.get(seat, ())) for seat in seats},
        )
        for seat, count in zip(seats, changes, strict=True):
            given = self._put(seat, count, shape) if count > 0 else self._lift(seat, -count)
            for view in views:
                state = int(self.states[view][seat[1]])
                for one in given:
                    state = self.admissions.charge(state, one, 1 if count > 0 else -1)
                self.states[view][seat[1]] = state
        return before

    def _put(self, seat: Seat, count: int, shape: Shape) -> Zoned:
        """The zones of more pods: those that were lifted come back to where they were."""
        lifted = self.lifted.get(seat, ())
        back, self.lifted[seat] = lifted[:count], lifted[count:]
        state = int(self.states["now"][seat[1]])
        for one in back:
            state = self.admissions.charge(state, one, 1)
        new = self.admissions.fill(state, self.demand_of(shape), count - len(back))[1] if count > len(back) else ()
        self.held[seat] = self.held.get(seat, ()) + back + new
        return back + new

    def _lift(self, seat: Seat, count: int) -> Zoned:
        """The zones of pods that are taken away; pods whose zones are unknown free nothing."""
        held = self.held.get(seat, ())
        keep = max(0, len(held) - count)
        self.held[seat], gone = held[:keep], held[keep:]
        self.lifted[seat] = gone + self.lifted.get(seat, ())
        return gone

    def vacate(self, rows: IntArray) -> Before:
        """Take away everything on these rows."""
        before = Before(rows, {view: self.states[view][rows] for view in ("now", "room")}, {})
        for view in ("now", "room"):
            self.states[view][rows] = self.states["empty"][rows]
        return before

    def undo(self, before: Before) -> None:
        for view, states in before.states.items():
            self.states[view][before.rows] = states
        for seat, (held, lifted) in before.seats.items():
            self.held[seat], self.lifted[seat] = held, lifted

    def commit(self) -> None:
        """What was taken away is gone."""
        self.lifted.clear()

    def take(self, rows: IntArray, kept: BoolArray) -> ZoneStates:
        """The states of some rows, in this order, for columns of their own; empty where not `kept`."""
        taken = ZoneStates(self.admissions, self.demand_of, len(rows), self.unknown_on)
        empty = self.states["empty"][rows]
        taken.states = {view: np.where(kept, states[rows], empty) for view, states in self.states.items()}
        return taken
