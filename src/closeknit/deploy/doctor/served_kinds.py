"""Kinds that the controller supports and the server does not serve."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..crds import KUEUE_KINDS
from ..rbac import CLUSTER_WIDE
from .finding import Finding, Patient, few, ok

CHECK = "kinds"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    """Report kinds that are not served. Kueue's own are checked elsewhere; to have the others is the user's choice."""
    wanted = dict.fromkeys(kind for grant in CLUSTER_WIDE for kind in grant.kinds if "list" in grant.verbs)
    absent = [kind.resource for kind in wanted if kind not in KUEUE_KINDS and not patient.served.can(kind, "list")]
    if absent:
        yield ok(CHECK, f"not served, so what needs them is disabled: {few(absent, 20)}")
    else:
        yield ok(CHECK, f"all {len(wanted)} kinds are served")
