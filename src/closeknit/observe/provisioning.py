"""Reads the state of ProvisioningRequests for the reconciler that created them."""

from __future__ import annotations

from ..cluster.port import Raw
from ..dialects.kueue.jobs.marks import PROVISIONING
from ..dialects.kueue.objects.wire import moment
from ..lifecycle.provisioning import ProvisioningAttempt, request_name
from ..model.workload import Condition, Workload

CHECK = "closeknit.dev/admission-check"
"""Annotation of a request: the admission check that it was created for."""
ATTEMPT = "closeknit.dev/attempt"
POD_SETS = "closeknit.dev/pod-sets"


def asked(raw: Raw, workload: Workload) -> ProvisioningAttempt:
    """The check and attempt that a request is for: by its annotations, else by its name, as Kueue names them."""
    meta, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    notes = meta.get("annotations") or {}
    name: str = meta["name"]
    check, attempt = notes.get(CHECK, ""), notes.get(ATTEMPT, "")
    if not check:
        check, attempt = next(
            (
                (one.name, str(number))
                for one in workload.status.checks
                for number in range(1, one.retries + 2)
                if request_name(workload.name, one.name, number) == name
            ),
            ("", "0"),
        )
    return ProvisioningAttempt(
        name,
        check,
        int(attempt) if attempt.isdigit() else 0,
        spec.get("provisioningClassName", ""),
        spec.get("parameters") or {},
        {one["type"]: _condition(one) for one in status.get("conditions") or ()},
        status.get("provisioningClassDetails") or {},
        tuple(filter(None, notes.get(POD_SETS, "").split(","))),
    )


def _condition(raw: Raw) -> Condition:
    since = moment(raw.get("lastTransitionTime"))
    return Condition(raw.get("status") == "True", raw.get("reason", ""), raw.get("message", ""), since)


def parameters_of(workload: Raw) -> dict[str, str]:
    """The parameters that the job passes to the provisioning class."""
    notes = workload["metadata"].get("annotations") or {}
    return {key.removeprefix(PROVISIONING): value for key, value in notes.items() if key.startswith(PROVISIONING)}
