"""Waiting for a server that is starting up.

An API server that starts first refuses connections, then forbids every request because it has not read its roles yet,
then is ready. A client that starts in between would mistake such a refusal for a permanent one.

    no connection, or no response    wait without limit
    responds, but is not ready       wait for PATIENCE, then go on: /readyz may be forbidden permanently
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from ..errors import Forbidden, InternalError
from .client import Client
from .pauses import Pauses
from .unreachable import Unreachable

PATIENCE = 20.0
"""In seconds; a server reads its roles within a few."""


async def arrival(
    client: Client,
    say: Callable[[Exception], None],
    pauses: Pauses | None = None,
    now: Callable[[], float] = monotonic,
) -> None:
    """Wait until the server is ready; report the first problem through `say`, once."""
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
