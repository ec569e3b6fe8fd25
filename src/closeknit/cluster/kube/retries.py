"""Which failures pass if one waits, and how long.

    429                   the server has too much to do and did nothing: again, when it says so
                          of an eviction: a PodDisruptionBudget forbids it, which is an answer
    5xx, answer lost      it may have been done: again only if doing it twice does no harm
    nobody there          nothing was sent: again

After a failure that leaves it open whether the request was carried out, `in_doubt` is set: a later refusal may then be
about our own work.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from ..errors import InternalError, Refused, TooManyRequests
from .pauses import FIRST_PAUSE, Pauses
from .request import Request
from .unreachable import Unreachable

log = logging.getLogger(__name__)

Failure = Refused | Unreachable

LONG = 10.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Retries:
    """`attempts` in all, within `seconds`, the second about `first` after the first one.

    `lost`: also where there was no answer, or none that asks for patience.
    """

    attempts: int = 6
    seconds: float = 60.0
    lost: bool = True
    first: float = FIRST_PAUSE


ASKED_TO_WAIT = Retries(attempts=4, seconds=15.0, lost=False)
"""For commands: whoever waits for an answer wants to know at once that there is no server."""


class Attempts:
    """Those at one request."""

    def __init__(
        self,
        request: Request,
        retries: Retries,
        pauses: Pauses | None = None,
        now: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.in_doubt = False
        self._request, self._retries, self._left = request, retries, retries.attempts
        self._pauses, self._now, self._sleep = pauses or Pauses(first=retries.first), now, sleep
        self._begin, self._was_told = now(), False
        self._end = self._begin + retries.seconds

    async def again(self, error: Failure) -> bool:
        """Whether to try once more; returns when it is time to."""
        is_open = isinstance(error, InternalError) or (isinstance(error, Unreachable) and error.sent)
        self.in_doubt |= is_open
        self._left -= 1
        if self._left <= 0 or not self._may_pass(error) or (is_open and not self._request.may_repeat):
            return False
        pause = self._pauses.next(_asked_for(error))
        if self._now() + pause > self._end:
            return False
        self._tell(error)
        await self._sleep(pause)
        return True

    def _tell(self, error: Failure) -> None:
        """Whoever reads the log should know of what is tried for long: once."""
        if not self._was_told and self._now() - self._begin > LONG:
            self._was_told = True
            log.warning("%s %s is tried again and again: %s", self._request.method, self._request.where, error)

    def _may_pass(self, error: Failure) -> bool:
        if isinstance(error, TooManyRequests):
            return not self._request.is_eviction
        if isinstance(error, InternalError):
            return self._retries.lost or error.retry_after is not None
        return isinstance(error, Unreachable) and self._retries.lost


def _asked_for(error: Failure) -> float:
    """Retry-After, in seconds."""
    return float(error.retry_after or 0) if isinstance(error, Refused) else 0.0
