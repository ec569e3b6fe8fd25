"""Whether policies are in force. The server is asked what it would make of a job: that is the only proof.

Discovery is none: a server whose plug-in is switched off serves the kinds all the same, and keeps policies that it
never runs. Nor is a policy that is there: it takes up to two seconds until it is heeded.
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
"""A job that is never made."""


class InForce(NamedTuple):
    """`known` is false where the server did not say: then they are taken to work. `why` is a sentence.

    `hash` is that of the policies that answered a trial.
    """

    works: bool
    known: bool
    why: str
    hash: str = ""

    def __bool__(self) -> bool:
        return self.works


async def policies_work(client: Client, namespace: str = "default") -> InForce:
    """Ask in a namespace whose jobs are managed, with Jobs among the frameworks, as a user who may make Jobs there."""
    return await _asked(client, namespace, PROBE)


async def policies_tried(client: Client, home: str) -> InForce:
    """Ask in any namespace where Jobs may be made, as the controller does in its own."""
    labels = {**PROBE["metadata"]["labels"], **TRIAL}
    return await _asked(client, home, {**PROBE, "metadata": {**PROBE["metadata"], "labels": labels}})


async def _asked(client: Client, namespace: str, body: Raw) -> InForce:
    try:
        made = await client.create(JOB, namespace, body, dryRun="All")
    except Forbidden as refused:
        missing = f"the verb create on {JOB.resource} in {namespace} is missing, which a dry run needs"
        return InForce(True, False, f"it may not be tried: {missing} ({refused.message})")
    except Refused as refused:
        return InForce(True, False, f"a Job cannot be made in {namespace}: {refused.message}; see to what refuses it")
    hash = (made["metadata"].get("annotations") or {}).get(HASH, "")
    if made["spec"].get("suspend") is True:
        return InForce(True, True, "a Job that names a queue is suspended as it is made", hash)
    return InForce(False, True, f"a Job that names a queue is not suspended as it is made in {namespace}")
