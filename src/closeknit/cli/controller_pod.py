"""How commands reach the controller on a Kubernetes cluster: through the API server's proxy to the leader's pod.

    Lease ──▶ leader ──▶ its pod ──▶ the port named `health` ──▶ /api/v1/namespaces/…/pods/NAME:PORT/proxy/…

That needs only `get` on pods/proxy in the controller's namespace. A leader outside the cluster has no pod: commands
connect to it directly, at the address in $CLOSEKNIT_CONTROLLER.
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
    """The leader runs outside the cluster, so the API server cannot proxy to it."""

    def __init__(self, holder: str, namespace: str) -> None:
        given = f"`decisions --controller` or ${VARIABLE}, as in http://127.0.0.1:{PORT}"
        remedy = f"give its --health-address with {given}"
        super().__init__(f"the leading controller, {holder}, has no pod in namespace {namespace}; {remedy}")
        self.holder = holder


@asynccontextmanager
async def way_to_controller(client: Client, path: str, url: str = "") -> AsyncIterator[tuple[Client, str]]:
    """The client and path that reach `path` of the controller; raises NoCluster if there is no way.

    `url` is used if given, else the API server's proxy; for a leader outside the cluster, the variable.
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
        raise refuse("is not the address of a controller", f"give one such as http://127.0.0.1:{PORT}", what=url)
    try:
        async with Client(Config(server=url)) as asked:
            yield asked
    except Unreachable as error:
        raise NoCluster(f"the controller at {url} does not answer: {error.why}") from error


async def proxied(client: Client, path: str) -> str:
    """The path at which the API server proxies to the leading controller; raises NoCluster if there is none."""
    lease = await _lease(client)
    holder = "" if lease is None else (lease.get("spec") or {}).get("holderIdentity") or ""
    if lease is None or not holder:
        raise NoCluster("no Closeknit controller leads on this cluster")
    namespace, name = lease["metadata"]["namespace"], holder.rpartition("_")[0]
    try:
        pod = await client.get(POD, namespace, name)
    except NotFound:
        raise InNoPod(holder, namespace) from None
    except Forbidden:
        raise NoCluster(f"no permission to get the controller's pod {namespace}/{name}") from None
    return POD.path(namespace, f"{name}:{_port(pod)}", "proxy") + path


async def outside_leader(client: Client) -> str:
    """The holder of the Lease if it is no pod of the cluster, even if its Lease has expired; else empty."""
    try:
        await proxied(client, "")
    except InNoPod as error:
        return error.holder
    except NoCluster:
        pass
    return ""


def request_error(error: Refused) -> NoCluster:
    """The error for a controller that exists but did not answer the request."""
    if isinstance(error, NotFound):
        return NoCluster("the address is not the --health-address of a controller")
    if isinstance(error, Forbidden):
        return NoCluster("no permission to ask the controller: that needs `get` on pods/proxy in its namespace")
    return NoCluster(f"the controller does not answer: {error.message.strip()}; it needs --health-address :{PORT}")


async def _lease(client: Client) -> Any:
    """The Lease in any namespace; without permission to list all, the one in the default namespace."""
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
