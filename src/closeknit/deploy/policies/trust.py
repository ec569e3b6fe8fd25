"""The policies that keep what the controller decides from being forged.

A user that can write the status of a Workload can admit it. A user that can change the spec of an admitted Workload, or
make another job its owner, can take its quota. A user that can remove our gate from a pod needs no place for it. Only
the controller's account may do these things, and the accounts that the configuration names, such as the controllers of
other admission checks. The controllers of Kubernetes itself change owners and finalizers. An account that may
`override` workloads in all namespaces, as a cluster administrator may, could change these policies as well, and is not
stopped by them.
"""

from __future__ import annotations

from ...cluster.embedded.fields import schema_of
from ...cluster.embedded.rules.settings import AdmissionSettings
from ...cluster.kinds import POD, WORKLOAD
from ...dialects.cel import PolicyCheck, all_of, any_of, negated, same, text, texts
from ...dialects.kueue.jobs import marks
from ..marks import NAME
from .policy import UPDATE, Validating

OVERRIDE = "override"
"""The verb that lets an account change what the controller decided."""
KUBERNETES = "system:serviceaccount:kube-system:"
MANAGER = "system:kube-controller-manager"
USER = "request.userInfo.username"
RESERVED = 'oldObject.?status.?conditions.orValue([]).exists(c, c.type == "QuotaReserved" && c.status == "True")'
ONLY = "only the controller and the accounts in trustedAccounts of its configuration may do this"


def policies(settings: AdmissionSettings, home: str) -> list[Validating]:
    """`home` is the controller's namespace."""
    trusted = _is_trusted(settings, home)
    return [_status(trusted), _admitted(trusted), _gates(trusted)]


def _is_trusted(settings: AdmissionSettings, home: str) -> str:
    accounts = [f"system:serviceaccount:{home}:{NAME}", MANAGER, *settings.trusted]
    override = f"authorizer.group({text(WORKLOAD.group)}).resource({text(WORKLOAD.plural)}).check({text(OVERRIDE)})"
    return any_of(f"{USER} in {texts(accounts)}", f"{USER}.startsWith({text(KUBERNETES)})", f"{override}.allowed()")


def _status(trusted: str) -> Validating:
    check = PolicyCheck(trusted, "status", ONLY)
    changed = {"changed": "object.?status != oldObject.?status"}
    return Validating(
        "trust-status", [WORKLOAD], (UPDATE,), changed, everywhere=True, checks=[check], subresource="status"
    )


def _admitted(trusted: str) -> Validating:
    """The spec of a Workload that holds quota, except `active`, with which its user stops it; and its owners."""
    owners = "object.metadata.?ownerReferences != oldObject.metadata.?ownerReferences"
    conditions = {"holds-quota": RESERVED, "changed": any_of("object.?spec != oldObject.?spec", owners)}
    checks = [
        PolicyCheck(any_of(_same_spec(), trusted), "spec", f"cannot be changed while quota is reserved: {ONLY}"),
        PolicyCheck(
            any_of(negated(owners), trusted),
            "metadata.ownerReferences",
            f"cannot be changed while quota is reserved: {ONLY}",
        ),
    ]
    return Validating("trust-workloads", [WORKLOAD], (UPDATE,), conditions, everywhere=True, checks=checks)


def _same_spec() -> str:
    """Whether all fields but `active` are the same; a typed object cannot be filtered like a map."""
    known = schema_of(WORKLOAD)
    assert known is not None
    return all_of(*(same(f"spec.{field}") for field in sorted(known.fields["spec"].fields) if field != "active"))


def _gates(trusted: str) -> Validating:
    """Our scheduling gates; the server itself refuses gates that are added later."""
    ours = texts([marks.TOPOLOGY_GATE, marks.ADMISSION_GATE])
    kept = (
        f"oldObject.spec.?schedulingGates.orValue([]).filter(g, g.name in {ours})"
        ".all(g, object.spec.?schedulingGates.orValue([]).exists(n, n.name == g.name))"
    )
    check = PolicyCheck(trusted, "spec.schedulingGates", f"a gate of {NAME} cannot be removed: {ONLY}")
    return Validating("trust-gates", [POD], (UPDATE,), {"ungates": negated(kept)}, everywhere=True, checks=[check])
