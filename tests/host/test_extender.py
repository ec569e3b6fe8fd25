"""The HTTP extender as kube-scheduler meets it: every verb over the wire, and clients that are wrong, slow or many."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from closeknit.cluster.errors import Conflict
from closeknit.cluster.kinds import NODE, NODE_TOPOLOGY, POD, Kind
from closeknit.cluster.kube.client import Client
from closeknit.cluster.kube.unreachable import Unreachable
from closeknit.cluster.port import Bind, Change, ChangeType
from closeknit.extender.compat import CompatZones
from closeknit.extender.extender import Extender
from closeknit.extender.strict import StrictZones
from closeknit.host import http_server
from closeknit.host.extender import ExtenderHost
from closeknit.host.http_server import HttpServer
from closeknit.model.address import Address

Raw = dict[str, Any]
Answered = tuple[int, Any]
NO_CPUS = "Resources cannot be allocated with Topology locality: container main: cpu"


class Api:
    """The part of an API server that is told about bindings."""

    def __init__(self) -> None:
        self.bound: list[Bind] = []
        self.error: Exception | None = None

    async def carry_out(self, write: Bind) -> None:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.bound.append(write)


def node(name: str) -> Raw:
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": {"a": "b"}}, "status": {"allocatable": amounts}}


def report(name: str, *cpus: int) -> Raw:
    def amount(resource: str, whole: str, available: str) -> Raw:
        return {"name": resource, "capacity": whole, "allocatable": whole, "available": available}

    zones = [
        {
            "name": f"node-{at}",
            "type": "Node",
            "resources": [amount("cpu", "8", str(one)), amount("memory", "32Gi", "32Gi")],
        }
        for at, one in enumerate(cpus)
    ]
    attributes = [{"name": "topologyManagerPolicy", "value": "single-numa-node"}]
    return {"metadata": {"name": name}, "attributes": attributes, "zones": zones}


def pod(name: str, cpu: str = "6", on: str = "") -> Raw:
    needs = {"cpu": cpu, "memory": "1Gi"}
    spec: Raw = {"containers": [{"name": "main", "resources": {"requests": needs, "limits": needs}}]}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {**spec, "nodeName": on} if on else spec,
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }


class Served:
    """The extender on two nodes, of which the first has 8 CPUs free in a zone, and the second 4."""

    def __init__(self, strict: bool = True) -> None:
        self.api, self.now = Api(), 0.0
        self.host = ExtenderHost(Extender(StrictZones() if strict else CompatZones()), lambda: self.now)
        self.host.client = cast(Client, self.api)
        self.host.is_synced = True
        for name, cpus in (("n1", (8, 0)), ("n2", (4, 4))):
            self.tell(NODE, node(name))
            self.tell(NODE_TOPOLOGY, report(name, *cpus))
        self.port = 0

    def tell(self, kind: Kind, raw: Raw, type_: ChangeType = "MODIFIED") -> None:
        self.host.told(Change(1, type_, kind, raw))

    def run(self, use: Callable[[Served], Awaitable[None]]) -> None:
        async def play() -> None:
            server = HttpServer(self.host.routes(), posts=self.host.posts())
            self.port = await server.start(Address("127.0.0.1", 0))
            try:
                async with asyncio.timeout(30):
                    await use(self)
            finally:
                await server.stop()

        asyncio.run(play())

    async def send(self, data: bytes) -> Answered:
        """What the server answers to these bytes; status 0 if nothing."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        with suppress(ConnectionError):
            writer.write(data)
            await writer.drain()
        found = b""
        with suppress(ConnectionError):
            found = await reader.read()
        writer.close()
        head, _, body = found.partition(b"\r\n\r\n")
        if not head:
            return 0, None
        is_json = b"application/json" in head
        return int(head.split()[1]), json.loads(body) if is_json else body.decode()

    async def post(self, verb: str, body: Any) -> Answered:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.send(request(verb, f"Content-Length: {len(data)}") + data)


