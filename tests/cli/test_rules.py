"""Commands judge a running cluster by the gates and settings of its host, and say where the command line differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from cli.conftest import Run
from cli.live import NODES, PACE, QUEUES, Live, admitted, job
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.host.embedded import Options
from closeknit.host.rules import heard, told
from closeknit.model.gates import Gates
from closeknit.model.settings import FAIR, PodsReady, Settings, Transformation

GATES = Gates.profile("kueue", {"TASFailedNodeReplacement": False})
SETTINGS = Settings(FAIR, ("example.com/",), (Transformation("cpu", {"credits": 2}),), pods_ready=PodsReady(30.0))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    host = Live(tmp_path_factory.mktemp("host"), Options(GATES, Settings(FAIR), pace=PACE, seed=1))
    host.create(*NODES, *QUEUES, job("train", 6))
    host.until(admitted("train"))
    yield host
    host.stop()


def test_a_host_tells_all_that_it_decides_by() -> None:
    rules = heard(told(Options(GATES, SETTINGS)))
    assert (rules.decided_by, rules.settings) == (GATES, SETTINGS)


@pytest.mark.parametrize("words", [("queue",), ("explain", "train"), ("what-if",), ("tree",)])
def test_nothing_is_said_where_the_command_line_leaves_it_to_the_host(ck: Run, words: tuple[str, ...]) -> None:
    ran = ck(*words)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("words", [("queue",), ("explain", "train"), ("what-if",), ("tree",)])
def test_a_gate_that_the_host_has_otherwise_is_named(ck: Run, words: tuple[str, ...]) -> None:
    ran = ck(*words, "--feature-gates", "TASBalancedPlacement=true,PartialAdmission=true")
    assert ran.err == (
        "note: judged with TASBalancedPlacement on, as the command line says; the host decides otherwise\n"
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
    assert lines[1].startswith("  node n11 under 4 of its pods is NotReady since ")
    assert lines[2].endswith(
        "its pods are evicted, and new ones are made where the plan has them (TASFailedNodeReplacement is off)"
    )
    assert " s): " in lines[2]
    ck("node", "recover", "n11")
