"""An account of its own for a program beside the controller, with a ClusterRole that holds exactly what it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cluster.kinds import SERVICE_ACCOUNT, Kind
from .kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING
from .rbac import Grant, Raw


def bound_account(name: str, namespace: str, grants: Sequence[Grant]) -> list[Raw]:
    """The ServiceAccount, its role, and the binding of the two, all of this name."""
    account = {"name": name, "namespace": namespace}
    reference = {"apiGroup": CLUSTER_ROLE.group, "kind": CLUSTER_ROLE.kind, "name": name}
    subject = {"kind": SERVICE_ACCOUNT.kind, **account}
    return [
        _object(SERVICE_ACCOUNT, account),
        _object(CLUSTER_ROLE, {"name": name}, rules=[one.rule() for one in grants]),
        _object(CLUSTER_ROLE_BINDING, {"name": name}, roleRef=reference, subjects=[subject]),
    ]


def _object(kind: Kind, meta: Raw, **content: Any) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **content}
