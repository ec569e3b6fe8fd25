"""Kueue is detected by whether its Lease is renewed while we watch it, not by the Lease's timestamps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from closeknit.cluster.errors import Forbidden, NotFound
from closeknit.cluster.kinds import Kind
from closeknit.dialects.kueue.configuration import KUEUE_LEASE
from closeknit.host.kueue_detection import RunningKueue, detect_kueue

Raw = dict[str, Any]


def lease(holder: str, renewed: int, namespace: str = "kueue-system", lasts: int = 15) -> Raw:
    spec = {"holderIdentity": holder, "renewTime": f"2026-01-01T00:00:{renewed:02}Z", "leaseDurationSeconds": lasts}
    return {"metadata": {"name": KUEUE_LEASE, "namespace": namespace}, "spec": spec}


class Server:
    """Returns the Lease as of each moment. The clock advances with every sleep."""

    def __init__(self, shown: Callable[[float], Raw | None], may_list: bool = True) -> None:
        self.shown, self.may_list, self.clock = shown, may_list, 0.0
        self.queries: list[object] = []

    async def list(self, kind: Kind, namespace: str = "", *, accept: str = "", **query: str | int) -> list[Raw]:
        self.queries.append(query)
        if not self.may_list:
            raise Forbidden("no")
        found = self.shown(self.clock)
        return [] if found is None else [found]

    async def get(self, kind: Kind, namespace: str, name: str) -> Raw:
        found = self.shown(self.clock)
        if found is None or found["metadata"]["namespace"] != namespace:
            raise NotFound("no")
        return found

    async def sleep(self, seconds: float) -> None:
        self.clock += seconds

    def running_kueue(self) -> RunningKueue | None:
        return asyncio.run(detect_kueue(self, ["kueue-system"], lambda: self.clock, self.sleep))


def test_without_a_lease_nothing_is_waited_for() -> None:
    server = Server(lambda _: None)
    assert (server.running_kueue(), server.clock) == (None, 0.0)
    assert server.queries == [{"fieldSelector": f"metadata.name={KUEUE_LEASE}"}]


def test_a_lease_that_is_given_back_is_nobodys() -> None:
    server = Server(lambda _: lease("", 1))
    assert (server.running_kueue(), server.clock) == (None, 0.0)


@pytest.mark.parametrize("namespace", ["kueue-system", "elsewhere"])
def test_one_that_is_renewed_is_held_wherever_it_is(namespace: str) -> None:
    server = Server(lambda now: lease("kueue-1", int(now) // 3, namespace))
    assert server.running_kueue() == RunningKueue(namespace, "kueue-1")
    assert server.clock == 3.0


def test_a_lease_that_is_not_renewed_is_ignored_once_it_expires() -> None:
    server = Server(lambda _: lease("kueue-1", 59, lasts=20))
    assert (server.running_kueue(), server.clock) == (None, 20.0)


def test_another_holder_is_as_good_as_a_renewal() -> None:
    server = Server(lambda now: lease("kueue-1" if now < 5 else "kueue-2", 1))
    assert server.running_kueue() == RunningKueue("kueue-system", "kueue-2")


def test_one_that_goes_away_meanwhile_is_nobodys() -> None:
    assert Server(lambda now: lease("kueue-1", 1) if now < 3 else None).running_kueue() is None


def test_without_permission_to_list_kueues_usual_namespace_is_checked() -> None:
    server = Server(lambda now: lease("kueue-1", int(now)), may_list=False)
    assert server.running_kueue() == RunningKueue("kueue-system", "kueue-1")
    assert Server(lambda now: lease("kueue-1", int(now), "elsewhere"), may_list=False).running_kueue() is None


def test_it_names_the_holder_and_what_to_do() -> None:
    said = str(RunningKueue("kueue-system", "kueue-1"))
    assert said.startswith(f"Kueue runs on this cluster: kueue-1 renews its Lease kueue-system/{KUEUE_LEASE}.")
    assert said.endswith("stop Kueue: kubectl -n kueue-system scale deployment kueue-controller-manager --replicas=0")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level("ERROR"):
        yield
