"""Plays a demo on the store's clock, and keeps its position in the store.

Each step is due a number of seconds after the previous one was taken, so that a host that slept or was restarted
continues where it was and at the same pace. Deleting the ConfigMap ends the demo and keeps the cluster.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from ...cluster.embedded.store import Store
from ...cluster.errors import Refused
from ...cluster.kinds import CONFIG_MAP, kind_of
from ...cluster.port import Change, Patch, Raw, Write
from ..demo_place import KEY, NAME, NAMESPACE, Place, place_in
from .demo import Demo

log = logging.getLogger(__name__)


def begin(store: Store, demo: Demo) -> None:
    """Create the objects of a demo and the ConfigMap with its position."""
    for raw in demo.objects():
        kind = kind_of(raw["apiVersion"], raw["kind"])
        assert kind is not None, raw["kind"]
        store.create(kind, raw)
    due = store.now() + demo.steps[0].after if demo.steps else None
    data = {key: value for key, value in Place(demo.name, due=due).data().items() if value is not None}
    store.create(CONFIG_MAP, {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data})


class Player:
    """The participant of the loop that plays a demo; `said` is called with every new sentence."""

    watches = (CONFIG_MAP,)

    def __init__(self, store: Store, demos: Mapping[str, Demo], said: Callable[[str], None] = lambda _: None) -> None:
        self.store, self.demos, self.said = store, demos, said
        self.place: Place | None = None

    def see(self, change: Change) -> None:
        if change.kind is CONFIG_MAP and change.key == KEY:
            self.place = None if change.type == "DELETED" else place_in(change.object)

    def due(self) -> float | None:
        return None if self.place is None or self._demo() is None else self.place.due

    def _demo(self) -> Demo | None:
        place = self.place
        demo = None if place is None else self.demos.get(place.demo)
        return demo if demo is not None and place is not None and place.step < len(demo.steps) else None

    def step(self, now: float) -> Sequence[Write]:
        place, demo = self.place, self._demo()
        if place is None or demo is None or place.due is None or place.due > now:
            return ()
        act = demo.steps[place.step].act(self.store, place.round)
        says = act.says or place.says
        if says != place.says:
            self.said(says)
        if act.again is not None and says == place.says and not act.writes:
            self.place = place._replace(due=now + act.again)
            return ()
        follows = following(demo, place, now) if act.again is None else place._replace(due=now + act.again)
        self.place = follows._replace(says=says)
        return [*act.writes, Patch(KEY, {"data": self.place.data()})]

    def done(self, write: Write, result: Raw | Refused, now: float) -> None:
        if isinstance(result, Refused):
            log.info("demo step refused: %s", result)


def following(demo: Demo, place: Place, now: float) -> Place:
    """The position after this step."""
    if place.step + 1 < len(demo.steps):
        return place._replace(step=place.step + 1, due=now + demo.steps[place.step + 1].after)
    if demo.again is None:
        return place._replace(step=len(demo.steps), due=None)
    return place._replace(round=place.round + 1, step=0, due=now + demo.again)
