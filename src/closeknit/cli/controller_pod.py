"""The controller on a cluster of Kubernetes, as our commands reach it: through the API server, to the pod that leads.

    Lease ──▶ who leads ──▶ its pod ──▶ the port called `health` ──▶ /api/v1/namespaces/…/pods/NAME:PORT/proxy/…

Whoever asks needs to be allowed `get` on pods/proxy in the controller's namespace, and nothing else has to be open.
A controller that leads and is in no pod is asked itself, where $CLOSEKNIT_CONTROLLER says that it listens.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..cluster.errors import Forbidden, NotFound, Refused
from ..cluster.kinds import LEASE, POD
from ..cluster.kube.unreachable import Unreachable
from ..dialects.kueue.configuration import LEASE as NAME
from ..model.mistake import refuse
from ..model.settings import OWN_NAMESPACE
from .target import NoCluster

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

PORT_NAME, PORT = "health", 8081
VARIABLE = "CLOSEKNIT_CONTROLLER"


class InNoPod(NoCluster):
    """Somebody leads who cannot be reached through the API server."""

    def __init__(self, holder: str, namespace: str) -> None:
        named = f"`decisions --controller` or ${VARIABLE} names it, as in http://127.0.0.1:{PORT}"
        remedy = f"where it has a --health-address, {named}"
        super().__init__(f"the controller that leads, {holder}, is in no pod of {namespace}; {remedy}")
        self.holder = holder


@asynccontextmanager
async def way_to_controller(client: Client, path: str, url: str = "") -> AsyncIterator[tuple[Client, str]]:
    """Whom to ask for a path of the controller, and by which path; raises NoCluster where there is no way.

    It is asked at `url` if one is given. Where one leads that is in no pod, the variable says where.
    """
    try:
        found = "" if url else await proxied(client, path)
    except InNoPod:
        url = os.environ.get(VARIABLE, "")
        if not url:
            raise
    if not url:
        yield client, found
        return
    async with _direct(url.rstrip("/")) as asked:
        yield asked, path


@asynccontextmanager
async def _direct(url: str) -> AsyncIterator[Client]:
    from ..cluster.kube.client import Client
    from ..cluster.kube.config import Config

    try:
        given = urlsplit(url)
        is_address = given.scheme in ("http", "https") and bool(given.hostname) and given.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise refuse("is no address of a controller", f"give one such as http://127.0.0.1:{PORT}", what=url)
    try:
        async with Client(Config(server=url)) as asked:
            yield asked
    except Unreachable as error:
        raise NoCluster(f"the controller at {url} does not answer: {error.why}") from error


async def proxied(client: Client, path: str) -> str:
    """Where the API server passes a path on to the controller that leads; raises NoCluster where there is none."""
    lease = await _lease(client)
    holder = "" if lease is None else (lease.get("spec") or {}).get("holderIdentity") or ""
    if lease is None or not holder:
        raise NoCluster("no controller of ours leads on this cluster")
    namespace, name = lease["metadata"]["namespace"], holder.rpartition("_")[0]
    try:
        pod = await client.get(POD, namespace, name)
    except NotFound:
        raise InNoPod(holder, namespace) from None
    except Forbidden:
        raise NoCluster(f"you may not get the controller's pod {namespace}/{name}") from None
    return POD.path(namespace, f"{name}:{_port(pod)}", "proxy") + path


async def outsider(client: Client) -> str:
    """Who leads from outside of the cluster, or did when it was last heard of; empty if a pod does, or nobody."""
    try:
        await proxied(client, "")
    except InNoPod as error:
        return error.holder
    except NoCluster:
        pass
    return ""


def unasked(error: Refused) -> NoCluster:
    """The controller is there, and did not answer what it was asked."""
    if isinstance(error, NotFound):
        return NoCluster("what answers there is not the --health-address of a controller")
    if isinstance(error, Forbidden):
        return NoCluster("you may not ask the controller: that needs `get` on pods/proxy in its namespace")
    return NoCluster(f"the controller does not answer: {error.message.strip()}; it needs --health-address :{PORT}")


async def _lease(client: Client) -> Any:
    """In whatever namespace it is, if we may look everywhere."""
    try:
        found = await client.list(LEASE, fieldSelector=f"metadata.name={NAME}")
        return next((one for one in found if (one.get("spec") or {}).get("holderIdentity")), None)
    except Forbidden:
        pass
    try:
        return await client.get(LEASE, OWN_NAMESPACE, NAME)
    except (Forbidden, NotFound):
        return None


def _port(pod: dict[str, Any]) -> int:
    ports = (one for container in pod["spec"].get("containers") or () for one in container.get("ports") or ())
    return next((one["containerPort"] for one in ports if one.get("name") == PORT_NAME), PORT)
