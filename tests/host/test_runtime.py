"""Both hosts implement the interface of the live view, metrics and decisions, with the same results."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple, cast

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from closeknit.cluster import kinds
from closeknit.cluster.kube.client import Client
from closeknit.cluster.port import Change
from closeknit.controller.decision_log import Record
from closeknit.host.decisions import Decisions, Memory
from closeknit.host.embedded import EmbeddedCluster
from closeknit.host.health import Health
from closeknit.host.live_state import LiveState
from closeknit.host.metrics import Metrics
from closeknit.host.runtime import Runtime, Vitals
from closeknit.model.address import Address
from host.centre import centre
from host.jobs_of_each_kind import JOB
from host.lab import Lab
from host.over_rest import Cluster, cluster, controller
from host.reviews import TOKEN, Reviews
from host.stage import ACCESS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
RECORD = Record(1.0, "ns/job-a-1", "Admitted", "cq", "rack", ("r1",), "", 5, "Job/a")


def families(text: str) -> dict[str, str]:
    """The name and type of each metric family."""
    return {one.name: one.type for one in text_string_to_metric_families(text)}


def of_runtime(runtime: Runtime) -> dict[str, str]:
    return families(Metrics(runtime).text().decode())


def on_both(tmp_path: Path, look: Callable[[Runtime], object]) -> tuple[object, object]:
    """The value on the embedded cluster and on a controller, each with the same job running."""
    lab = centre()
    lab.apply(JOB.manifest)
    lab.advance(5)
    found: list[object] = []

    async def on_kubernetes() -> None:
        async with cluster(tmp_path) as one, controller(one) as host:
            stock(one)
            await one.until(lambda: is_running(one))
            await one.until(lambda: host.control_plane.in_flight == 0)
            found.append(look(host))

    asyncio.run(on_kubernetes())
    return look(lab.cluster), found[0]


def stock(one: Cluster) -> None:
    """The same data centre and job as in virtual time."""
    for kind in (kinds.NODE, kinds.TOPOLOGY, kinds.RESOURCE_FLAVOR, kinds.CLUSTER_QUEUE, kinds.LOCAL_QUEUE):
        for raw in centre().all(kind):
            meta = {key: raw["metadata"][key] for key in ("name", "namespace", "labels") if key in raw["metadata"]}
            one.create({**raw, "metadata": meta})
    one.apply(JOB.manifest)


def is_running(one: Cluster) -> bool:
    phases = [pod.get("status", {}).get("phase") for pod in one.all(kinds.POD)]
    return phases == ["Running"] * JOB.pods


def test_both_hosts_decide_and_report_their_role(tmp_path: Path) -> None:
    embedded, kubernetes = on_both(tmp_path, lambda runtime: runtime.vitals())
    assert embedded == Vitals("standalone", decides=True, watch_restarts={})
    assert kubernetes == embedded


def test_both_hosts_keep_what_was_decided(tmp_path: Path) -> None:
    def outcomes(runtime: Runtime) -> list[str]:
        return [line.decode().partition('"outcome":"')[2].partition('"')[0] for line in runtime.decisions.read()]

    embedded, kubernetes = on_both(tmp_path, outcomes)
    assert embedded == kubernetes == ["Admitted"]


def test_both_hosts_count_the_same_families(tmp_path: Path) -> None:
    embedded, kubernetes = on_both(tmp_path, of_runtime)
    assert embedded == kubernetes
    assert isinstance(embedded, dict)
    assert embedded["kueue_admitted_active_workloads"] == "gauge"
    assert embedded["closeknit_writes"] == "counter"


def test_both_hosts_count_writes(tmp_path: Path) -> None:
    def creations(runtime: Runtime) -> bool:
        return runtime.control_plane.answered["create", "done"] > 0

    assert on_both(tmp_path, creations) == (True, True)


def test_both_hosts_show_changes_to_a_scene(tmp_path: Path) -> None:
    pictures = []
    live_states: list[LiveState] = []

    def watched(of: EmbeddedCluster) -> None:
        live_states.append(LiveState(of, ACCESS))
        of.watch(live_states[-1])

    lab = centre(Lab(prepare=watched))
    lab.apply(JOB.manifest)
    lab.advance(5)
    pictures.append(live_states[0].picture())

    async def on_kubernetes() -> None:
        async with cluster(tmp_path) as one, controller(one) as host:
            live_state = LiveState(host, ACCESS)
            host.watch(live_state)
            stock(one)
            await one.until(lambda: is_running(one))
            await one.until(lambda: live_state.picture().pods == JOB.pods)
            pictures.append(live_state.picture())

    asyncio.run(on_kubernetes())
    embedded, kubernetes = pictures
    assert embedded.blocks == kubernetes.blocks
    assert embedded.jobs == kubernetes.jobs
    assert [one.name for one in embedded.jobs] == ["one"]
    assert embedded.queues == kubernetes.queues


def test_a_watcher_sees_the_kinds_that_it_watches_and_nothing_else() -> None:
    class Pods:
        watches = (kinds.POD,)

        def __init__(self) -> None:
            self.kinds: set[str] = set()

        def see(self, change: Change) -> None:
            self.kinds.add(change.kind.kind)

    one = Pods()
    lab = centre(Lab(prepare=lambda of: of.watch(one)))
    lab.apply(JOB.manifest)
    lab.advance(5)
    assert one.kinds == {"Pod"}


def test_the_reference_lists_every_family_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|", REFERENCE.read_text(), re.MULTILINE)
    found = of_runtime(centre().cluster)
    ours = {name: kind for name, kind in found.items() if not name.startswith("process_") and name[-8:] != "_created"}
    listed = {name: kind for name, kind in rows if not name.startswith("closeknit_extender_")}
    assert listed == {f"{name}_total" if kind == "counter" else name: kind for name, kind in ours.items()}


# Over HTTP


class Answer(NamedTuple):
    status: int
    media: str
    text: str


async def get(url: str, token: str = "") -> Answer:
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url, ssl=trust) as answer:
        return Answer(answer.status, answer.headers["Content-Type"], await answer.text())


def embedded(tmp_path: Path, ask: Callable[[str, str], Coroutine[Any, Any, Answer]]) -> Answer:
    """A response of the embedded host, requested with its address and token."""

    async def asked() -> Answer:
        async with cluster(tmp_path) as one:
            return await ask(f"https://127.0.0.1:{one.service.port}", (tmp_path / "token").read_text())

    return asyncio.run(asked())


def test_the_embedded_host_serves_the_families_that_a_controller_serves(tmp_path: Path) -> None:
    answer = embedded(tmp_path, lambda url, token: get(f"{url}/metrics", token))
    assert (answer.status, answer.media) == (200, "text/plain; version=0.0.4; charset=utf-8")

    async def served() -> Answer:
        health = Health(Decisions(Memory()))
        health.access.client = cast(Client, Reviews())
        (port,) = await health.start(None, Address("127.0.0.1", 0))
        try:
            async with cluster(tmp_path / "other") as one, controller(one) as host:
                health.host = host
                return await get(f"http://127.0.0.1:{port}/metrics", TOKEN)
        finally:
            await health.stop()

    assert families(answer.text) == families(asyncio.run(served()).text)


def test_the_embedded_host_counts_its_decisions_and_how_late_it_was(tmp_path: Path) -> None:
    async def asked() -> str:
        async with cluster(tmp_path) as one:
            one.service.decisions.keep(RECORD)
            beats = "closeknit_event_loop_lag_seconds_count 0.0"
            await one.until(lambda: beats not in one.service.metrics.text().decode())
            return one.service.metrics.text().decode()

    text = asyncio.run(asked())
    assert 'closeknit_decisions_total{outcome="Admitted"} 1.0' in text
    assert "closeknit_leader 1.0" in text


def test_metrics_of_the_embedded_host_need_its_token(tmp_path: Path) -> None:
    assert embedded(tmp_path, lambda url, _: get(f"{url}/metrics")).status == 401
