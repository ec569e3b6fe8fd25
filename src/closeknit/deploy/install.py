"""Installing: apply the plan stage by stage, and report each object when it is done.

Definitions are waited for: no object of a kind can be created before its definition is established.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import monotonic

from ..cluster.errors import NotFound
from ..cluster.kube.client import Client
from .kinds import CRD, kind_of
from .marks import Raw, label
from .plan import PlanStep, applied

PATIENCE = 60.0


class NotEstablished(Exception):  # noqa: N818 - shown to the user as it is
    """A definition was accepted, but is not served."""


async def install(
    client: Client, steps: Sequence[PlanStep], say: Callable[[PlanStep], None], force: bool = False
) -> None:
    waiting: list[Raw] = []
    for number, step in enumerate(steps):
        if number and waiting and step.stage != steps[number - 1].stage:
            await _established(client, waiting)
            waiting = []
        if step.is_sent:
            await applied(client, step.sent, force)
            if kind_of(step.sent) is CRD:
                waiting.append(step.sent)
        elif step.word == "deleted":
            await _deleted(client, step.sent)
        say(step)
    await _established(client, waiting)


async def _deleted(client: Client, raw: Raw) -> None:
    meta = raw["metadata"]
    with suppress(NotFound):
        await client.delete(kind_of(raw), meta.get("namespace", ""), meta["name"], uid=meta["uid"])


async def _established(client: Client, definitions: Sequence[Raw]) -> None:
    end = monotonic() + PATIENCE
    for one in definitions:
        name = one["metadata"]["name"]
        await _until(lambda name=name: is_established(client, name), end, label(one))  # type: ignore[misc]


async def is_established(client: Client, name: str) -> bool:
    found = await client.get(CRD, "", name)
    return is_true(found, "Established")


def is_true(raw: Raw, condition: str) -> bool:
    conditions = (raw.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == condition and one.get("status") == "True" for one in conditions)


async def _until(check: Callable[[], Awaitable[bool]], end: float, what: str) -> None:
    while not await check():
        if monotonic() > end:
            raise NotEstablished(
                f"{what} is not established after {PATIENCE:.0f} s; see `kubectl describe`, then install again"
            )
        await asyncio.sleep(0.2)