def request(verb: str, *headers: str, method: str = "POST") -> bytes:
    lines = [f"{method} /{verb} HTTP/1.1", "Host: a", "Content-Type: application/json", "Connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def asked(verb: str, body: Any, strict: bool = True) -> Answered:
    found: list[Answered] = []

    async def use(served: Served) -> None:
        found.append(await served.post(verb, body))

    Served(strict).run(use)
    return found[0]


def test_names_are_filtered_where_the_scheduler_sends_names() -> None:
    assert asked("filter", {"Pod": pod("p"), "Nodes": None, "NodeNames": ["n1", "n2", "n3"]}) == (
        200,
        {
            "Nodes": None,
            "NodeNames": ["n1"],
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {"n2": NO_CPUS, "n3": "node not found"},
            "Error": "",
        },
    )


def test_nodes_are_filtered_and_sent_back_as_they_came_where_the_scheduler_sends_nodes() -> None:
    items = [{**node("n2"), "x": 1}, {**node("n1"), "spec": {"taints": [{"key": "é"}]}}]
    nodes = {"metadata": {}, "items": items}
    assert asked("filter", {"Pod": pod("p"), "Nodes": nodes, "NodeNames": None}) == (
        200,
        {
            "Nodes": {"items": [items[1]]},
            "NodeNames": None,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {"n2": NO_CPUS},
            "Error": "",
        },
    )


def test_compat_answers_with_the_words_of_the_plug_in() -> None:
    _, found = asked("filter", {"Pod": pod("p"), "NodeNames": ["n2"]}, strict=False)
    assert found["FailedAndUnresolvableNodes"] == {"n2": "cannot align container"}


def test_without_any_node_the_list_is_empty_and_not_absent() -> None:
    """An answer with neither of the two makes every node infeasible without a reason."""
    assert asked("filter", {"Pod": pod("p")})[1]["NodeNames"] == []
    assert asked("filter", {"Pod": pod("p"), "Nodes": {"items": []}})[1]["Nodes"] == {"items": []}


def test_prioritize_answers_with_a_bare_list() -> None:
    nodes = {"Pod": pod("p", "3"), "NodeNames": ["n1", "n2", "n3"]}
    assert asked("prioritize", nodes) == (
        200,
        [{"Host": "n1", "Score": 9}, {"Host": "n2", "Score": 10}, {"Host": "n3", "Score": 0}],
    )


def test_preempt_leaves_the_candidates_whose_zones_would_be_enough() -> None:
    async def use(served: Served) -> None:
        served.tell(NODE_TOPOLOGY, report("n2", 8, 0))
        for name, where in (("a", "n1"), ("b", "n2")):
            served.tell(POD, pod(name, on=where))
        by_uid = {"n1": {"Pods": [{"UID": "uid-a"}], "NumPDBViolations": 1}, "n2": {"Pods": [{"UID": "uid-x"}]}}
        asked = {"Pod": pod("p"), "NodeNameToVictims": None, "NodeNameToMetaVictims": by_uid}
        expected = {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "uid-a"}], "NumPDBViolations": 1}}}
        assert await served.post("preempt", asked) == (200, expected)
        whole = {"n1": {"Pods": [pod("a", on="n1")], "NumPDBViolations": 1}, "n2": {"Pods": []}}
        asked = {"Pod": pod("p"), "NodeNameToVictims": whole, "NodeNameToMetaVictims": None}
        assert await served.post("preempt", asked) == (200, expected)

    Served().run(use)


def binding(name: str, where: str) -> Raw:
    return {"PodName": name, "PodNamespace": "default", "PodUID": f"uid-{name}", "Node": where}


def test_bind_posts_the_binding_and_keeps_the_reservation() -> None:
    async def use(served: Served) -> None:
        await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1"]})
        assert await served.post("bind", binding("p", "n1")) == (200, {"Error": ""})
        assert served.api.bound == [Bind("default", "p", "n1", "uid-p")]
        served.now = 500
        _, found = await served.post("filter", {"Pod": pod("q"), "NodeNames": ["n1"]})
        assert found["NodeNames"] == []

    Served().run(use)


