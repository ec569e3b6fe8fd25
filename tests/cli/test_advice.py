"""Every command that a message advises works when it is typed as it is printed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Ran, Run
from cli.live import NODES, QUEUES, Live, Raw, admitted, cluster_queue, job, local_queue
from closeknit.cli.exit_codes import BAD_INPUT, INTERNAL_ERROR
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.cluster.port import Key

ADVISED = re.compile(
    r"`(?:kubectl )?closeknit ([^`\n]+)`|(?:use|write|create one|start it|check its health): closeknit ([^;\n]+)"
)
PLACEHOLDERS = {"NAME": "train", "NODE": "n11", "JOB": "train"}


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    """A cluster on which everything is wrong that a user runs into first."""
    misspelt_label = job("no-queue", 1, "main")
    misspelt_label["metadata"]["labels"] = {"kueue.x-k8s.io/queue-nam": "main"}
    live.create(*NODES, *QUEUES, cluster_queue("small", 2), local_queue("small", "small"))
    live.create(cluster_queue("halted", 8), local_queue("halted", "halted"), local_queue("nowhere", "gone"))
    live.create(local_queue("held", "research"))
    live.do(lambda store: store.patch(Key(kinds.CLUSTER_QUEUE, "", "halted"), {"spec": {"stopPolicy": "Hold"}}))
    live.do(lambda store: store.patch(Key(kinds.LOCAL_QUEUE, "default", "held"), {"spec": {"stopPolicy": "Hold"}}))
    for name in ("n41", "n42", "n31", "n32"):
        live.do(lambda store, name=name: store.patch(Key(kinds.NODE, "", name), {"spec": {"unschedulable": True}}))  # type: ignore[misc]
    live.create(job("train", 8), job("large", 12), job("cordoned", 8), job("third", 8), job("poor", 4, "small"))
    live.create(job("stopped", 1, "halted"), job("kept", 1, "held"), job("lost", 1, "nowhere"), job("typo", 1, "mian"))
    live.create(job("level", 2, required="example.com/rak"), misspelt_label)
    live.until(admitted("train"))
    live.until(lambda store: len(_told(store)) >= 6)


def _told(store: Store) -> list[Raw]:
    return [
        one
        for one in store.all(kinds.WORKLOAD)
        if any(each["type"] == "QuotaReserved" for each in (one.get("status") or {}).get("conditions") or ())
    ]


JOBS = ("train", "large", "cordoned", "third", "poor", "stopped", "kept", "lost", "typo", "level", "no-queue", "absent")
ASKED = [
    *(["explain", name] for name in JOBS),
    *(["describe", "job", name] for name in JOBS),
    *(["explain", name] for name in ("clusterqueue/research", "node/n11", "localqueue/main")),
    *(["get", kind] for kind in ("jobs", "workloads", "queues", "clusterqueues", "nodes", "nothing", "pods")),
    *(["what-if"], ["what-if", "absent"], ["queue"], ["queue", "absent"], ["queue", "stop"], ["tree"], ["doctor"]),
    *(
        ["decisions"],
        ["decisions", "absent"],
        ["node", "cordon", "absent"],
        ["describe", "job"],
        ["delete", "job", "x"],
    ),
]


def said(ran: Ran) -> str:
    return ran.out + ran.err


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("third", "closeknit node uncordon"),
        ("stopped", "closeknit queue resume halted"),
        ("kept", "closeknit queue resume default/held"),
        ("lost", "create it"),
        ("typo", "did you mean main?"),
        ("typo", "or create LocalQueue mian"),
        ("level", "did you mean example.com/rack?"),
        ("no-queue", "did you mean kueue.x-k8s.io/queue-name?"),
    ],
)
def test_the_obvious_remedy_is_named(ck: Run, name: str, remedy: str) -> None:
    assert remedy in said(ck("explain", name))


def test_a_reason_that_names_quota_says_so_where_quota_is_free(ck: Run) -> None:
    said_of_it = "WaitingForQuota (quota is free, room on the nodes is short)"
    assert said_of_it in ck("explain", "third").out.splitlines()[0]
    assert said_of_it in ck("get", "jobs").out
    assert "quota is free" not in ck("explain", "poor").out


def test_the_doctor_examines_the_embedded_host(ck: Run) -> None:
    ran = ck("doctor")
    assert ran.code == 3
    assert "localqueue default/nowhere: there is no ClusterQueue gone" in ran.out
    assert "controller" in ran.out


def test_remedies_with_a_second_step_are_told_apart(ck: Run) -> None:
    for name in JOBS:
        for line in said(ck("explain", name)).splitlines():
            assert not re.search(r", or .*, and ", line), line


def test_relaxing_to_the_level_above_is_offered_where_that_helps(ck: Run, tmp_path: Path) -> None:
    wide = job("wide", 12)
    objects = [*NODES, *QUEUES, wide]
    saved = tmp_path / "free.json"
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert 'relax to required "example.com/block"' in ck("explain", "wide", "--cluster", str(saved)).out


def test_a_failing_rack_is_predicted_as_one_loss(ck: Run) -> None:
    told = ck("node", "fail", "r1").out.splitlines()
    affected = [line for line in told if line.startswith("affected: ")]
    assert len(affected) == 1
    assert "8 pods on n11, n12; once the nodes are NotReady" in affected[0]
    ck("node", "recover", "r1")


def advised(ran: Ran) -> Iterator[list[str]]:
    for quoted, said in ADVISED.findall(ran.out + ran.err):
        yield [PLACEHOLDERS.get(word, word) for word in shlex.split(quoted or said)]


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_on_a_running_cluster(ck: Run, words: list[str]) -> None:
    for line in advised(ck(*words)):
        _type(ck, line)


def test_on_a_saved_cluster_the_advice_is_about_those_files(live: Live, ck: Run, tmp_path: Path) -> None:
    objects = live.do(lambda store: [raw for kind in kinds.KINDS for raw in store.all(kind) if kind is not kinds.EVENT])
    saved = tmp_path / "a cluster.json"
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    live_only = 0
    for words in (
        ["what-if"],
        ["what-if", "absent"],
        *(["explain", name] for name in JOBS),
        ["queue"],
        ["queue", "absent"],
    ):
        for line in advised(ck(*words, "--cluster", str(saved))):
            assert str(saved) in line, f"{words} advises {line}"
            _type(ck, line)
            live_only += 1
    assert live_only, "there is some advice"


def _type(ck: Run, line: list[str]) -> None:
    if line[0] == "up" or "FILE" in line or any(word.endswith(".yaml") for word in line):
        line = [line[0], "--help"]
    ran = ck(*line)
    assert ran.code not in (BAD_INPUT, INTERNAL_ERROR), f"closeknit {' '.join(line)}: {ran.err}"
