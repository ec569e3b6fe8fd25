"""Whether a Lease is being renewed. Clocks differ, so one that looks old is read twice before it is reported."""

from __future__ import annotations

import asyncio
from datetime import datetime

from ...cluster.kinds import LEASE
from ..marks import Raw
from .finding import Patient

PAUSE = 3.0
"""Seconds; longer than the time between two renewals."""
USUAL = 15


async def is_renewed(patient: Patient, lease: Raw) -> bool:
    spec = lease.get("spec") or {}
    if not spec.get("holderIdentity") or not spec.get("renewTime"):
        return False
    age = patient.now() - datetime.fromisoformat(spec["renewTime"]).timestamp()
    if 0 <= age <= (spec.get("leaseDurationSeconds") or USUAL):
        return True
    await asyncio.sleep(PAUSE)
    meta = lease["metadata"]
    again = await patient.client.get(LEASE, meta["namespace"], meta["name"])
    return bool((again.get("spec") or {}).get("renewTime") != spec["renewTime"])
