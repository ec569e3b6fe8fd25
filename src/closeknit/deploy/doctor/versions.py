"""Whether the server is new enough, and whether what is installed is what this command would install."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ... import __version__
from ...cluster.errors import NotFound
from ...cluster.kinds import DEPLOYMENT
from ..kinds import MUTATING_POLICY, VALIDATING_POLICY, as_served
from ..marks import NAME, version_of
from ..versions import minor, rank
from .finding import Finding, Patient, ok, problem, warning

CHECK = "versions"
NEEDED = (1, 36)
"""Since when mutating admission policies are served as v1; in 1.34 and 1.35, v1beta1 can be switched on."""
LOST = (
    "jobs are held by the controller after they are made, not by the server before, and pods may start for a moment; "
    "pods, Deployments, StatefulSets and LeaderWorkerSets cannot wait"
)
LEAVE_OUT = "leave those out of integrations.frameworks"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    said = patient.served.version
    mutating = as_served(patient.served, MUTATING_POLICY)
    if patient.served.can(mutating, "create"):
        older = "" if mutating is MUTATING_POLICY else f", mutating ones as {mutating.version}"
        yield ok(CHECK, f"the server is {said}, and has admission policies{older}")
    elif patient.served.can(VALIDATING_POLICY, "create"):
        old = minor(said) < NEEDED
        remedy = (
            f"upgrade it to 1.36, or {LEAVE_OUT}"
            if old
            else "switch MutatingAdmissionPolicy on in its --runtime-config"
        )
        yield warning(CHECK, f"the server is {said}, without MutatingAdmissionPolicy: {LOST}", remedy)
    else:
        text = f"the server is {said}, without admission policies: {LOST}, and mistakes are found later"
        yield warning(CHECK, text, f"upgrade it to 1.36, or {LEAVE_OUT}")
    yield await _installed(patient)


async def _installed(patient: Patient) -> Finding:
    install = f"`{patient.command('install')}`"
    try:
        there = version_of(await patient.client.get(DEPLOYMENT, patient.namespace, NAME))
    except NotFound:
        return problem(CHECK, f"closeknit is not installed in {patient.namespace}", f"{install} does it")
    if rank(there) > rank(__version__):
        return warning(CHECK, f"closeknit {there} is installed, and this command is {__version__}", "use a newer one")
    if rank(there) < rank(__version__):
        return warning(CHECK, f"closeknit {there or 'of no version'} is installed", f"{install} makes it {__version__}")
    return ok(CHECK, f"closeknit {there} is installed")
