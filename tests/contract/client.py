"""A thin client of the Kubernetes API for the contract suite: what is sent and what comes back, nothing hidden.

It is not the product's client on purpose: the suite has to be able to send what a good client never would. A watch is
read by a thread into a queue, so that a test can wait for an event, or for silence, with a limit.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import yaml

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
TIMEOUT = 30.0


class Answer(NamedTuple):
    """A response: its status code, its body (parsed if it is JSON, else text) and its headers."""

    status: int
    body: Any
    headers: http.client.HTTPMessage

    @property
    def warnings(self) -> list[str]:
        return self.headers.get_all("Warning") or []


class Api:
    """A server of the Kubernetes protocol, seen by one user."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, token: str | None) -> None:
        self.host, self.port, self.context, self.token = host, port, context, token
        self.connection: http.client.HTTPSConnection | None = None

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Api:
        config = yaml.safe_load(path.read_text())
        context = named(config["contexts"], config["current-context"])["context"]
        cluster = named(config["clusters"], context["cluster"])["cluster"]
        user = named(config["users"], context["user"])["user"]
        address = urlsplit(cluster["server"])
        assert address.hostname
        assert address.port
        return cls(address.hostname, address.port, trust(cluster, path.parent), user["token"])

    def as_user(self, token: str | None) -> Api:
        """The same server with another token, or with none."""
        return Api(self.host, self.port, self.context, token)

    def get(self, path: str, *, accept: str = JSON, **query: str | int | bool) -> Answer:
        return self.request("GET", path, query=query, headers={"Accept": accept})

    def post(self, path: str, body: Any, **query: str | int | bool) -> Answer:
        return self.request("POST", path, body, query=query)

    def put(self, path: str, body: Any, **query: str | int | bool) -> Answer:
        return self.request("PUT", path, body, query=query)

    def delete(self, path: str, body: Any = None, **query: str | int | bool) -> Answer:
        return self.request("DELETE", path, body, query=query)

    def merge(self, path: str, body: Any, **query: str | int | bool) -> Answer:
        return self.request("PATCH", path, body, MERGE_PATCH, query=query)

    def strategic(self, path: str, body: Any, **query: str | int | bool) -> Answer:
        return self.request("PATCH", path, body, STRATEGIC_PATCH, query=query)

    def json_patch(self, path: str, body: Any, **query: str | int | bool) -> Answer:
        return self.request("PATCH", path, body, JSON_PATCH, query=query)

    def apply(self, path: str, body: Any, manager: str, **query: str | int | bool) -> Answer:
        return self.request("PATCH", path, body, APPLY_PATCH, query={"fieldManager": manager, **query})

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = JSON,
        *,
        query: Mapping[str, str | int | bool] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request. A `body` of bytes goes out as it is, anything else as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Accept": JSON, **({"Content-Type": content_type} if data is not None else {}), **(headers or {})}
        response, raw = self._exchange(method, address(path, query), data, {**self._credentials(), **sent})
        return Answer(response.status, parsed(raw, response.headers), response.headers)

    def watch(self, path: str, *, accept: str = JSON, **query: str | int | bool) -> Watch:
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=TIMEOUT)
        connection.request(
            "GET", address(path, {**query, "watch": True}), headers={"Accept": accept, **self._credentials()}
        )
        return Watch(connection)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _credentials(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request on the kept connection; one that the server has closed meanwhile is opened again."""
        kept = self.connection is not None
        if self.connection is None:
            self.connection = http.client.HTTPSConnection(self.host, self.port, context=self.context, timeout=TIMEOUT)
        try:
            self.connection.request(method, target, body=data, headers=dict(headers))
            response = self.connection.getresponse()
            return response, response.read()
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLError):
            self.close()
            if not kept:
                raise
            return self._exchange(method, target, data, headers)


class Watch:
    """The events of one watch, in order, as they come."""

    def __init__(self, connection: http.client.HTTPSConnection) -> None:
        self._socket, self._response = connection.sock, connection.getresponse()
        self._events: Queue[dict[str, Any] | None] = Queue()
        self.status, self.headers = self._response.status, self._response.headers
        self.body: Any = None if self.status == 200 else parsed(self._response.read(), self.headers)
        if self.status == 200:
            threading.Thread(target=self._read, daemon=True).start()

    def next(self, within: float = 30.0) -> dict[str, Any]:
        """The next event; a failure if none comes in time or the stream ends."""
        try:
            event = self._events.get(timeout=within)
        except Empty:
            raise AssertionError(f"no event within {within} s") from None
        assert event is not None, "the server ended the watch"
        return event

    def take(self, count: int, within: float = 30.0) -> list[dict[str, Any]]:
        end = monotonic() + within
        return [self.next(max(0.01, end - monotonic())) for _ in range(count)]

    def quiet(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for this long."""
        try:
            event = self._events.get(timeout=seconds)
        except Empty:
            return True
        return event is None

    def rest(self, within: float = 30.0) -> list[dict[str, Any]]:
        """Everything up to the end of the stream, which has to come in time."""
        events: list[dict[str, Any]] = []
        end = monotonic() + within
        while True:
            try:
                event = self._events.get(timeout=max(0.01, end - monotonic()))
            except Empty:
                raise AssertionError(f"the watch did not end within {within} s") from None
            if event is None:
                return events
            events.append(event)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> None:
        try:
            while line := self._response.readline():
                self._events.put(json.loads(line))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass
        self._events.put(None)


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def trust(cluster: Mapping[str, Any], folder: Path) -> ssl.SSLContext:
    if data := cluster.get("certificate-authority-data"):
        return ssl.create_default_context(cadata=base64.b64decode(data).decode())
    if file := cluster.get("certificate-authority"):
        return ssl.create_default_context(cafile=folder / file)
    return ssl.create_default_context()


def address(path: str, query: Mapping[str, str | int | bool] | None) -> str:
    words = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (query or {}).items()}
    return quote(path, safe="/%:?=&") + (("&" if "?" in path else "?") + urlencode(words) if words else "")


def parsed(raw: bytes, headers: http.client.HTTPMessage) -> Any:
    if raw and JSON in (headers.get("Content-Type") or ""):
        return json.loads(raw)
    return raw.decode(errors="replace")
