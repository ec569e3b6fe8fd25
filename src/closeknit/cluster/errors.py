"""The errors of an API server as exceptions.

    Refused
    ├── BadRequest           400  cannot be parsed
    ├── Unauthorized         401
    ├── Forbidden            403  not permitted, or not permitted at this moment
    ├── NotFound             404
    ├── MethodNotAllowed     405
    ├── NotAcceptable        406
    ├── Conflict             409  the object changed since it was read
    │   └── AlreadyExists    409
    ├── Expired              410  the history does not go back that far
    ├── TooLarge             413
    ├── UnsupportedMediaType 415
    ├── Invalid              422  can be parsed, but breaks a rule; `causes` name the fields
    ├── TooManyRequests      429  retry later; for an eviction: a PodDisruptionBudget forbids it
    └── InternalError        5xx  the server failed, and may have carried out the request all the same
        ├── ServerTimeout      500
        ├── ServiceUnavailable 503
        └── Timeout            504

Hosts raise them, writers catch them, and the REST layer renders them as a Status object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

Raw = dict[str, Any]


class Cause(NamedTuple):
    """One thing that is wrong with an object. `reason` is one of Kubernetes' own: FieldValueInvalid, …"""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    """The server did not carry out a request. `group`, `kind`, `name` and `uid` are its object's, as far as known."""

    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"

    def __init__(
        self,
        message: str,
        *,
        group: str = "",
        kind: str = "",
        name: str = "",
        uid: str = "",
        causes: Sequence[Cause] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.causes, self.retry_after = message, tuple(causes), retry_after
        self.group, self.kind, self.name, self.uid = group, kind, name, uid

    def status(self) -> Raw:
        """The Status object that Kubernetes responds with."""
        details: Raw = {
            key: value
            for key, value in (("name", self.name), ("group", self.group), ("kind", self.kind), ("uid", self.uid))
            if value
        }
        if self.causes:
            details["causes"] = [
                {"reason": one.reason, "message": one.message, **({"field": one.field} if one.field else {})}
                for one in self.causes
            ]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }


class BadRequest(Refused):
    code, reason = 400, "BadRequest"


class Unauthorized(Refused):
    code, reason = 401, "Unauthorized"


class Forbidden(Refused):
    code, reason = 403, "Forbidden"


class NotFound(Refused):
    code, reason = 404, "NotFound"


class MethodNotAllowed(Refused):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(Refused):
    code, reason = 406, "NotAcceptable"


class Conflict(Refused):
    code, reason = 409, "Conflict"


class AlreadyExists(Conflict):
    reason = "AlreadyExists"


class Expired(Refused):
    code, reason = 410, "Expired"


class TooLarge(Refused):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(Refused):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(Refused):
    code, reason = 422, "Invalid"


class TooManyRequests(Refused):
    code, reason = 429, "TooManyRequests"


class InternalError(Refused):
    code, reason = 500, "InternalError"


class ServerTimeout(InternalError):  # noqa: N818 - Kubernetes' own word
    reason = "ServerTimeout"


class ServiceUnavailable(InternalError):  # noqa: N818 - Kubernetes' own word
    code, reason = 503, "ServiceUnavailable"


class Timeout(InternalError):  # noqa: N818 - Kubernetes' own word
    code, reason = 504, "Timeout"


def is_namespace_terminating(refused: Refused) -> bool:
    """Whether a creation failed because its namespace is terminating, so that retrying is pointless."""
    return any(one.reason == "NamespaceTerminating" for one in refused.causes)
