"""Writes of the port: over the wire they do what the embedded store does, and no more than once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from closeknit.cluster.embedded.ids import RandomIds
from closeknit.cluster.embedded.rules import HostRules
from closeknit.cluster.embedded.store import Store, WriteOptions
from closeknit.cluster.errors import AlreadyExists, BadRequest, Conflict, NotFound, Refused
from closeknit.cluster.kinds import BUDGET, COHORT, CONFIG_MAP, EVENT, JOB, LEASE, NAMESPACE, NODE, POD, WORKLOAD
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.config import read_config
from closeknit.cluster.kube.request import RequestPriority
from closeknit.cluster.kube.retries import Retries
from closeknit.cluster.kube.writes import is_done, is_within, request_of
from closeknit.cluster.port import Bind, Create, Delete, EvictPod, Key, Patch, Raw, Update, Write
from cluster.embedded.rest.running import Running
from cluster.kube.scripted import scripted, status

NOW = 1_700_000_000.0
MAP, POD_A = Key(CONFIG_MAP, "default", "m"), Key(POD, "default", "a")


def config_map(**data: str) -> Raw:
    return {"metadata": {"name": "m", "namespace": "default"}, "data": data}


def pod(name: str = "a", node: str = "") -> Raw:
    meta = {"name": name, "namespace": "default", "labels": {"app": "x"}}
    return {
        "metadata": meta,
        "spec": {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})},
    }


def budget() -> Raw:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    return {"metadata": {"name": "b", "namespace": "default"}, "spec": spec}


NEXT = {"op": "replace", "path": "/data/a", "value": "2"}
RUNNING = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}

STORIES: dict[str, list[Write]] = {
    "created": [Create(CONFIG_MAP, config_map(a="1"))],
    "created twice": [Create(CONFIG_MAP, config_map(a="1")), Create(CONFIG_MAP, config_map(a="1"))],
    "created without a namespace": [Create(CONFIG_MAP, {"metadata": {"name": "m"}})],
    "updated": [Create(CONFIG_MAP, config_map(a="1")), Update(CONFIG_MAP, config_map(b="2"))],
    "updated and not there": [Update(CONFIG_MAP, config_map(b="2"))],
    "merged": [Create(CONFIG_MAP, config_map(a="1")), Patch(MAP, {"data": {"a": None, "b": "2"}})],
    "by steps": [Create(CONFIG_MAP, config_map(a="1")), Patch(MAP, [NEXT], "json")],
    "strategic": [Create(POD, pod()), Patch(POD_A, {"metadata": {"labels": {"y": "z"}}}, "strategic")],
    "applied": [Patch(MAP, {"data": {"a": "1"}}, "apply", owner="me")],
    "applied by two": [
        Patch(MAP, {"data": {"a": "1"}}, "apply", owner="me"),
        Patch(MAP, {"data": {"a": "2"}}, "apply", owner="you", force=False),
    ],
    "applied by force": [
        Patch(MAP, {"data": {"a": "1"}}, "apply", owner="me"),
        Patch(MAP, {"data": {"a": "2"}}, "apply", owner="you"),
    ],
    "applied without a field manager": [Patch(MAP, {"data": {"a": "1"}}, "apply")],
    "status": [Create(POD, pod()), Patch(POD_A, RUNNING, subresource="status")],
    "deleted": [Create(CONFIG_MAP, config_map(a="1")), Delete(MAP)],
    "deleted and not there": [Delete(MAP)],
    "another deleted": [Create(CONFIG_MAP, config_map(a="1")), Delete(MAP, uid="other")],
    "an older one deleted": [Create(CONFIG_MAP, config_map(a="1")), Delete(MAP, version="1")],
    "held by its children": [Create(CONFIG_MAP, config_map(a="1")), Delete(MAP, propagation="Foreground")],
    "deleted with grace": [Create(POD, pod(node="n")), Delete(POD_A, grace=7)],
    "bound": [Create(POD, pod()), Bind("default", "a", "n")],
    "bound twice": [Create(POD, pod()), Bind("default", "a", "n"), Bind("default", "a", "o")],
    "another bound": [Create(POD, pod()), Bind("default", "a", "n", "other")],
    "evicted": [Create(POD, pod(node="n")), Patch(POD_A, RUNNING, subresource="status"), EvictPod("default", "a", 3)],
    "kept by a budget": [
        Create(POD, pod(node="n")),
        Patch(POD_A, RUNNING, subresource="status"),
        Create(BUDGET, budget()),
        EvictPod("default", "a"),
    ],
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Running(tmp_path_factory.mktemp("host"), rules=HostRules()) as server:
        server.do(lambda store: store.create(NODE, {"metadata": {"name": "n"}}))
        yield server


def emptied(store: Store) -> None:
    for kind in (CONFIG_MAP, POD, BUDGET):
        store.objects[kind].clear()


def left(store: Store) -> list[Raw]:
    """What is there, but for what differs from one run to the next."""
    return [_plain(one) for kind in (CONFIG_MAP, POD, BUDGET) for one in store.objects[kind].values()]


def _plain(raw: Any) -> Any:
    passing = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "deletionTimestamp", "time")
    if isinstance(raw, dict):
        return {part: _plain(value) for part, value in raw.items() if part not in passing and "Time" not in part}
    return [_plain(one) for one in raw] if isinstance(raw, list) else raw


@pytest.mark.parametrize("story", STORIES)
def test_over_the_wire_everything_ends_as_in_the_store(running: Running, story: str) -> None:
    own = Store(lambda: NOW, RandomIds(), HostRules())
    own.create(NAMESPACE, {"metadata": {"name": "default"}, "status": {"phase": "Active"}})
    own.create(NODE, {"metadata": {"name": "n"}})
    there: list[type[Refused] | None] = []
    for write in STORIES[story]:
        try:
            own.carry_out(write, WriteOptions(force=True))
            there.append(None)
        except Refused as error:
            there.append(type(error))

    async def run() -> list[type[Refused] | None]:
        found: list[type[Refused] | None] = []
        async with Client(read_config([running.kubeconfig])) as client:
            for write in STORIES[story]:
                try:
                    answer = await client.carry_out(write)
                    assert answer["kind"] in ("ConfigMap", "Pod", "PodDisruptionBudget", "Status")
                    found.append(None)
                except Refused as error:
                    found.append(type(error))
        return found

    running.do(emptied)
    assert asyncio.run(run()) == there
    assert running.do(left) == left(own)


def test_an_object_that_was_changed_meanwhile_is_not_overwritten(running: Running) -> None:
    async def run() -> None:
        async with Client(read_config([running.kubeconfig])) as client:
            made = await client.carry_out(Create(CONFIG_MAP, config_map(a="1")))
            await client.carry_out(Patch(MAP, {"data": {"a": "2"}}))
            with pytest.raises(Conflict):
                await client.carry_out(Update(CONFIG_MAP, made))
            stale = {"metadata": {"resourceVersion": made["metadata"]["resourceVersion"]}, "data": {"a": "3"}}
            with pytest.raises(Conflict):
                await client.carry_out(Patch(MAP, stale))

    running.do(emptied)
    asyncio.run(run())


@pytest.mark.parametrize(
    ("write", "repeatable"),
    [
        (Create(CONFIG_MAP, config_map()), True),
        (Create(CONFIG_MAP, {"metadata": {"generateName": "m-"}}), False),
        (Update(CONFIG_MAP, config_map()), True),
        (Patch(MAP, {}), True),
        (Patch(MAP, [{"op": "add", "path": "/x/-", "value": 1}], "json"), False),
        (Patch(MAP, [{"op": "test", "path": "/x", "value": 1}], "json"), True),
        (Delete(MAP), False),
        (Delete(MAP, uid="u"), True),
        (Bind("default", "a", "n"), False),
        (Bind("default", "a", "n", "u"), True),
        (EvictPod("default", "a"), False),
    ],
)
def test_which_writes_are_repeatable(write: Write, repeatable: bool) -> None:
    assert request_of(write).may_repeat is repeatable


def test_the_part_of_an_object_and_its_urgency_are_in_the_request() -> None:
    found = request_of(Update(WORKLOAD, {"metadata": {"name": "w", "namespace": "a"}}, "status"))
    assert found.where == "/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w/status"
    assert found.priority is RequestPriority.ORDINARY
    assert request_of(Create(LEASE, {"metadata": {"name": "l"}})).priority is RequestPriority.LEASE
    grace = request_of(EvictPod("a", "p", 5)).body["deleteOptions"]
    assert grace == {"gracePeriodSeconds": 5}


def test_an_apply_without_an_owner_is_refused_before_it_is_sent() -> None:
    with pytest.raises(BadRequest, match="an apply needs a fieldManager"):
        request_of(Patch(MAP, {}, "apply"))


# Answers that get lost


class Forgetful:
    """A server that carries requests out and drops the first answers."""

    def __init__(self, running: Running, lost: int = 1) -> None:
        self.running, self.lost, self.asked = running, lost, list[str]()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.method)
        config = read_config([self.running.kubeconfig])
        headers = {"Authorization": f"Bearer {config.token}", "Content-Type": request.headers.get("Content-Type", "")}
        async with aiohttp.ClientSession(headers=headers) as session:
            sent = session.request(
                request.method, config.server + request.path_qs, data=await request.read(), ssl=config.tls() or True
            )
            async with sent as answer:
                body = await answer.read()
        if self.lost and request.method != "GET":
            self.lost -= 1
            assert request.transport is not None
            request.transport.abort()
        return web.Response(body=body, status=answer.status, content_type="application/json")


def forgetting(running: Running, work: Callable[[Client], Awaitable[None]]) -> list[str]:
    async def run() -> list[str]:
        server = Forgetful(running)
        async with scripted(server.answer) as other, Client(other.config, retries=Retries(4, first=0.01)) as client:
            await work(client)
        return server.asked

    return asyncio.run(run())


def test_a_creation_with_a_lost_response_is_recognized(running: Running) -> None:
    async def work(client: Client) -> None:
        made = await client.carry_out(Create(CONFIG_MAP, config_map(a="1")))
        assert made["data"] == {"a": "1"}
        with pytest.raises(AlreadyExists):
            await client.carry_out(Create(CONFIG_MAP, config_map(a="1")))

    running.do(emptied)
    assert forgetting(running, work) == ["POST", "POST", "GET", "POST"]


def test_an_event_with_a_lost_response_is_taken_for_ours_without_reading_it(running: Running) -> None:
    """Who writes events need not be allowed to read them."""
    about = {"involvedObject": {"kind": "Job", "name": "a", "namespace": "default"}, "reason": "Stopped"}

    async def work(client: Client) -> None:
        body = {"metadata": {"name": "a.1", "namespace": "default"}, **about}
        assert (await client.carry_out(Create(EVENT, body)))["reason"] == "Stopped"

    assert forgetting(running, work) == ["POST", "POST"]


def test_an_object_of_another_creator_is_not_taken_for_ours(running: Running) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(AlreadyExists):
            await client.carry_out(Create(CONFIG_MAP, config_map(a="1")))

    for manager, body in (("other", config_map(a="1")), ("closeknit", config_map(a="2"))):
        running.do(emptied)
        made = Create(CONFIG_MAP, body)
        running.do(partial(Store.carry_out, write=made, options=WriteOptions(manager=manager)))
        assert forgetting(running, work) == ["POST", "POST", "GET"]


def test_a_pod_that_is_bound_where_we_wanted_it_is_bound(running: Running) -> None:
    async def work(client: Client) -> None:
        made = await client.get(*POD_A)
        bound = await client.carry_out(Bind("default", "a", "n", made["metadata"]["uid"]))
        assert bound["spec"]["nodeName"] == "n"
        with pytest.raises(Conflict):
            await client.carry_out(Bind("default", "a", "n", made["metadata"]["uid"]))

    running.do(emptied)
    running.do(lambda store: store.create(POD, pod()))
    assert forgetting(running, work) == ["GET", "POST", "POST", "GET", "POST"]


def test_an_update_with_a_lost_response_is_a_conflict(running: Running) -> None:
    async def work(client: Client) -> None:
        made = await client.get(*MAP)
        with pytest.raises(Conflict):
            await client.carry_out(Update(CONFIG_MAP, {**made, "data": {"a": "2"}}))

    running.do(emptied)
    running.do(lambda store: store.create(CONFIG_MAP, config_map(a="1")))
    assert forgetting(running, work) == ["GET", "PUT", "PUT"]


def test_a_status_with_a_lost_response_is_recognized_if_it_is_equal(running: Running) -> None:
    async def work(client: Client) -> None:
        made = await client.get(COHORT, "", "c")
        written = await client.carry_out(Update(COHORT, {**made, "status": share(1)}, "status"))
        assert written["status"] == share(1)
        with pytest.raises(Conflict):
            await client.carry_out(Update(COHORT, {**made, "status": share(2)}, "status"))

    running.do(lambda store: store.create(COHORT, {"metadata": {"name": "c"}, "spec": {}}))
    assert forgetting(running, work) == ["GET", "PUT", "PUT", "GET", "PUT"]


def share(weighted: int) -> dict[str, Any]:
    return {"fairSharing": {"weightedShare": weighted}}


def test_a_deletion_with_a_lost_response_finds_nothing_the_second_time(running: Running) -> None:
    async def work(client: Client) -> None:
        made = await client.get(*MAP)
        with pytest.raises(NotFound):
            await client.carry_out(Delete(MAP, uid=made["metadata"]["uid"]))

    running.do(emptied)
    running.do(lambda store: store.create(CONFIG_MAP, config_map(a="1")))
    assert forgetting(running, work) == ["GET", "DELETE", "DELETE"]


def test_a_taken_name_is_a_conflict_where_no_response_was_lost() -> None:
    asked: list[str] = []

    async def taken(request: web.Request) -> web.StreamResponse:
        asked.append(request.method)
        return web.json_response(status(409, "AlreadyExists"), status=409)

    async def run() -> None:
        async with scripted(taken) as client:
            await client.carry_out(Create(CONFIG_MAP, config_map()))

    with pytest.raises(AlreadyExists):
        asyncio.run(run())
    assert asked == ["POST"]


@pytest.mark.parametrize(
    ("wanted", "there", "expected"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": None, "b": {}, "c": []}, {}, True),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([1, 2], [1, 2, 3], False),
        ([1], None, False),
        ({"cpu": "1000m", "memory": 1024}, {"cpu": "1", "memory": "1024"}, True),
        ({"cpu": "1"}, {"cpu": "2"}, False),
        ({"text": "x"}, {"text": "y"}, False),
        ({"a": {"b": 1}}, {"a": 1}, False),
    ],
)
def test_an_object_contains_what_was_sent(wanted: Any, there: Any, expected: bool) -> None:
    assert is_within(wanted, there) is expected


def test_fields_that_a_server_drops_at_creation_are_ignored() -> None:
    sent = Create(JOB, {"metadata": {"name": "j"}, "spec": {"parallelism": 1}, "status": {"active": 1}})
    there = {"metadata": {"name": "j", "managedFields": [{"manager": "closeknit"}]}, "spec": {"parallelism": 1}}
    assert is_done(sent, there)
    assert not is_done(sent, {**there, "metadata": {"name": "j"}})
