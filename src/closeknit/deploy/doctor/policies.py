"""Whether the admission policies are there, are those of this version and configuration, and are in force."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ...cluster.kinds import NAMESPACE
from ...cluster.kube.writes import is_within
from ..bundle import policies_of
from ..kinds import MUTATING_POLICY, kind_of
from ..marks import Raw, label
from ..plan import there
from ..policies import policies_work
from .finding import Finding, Patient, few, ok, problem, warning

CHECK = "policies"
TRIED, USUAL = "batch/job", "default"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    wanted = [one for one in policies_of(patient.wishes) if patient.served.can(kind_of(one), "create")]
    found = {label(one): await there(patient.client, one) for one in wanted}
    missing = [name for name, one in found.items() if one is None]
    differing = [label(one) for one in wanted if (now := found[label(one)]) is not None and not _agrees(one, now)]
    install = f"`{patient.command('install')}` puts them right"
    if missing:
        yield problem(CHECK, f"not there: {few(missing)}", install)
    if differing:
        text = f"not as this version makes them from the configuration: {few(differing)}"
        yield warning(CHECK, text, install)
    if wanted and not missing and not differing:
        yield ok(CHECK, f"{len(wanted)} policies and bindings are there, as the configuration has them")
    if patient.served.can(MUTATING_POLICY, "create"):
        yield await _in_force(patient)


def _agrees(wanted: Raw, now: Raw) -> bool:
    return is_within(wanted["spec"], now["spec"])


async def _in_force(patient: Patient) -> Finding:
    """Tried with a Job that is never made, where jobs are managed."""
    if TRIED not in patient.wishes.rules.frameworks:
        return ok(CHECK, f"whether they are in force is tried with Jobs, and {TRIED} is not among the frameworks")
    namespace = await _managed_namespace(patient)
    if not namespace:
        return warning(CHECK, "there is no namespace in which jobs are managed", "see managedJobsNamespaceSelector")
    found = await policies_work(patient.client, namespace)
    if not found.known:
        return warning(CHECK, f"whether they are in force is not known: {found.why}", "ask as somebody who may")
    if found:
        return ok(CHECK, f"in force: {found.why} (tried as a dry run)")
    remedy = "wait some seconds after an installation; then see whether their bindings are there"
    return problem(CHECK, f"not in force: {found.why} (tried as a dry run)", remedy)


async def _managed_namespace(patient: Patient) -> str:
    """The usual one if it is managed, else any."""
    selector = patient.wishes.rules.namespaces
    spaces = [one["metadata"] for one in await patient.client.list(NAMESPACE)]
    names = [meta["name"] for meta in spaces if selector.matches(meta.get("labels") or {})]
    return USUAL if USUAL in names else next(iter(names), "")
