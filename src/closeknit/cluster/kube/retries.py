"""Which failures are retried, and how long.

    429                   the server is overloaded and did nothing: retry after its Retry-After
                          for an eviction: a PodDisruptionBudget forbids it, which is final
    5xx, response lost    it may have been carried out: retry only if that is harmless
    connection refused    nothing was sent: retry

After a failure that leaves open whether the request was carried out, `in_doubt` is set: a later conflict may then be
with our own write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic

from ..errors import InternalError, Refused, TooManyRequests
from .pauses import FIRST_PAUSE, Pauses
from .request import ApiCall
from .unreachable import Unreachable

log = logging.getLogger(__name__)

Failure = Refused | Unreachable

LONG = 10.0
"""Seconds of retrying after which a request is logged."""


@dataclass(frozen=True, slots=True)
class Retries:
    """At most `attempts` in all, within `seconds`; the second comes about `first` seconds after the first.

    `lost`: retry also where there was no response, or a 5xx without Retry-After.
    """

    attempts: int = 6
    seconds: float = 60.0
    lost: bool = True
    first: float = FIRST_PAUSE


ASKED_TO_WAIT = Retries(attempts=4, seconds=15.0, lost=False)
"""For commands: retry only when the server asks for it, so that an unreachable server is reported at once."""


class Attempts:
    """The attempts at one request."""

    def __init__(
        self,
        request: ApiCall,
        retries: Retries,
        pauses: Pauses | None = None,
        now: Callable[[], float] = monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.in_doubt = False
        self._request, self._retries, self._left = request, retries, retries.attempts
        self._pauses, self._now, self._sleep = pauses or Pauses(first=retries.first), now, sleep
        self._begin, self._was_logged = now(), False
        self._end = self._begin + retries.seconds

    async def again(self, error: Failure) -> bool:
        """Whether to try again; returns after the backoff."""
        is_open = isinstance(error, InternalError) or (isinstance(error, Unreachable) and error.sent)
        self.in_doubt |= is_open
        self._left -= 1
        if self._left <= 0 or not self._may_pass(error) or (is_open and not self._request.may_repeat):
            return False
        pause = self._pauses.next(_asked_for(error))
        if self._now() + pause > self._end:
            return False
        self._log(error)
        await self._sleep(pause)
        return True

    def _log(self, error: Failure) -> None:
        """Log a request that is retried for long, once."""
        if not self._was_logged and self._now() - self._begin > LONG:
            self._was_logged = True
            log.warning("still retrying %s %s: %s", self._request.method, self._request.where, error)

    def _may_pass(self, error: Failure) -> bool:
        if isinstance(error, TooManyRequests):
            return not self._request.is_eviction
        if isinstance(error, InternalError):
            return self._retries.lost or error.retry_after is not None
        return isinstance(error, Unreachable) and self._retries.lost


def _asked_for(error: Failure) -> float:
    """Retry-After, in seconds."""
    return float(error.retry_after or 0) if isinstance(error, Refused) else 0.0
