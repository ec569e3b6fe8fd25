"""Kinds that the controller would work with and the server does not have."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..crds import KUEUE_KINDS
from ..rbac import CLUSTER_WIDE
from .finding import Finding, Patient, few, ok

CHECK = "kinds"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    """What Kueue's kinds lack is said elsewhere; everything else is somebody's choice."""
    wanted = dict.fromkeys(kind for grant in CLUSTER_WIDE for kind in grant.kinds if "list" in grant.verbs)
    absent = [kind.resource for kind in wanted if kind not in KUEUE_KINDS and not patient.served.can(kind, "list")]
    if absent:
        yield ok(CHECK, f"not served, so what needs them is off: {few(absent, 20)}")
    else:
        yield ok(CHECK, f"all {len(wanted)} kinds are served")
