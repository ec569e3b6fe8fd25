"""Ask the API server about a bearer token: which user it is for, and whether that user may read a path.

A token may be one for the API server itself, such as that of a ServiceAccount, or one that was issued for us alone,
with our audience: the latter is of no use anywhere else if it is stolen.
"""

from __future__ import annotations

from typing import Any

from ..kinds import SERVICE_ACCOUNT, Kind
from .client import Client, path

TOKEN_REVIEW = Kind("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", False)
ACCESS_REVIEW = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", False)
AUDIENCE = "closeknit"
LIFETIME = 600
"""Seconds for which an issued token is valid; the API server allows no less."""

Raw = dict[str, Any]


async def user_of(client: Client, token: str) -> Raw | None:
    """The user of a token, as a review of access takes it; None if the API server does not know the token."""
    for audiences in ([AUDIENCE], []):
        spec: Raw = {"token": token, **({"audiences": audiences} if audiences else {})}
        status = await _review(client, TOKEN_REVIEW, spec)
        if status.get("authenticated"):
            found = status.get("user") or {}
            return {"user": found.get("username", ""), **{key: found[key] for key in _KEPT if found.get(key)}}
    return None


_KEPT = ("uid", "groups", "extra")


async def may_get(client: Client, user: Raw, where: str) -> bool:
    """Whether a user may `get` this path, which is no resource of the API server."""
    status = await _review(client, ACCESS_REVIEW, {**user, "nonResourceAttributes": {"path": where, "verb": "get"}})
    return bool(status.get("allowed"))


async def issued(client: Client, namespace: str, account: str) -> str:
    """A short-lived token of a ServiceAccount with our audience."""
    body = {
        "apiVersion": TOKEN_REVIEW.api_version,
        "kind": "TokenRequest",
        "spec": {"audiences": [AUDIENCE], "expirationSeconds": LIFETIME},
    }
    answer = await client.tree("POST", path(SERVICE_ACCOUNT, namespace, account, "token"), body)
    return str(answer["status"]["token"])


async def _review(client: Client, kind: Kind, spec: Raw) -> Raw:
    answer = await client.tree("POST", path(kind), {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec})
    found: Raw = answer.get("status") or {}
    return found
