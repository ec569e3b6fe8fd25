"""A server that comes up, seen from outside: nobody listens; it refuses everybody, since it has not read who may do
what; it is ready. Whoever begins in between takes for an answer what is none.

    nobody, or no answer     waited for, without end
    answers, is not ready    waited for PATIENCE, then taken as it is: /readyz may be forbidden for good
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ..errors import Forbidden, InternalError
from .client import Client
from .pauses import Pauses
from .unreachable import Unreachable

PATIENCE = 20.0
"""Seconds; a server reads its roles within a few."""


async def arrival(
    client: Client,
    say: Callable[[Exception], None],
    pauses: Pauses | None = None,
    now: Callable[[], float] = monotonic,
) -> None:
    """Wait until it is ready; what stands in the way is said once."""
    pauses = pauses or Pauses()
    answered_at: float | None = None
    told = False
    while True:
        try:
            await client.request("GET", "/readyz")
            return
        except Unreachable as error:
            problem: Exception = error
            answered_at = None
        except (Forbidden, InternalError) as error:
            problem = error
            answered_at = now() if answered_at is None else answered_at
            if now() - answered_at > PATIENCE:
                return
        if not told:
            say(problem)
        told = True
        await pauses.wait()
