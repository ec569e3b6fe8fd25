"""Whether the server puts gates on pods when they are made, as our admission policies ask it to.

It is tried with a Job that is never made, in a namespace whose jobs are managed. Where that cannot be tried, policies
are taken to be there: whoever installs them by the book has them.
"""

from __future__ import annotations

from ..cluster.errors import Refused
from ..cluster.kinds import NAMESPACE
from ..cluster.kube.client import Client
from ..deploy.policies import InForce, policies_work
from ..observe.known import labels_of
from ..observe.live_jobs import Managed

TRIED = "batch/job"
USUAL = "default"


async def can_gate(client: Client, managed: Managed) -> InForce:
    if TRIED not in managed.frameworks:
        return InForce(True, False, f"it is tried with Jobs, and {TRIED} is not among integrations.frameworks")
    namespace = await _managed_namespace(client, managed)
    if not namespace:
        return InForce(True, False, "there is no namespace in which jobs are managed")
    return await policies_work(client, namespace)


async def _managed_namespace(client: Client, managed: Managed) -> str:
    """The usual one if it is managed, else any."""
    try:
        found = [one for one in await client.list(NAMESPACE) if managed.namespaces.matches(labels_of(one))]
    except Refused:
        return USUAL
    names = [one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]]
    return USUAL if USUAL in names else next(iter(names), "")
