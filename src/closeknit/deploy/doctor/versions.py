"""Whether the server is new enough, and whether the installed version is that of this command."""

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
"""The first version that serves mutating admission policies as v1; in 1.34 and 1.35 v1beta1 can be enabled."""
LOST = (
    "the controller suspends jobs after they are created, not the server before, and pods may start for a moment; "
    "pods, Deployments, StatefulSets and LeaderWorkerSets cannot be held"
)
LEAVE_OUT = "remove those from integrations.frameworks"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    said = patient.served.version
    mutating = as_served(patient.served, MUTATING_POLICY)
    if patient.served.can(mutating, "create"):
        older = "" if mutating is MUTATING_POLICY else f", mutating ones as {mutating.version}"
        yield ok(CHECK, f"the server is {said}, with admission policies{older}")
    elif patient.served.can(VALIDATING_POLICY, "create"):
        old = minor(said) < NEEDED
        remedy = (
            f"upgrade it to 1.36, or {LEAVE_OUT}" if old else "enable MutatingAdmissionPolicy in its --runtime-config"
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
        return problem(CHECK, f"closeknit is not installed in {patient.namespace}", f"{install} installs it")
    if rank(there) > rank(__version__):
        return warning(CHECK, f"closeknit {there} is installed, and this command is {__version__}", "use a newer one")
    if rank(there) < rank(__version__):
        text = f"closeknit {there or 'of unknown version'} is installed"
        return warning(CHECK, text, f"{install} upgrades it to {__version__}")
    return ok(CHECK, f"closeknit {there} is installed")
