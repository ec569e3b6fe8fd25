"""How commands find the controller on a Kubernetes cluster: by its Lease, its pod, and the pod's port."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from closeknit.cli.controller_pod import VARIABLE, outside_leader, proxied, request_error, way_to_controller
from closeknit.cli.target import NoCluster
from closeknit.cluster.errors import Forbidden, NotFound, ServiceUnavailable, Unauthorized
from closeknit.cluster.kinds import LEASE, Kind
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config
from closeknit.host.decisions import Decisions, Memory
from closeknit.host.health import Health
from closeknit.model.address import Address
from closeknit.model.mistake import InputError
from host.reviews import TOKEN, Reviews

Raw = dict[str, Any]


class Cluster:
    """A client with just the calls under test; an object that is None does not exist."""

    def __init__(
        self, holder: str | None, pod: Raw | None = None, may_list: bool = True, namespace: str = "ours"
    ) -> None:
        self.holder, self.pod, self.may_list, self.namespace = holder, pod, may_list, namespace
        self.config = Config("https://127.0.0.1:1", token="of-the-user")
        self.issued = ""
        """The token that it issues to readers; empty: it has no account for them."""

    @property
    def lease(self) -> Raw:
        meta = {"namespace": self.namespace, "name": "closeknit-controller"}
        return {"metadata": meta, "spec": {"holderIdentity": self.holder}}

    async def list(self, kind: Kind, **query: str) -> list[Raw]:
        assert query == {"fieldSelector": "metadata.name=closeknit-controller"}
        if not self.may_list:
            raise Forbidden("no")
        return [] if self.holder is None else [self.lease]

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        if kind is LEASE and self.holder is not None and namespace == self.namespace:
            return self.lease
        if kind is not LEASE and self.pod is not None and (namespace, name) == (self.namespace, "leader-1"):
            return self.pod
        raise NotFound("no")

    async def tree(self, method: str, where: str, body: Raw) -> Raw:
        assert (method, where.rpartition("/namespaces/")[2]) == (
            "POST",
            f"{self.namespace}/serviceaccounts/closeknit-reader/token",
        )
        assert body["spec"] == {"audiences": ["closeknit"], "expirationSeconds": 600}
        if not self.issued:
            raise NotFound("no")
        return {"status": {"token": self.issued}}

    async def token(self) -> str:
        return self.config.token

    def proxied(self) -> str:
        return asyncio.run(proxied(cast(Client, self), "/closeknit/decisions"))


def pod(*ports: Raw) -> Raw:
    return {"spec": {"containers": [{"name": "side"}, {"name": "controller", "ports": list(ports)}]}}


def test_the_leader_is_the_pod_that_holds_the_lease_at_its_metrics_port() -> None:
    found = Cluster("leader-1_6a1b", pod({"name": "web", "containerPort": 1}, {"name": "metrics", "containerPort": 9}))
    assert found.proxied() == "/api/v1/namespaces/ours/pods/leader-1:9/proxy/closeknit/decisions"


def test_a_pod_that_names_no_port_has_the_usual_one() -> None:
    assert "/leader-1:8082/proxy/" in Cluster("leader-1_6a1b", pod()).proxied()


def test_without_permission_to_list_leases_the_default_namespace_is_used() -> None:
    found = Cluster("leader-1_6a1b", pod(), may_list=False, namespace="closeknit-system")
    assert found.proxied().startswith("/api/v1/namespaces/closeknit-system/pods/leader-1:")
    with pytest.raises(NoCluster, match="no Closeknit controller leads"):
        Cluster("leader-1_6a1b", pod(), may_list=False).proxied()


@pytest.mark.parametrize("holder", [None, ""])
def test_a_cluster_without_a_leader_is_an_error(holder: str | None) -> None:
    with pytest.raises(NoCluster, match="no Closeknit controller leads on this cluster"):
        Cluster(holder).proxied()


def test_a_controller_outside_the_cluster_is_not_reached_through_the_api_server() -> None:
    with pytest.raises(NoCluster, match="the leading controller, laptop_6a1b, has no pod in namespace ours"):
        Cluster("laptop_6a1b", pod()).proxied()


def test_a_leader_outside_the_cluster_is_named() -> None:
    def named(cluster: Cluster) -> str:
        return asyncio.run(outside_leader(cast(Client, cluster)))

    assert named(Cluster("laptop_6a1b", pod())) == "laptop_6a1b"
    assert named(Cluster("leader-1_6a1b", pod())) == ""
    assert named(Cluster("")) == ""


def test_the_cause_of_a_failed_request_comes_with_a_remedy() -> None:
    assert "that needs the Role closeknit-reader in its namespace" in str(request_error(Forbidden("no")))
    assert "the controller requires a token: give a kubeconfig with one" in str(request_error(Unauthorized("no")))
    assert str(request_error(NotFound("no"))) == "the address is not the --metrics-address of a controller"
    said = str(request_error(ServiceUnavailable("dial tcp: connection refused\n")))
    assert said == ("the controller does not answer: dial tcp: connection refused; it needs --metrics-address :8082")


async def heard(url: str = "", cluster: Cluster | None = None) -> list[bytes]:
    found = cluster or outside(TOKEN)
    async with way_to_controller(cast(Client, found), "/closeknit/decisions", url) as (asked, path):
        return [line async for line in asked.lines(path)]


def outside(token: str, issued: str = "") -> Cluster:
    """A cluster with its controller outside, and a user with this token."""
    found = Cluster("laptop_6a1b", namespace="closeknit-system")
    found.config, found.issued = Config("https://127.0.0.1:1", token=token), issued
    return found


def sent(url: str, cluster: Cluster) -> str:
    """The token that a command sends to a controller at this address."""

    async def ask() -> str:
        async with way_to_controller(cast(Client, cluster), "/closeknit/decisions", url) as (asked, _):
            return asked.config.token

    return asyncio.run(ask())


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://example.com"])
def test_the_users_own_token_is_sent_to_this_machine_or_encrypted(url: str) -> None:
    assert sent(url, outside("of-the-user")) == "of-the-user"


def test_the_users_own_token_is_not_sent_over_a_network_unencrypted() -> None:
    assert sent("http://10.0.0.7:8082", outside("of-the-user")) == ""


def test_a_token_issued_for_readers_is_preferred_to_the_users_own() -> None:
    assert sent("http://10.0.0.7:8082", outside("of-the-user", issued="of-the-reader")) == "of-the-reader"


def test_through_the_api_server_goes_a_token_for_readers_in_a_header_that_it_passes_on() -> None:
    cluster = Cluster("leader-1_6a1b", pod())
    cluster.issued = "of-the-reader"

    async def ask() -> tuple[tuple[tuple[str, str], ...], str]:
        async with way_to_controller(cast(Client, cluster), "/metrics") as (asked, _):
            return asked.config.headers, asked.config.token

    assert asyncio.run(ask()) == ((("X-Closeknit-Token", "of-the-reader"),), "of-the-user")


def test_without_permission_to_get_such_a_token_the_error_names_it() -> None:
    said = "that needs `create` on serviceaccounts/token of closeknit-reader in namespace ours"
    with pytest.raises(NoCluster, match=said):
        asyncio.run(heard(cluster=Cluster("leader-1_6a1b", pod())))


@pytest.mark.parametrize("by_variable", [True, False])
def test_a_controller_without_a_pod_is_asked_at_its_address(by_variable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> list[bytes]:
        book = Memory()
        book.decide(b'{"at":1.0,"workload":"default/train","outcome":"Admitted"}')
        health = Health(Decisions(book))
        health.access.client = cast(Client, Reviews())
        (port,) = await health.start(None, Address("127.0.0.1", 0))
        url = f"http://127.0.0.1:{port}/"
        monkeypatch.setenv(VARIABLE, url if by_variable else "http://127.0.0.1:1")
        try:
            return await heard("" if by_variable else url)
        finally:
            await health.stop()

    assert asyncio.run(ask())[0] == b'{"at":1.0,"workload":"default/train","outcome":"Admitted"}'


def test_an_address_without_a_controller_and_an_invalid_one_are_reported_as_given() -> None:
    with pytest.raises(NoCluster, match=r"the controller at http://127.0.0.1:1 does not answer: "):
        asyncio.run(heard("http://127.0.0.1:1"))
    for wrong in ("localhost:8082", "http://127.0.0.1:abc", "http://127.0.0.1:99999", "http://[::1", "http://"):
        with pytest.raises(InputError, match="is not the address of a controller; give one such as http://"):
            asyncio.run(heard(wrong))


def test_without_an_address_the_error_explains_how_to_give_one() -> None:
    with pytest.raises(
        NoCluster, match=r"decisions --controller` or .CLOSEKNIT_CONTROLLER, as in http://127.0.0.1:8082"
    ):
        asyncio.run(heard())
