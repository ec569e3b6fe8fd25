"""Whether the admission policies exist, match this version and configuration, and are in force."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ...cluster.kinds import NAMESPACE
from ...cluster.kube.writes import is_within
from ..bundle import policies_of
from ..kinds import MUTATING_POLICY, as_served, in_served_version, kind_of
from ..marks import Raw, label
from ..plan import there
from ..policies import policies_tried, policies_work
from .finding import Finding, Patient, few, ok, problem, warning
from .versions import LEAVE_OUT, LOST

CHECK = "policies"
REMEDY = (
    "wait a few seconds after an installation; check that their bindings exist, and that the API server has not "
    f"disabled the admission plug-in MutatingAdmissionPolicy; or {LEAVE_OUT}"
)
TRIED, USUAL = "batch/job", "default"


async def check(patient: Patient) -> AsyncIterator[Finding]:
    made = [in_served_version(patient.served, one) for one in policies_of(patient.wishes)]
    wanted = [one for one in made if patient.served.can(kind_of(one), "create")]
    found = {label(one): await there(patient.client, one) for one in wanted}
    missing = [name for name, one in found.items() if one is None]
    differing = [label(one) for one in wanted if (now := found[label(one)]) is not None and not _agrees(one, now)]
    install = f"`{patient.command('install')}` fixes that"
    if missing:
        yield problem(CHECK, f"missing: {few(missing)}", install)
    if differing:
        text = f"not those of this version and configuration: {few(differing)}"
        yield warning(CHECK, text, install)
    if wanted and not missing and not differing:
        yield ok(CHECK, f"{len(wanted)} policies and bindings exist, and match the configuration")
    if patient.served.can(as_served(patient.served, MUTATING_POLICY), "create"):
        yield await _in_force(patient)


def _agrees(wanted: Raw, now: Raw) -> bool:
    return is_within(wanted["spec"], now["spec"])


async def _in_force(patient: Patient) -> Finding:
    """Try the policies by a dry run of a Job in a managed namespace; else in the controller's own, as that does."""
    namespace = await _managed_namespace(patient) if TRIED in patient.wishes.rules.frameworks else ""
    found = await (
        policies_work(patient.client, namespace) if namespace else policies_tried(patient.client, patient.namespace)
    )
    if not found.known:
        text = f"whether they are in force is unknown: {found.why}"
        return warning(CHECK, text, "run it as a user with that permission")
    if found:
        return ok(CHECK, f"in force: {found.why} (tried as a dry run)")
    return problem(CHECK, f"not in force: {found.why} (tried as a dry run): {LOST}", REMEDY)


async def _managed_namespace(patient: Patient) -> str:
    """A managed namespace: `default` if that is managed, otherwise any."""
    selector = patient.wishes.rules.namespaces
    spaces = [one["metadata"] for one in await patient.client.list(NAMESPACE)]
    names = [meta["name"] for meta in spaces if selector.matches(meta.get("labels") or {})]
    return USUAL if USUAL in names else next(iter(names), "")
