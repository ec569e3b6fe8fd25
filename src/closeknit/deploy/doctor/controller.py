"""Whether the controller runs, and one of its replicas leads."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ...cluster.errors import NotFound
from ...cluster.kinds import DEPLOYMENT, LEASE
from ..marks import NAME
from .finding import Finding, Patient, ok, problem, warning
from .lease import is_renewed

CHECK = "controller"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    yield await _deployment(patient)
    yield await _leader(patient)


def _see_logs(patient: Patient) -> str:
    return f"see `kubectl -n {patient.namespace} logs deployment/{NAME}`; a controller elsewhere has its own logs"


async def _deployment(patient: Patient) -> Finding:
    where = f"deployment {patient.namespace}/{NAME}"
    try:
        found = await patient.client.get(DEPLOYMENT, patient.namespace, NAME)
    except NotFound:
        return problem(CHECK, f"{where} does not exist", f"`{patient.command('install')}` creates it")
    wanted, ready = found["spec"].get("replicas", 1), (found.get("status") or {}).get("readyReplicas", 0)
    see = f"see `kubectl -n {patient.namespace} describe pods`"
    if not ready:
        return problem(CHECK, f"{where}: none of {wanted} replicas is ready", see)
    if ready < wanted:
        return warning(CHECK, f"{where}: {ready} of {wanted} replicas are ready", see)
    return ok(CHECK, f"{where}: {ready} of {wanted} replicas are ready")


async def _leader(patient: Patient) -> Finding:
    see = _see_logs(patient)
    try:
        lease = await patient.client.get(LEASE, patient.namespace, patient.lease)
    except NotFound:
        return problem(CHECK, f"no leader: there is no Lease {patient.namespace}/{patient.lease}", see)
    if await is_renewed(patient, lease):
        return ok(CHECK, f"{lease['spec']['holderIdentity']} leads")
    return problem(CHECK, f"no leader: the Lease {patient.namespace}/{patient.lease} is not renewed", see)
