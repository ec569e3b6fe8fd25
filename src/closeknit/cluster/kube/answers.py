"""Error responses of a server as exceptions.

Each becomes one of `cluster.errors`: by the reason of its Status object, otherwise by the HTTP status code.
"""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from math import ceil
from time import time
from typing import Any

import msgspec

from .. import errors
from ..errors import Cause, InternalError, Refused

_CLASSES = [
    one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Refused) and one is not Refused
]
_BY_REASON = {one.reason: one for one in reversed(_CLASSES)}
_BY_CODE = {one.code: one for one in reversed(_CLASSES)}
"""Of two classes with the same reason or code the more general one, which comes first in the list."""


def refusal(code: int, body: bytes, retry_after: str = "", where: str = "") -> Refused:
    """The exception for an error response; `where` is the path of the request."""
    try:
        status = msgspec.json.decode(body)
    except msgspec.DecodeError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        text = body[:500].decode("utf-8", "replace").strip() or f"the server answered {code} without a message"
        status = {"message": f"{where}: {text}" if where else text, "code": code}
    return refusal_of(status, code, retry_after)


def _seconds(retry_after: str) -> int | None:
    """The seconds of a Retry-After header; None for a date, which proxies send."""
    if retry_after.isdigit():
        return int(retry_after)
    try:
        return max(0, ceil(parsedate_to_datetime(retry_after).timestamp() - time()))
    except ValueError:
        return None


def refusal_of(status: dict[str, Any], code: int = 0, retry_after: str = "") -> Refused:
    """A Status object as an exception."""
    details = status.get("details") or {}
    code = status.get("code") or code
    kind = _BY_REASON.get(status.get("reason", "")) or _BY_CODE.get(code, InternalError if code >= 500 else Refused)
    seconds = details.get("retryAfterSeconds") or _seconds(retry_after)
    return kind(
        status.get("message") or f"the server answered {code}",
        group=details.get("group", ""),
        kind=details.get("kind", ""),
        name=details.get("name", ""),
        uid=details.get("uid", ""),
        causes=[
            Cause(one.get("field", ""), one.get("message", ""), one.get("reason", ""))
            for one in details.get("causes") or ()
        ],
        retry_after=seconds,
    )
