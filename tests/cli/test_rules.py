"""On a running cluster, commands use the gates and settings of its host and note where the command line differs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli.conftest import Run
from cli.live import NODES, PACE, QUEUES, Live, admitted, job
from closeknit.cli.controller_pod import VARIABLE
from closeknit.cli.rules import EffectiveRules, Given
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.errors import NotFound
from closeknit.cluster.kinds import Kind
from closeknit.cluster.kube.client import Client
from closeknit.host.decisions import Decisions, Memory
from closeknit.host.embedded import EmbeddedOptions
from closeknit.host.health import Health
from closeknit.host.kubernetes import KubernetesHost
from closeknit.host.rules import decode, encode
from closeknit.model.address import Address
from closeknit.model.gates import Gates
from closeknit.model.settings import FAIR, PodsReady, Settings, Transformation
from host.reviews import TOKEN, Reviews

GATES = Gates.profile("kueue", {"TASFailedNodeReplacement": False})
SETTINGS = Settings(FAIR, ("example.com/",), (Transformation("cpu", {"credits": 2}),), pods_ready=PodsReady(30.0))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    host = Live(tmp_path_factory.mktemp("host"), EmbeddedOptions(GATES, Settings(FAIR), pace=PACE, seed=1))
    host.create(*NODES, *QUEUES, job("train", 6))
    host.until(admitted("train"))
    yield host
    host.stop()


def test_the_host_serves_every_rule_it_decides_by() -> None:
    rules = decode(encode(EmbeddedOptions(GATES, SETTINGS)))
    assert (rules.decided_by, rules.settings) == (GATES, SETTINGS)


@pytest.mark.parametrize("words", [("queue",), ("explain", "train"), ("what-if",), ("tree",)])
def test_without_options_the_rules_of_the_host_apply_silently(ck: Run, words: tuple[str, ...]) -> None:
    ran = ck(*words)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("words", [("queue",), ("explain", "train"), ("what-if",), ("tree",)])
def test_a_gate_that_differs_from_the_host_is_noted(ck: Run, words: tuple[str, ...]) -> None:
    ran = ck(*words, "--feature-gates", "TASBalancedPlacement=true,PartialAdmission=true")
    assert ran.err == (
        "note: using TASBalancedPlacement on from the command line; the control plane decides differently\n"
    )


def test_a_profile_is_compared_with_that_of_the_host(ck: Run) -> None:
    ran = ck("queue", "--profile", "closeknit")
    assert "VerifyBeforeAdmit on" in ran.err
    assert ck("queue", "--profile", "kueue", "--feature-gates", "TASFailedNodeReplacement=false").err == ""


def test_fair_sharing_of_the_host_is_known(ck: Run) -> None:
    assert ck("queue", "--fair-sharing").err == ""


def is_unready(name: str) -> Callable[[Store], bool]:
    def look(store: Store) -> bool:
        conditions = store.get(kinds.NODE, "", name)["status"]["conditions"]
        return any(one["type"] == "Ready" and one["status"] != "True" for one in conditions)

    return look


def test_what_becomes_of_a_failed_node_follows_from_the_gates_of_the_host(live: Live, ck: Run) -> None:
    ck("node", "fail", "n11")
    live.until(is_unready("n11"))
    lines = ck("explain", "train").out.splitlines()
    assert lines[1].startswith("  node n11 with 4 of its pods is NotReady since ")
    assert lines[2].endswith(
        "its pods are evicted, and new ones are created with the same assignment (TASFailedNodeReplacement is off)"
    )
    assert " s): " in lines[2]
    ck("node", "recover", "n11")


class Outside:
    """A client with just the calls under test, of a Kubernetes cluster with its controller outside."""

    async def tree(self, _verb: str, path: str, _body: object = None) -> dict[str, Any]:
        raise NotFound(path)

    async def token(self) -> str:
        return TOKEN

    async def get(self, _kind: Kind, _namespace: str, name: str) -> dict[str, Any]:
        raise NotFound(name)

    async def list(self, _kind: Kind, **_query: str) -> list[dict[str, Any]]:
        meta = {"namespace": "closeknit-system", "name": "closeknit-controller"}
        return [{"metadata": meta, "spec": {"holderIdentity": "laptop_1"}}]


def judged_by(capsys: pytest.CaptureFixture[str]) -> tuple[EffectiveRules, str]:
    found = asyncio.run(Given("", {}, None, False).on(cast(Client, Outside())))
    return found, capsys.readouterr().err


def test_a_controller_outside_the_cluster_is_asked_for_its_rules_or_a_note_reports_the_defaults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    usual = EffectiveRules(Gates.profile(), Settings())
    found, said = judged_by(capsys)
    assert found == usual
    assert said.startswith("note: the leading controller, laptop_1, has no pod in namespace closeknit-system; give")
    assert said.endswith("using the default gates and settings\n")
    monkeypatch.setenv(VARIABLE, "http://127.0.0.1:1")
    found, said = judged_by(capsys)
    assert found == usual
    assert said.startswith("note: the controller at http://127.0.0.1:1 does not answer: connection refused; using")


def test_the_rules_of_a_controller_outside_the_cluster_apply(monkeypatch: pytest.MonkeyPatch) -> None:
    async def asked() -> EffectiveRules:
        health = Health(Decisions(Memory()))
        health.host = cast(KubernetesHost, SimpleNamespace(options=EmbeddedOptions(GATES, Settings(FAIR))))
        health.access.client = cast(Client, Reviews())
        (port,) = await health.start(None, Address("127.0.0.1", 0))
        monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{port}")
        try:
            return await Given("", {}, None, False).on(cast(Client, Outside()))
        finally:
            await health.stop()

    assert asyncio.run(asked()) == EffectiveRules(GATES, Settings(FAIR))


def test_a_controller_that_refuses_to_be_read_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ask() -> EffectiveRules:
        health = Health(Decisions(Memory()))
        health.access.client = cast(Client, Reviews(paths=()))
        (port,) = await health.start(None, Address("127.0.0.1", 0))
        monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{port}")
        try:
            return await Given("", {}, None, False).on(cast(Client, Outside()))
        finally:
            await health.stop()

    assert asyncio.run(ask()) == EffectiveRules(Gates.profile(), Settings())
    said = capsys.readouterr().err
    assert said.startswith("note: no permission to ask the controller: ")
    assert "the ClusterRole closeknit-reader for --controller; using the default gates and settings\n" in said
