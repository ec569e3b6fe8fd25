"""Which proxy a request goes through: the kubeconfig's proxy, otherwise the environment's.

    HTTPS_PROXY, HTTP_PROXY   by the scheme of the server; lower case works too
    NO_PROXY                  the exceptions: host names with their subdomains, addresses, ranges, `*`

The variables have the meaning that they have for every Go program. Loopback addresses never go through a proxy.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from ...model.mistake import refuse

PORTS = {"https": 443, "http": 80}


def proxy_for(server: str, given: str, environ: Mapping[str, str]) -> str:
    """The address of the proxy for `server`; empty if there is none."""
    if given:
        return given
    url = urlsplit(server)
    variable = f"{url.scheme}_proxy"
    found = environ.get(variable.upper()) or environ.get(variable) or ""
    if not found or is_direct(url, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return ""
    try:
        return checked(found)
    except ValueError as error:
        text, remedy = error.args
        raise refuse(text, remedy, "environment", variable.upper()) from None


def checked(address: str) -> str:
    """A supported proxy address, with its scheme; raises ValueError with the problem and the remedy."""
    if not address:
        return ""
    url = urlsplit(address if "://" in address else f"http://{address}")
    if url.scheme != "http":
        raise ValueError(
            f"a proxy with scheme {url.scheme} is not supported, only http",
            "give the address of a proxy that accepts CONNECT, such as http://proxy.example:3128",
        )
    if not url.hostname:
        raise ValueError("is not an address", "write one such as http://proxy.example:3128")
    return url.geturl()


def is_direct(url: SplitResult, exceptions: str) -> bool:
    """Whether a server is one of the exceptions, or a loopback address."""
    host, port = (url.hostname or "").rstrip("."), url.port or PORTS.get(url.scheme, 0)
    if host == "localhost" or _is_loopback(host):
        return True
    return any(_matches(one.strip().lower(), host, port) for one in exceptions.split(",") if one.strip())


def _matches(exception: str, host: str, port: int) -> bool:
    """example.org matches itself and its subdomains, .example.org only the latter; a port narrows it down."""
    if exception == "*":
        return True
    if "/" in exception:
        return _is_within(host, exception)
    name, port_of = _apart(exception)
    if port_of and port_of != str(port):
        return False
    if name.startswith("*."):
        name = name[1:]
    if name.startswith("."):
        return host.endswith(name)
    return host == name or host.endswith(f".{name}") or _is_same_address(host, name)


def _apart(exception: str) -> tuple[str, str]:
    """_apart("[::1]:80") == ("::1", "80"); an IPv6 address without brackets has no port."""
    if exception.startswith("["):
        name, _, rest = exception[1:].partition("]")
        return name, rest.removeprefix(":")
    if exception.count(":") > 1:
        return exception, ""
    name, _, port = exception.partition(":")
    return name, port


def _is_within(host: str, network: str) -> bool:
    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False


def _is_same_address(host: str, other: str) -> bool:
    try:
        return ip_address(host) == ip_address(other)
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
