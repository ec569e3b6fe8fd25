"""The controller's endpoints: probes, metrics, decisions."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import aiohttp
import pytest

from closeknit.cluster import kinds
from closeknit.cluster.kube.client import Client
from closeknit.controller.decision_log import Record
from closeknit.host.decisions import KEPT, Decisions, Memory
from closeknit.host.endpoints import Endpoints
from closeknit.host.health import Health
from closeknit.host.http_server import Query
from closeknit.host.kubernetes import KubernetesHost, KubernetesOptions
from closeknit.host.loop_monitor import BEAT, LoopMonitor
from closeknit.host.rules import decode
from closeknit.model.address import Address
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab
from host.reviews import TOKEN, Reviews

LOOPBACK = Address("127.0.0.1", 0)
PROBES = ("/healthz", "/readyz")
LET_IN = {"Authorization": f"Bearer {TOKEN}"}


class Answer(NamedTuple):
    status: int
    text: str


Ask = Callable[[str], Coroutine[Any, Any, Answer]]


def a_record(outcome: str = "Admitted", workload: str = "ns/job-a-1") -> Record:
    return Record(1.0, workload, outcome, "cq", "rack", ("r1",), "", 5, "Job/a")


def health() -> Health:
    found = Health(Decisions(Memory()))
    found.access.client = cast(Client, Reviews())
    return found


def host(lab: Lab | None = None, **given: Any) -> KubernetesHost:
    """A host with only the attributes that the endpoints read."""
    lab = lab or Lab()
    usual = {
        "is_synced": True,
        "is_working": True,
        "elector": object(),
        "off": {},
        "control_plane": lab.cluster.control_plane,
        "informers": SimpleNamespace(restarts=Counter({kinds.POD: 4})),
        "options": KubernetesOptions(),
    }
    found = SimpleNamespace(**{**usual, **given})
    found.vitals = lambda: KubernetesHost.vitals(cast(KubernetesHost, found))
    return cast(KubernetesHost, found)


def asked(of: Health, work: Callable[[Ask], Coroutine[Any, Any, None]]) -> None:
    """Serve the endpoints and send requests, each to its port."""

    async def run() -> None:
        probes, port = await of.start(LOOPBACK, LOOPBACK)
        try:
            async with aiohttp.ClientSession(headers=LET_IN) as session:

                async def get(path: str) -> Answer:
                    to = probes if path in PROBES else port
                    async with session.get(f"http://127.0.0.1:{to}{path}") as answer:
                        return Answer(answer.status, await answer.text())

                await work(get)
        finally:
            await of.stop()

    asyncio.run(run())


def one(of: Health, path: str) -> Answer:
    found: list[Answer] = []

    async def work(get: Ask) -> None:
        found.append(await get(path))

    asked(of, work)
    return found[0]


def test_nothing_listens_without_an_address() -> None:
    async def run() -> list[int]:
        of = health()
        try:
            return await of.start(None)
        finally:
            await of.stop()

    assert asyncio.run(run()) == []


@pytest.mark.parametrize(("place", "found"), [(0, [404, 200, 404]), (1, [200, 404, 200])])
def test_probes_and_everything_else_have_an_address_each(place: int, found: list[int]) -> None:
    async def run() -> list[int]:
        of = health()
        try:
            port = (await of.start(LOOPBACK, LOOPBACK))[place]
            async with aiohttp.ClientSession(f"http://127.0.0.1:{port}", headers=LET_IN) as session:
                return [(await session.get(path)).status for path in ("/metrics", "/healthz", "/closeknit/decisions")]
        finally:
            await of.stop()

    assert asyncio.run(run()) == found


def test_it_is_healthy_while_the_event_loop_is_not_blocked() -> None:
    assert one(health(), "/healthz") == (200, "ok\n")


def test_it_is_not_when_nothing_turned_for_long() -> None:
    of, clock = health(), [0.0]
    of.pulse = LoopMonitor(now=lambda: clock[0])
    clock[0] = 31.0
    assert one(of, "/healthz") == (503, "not ok\n")


def test_a_beat_that_was_late_is_remembered_until_the_next() -> None:
    clock, late = [0.0], list[float]()
    pulse = LoopMonitor(late.append, lambda: clock[0])
    for clock[0] in (0.0, 40.0):
        pulse.beat()
    assert (late, pulse.gap) == ([0.0, 40.0 - BEAT], 40.0 - BEAT)
    clock[0] = 40.0 + BEAT / 2
    pulse.beat()
    assert pulse.gap == 0.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "not connected to the API server yet"),
        ({"is_synced": False}, "informers have not synced yet"),
        (
            {"is_synced": False, "off": {kinds.POD: "cannot be listed"}},
            "informers have not synced yet; pods: cannot be listed",
        ),
        ({"off": {kinds.WORKLOAD: "not served"}}, "workloads.kueue.x-k8s.io: not served"),
    ],
)
def test_it_is_not_ready_before_it_can_decide_and_only_its_log_says_why(
    given: dict[str, Any] | None, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    of = health()
    if given is not None:
        of.host = host(**given)
    assert [one(of, "/readyz") for _ in range(2)] == [(503, "not ok\n")] * 2
    assert [record.getMessage() for record in caplog.records] == [f"/readyz fails: {said}"]


@pytest.mark.parametrize("given", [{}, {"is_working": False}, {"off": {kinds.RAY_JOB: "not served"}}])
def test_it_is_ready_when_it_leads_or_stands_by_whatever_kinds_of_jobs_there_are(given: dict[str, Any]) -> None:
    of = health()
    of.host = host(**given)
    assert one(of, "/readyz") == (200, "ok\n")


def test_metrics_are_served_in_the_prometheus_text_format() -> None:
    lab = centre()
    for name, cpu in (("runs", "2"), ("waits", "200")):
        lab.apply(JOB.manifest.replace("name: one", f"name: {name}").replace('cpu: "2"', f'cpu: "{cpu}"'))
        lab.advance(1)
    of = health()
    of.host = host(lab)
    lab.cluster.control_plane.answered = Counter({("update", "Conflict"): 2})
    of.metrics.decided(a_record("Admitted"))
    of.metrics.decided(a_record("Waits"))
    of.metrics.late(0.02)
    lines = one(of, "/metrics").text.splitlines()
    assert {
        "closeknit_leader 1.0",
        "closeknit_writes_in_flight 0.0",
        'closeknit_writes_total{result="Conflict",verb="update"} 2.0',
        'closeknit_watch_restarts_total{kind="pods"} 4.0',
        'closeknit_decisions_total{outcome="Admitted"} 1.0',
        'closeknit_decisions_total{outcome="Waits"} 1.0',
        'closeknit_event_loop_lag_seconds_bucket{le="0.025"} 1.0',
        'kueue_admitted_active_workloads{cluster_queue="cq",replica_role="leader"} 1.0',
        'kueue_reserving_active_workloads{cluster_queue="cq",replica_role="leader"} 1.0',
        'kueue_pending_workloads{cluster_queue="cq",replica_role="leader",status="active"} 0.0',
        'kueue_pending_workloads{cluster_queue="cq",replica_role="leader",status="inadmissible"} 1.0',
    } <= set(lines)


@pytest.mark.parametrize(
    ("given", "role"),
    [({"elector": None}, "standalone"), ({"is_working": False}, "follower"), ({}, "leader")],
)
def test_metrics_show_the_role_of_a_replica(given: dict[str, Any], role: str) -> None:
    of = health()
    of.host = host(centre(), **given)
    assert (
        f'kueue_admitted_active_workloads{{cluster_queue="cq",replica_role="{role}"}} 0.0' in one(of, "/metrics").text
    )


def test_decisions_can_be_filtered_by_workload_or_by_its_job() -> None:
    of = health()
    of.decisions.keep(a_record())
    of.decisions.keep(a_record(workload="ns/job-b-1")._replace(job="Job/b"))

    async def work(get: Ask) -> None:
        everything = await get("/closeknit/decisions")
        assert [json.loads(line)["workload"] for line in everything.text.splitlines()] == ["ns/job-a-1", "ns/job-b-1"]
        assert len((await get("/closeknit/decisions?workload=ns/b")).text.splitlines()) == 1
        assert (await get("/closeknit/decisions?since=2")).text == ""

    asked(of, work)


def test_stored_decisions_are_written_in_few_pieces_so_that_a_reader_that_is_gone_costs_little() -> None:
    of = health()
    for _ in range(500):
        of.decisions.keep(a_record())

    async def pieces() -> list[bytes]:
        answer = await Endpoints(of.decisions, of.metrics).by_path()["closeknit/decisions"](Query("GET", "", {}, {}))
        assert not isinstance(answer.body, bytes)
        return [piece async for piece in answer.body]

    found = asyncio.run(pieces())
    assert len(found) <= 5
    assert len(b"".join(found).splitlines()) == 500


def test_only_the_latest_are_remembered() -> None:
    book = Memory()
    for number in range(KEPT + 2):
        book.decide(str(number).encode())
    kept = book.decisions()
    assert (len(kept), kept[0].body) == (KEPT, b"2")


def test_a_watch_on_decisions_does_not_block_a_stop() -> None:
    of = health()

    async def run() -> None:
        (port,) = await of.start(None, LOOPBACK)
        async with (
            aiohttp.ClientSession(headers=LET_IN) as session,
            session.get(f"http://127.0.0.1:{port}/closeknit/decisions?watch=true") as answer,
        ):
            of.decisions.keep(a_record())
            assert json.loads(await answer.content.readline())["outcome"] == "Admitted"
            async with asyncio.timeout(5):
                await of.stop()
        assert of.decisions.listeners == []

    asyncio.run(run())


def test_the_configuration_is_served_once_it_is_known() -> None:
    of = health()
    assert one(of, "/closeknit/config").status == 503
    options = KubernetesOptions()
    of.host = host(options=options)
    rules = decode(one(of, "/closeknit/config").text.encode())
    assert (rules.decided_by, rules.settings) == (options.gates, options.settings)
