"""`closeknit node maintain` on a running cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from cli.conftest import Run
from cli.live import NODES, QUEUES, RACK, Live, admitted, job
from closeknit.cli.maintain import name_for
from closeknit.cli.times import time_of
from closeknit.cluster import kinds
from closeknit.cluster.embedded.store import Store
from closeknit.dialects.timestamps import parse
from closeknit.model.mistake import InputError


@pytest.fixture(scope="module", autouse=True)
def filled(live: Live) -> None:
    live.create(*NODES, *QUEUES)


def windows(store: Store) -> list[str]:
    return [one["metadata"]["name"] for one in store.all(kinds.MAINTENANCE)]


def test_a_rack_is_maintained_listed_shown_and_cancelled(live: Live, ck: Run) -> None:
    ran = ck("node", "maintain", "b2/r4", "--from", "+1h", "--until", "+3h", "--drain", "--name", "rack-4")
    assert ran.code == 0, ran.err
    assert re.match(r"maintenance/rack-4 created: 2 nodes from \S+Z until \S+Z\n$", ran.out)
    made = live.do(lambda store: store.get(kinds.MAINTENANCE, "", "rack-4"))["spec"]
    assert made["domains"][0]["nodeLabels"][RACK] == "r4"
    assert made["drain"] is True
    assert parse(made["until"]) - parse(made["from"]) == pytest.approx(7200, abs=2)
    assert "rack-4" in ck("get", "maintenances").out
    shown = ck("tree", "--level", "rack").out
    assert re.search(r'r4 .*maintenance "rack-4" from', shown), shown
    assert ck("node", "maintain", "--cancel", "rack-4").out == "maintenance/rack-4 cancelled\n"
    assert live.do(windows) == []
    assert "maintenance" not in ck("tree", "--level", "rack").out


def test_a_job_that_waits_for_the_window_is_explained_by_it(live: Live, ck: Run) -> None:
    for block in ("b1", "b2"):
        assert ck("node", "maintain", block, "--until", "+3h", "--name", f"all-{block}").code == 0
    live.create(job("late", 2))
    live.until(lambda store: any("late" in one["metadata"]["name"] for one in store.all(kinds.WORKLOAD)))
    told = ck("explain", "job/late")
    assert 'maintenance "all-b1" from' in told.out, told.out
    assert re.search(
        r"all-b1.* is over; .* or cancel the maintenance: `closeknit node maintain --cancel all-b1`", told.out
    )
    assert "it cannot start before a maintenance of nodes that it needs is over" in told.out
    assert "once enough other jobs finish" not in told.out
    assert "can never be admitted" not in told.out, "it starts by itself when the window ends"
    assert ck("delete", "maintenance", "all-b1", "all-b2").code == 0
    live.until(admitted("late"))
    ck("delete", "job", "late")


def test_a_job_that_runs_where_maintenance_is_planned_is_told_what_happens_to_it(live: Live, ck: Run) -> None:
    live.create(job("early", 2))
    live.until(admitted("early"))
    options: dict[str, tuple[str, ...]] = {"gentle": (), "strict": ("--drain",)}
    for name, drain in options.items():
        words = ("b1", "b2", "--from", "2199-01-01T00:00:00Z", "--until", "2199-01-02T00:00:00Z", "--name", name)
        assert ck("node", "maintain", *words, *drain).code == 0
    told = ck("explain", "job/early").out
    when = "from 2199-01-01T00:00:00Z until 2199-01-02T00:00:00Z includes nodes that it uses"
    assert f'maintenance "gentle" {when}: it keeps running there' in told, told
    assert f'maintenance "strict" {when}: it is evicted and requeued when that begins' in told
    assert ck("node", "maintain", "--cancel", "gentle", "--cancel", "maintenance.closeknit.dev/strict").code == 0
    ck("delete", "job", "early")


@pytest.mark.parametrize("named", [["--name", "twice"], []], ids=["named", "unnamed"])
def test_a_window_that_exists_already_is_named_with_the_command_that_cancels_it(
    live: Live, ck: Run, named: list[str]
) -> None:
    words = ["node", "maintain", "r4", "--from", "2199-01-01T00:00:00Z", "--until", "2199-01-02T00:00:00Z", *named]
    assert ck(*words).code == 0
    [name] = live.do(windows)
    refused = ck(*words)
    assert f"maintenance/{name}: exists already" in refused.err
    assert f"node maintain --cancel {name}" in refused.err
    assert ck("node", "maintain", "--cancel", name).code == 0


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["r4"], "--until: is missing"),
        (["r4", "--from", "tomorrow", "--until", "+1h"], '--from: "tomorrow" is not a time'),
        (["r4", "--from", "+2h", "--until", "+1h"], "--until: "),
        (["r4", "--until", "2020-01-01T00:00:00Z"], "--until: "),
        (["r4", "--until", "+soon"], '--until: "+soon" is not a time'),
        (["--until", "+1h"], "NODE|RACK: is missing"),
        (["r9", "--until", "+1h"], "r9: is neither a node nor a topology domain"),
        (["--cancel", "none"], "maintenance/none: there is no such Maintenance"),
        (["r4", "--cancel", "none"], "--cancel: "),
    ],
)
def test_a_mistake_is_named_with_its_option_and_changes_nothing(
    live: Live, ck: Run, words: list[str], field: str
) -> None:
    ran = ck("node", "maintain", *words)
    assert ran.code != 0
    assert field in ran.err
    assert live.do(windows) == []


def test_times_are_absolute_relative_or_the_next_such_hour() -> None:
    now = parse("2026-11-18T21:30:00Z")
    assert time_of("2026-11-18T22:00:00Z", "--from", now) == now + 1800
    assert time_of("+2h", "--from", now) == now + 7200
    assert time_of("now", "--from", now) == now
    assert 0 < time_of("22:00", "--from", now) - now <= 86_400
    begin = time_of("22:00", "--from", now)
    assert time_of("02:00", "--until", now, after=begin) - begin == 4 * 3600
    with pytest.raises(InputError, match="is not a time"):
        time_of("25:00", "--from", now)


def test_a_window_is_named_by_its_first_domain_and_its_begin() -> None:
    begin = parse("2026-11-18T22:00:00Z")
    assert name_for(["b1/r2", "b1/r3"], begin) == "b1-r2-20261118-2200"
    assert name_for(["example.com/Rack=R_7"], begin) == "r-7-20261118-2200"


WINDOW = """
apiVersion: closeknit.dev/v1alpha1
kind: Maintenance
metadata: {name: rack-a}
spec:
  domains: [{nodeLabels: {rack: a}}]
  from: "2199-01-01T00:00:00Z"
  until: "2199-01-02T00:00:00Z"
