"""Which way a request takes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from aiohttp import web

from closeknit.cluster.kinds import NAMESPACE, NODE
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import Config, read_config
from closeknit.cluster.kube.proxies import proxy_for
from closeknit.cluster.kube.unreachable import Unreachable
from closeknit.model.mistake import InputError
from cluster.embedded.rest.running import Running
from cluster.kube.bad_proxy import BadProxy
from cluster.kube.scripted import scripted

PROXY = "http://proxy.example:3128"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Running(tmp_path) as server:
        yield server


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": PROXY}, PROXY),
        ({"https_proxy": PROXY}, PROXY),
        ({"HTTPS_PROXY": "proxy.example:3128"}, PROXY),
        ({"HTTP_PROXY": PROXY}, ""),
    ],
)
def test_the_environment_names_a_proxy_by_scheme(environ: dict[str, str], found: str) -> None:
    assert proxy_for("https://kube.example.org", "", environ) == found


@pytest.mark.parametrize(
    ("server", "exceptions", "is_direct"),
    [
        ("https://kube.example.org", "example.org", True),
        ("https://kube.example.org", ".example.org", True),
        ("https://kube.example.org", "*.example.org", True),
        ("https://example.org", "example.org", True),
        ("https://example.org", ".example.org", False),
        ("https://notexample.org", "example.org", False),
        ("https://KUBE.example.org", "a, Kube.Example.org ,b", True),
        ("https://kube.example.org:6443", "kube.example.org:6443", True),
        ("https://kube.example.org:6443", "kube.example.org:443", False),
        ("https://kube.example.org", "kube.example.org:443", True),
        ("https://10.96.0.1", "10.96.0.0/12", True),
        ("https://10.112.0.1", "10.96.0.0/12", False),
        ("https://10.96.0.1", "10.96.0.1", True),
        ("https://[fd00::1]:6443", "fd00::/8", True),
        ("https://[fd00::1]:6443", "fd00:0::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]:6443", "[fd00::1]:1", False),
        ("https://kube.example.org", "10.0.0.0/8", False),
        ("https://kube.example.org", "*", True),
        ("https://kube.example.org", "", False),
        ("https://127.0.0.1:6443", "", True),
        ("https://localhost:6443", "", True),
    ],
)
def test_exceptions_are_names_addresses_ranges_and_ports(server: str, exceptions: str, is_direct: bool) -> None:
    found = proxy_for(server, "", {"HTTPS_PROXY": PROXY, "NO_PROXY": exceptions})
    assert found == ("" if is_direct else PROXY)


def test_the_proxy_of_a_kubeconfig_goes_before_the_environment() -> None:
    environ = {"HTTPS_PROXY": "http://other:1", "NO_PROXY": "*"}
    assert proxy_for("https://kube.example.org", PROXY, environ) == PROXY


@pytest.mark.parametrize("scheme", ["socks5", "https"])
def test_a_proxy_that_we_cannot_use_is_refused_with_its_variable(scheme: str) -> None:
    with pytest.raises(InputError, match=f"HTTPS_PROXY: a proxy with scheme {scheme} is not supported, only http"):
        proxy_for("https://kube.example.org", "", {"HTTPS_PROXY": f"{scheme}://proxy:1080"})


def test_requests_go_through_a_proxy_and_the_server_is_still_verified(running: Running) -> None:
    async def run() -> list[str]:
        async with BadProxy(Random(1), ("good",)) as proxy:
            config = replace(read_config([running.kubeconfig]), proxy=proxy.address)
            async with Client(config) as client:
                assert (await client.get(NAMESPACE, "", "default"))["kind"] == "Namespace"
            async with Client(replace(config, server_name="other")) as client:
                with pytest.raises(Unreachable, match="its certificate is not trusted: Hostname mismatch"):
                    await client.get(NAMESPACE, "", "default")
            async with Client(replace(config, server_name="localhost")) as client:
                await client.get(NAMESPACE, "", "default")
            return proxy.asked_for

    assert asyncio.run(run()) == [f"127.0.0.1:{running.port}"] * 3


def test_a_broken_or_unreachable_proxy_is_reported_as_the_reason(running: Running) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response()

    async def why(proxy: str) -> str:
        async with Client(replace(read_config([running.kubeconfig]), proxy=proxy)) as client:
            with pytest.raises(Unreachable) as error:
                await client.get(NODE, "", "n")
            assert error.value.sent is False
            return error.value.why

    async def run() -> tuple[str, str]:
        async with scripted(answer) as other:
            return await why(other.config.server), await why("http://127.0.0.1:1")

    refused, away = asyncio.run(run())
    assert refused == "the proxy answered 404 Not Found"
    assert away == "the proxy refused the connection"


def test_a_server_without_tls_is_asked_through_a_proxy_too() -> None:
    asked: list[str] = []

    async def proxy(request: web.Request) -> web.StreamResponse:
        asked.append(str(request.url))
        return web.json_response({"kind": "Node"})

    async def run() -> None:
        async with (
            scripted(proxy) as other,
            Client(Config("http://kube.example.org", proxy=other.config.server)) as client,
        ):
            await client.get(NODE, "", "n")

    asyncio.run(run())
    assert asked == ["http://kube.example.org/api/v1/nodes/n"]