def test_bind_refuses_what_the_kubelet_would_refuse() -> None:
    async def use(served: Served) -> None:
        served.tell(POD, pod("p"))
        assert await served.post("bind", binding("p", "n2")) == (200, {"Error": f"node n2: {NO_CPUS}"})
        unknown = "pod default/q with uid uid-q does not wait to be bound"
        assert await served.post("bind", binding("q", "n1")) == (200, {"Error": unknown})
        assert served.api.bound == []

    Served().run(use)


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_binding_that_fails_frees_the_node_at_once_or_if_its_answer_is_lost_after_a_while(is_lost: bool) -> None:
    async def use(served: Served) -> None:
        served.tell(POD, pod("p"))
        served.api.error = Unreachable("https://a", "gone") if is_lost else Conflict("it is bound")
        _, found = await served.post("bind", binding("p", "n1"))
        assert ("gone" if is_lost else "it is bound") in found["Error"]
        asked = {"Pod": pod("q"), "NodeNames": ["n1"]}
        assert (await served.post("filter", asked))[1]["NodeNames"] == ([] if is_lost else ["n1"])
        served.now = 31
        assert (await served.post("filter", asked))[1]["NodeNames"] == ["n1"]

    Served().run(use)


def test_of_many_bindings_at_once_only_those_that_fit_are_made() -> None:
    async def use(served: Served) -> None:
        names = [f"p{number}" for number in range(40)]
        for name in names:
            served.tell(POD, pod(name, "3"))
        answers = await asyncio.gather(*(served.post("bind", binding(name, "n2")) for name in names))
        assert sum(found == (200, {"Error": ""}) for found in answers) == 2
        assert len(served.api.bound) == 2

    Served().run(use)


def test_until_everything_is_listed_requests_fail() -> None:
    async def use(served: Served) -> None:
        served.host.is_synced = False
        assert (await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1"]}))[0] == 503
        assert (await served.send(request("readyz", method="GET")))[0] == 503
        assert (await served.send(request("healthz", method="GET"))) == (200, "ok\n")

    Served().run(use)


def test_definition_and_reports_may_go_and_a_bad_report_affects_its_node_only() -> None:
    async def use(served: Served) -> None:
        served.tell(NODE_TOPOLOGY, {"metadata": {"name": "n2"}}, "DELETED")
        served.tell(NODE_TOPOLOGY, {"metadata": {"name": "n1"}, "zones": [{"name": 5, "resources": "x"}]})
        served.tell(POD, {"metadata": {"name": "x", "uid": "x"}, "spec": {"nodeName": 4}})
        served.tell(NODE, {"metadata": {"name": "n9"}, "status": {"allocatable": "no"}})
        _, found = await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1", "n2", "n9"]})
        assert "n2" in found["NodeNames"]
        served.tell(NODE_TOPOLOGY, report("n1", 0, 0))
        _, found = await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1"]})
        assert found["FailedAndUnresolvableNodes"] == {"n1": NO_CPUS}

    Served().run(use)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not a request of kube-scheduler"),
        (b"{", "not a request of kube-scheduler"),
        (b"[]", "not a request of kube-scheduler"),
        (b"\xff\xfe{}", "not a request of kube-scheduler"),
        (b"[" * 100_000, "not a request of kube-scheduler"),
        (b'{"kind": "AdmissionReview", "request": {}}', "Pod is missing"),
        ({"Pod": {"metadata": {}}, "NodeNames": []}, "Pod is missing"),
        ({"Pod": {"metadata": {"uid": 5}}}, "not a request of kube-scheduler"),
        ({"Pod": pod("p"), "NodeNames": "n1"}, "not a request of kube-scheduler"),
        ({"Pod": pod("p"), "Nodes": {"items": [7]}}, "Nodes.items"),
        ({"Pod": pod("p", "many"), "NodeNames": ["n1"]}, "pod default/p: "),
    ],
)
@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
def test_foreign_bodies_are_a_bad_request(verb: str, body: Any, said: str) -> None:
    if verb in ("preempt", "bind") and isinstance(body, dict):
        body = {"Pod": 5, "PodName": 5}
        said = "not a request of kube-scheduler"
    status, text = asked(verb, body)
    assert status == 400
    assert said in text or verb in ("preempt", "bind")