"""
POOL = """
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {rack: a, kubernetes.io/hostname: n1}}
status:
  allocatable: {cpu: "8", pods: "10"}
  conditions: [{type: Ready, status: "True"}]
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: one, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  template:
    metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
"""


def test_place_from_files_respects_a_window_beside_the_nodes(tmp_path: Path, ck: Run) -> None:
    nodes, endless, short = tmp_path / "nodes.yaml", tmp_path / "endless.yaml", tmp_path / "short.yaml"
    nodes.write_text(f"{POOL}---{WINDOW}")
    endless.write_text(JOB)
    short.write_text(JOB.replace("queue-name: lq", "queue-name: lq, kueue.x-k8s.io/max-exec-time-seconds: '60'"))
    more = ("--nodes", str(nodes), "--levels", "rack,kubernetes.io/hostname")
    refused = ck("place", str(endless), *more)
    assert refused.code == 3
    assert 'maintenance "rack-a" from 2199-01-01T00:00:00Z until 2199-01-02T00:00:00Z' in refused.out
    assert ck("place", str(short), *more).code == 0
    nodes.write_text(f"{POOL}---{WINDOW.replace('2199', '1999')}")
    assert ck("place", str(endless), *more).code == 0
    nodes.write_text(f"{POOL}---{WINDOW.replace('2199-01-02', '2198-01-02')}")
    assert "spec.until: is not after spec.from" in ck("place", str(endless), *more).err


def test_what_if_from_files_respects_a_window_at_the_simulated_time(tmp_path: Path, ck: Run) -> None:
    window = {
        "apiVersion": "closeknit.dev/v1alpha1",
        "kind": "Maintenance",
        "metadata": {"name": "all"},
        "spec": {
            "domains": [{"nodeLabels": {RACK: f"r{number}"}} for number in (1, 2, 3, 4)],
            "from": "2030-01-01T00:00:00Z",
            "until": "2030-01-02T00:00:00Z",
        },
    }
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(yaml.safe_dump_all([*NODES, *QUEUES, job("late", 2), window]))
    before = ck("what-if", "--cluster", str(cluster), "--now", "2029-01-01T00:00:00Z")
    assert 'maintenance "all" from 2030-01-01T00:00:00Z' in before.out, before.out + before.err
    after = ck("what-if", "--cluster", str(cluster), "--now", "2030-01-02T00:00:00Z")
    assert 'maintenance "all"' not in after.out
    assert after.code == 0, after.out
