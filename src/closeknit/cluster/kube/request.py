"""One request as a value: what to send where, how urgent it is, and whether it may be sent twice."""

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


class Priority(IntEnum):
    """Who goes first where requests wait for each other."""

    LEASE = 0
    ORDINARY = 1
    EVENT = 2


@dataclass(frozen=True, slots=True)
class Request:
    """`repeatable`: sending it again after a lost answer does no harm. None: only if it reads.

    `idle`: seconds without anything coming after which the connection is as good as none.
    """

    method: str
    where: str
    body: Any = field(default=None, repr=False)
    media: str = JSON
    query: Query = field(default_factory=dict)
    accept: str = JSON
    idle: float | None = None
    priority: Priority = Priority.ORDINARY
    repeatable: bool | None = None

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def resource(self) -> str:
        """The kind of objects that it is about: /apis/batch/v1/namespaces/a/jobs/b is about batch/v1/jobs."""
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


def priority_of(kind: Kind) -> Priority:
    """Leases first: who loses one stops working. Events last: nothing waits for them."""
    return {LEASE: Priority.LEASE, EVENT: Priority.EVENT}.get(kind, Priority.ORDINARY)


def path(kind: Kind, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """Where objects are served, with names that cannot lead elsewhere."""
    if {".", ".."} & {namespace, name}:
        raise BadRequest(f'"{name or namespace}" is not the name of an object')
    return kind.path(quote(namespace, safe=""), quote(name, safe=""), subresource)
