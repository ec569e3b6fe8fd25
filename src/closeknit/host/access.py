"""Who may read metrics, decisions and configuration: users that the API server accepts, and authorises for the path.

    token ──▶ TokenReview ──▶ user ──▶ SubjectAccessReview: get PATH ──▶ 200
                └── unknown: 401           └── not allowed: 403             the answer is kept for 30 s

The token is in `Authorization`. The API server removes that header when it proxies to a pod, so a second header is read
too. Few questions are asked at once, so that a flood of tokens does not become a flood of requests to the API server.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from time import monotonic
from typing import NamedTuple

from ..cluster.errors import Refused
from ..cluster.kube.client import Client
from ..cluster.kube.reviews import may_get, user_of
from ..cluster.kube.unreachable import Unreachable
from .http_server import Answer, Query

HEADER = "X-Closeknit-Token"
KEPT, MOST_KEPT = 30.0, 1_000
"""Seconds for which an answer is kept, and how many are."""
IN_FLIGHT = 8
LONGEST = 16 * 1024
"""Bytes of a token."""

OK, UNKNOWN, FORBIDDEN = 200, 401, 403
_TEXTS = {
    UNKNOWN: "a bearer token that the API server accepts is required",
    FORBIDDEN: "this user may not get this path: bind the ClusterRole closeknit-reader or closeknit-metrics-reader",
}

log = logging.getLogger(__name__)


class _Kept(NamedTuple):
    status: int
    until: float


class TokenAccess:
    """`client` is set once the API server is reached; until then nothing is readable."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self.client: Client | None = None
        self._now = now
        self._kept: dict[tuple[bytes, str], _Kept] = {}
        self._in_flight = 0
        self._complaint = ""

    async def refusal(self, query: Query) -> Answer | None:
        """The answer to a request that may not read its path; None if it may."""
        status = await self._status(token_of(query.headers), query.path)
        if status == OK:
            return None
        headers = (("WWW-Authenticate", "Bearer"),) if status == UNKNOWN else ()
        text = _TEXTS.get(status, "the token cannot be checked at the moment")
        return Answer(f"{text}\n".encode(), status=status, headers=headers)

    async def _status(self, token: str, path: str) -> int:
        if not token or len(token) > LONGEST:
            return UNKNOWN
        key = hashlib.sha256(token.encode()).digest(), path
        kept = self._kept.get(key)
        if kept is not None and kept.until > self._now():
            return kept.status
        if self.client is None or self._in_flight >= IN_FLIGHT:
            return 503
        self._in_flight += 1
        try:
            status = await _reviewed(self.client, token, path)
        except (Refused, Unreachable) as error:
            self._complain(str(error))
            return 503
        finally:
            self._in_flight -= 1
        self._keep(key, status)
        return status

    def _keep(self, key: tuple[bytes, str], status: int) -> None:
        self._kept.pop(key, None)
        if len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _Kept(status, self._now() + KEPT)

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            self._complaint = text
            log.warning("cannot check a token for metrics or decisions: %s", text)


async def _reviewed(client: Client, token: str, path: str) -> int:
    user = await user_of(client, token)
    if user is None:
        return UNKNOWN
    return OK if await may_get(client, user, path) else FORBIDDEN


def token_of(headers: Mapping[str, str]) -> str:
    """The token of a request, from `Authorization: Bearer TOKEN` or from our header."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else headers.get(HEADER.lower(), "")
