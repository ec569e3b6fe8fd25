"""How commands reach the controller on a Kubernetes cluster: through the API server's proxy to the leader's pod.

    Lease ──▶ leader ──▶ its pod ──▶ the port named `metrics` ──▶ /api/v1/namespaces/…/pods/NAME:PORT/proxy/…

The controller requires a token, and the API server does not pass on the user's own. So commands request a token of the
ServiceAccount closeknit-reader, valid for ten minutes and for the controller only, and send it in a header of ours: the
user's credentials never reach the controller. A leader outside the cluster has no pod: commands connect to it directly,
at the address in $CLOSEKNIT_CONTROLLER; if there is no such account they send it the token of the kubeconfig, unless
that would pass over a network unencrypted.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..cluster.errors import Forbidden, NotFound, Refused, Unauthorized
from ..cluster.kinds import LEASE, POD
from ..cluster.kube.unreachable import Unreachable
from ..deploy.marks import READER
from ..dialects.kueue.configuration import LEASE as NAME
from ..model.mistake import refuse
from ..model.settings import OWN_NAMESPACE
from .target import NoCluster

if TYPE_CHECKING:
    from ..cluster.kube.client import Client

PORT_NAME, PORT = "metrics", 8082
VARIABLE = "CLOSEKNIT_CONTROLLER"


class InNoPod(NoCluster):
    """The leader runs outside the cluster, so the API server cannot proxy to it."""

    def __init__(self, holder: str, namespace: str) -> None:
        given = f"`decisions --controller` or ${VARIABLE}, as in http://127.0.0.1:{PORT}"
        remedy = f"give its --metrics-address with {given}"
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
    if url:
        async with _direct(client, url.rstrip("/")) as asked:
            yield asked, path
        return
    async with _by_proxy(client, _namespace_in(found)) as asked:
        yield asked, found


@asynccontextmanager
async def _by_proxy(client: Client, namespace: str) -> AsyncIterator[Client]:
    from ..cluster.kube.client import Client
    from ..host.access import HEADER

    token = await _reader_token(client, namespace)
    if not token:
        account = f"serviceaccounts/token of {READER} in namespace {namespace}"
        raise NoCluster(f"no permission to read the controller: that needs `create` on {account}")
    async with Client(replace(client.config, headers=((HEADER, token),))) as asked:
        yield asked


async def _reader_token(client: Client, namespace: str) -> str:
    """A token that permits nothing but to read the controller; empty if the server issues none to this user."""
    from ..cluster.kube.reviews import issued

    try:
        return await issued(client, namespace, READER)
    except (Forbidden, NotFound, Unauthorized):
        return ""


@asynccontextmanager
async def _direct(client: Client, url: str) -> AsyncIterator[Client]:
    from ..cluster.kube.client import Client
    from ..cluster.kube.config import Config

    try:
        given = urlsplit(url)
        is_address = given.scheme in ("http", "https") and bool(given.hostname) and given.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise refuse("is not the address of a controller", f"give one such as http://127.0.0.1:{PORT}", what=url)
    token = await _reader_token(client, OWN_NAMESPACE)
    if not token and _is_private(url):
        token = await client.token()
    try:
        async with Client(Config(server=url, token=token)) as asked:
            yield asked
    except Unreachable as error:
        raise NoCluster(f"the controller at {url} does not answer: {error.why}") from error


def _is_private(url: str) -> bool:
    """Whether what is sent there is hidden from the network, by TLS or because it stays on this machine."""
    given = urlsplit(url)
    try:
        is_here = given.hostname == "localhost" or ip_address(given.hostname or "").is_loopback
    except ValueError:
        is_here = False
    return is_here or given.scheme == "https"


def _namespace_in(proxied_path: str) -> str:
    return proxied_path.split("/")[4]


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
        return NoCluster("the address is not the --metrics-address of a controller")
    if isinstance(error, Unauthorized):
        return NoCluster(f"the controller requires a token: give a kubeconfig with one, or {_INSTALL}")
    if isinstance(error, Forbidden):
        needed = f"the Role {READER} in its namespace, or the ClusterRole {READER} for --controller"
        return NoCluster(f"no permission to ask the controller: {error.message.strip()}; that needs {needed}")
    return NoCluster(f"the controller does not answer: {error.message.strip()}; it needs --metrics-address :{PORT}")


_INSTALL = f"`closeknit install`, which creates the ServiceAccount {READER}"


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
