"""One request as a value: method, path and body, its priority, and whether it may be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any
from urllib.parse import quote

from ..errors import BadRequest
from ..kinds import EVENT, LEASE, Kind
from ..port import PatchForm

JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
PATCHES: dict[PatchForm, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
MANAGER = "closeknit"

Query = Mapping[str, str | int]


class RequestPriority(IntEnum):
    """The order in which requests that wait for the rate limit are sent."""

    LEASE = 0
    ORDINARY = 1
    EVENT = 2


@dataclass(frozen=True, slots=True)
class ApiCall:
    """`repeatable`: sending it again after a lost response does no harm; None: only if it is a read.

    `idle`: seconds without data after which the connection counts as lost.
    """

    method: str
    where: str
    body: Any = field(default=None, repr=False)
    media: str = JSON
    query: Query = field(default_factory=dict)
    accept: str = JSON
    idle: float | None = None
    priority: RequestPriority = RequestPriority.ORDINARY
    repeatable: bool | None = None

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def resource(self) -> str:
        """The resource in its path: batch/v1/jobs for /apis/batch/v1/namespaces/a/jobs/b."""
        _, root, *parts = [*self.where.split("?")[0].split("/"), "", "", ""]
        version, rest = (parts[:2], parts[2:]) if root == "apis" else (parts[:1], parts[1:])
        plural = rest[2] if rest[0] == "namespaces" and len(rest) > 2 and rest[2] else rest[0]
        return "/".join((*version, plural))

    @property
    def may_repeat(self) -> bool:
        return not self.is_write if self.repeatable is None else self.repeatable

    @property
    def is_eviction(self) -> bool:
        return self.is_write and self.where.endswith("/eviction")


def priority_of(kind: Kind) -> RequestPriority:
    """Leases first: a leader that loses its lease stops. Events last: nothing waits for them."""
    return {LEASE: RequestPriority.LEASE, EVENT: RequestPriority.EVENT}.get(kind, RequestPriority.ORDINARY)


def path(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The API path of an object; names that would escape it are rejected."""
    if {".", ".."} & {namespace, name}:
        raise BadRequest(f'"{name or namespace}" is not the name of an object')
    return kind.path(quote(namespace, safe=""), quote(name, safe=""), subresource)
