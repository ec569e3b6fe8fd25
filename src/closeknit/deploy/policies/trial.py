"""What answers a trial: a Job that is never made, by which somebody asks whether our policies are in force.

The controller may not make Jobs where they are managed: who may can run anything there. So it asks in its own
namespace, as a dry run with a label of its own. A policy suspends that Job and puts on it the hash of all policies, so
one answer tells whether the server runs them at all and for which configuration they were made. The verb `create` is
needed even for a dry run: that the controller's account makes no Job with it is what another policy sees to.
"""

from __future__ import annotations

from ...cluster.kinds import JOB
from ..marks import NAME
from .cel import text
from .marking import put_all
from .policy import Check, Mutating, Validating

HASH = "closeknit.dev/policies-hash"
TRIAL = {"closeknit.dev/trial": "true"}
"""The label of a Job that is only tried."""
IS_DRY = "request.?dryRun.orValue(false)"


def answering(hash: str) -> Mutating:
    """In every namespace, whatever the configuration."""
    patches = [put_all(("spec",), {"suspend": "true"}), put_all(("metadata", "annotations"), {HASH: text(hash)})]
    conditions = {"only-tried": IS_DRY}
    return Mutating("trial", [JOB], conditions=conditions, labels=TRIAL, everywhere=True, patches=" + ".join(patches))


def only_tried(home: str) -> Validating:
    """The controller's account, in the namespace in which it may, makes no Job for good."""
    account = f"request.userInfo.username == {text(f'system:serviceaccount:{home}:{NAME}')}"
    told = f"{NAME} may try what becomes of a Job, and make none"
    check = Check(IS_DRY, "metadata.name", told)
    return Validating("trial", [JOB], conditions={"by-the-controller": account}, only_in=home, checks=[check])
