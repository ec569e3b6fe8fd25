"""A server for tests: in a thread of its own, on a free port, over a store that the test can look into."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from time import time
from types import TracebackType
from typing import TypeVar

from closeknit.cluster.embedded.certificate import credentials, write_kubeconfigs
from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.rest.server import Extra, Server, Tokens
from closeknit.cluster.embedded.store import Log, Store, StoreRules
from closeknit.cluster.kinds import NAMESPACE
from contract.client import Api

T = TypeVar("T")


class Running:
    """`api` is a client with the token. Use the store only through `do`, which runs in the server's thread."""

    def __init__(
        self,
        folder: Path,
        *,
        rules: StoreRules | None = None,
        log: Log | None = None,
        extra: Mapping[str, Extra] | None = None,
        page: Callable[[], str] | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        made = credentials(folder, time())
        self.store = Store(time, RandomIds(), rules, log)
        self.store.create(NAMESPACE, {"metadata": {"name": "default"}, "status": {"phase": "Active"}})
        self.server = Server(
            self.store, Tokens(made.token, made.view_token), extra=extra, page=page, on_change=on_change
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        started: Future[int] = asyncio.run_coroutine_threadsafe(self.server.start(made.tls()), self._loop)
        self.port = started.result(20)
        self.kubeconfig = write_kubeconfigs(folder, self.port)
        self.api = Api.from_kubeconfig(self.kubeconfig)

    def do(self, action: Callable[[Store], T]) -> T:
        async def done() -> T:
            result = action(self.store)
            self.server.settle()
            return result

        return asyncio.run_coroutine_threadsafe(done(), self._loop).result(60)

    @property
    def version(self) -> int:
        return self.do(lambda store: store.version)

    def stop(self) -> None:
        self.api.close()
        asyncio.run_coroutine_threadsafe(self.server.stop(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
