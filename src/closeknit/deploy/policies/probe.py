"""Whether policies are in force. A dry run of a Job is the only proof.

Discovery is not: a server with the plug-in disabled serves the kinds all the same, and stores policies that it never
evaluates. Nor is the existence of a policy: it takes effect up to two seconds after its creation.
"""

from __future__ import annotations

from typing import NamedTuple

from ...cluster.errors import Forbidden, Refused
from ...cluster.kinds import JOB
from ...cluster.kube.client import Client
from ...dialects.kueue.keys import QUEUE
from .policy import Raw
from .trial import HASH, TRIAL

PROBE: Raw = {
    "apiVersion": JOB.api_version,
    "kind": JOB.kind,
    "metadata": {"generateName": "closeknit-probe-", "labels": {QUEUE: "closeknit-probe"}},
    "spec": {
        "suspend": False,
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "none", "image": "closeknit.invalid/none"}]}
        },
    },
}
"""A Job that is only sent as a dry run."""


class InForce(NamedTuple):
    """Whether policies are in force. `known` is false if that is unknown: then they are assumed to be. `why` explains
    it.

    `hash` is that of the policies that changed the trial Job.
    """

    works: bool
    known: bool
    why: str
    hash: str = ""

    def __bool__(self) -> bool:
        return self.works


async def policies_work(client: Client, namespace: str = "default") -> InForce:
    """Try in a managed namespace, with Jobs among the frameworks, as a user that may create Jobs there."""
    return await _asked(client, namespace, PROBE)


async def policies_tried(client: Client, home: str) -> InForce:
    """Try in any namespace where Jobs may be created, as the controller does in its own."""
    labels = {**PROBE["metadata"]["labels"], **TRIAL}
    return await _asked(client, home, {**PROBE, "metadata": {**PROBE["metadata"], "labels": labels}})


async def _asked(client: Client, namespace: str, body: Raw) -> InForce:
    try:
        made = await client.create(JOB, namespace, body, dryRun="All")
    except Forbidden as refused:
        missing = f"the verb create on {JOB.resource} in {namespace} is missing, which a dry run needs"
        return InForce(True, False, f"a dry run is not permitted: {missing} ({refused.message})")
    except Refused as refused:
        return InForce(True, False, f"a Job cannot be created in {namespace}: {refused.message}; fix what rejects it")
    hash = (made["metadata"].get("annotations") or {}).get(HASH, "")
    if made["spec"].get("suspend") is True:
        return InForce(True, True, "a Job that names a queue is suspended at creation", hash)
    return InForce(False, True, f"a Job that names a queue is not suspended at creation in {namespace}")
