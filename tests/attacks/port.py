"""The ports of the controller in a thread of its own, with an API server that accepts one token."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import cast

from attacks.line import Target
from closeknit.cluster.kube.client import Client
from closeknit.host.decisions import Decisions, Memory
from closeknit.host.health import Health
from closeknit.model.address import Address
from host.reviews import TOKEN, Reviews

LOOPBACK = Address("127.0.0.1", 0)


class ControllerPort:
    """`target` is the port of metrics and decisions, `probes` that of the kubelet."""

    def __init__(self) -> None:
        self.decisions, self.reviews = Decisions(Memory()), Reviews()
        self.health = Health(self.decisions)
        self.health.access.client = cast(Client, self.reviews)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> ControllerPort:
        self._thread.start()
        started = asyncio.run_coroutine_threadsafe(self.health.start(LOOPBACK, LOOPBACK), self.loop)
        probes, port = started.result(20)
        self.target, self.probes = Target(port, TOKEN), Target(probes, "", path="/healthz")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self.health.stop(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(20)
        self.loop.close()