def test_what_is_no_question_is_refused_and_it_serves_on() -> None:
    async def use(served: Served) -> None:
        assert (await served.send(request("filter", method="GET")))[0] == 405
        assert (await served.send(request("filter", method="DELETE")))[0] == 405
        assert (await served.send(request("metrics", "Content-Length: 2") + b"{}"))[0] == 413
        assert (await served.send(request("nothing", "Content-Length: 2") + b"{}"))[0] == 413
        assert (await served.send(request("nothing")))[0] == 404
        assert (await served.send(request("filter")))[0] == 411
        assert (await served.send(request("filter", "Transfer-Encoding: chunked") + b"2\r\n{}\r\n"))[0] == 411
        assert (await served.send(request("filter", "Content-Length: -1")))[0] == 411
        assert (await served.send(request("filter", "Content-Length: 99999999999")))[0] == 413
        assert (await served.send(request("filter", "Content-Encoding: gzip", "Content-Length: 1") + b"x"))[0] == 415
        assert (await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1"]}))[0] == 200

    Served().run(use)


def test_a_body_of_50_megabytes_is_answered() -> None:
    async def use(served: Served) -> None:
        assert (await served.post("filter", b"x" * (50 << 20)))[0] == 400
        filler = {**node("n1"), "status": {"images": ["x" * 10_000]}}
        nodes = [{**filler, "metadata": {"name": f"n{number}"}} for number in range(5_000)]
        status, found = await served.post("filter", {"Pod": pod("p"), "Nodes": {"items": nodes}})
        assert status == 200
        assert [one["metadata"]["name"] for one in found["Nodes"]["items"]] == ["n1"]
        assert len(found["FailedAndUnresolvableNodes"]) == 4_999

    Served().run(use)


def test_clients_that_hang_up_or_are_slow_stop_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "BODY_TIME", 0.2)
    monkeypatch.setattr(http_server, "LAST_WORDS_TIME", 0.0)

    async def use(served: Served) -> None:
        for _ in range(5):
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request("filter", "Content-Length: 1000") + b"{")
            await writer.drain()
            writer.close()
        slow = served.send(request("filter", "Content-Length: 1000") + b"{")
        good = {"Pod": pod("p"), "NodeNames": ["n1"]}
        (status, _), *others = await asyncio.gather(slow, *(served.post("filter", good) for _ in range(20)))
        assert status == 408
        assert {one for one, _ in others} == {200}

    Served().run(use)


def test_too_many_large_bodies_at_once_are_refused() -> None:
    async def use(served: Served) -> None:
        largest = request("filter", f"Content-Length: {64 << 20}")
        held = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(http_server.MOST_BODIES)]
        for _, writer in held:
            writer.write(largest)
            await writer.drain()
        await asyncio.sleep(0.1)
        large = {"Pod": pod("p"), "NodeNames": ["n1"], "x": "x" * 300_000}
        assert (await served.post("filter", large))[0] == 503
        assert (await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1"]}))[0] == 200
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        assert (await served.post("filter", large))[0] == 200

    Served().run(use)


def test_metrics_count_requests_refusals_and_reservations() -> None:
    async def use(served: Served) -> None:
        served.tell(NODE, node("plain"))
        await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1", "n2"]})
        await served.post("filter", b"{")
        _, text = await served.send(request("metrics", method="GET"))
        lines = text.splitlines()
        for line in (
            'closeknit_extender_requests_total{code="200",verb="filter"} 1.0',
            'closeknit_extender_requests_total{code="400",verb="filter"} 1.0',
            'closeknit_extender_request_duration_seconds_count{verb="filter"} 2.0',
            'closeknit_extender_refused_nodes_total{reason="Resources cannot be allocated with Topology locality"} 1.0',
            "closeknit_extender_pending_pods 1.0",
            "closeknit_extender_charged_pods 0.0",
            "closeknit_extender_nodes_without_report 1.0",
            "closeknit_extender_synced 1.0",
        ):
            assert line in lines

    Served().run(use)


def test_when_a_report_was_written_is_in_its_managed_fields() -> None:
    """A pod that was bound less than a minute before is charged on top of it."""

    async def use(served: Served) -> None:
        old = pod("a", on="n1")
        bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        old["status"]["conditions"] = [bound]
        served.tell(POD, old)
        for time, passing in (("2026-01-01T00:00:59Z", []), ("2026-01-01T00:01:00Z", ["n1"])):
            raw = report("n1", 8, 0)
            raw["metadata"]["managedFields"] = [{"time": "2025-01-01T00:00:00Z"}, {"time": time}, {}]
            served.tell(NODE_TOPOLOGY, raw)
            _, found = await served.post("filter", {"Pod": pod("p"), "NodeNames": ["n1"]})
            assert found["NodeNames"] == passing

    Served().run(use)
