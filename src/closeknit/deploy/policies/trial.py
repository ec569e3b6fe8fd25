"""The policies for a trial: a dry run of a Job that shows whether our policies are in force.

The controller may not create Jobs in managed namespaces, since that permission allows running anything there. So it
sends a dry run in its own namespace, with a label. A policy suspends that Job and adds the hash of all policies, so one
response shows whether the server evaluates them at all and for which configuration they were made. Even a dry run needs
the verb `create`; another policy ensures that the controller's account creates no Job with it.
"""

from __future__ import annotations

from ...cluster.kinds import JOB
from ...dialects.cel import PolicyCheck, text
from ..marks import NAME
from .marking import put_all
from .policy import Mutating, Validating

HASH = "closeknit.dev/policies-hash"
TRIAL = {"closeknit.dev/trial": "true"}
"""The label of a trial Job."""
IS_DRY = "request.?dryRun.orValue(false)"


def answering(hash: str) -> Mutating:
    """The policy that changes a trial Job, in every namespace, regardless of the configuration."""
    patches = [put_all(("spec",), {"suspend": "true"}), put_all(("metadata", "annotations"), {HASH: text(hash)})]
    conditions = {"only-tried": IS_DRY}
    return Mutating("trial", [JOB], conditions=conditions, labels=TRIAL, everywhere=True, patches=" + ".join(patches))


def only_tried(home: str) -> Validating:
    """The policy that restricts the controller's account to dry runs of Jobs in its namespace."""
    account = f"request.userInfo.username == {text(f'system:serviceaccount:{home}:{NAME}')}"
    message = f"{NAME} may only create a Job as a dry run"
    check = PolicyCheck(IS_DRY, "metadata.name", message)
    return Validating("trial", [JOB], conditions={"by-the-controller": account}, only_in=home, checks=[check])
