"""The state behind the live view, as the cluster changes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from closeknit.cluster import kinds
from closeknit.cluster.port import Change
from closeknit.controller.decision_log import Record
from closeknit.dialects.timestamps import show
from closeknit.host.demo_place import NAME, NAMESPACE
from closeknit.host.demos.objects import cluster_queue, flavor, host, hosts, job, local_queue, topology
from closeknit.host.embedded import EmbeddedCluster
from closeknit.host.layout import main_resource
from closeknit.host.live_state import LiveState
from closeknit.observe.pool_form import BLOCK, RACK
from closeknit.report.host_grid import COLOURS
from closeknit.report.picture import IDLE, OTHER, Block, Host, Picture
from host.lab import START, Lab
from host.stage import ACCESS


class Watched(Lab):
    """A cluster with a live view: a block of two racks with two hosts of 8 GPUs."""

    def __init__(self) -> None:
        self.changes = 0
        super().__init__(prepare=self._watch)
        self.decisions.listeners.append(self.live_state.add)

    def _watch(self, cluster: EmbeddedCluster) -> None:
        self.live_state = LiveState(cluster, ACCESS, self._changed)
        cluster.watch(self.live_state)

    def _changed(self) -> None:
        self.changes += 1

    def fill(self) -> None:
        for raw in (*hosts(1, 2, 2), topology(), flavor(), cluster_queue("team", 32), local_queue("team", "team")):
            self.create(raw)
        self.advance(1)

    def look(self) -> Picture:
        return self.live_state.picture()

    def host(self, name: str) -> Host:
        return next(one for one in self.look().hosts() if one.name == name)


def record(workload: str, outcome: str, **facts: Any) -> Record:
    usual = {"queue": "team", "level": "", "domains": (), "reason": "", "cost": 12}
    return Record(at=START, workload=workload, outcome=outcome, **{**usual, **facts})


def test_an_empty_cluster_is_an_empty_picture() -> None:
    picture = Watched().look()
    assert (picture.blocks, picture.jobs, picture.queues, picture.decisions, picture.pods) == ((), (), (), (), 0)


def test_hosts_lie_in_their_racks_and_racks_in_their_blocks() -> None:
    lab = Watched()
    lab.fill()
    (block,) = lab.look().blocks
    assert block.name == "b1"
    assert [(rack.name, [one.name for one in rack.hosts]) for rack in block.racks] == [
        ("r1", ["b1-r1-n1", "b1-r1-n2"]),
        ("r2", ["b1-r2-n1", "b1-r2-n2"]),
    ]


def test_a_host_that_lacks_a_level_stands_apart() -> None:
    lab = Watched()
    lab.fill()
    lab.create(host("lonely", {}))
    lab.advance(1)
    assert [block.name for block in lab.look().blocks] == ["", "b1"]
    assert lab.look().blocks[0].racks[0].hosts[0].name == "lonely"


def test_hosts_without_any_topology_are_one_row() -> None:
    lab = Watched()
    lab.create(host("n1", {}))
    lab.create(host("n2", {}))
    lab.advance(1)
    (block,) = lab.look().blocks
    assert isinstance(block, Block)
    assert [one.name for one in block.racks[0].hosts] == ["n1", "n2"]


def test_a_host_is_as_full_as_its_pods_ask_for_and_has_the_colour_of_their_job() -> None:
    lab = Watched()
    lab.fill()
    lab.create(job("half", "team", 1, gpus=4, required=RACK))
    lab.create(job("whole", "team", 2, gpus=8, required=RACK))
    lab.advance(3)
    jobs = {one.name: one for one in lab.look().jobs}
    assert {name: (one.pods, one.queue) for name, one in jobs.items()} == {"half": (1, "team"), "whole": (2, "team")}
    filled = {one.name: (one.share, one.colour) for one in lab.look().hosts()}
    assert sorted(filled.values()) == sorted(
        [(0.0, IDLE), (0.5, jobs["half"].colour), (1.0, jobs["whole"].colour), (1.0, jobs["whole"].colour)]
    )
    assert lab.look().pods == 3


def test_a_job_keeps_its_colour_and_passes_it_on_when_it_is_gone() -> None:
    lab = Watched()
    lab.fill()
    lab.create(job("a", "team", 1, required=RACK))
    lab.advance(2)
    lab.create(job("b", "team", 1, required=RACK))
    lab.advance(2)
    assert {one.name: one.colour for one in lab.look().jobs} == {"a": 0, "b": 1}
    lab.delete(kinds.JOB, "default", "a")
    lab.advance(5)
    assert {one.name: one.colour for one in lab.look().jobs} == {"b": 1}
    lab.create(job("c", "team", 1, required=RACK))
    lab.advance(2)
    assert {one.name: one.colour for one in lab.look().jobs} == {"b": 1, "c": 0}


def test_where_a_job_is_names_the_smallest_domain_that_holds_it() -> None:
    lab = Watched()
    lab.fill()
    lab.create(job("wide", "team", 3, required=BLOCK))
    lab.advance(2)
    lab.create(job("narrow", "team", 1, required=RACK))
    lab.advance(3)
    assert {one.name: one.where for one in lab.look().jobs} == {"wide": "b1", "narrow": "b1-r2"}


def test_a_pending_job_shows_why() -> None:
    lab = Watched()
    lab.fill()
    lab.create(job("large", "team", 3, required=RACK))
    lab.advance(2)
    (one,) = lab.look().jobs
    assert (one.name, one.pods, one.colour) == ("large", 3, IDLE)
    assert "allows to fit only 2 out of 3 pod(s)" in one.waits
    assert lab.look().workloads == {"waiting": 1}
    (queue,) = lab.look().queues
    assert (queue.used, queue.quota, queue.running, queue.waiting) == (0, 32, 0, 1)


def test_pods_of_nobodys_job_are_seen_but_not_named() -> None:
    lab = Watched()
    lab.fill()
    lab.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "lone", "namespace": "default"},
            "spec": {"nodeName": "b1-r1-n1", "containers": [{"name": "c", "image": "i"}]},
        }
    )
    lab.advance(2)
    assert lab.host("b1-r1-n1").colour == OTHER
    assert lab.look().jobs == ()
    assert lab.look().pods == 1


def test_a_machine_that_fails_is_silent_first_and_lost_then_and_comes_back() -> None:
    lab = Watched()
    lab.fill()
    lab.patch(kinds.NODE, "", "b1-r1-n1", {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})
    lab.advance(1)
    assert lab.host("b1-r1-n1").state == "silent"
    lab.advance(15)
    assert lab.host("b1-r1-n1").state == "lost"
    lab.patch(kinds.NODE, "", "b1-r1-n1", {"metadata": {"annotations": {"closeknit.dev/failed": None}}})
    lab.advance(1)
    assert lab.host("b1-r1-n1").state == "up"
    lab.patch(kinds.NODE, "", "b1-r1-n1", {"spec": {"unschedulable": True}})
    lab.advance(1)
    assert lab.host("b1-r1-n1").state == "held"


def test_a_node_that_is_gone_is_gone_from_the_picture() -> None:
    lab = Watched()
    lab.fill()
    lab.delete(kinds.NODE, "", "b1-r1-n1")
    lab.advance(1)
    assert [one.name for one in lab.look().hosts()] == ["b1-r1-n2", "b1-r2-n1", "b1-r2-n2"]


def test_decisions_name_the_job_and_where_it_went() -> None:
    lab = Watched()
    lab.fill()
    lab.create(job("pair", "team", 2, required=RACK))
    lab.advance(2)
    (decision,) = lab.look().decisions
    assert (decision.outcome, decision.job, decision.text) == ("Admitted", "pair", "2 hosts in b1-r1")


def test_repeated_waiting_is_shown_once_as_the_newest_decision() -> None:
    live_state = Watched().live_state
    assert live_state.add(record("default/a", "Waits", reason="no room: 1")) is not None
    assert live_state.add(record("default/b", "Admitted")) is not None
    assert live_state.add(record("default/a", "Waits", reason="no room: 2")) is None
    assert [(one.job, one.text) for one in live_state.picture().decisions] == [("b", ""), ("a", "no room: 2")]
    assert live_state.add(record("default/a", "Admitted", domains=("n1",))) is not None
    assert [(one.job, one.outcome) for one in live_state.picture().decisions] == [("b", "Admitted"), ("a", "Admitted")]


def test_no_more_decisions_are_kept_than_can_be_shown() -> None:
    live_state = Watched().live_state
    for number in range(1000):
        live_state.add(record(f"default/{number}", "Admitted"))
    decisions = live_state.picture().decisions
    assert (len(decisions), decisions[-1].job) == (50, "999")


def test_a_change_of_an_unwatched_kind_does_not_redraw() -> None:
    lab = Watched()
    lab.fill()
    before = lab.changes
    lab.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}})
    lab.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "namespace": "default"}})
    lab.advance(1)
    assert lab.changes == before


def test_people_ask_for_accelerators_first() -> None:
    assert main_resource(["cpu", "memory", "nvidia.com/gpu", "pods"]) == "nvidia.com/gpu"
    assert main_resource(["memory", "cpu", "pods"]) == "cpu"
    assert main_resource(["pods", "memory"]) == "memory"
    assert main_resource([]) == "pods"


def test_jobs_beyond_what_is_listed_are_counted() -> None:
    lab = Watched()
    lab.fill()
    for number in range(75):
        lab.create(job(f"large-{number:02d}", "team", 5, required=RACK))
    lab.advance(2)
    picture = lab.look()
    assert (len(picture.jobs), picture.more_jobs) == (60, 15)


def test_what_cannot_be_printed_does_not_reach_the_screen() -> None:
    live_state = Watched().live_state
    decision = live_state.add(record("default/a", "Evicted", reason="bad\x1b[2Jnews\nof it"))
    assert decision is not None
    assert decision.text == "bad [2Jnews of it"


def test_a_host_that_has_just_come_is_not_lost() -> None:
    lab = Watched()
    lab.create(host("new", {}))
    lab.live_state.hall.see_node(Change(1, "ADDED", kinds.NODE, lab.get(kinds.NODE, "new")))
    assert lab.host("new").state == "held"
    lab.advance(1)
    assert lab.host("new").state == "up"


def test_a_maintenance_window_is_a_note_and_its_hosts_are_held_while_it_lasts() -> None:
    lab = Watched()
    lab.fill()
    times = {"from": show(START + 100), "until": show(START + 200)}
    name = {RACK: lab.get(kinds.NODE, lab.look().blocks[0].racks[0].hosts[0].name)["metadata"]["labels"][RACK]}
    window = {"domains": [{"nodeLabels": name}], **times}
    meta = {"name": "rack"}
    lab.create({"apiVersion": "closeknit.dev/v1alpha1", "kind": "Maintenance", "metadata": meta, "spec": window})
    lab.settle()
    assert lab.look().notes == (f'maintenance "rack" from {times["from"]} until {times["until"]}: 2 nodes',)
    first = lab.look().blocks[0].racks[0].hosts[0].name
    assert lab.host(first).state == "up"
    lab.advance(120)
    assert lab.host(first).state == "held"
    lab.advance(100)
    assert (lab.host(first).state, lab.look().notes) == ("up", ())


def test_jobs_that_wait_come_first_in_natural_order_with_stopped_and_broken_queues() -> None:
    lab = Watched()
    lab.fill()
    for number in (10, 2, 1):
        lab.create(job(f"run-{number}", "team", 1))
    lab.advance(5)
    for number in (10, 2):
        lab.create(job(f"wait-{number}", "team", 8))
    lab.create(cluster_queue("halted", 8))
    broken = cluster_queue("broken", 8)
    broken["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "missing"
    lab.create(broken)
    lab.create(local_queue("nowhere", "gone"))
    lab.patch(kinds.CLUSTER_QUEUE, "", "halted", {"spec": {"stopPolicy": "Hold"}})
    lab.advance(5)
    picture = lab.look()
    assert [one.name for one in picture.jobs] == ["wait-2", "wait-10", "run-1", "run-2", "run-10"]
    troubles = {one.name: one.trouble for one in picture.queues}
    assert troubles["halted"] == "stopped"
    assert troubles["broken"].startswith("inactive: ")
    assert troubles["LocalQueue default/nowhere"] == "ClusterQueue gone doesn't exist"
    assert troubles["team"] == ""
    assert picture.queues[-1].name == "team", "queues with trouble come first"
    lab.patch(kinds.LOCAL_QUEUE, "default", "team", {"spec": {"stopPolicy": "Hold"}})
    lab.advance(1)
    assert "LocalQueue default/team stopped" in [one.trouble for one in lab.look().queues]


def test_hosts_are_in_natural_order() -> None:
    lab = Watched()
    for number in (10, 2, 1):
        lab.create(host(f"n-{number}", {}))
    lab.advance(1)
    assert [one.name for one in lab.look().hosts()] == ["n-1", "n-2", "n-10"]


def test_where_colours_repeat_no_neighbour_has_the_same_one() -> None:
    lab = Watched()
    for raw in (*hosts(1, 8, 8), topology(), flavor(), cluster_queue("team", 999), local_queue("team", "team")):
        lab.create(raw)
    lab.advance(1)
    for number in range(60):
        lab.create(job(f"run-{number}", "team", 1))
        lab.advance(1)
        lab.look()
    lab.advance(5)
    assert len(_coloured(lab)) == 60
    assert all(one != other for one, other in pairwise(_coloured(lab)))


def test_a_colour_that_is_free_again_is_not_used_beside_a_host_of_the_same_one() -> None:
    """The first colour that is free is that of run-1, which run-21 has too; the only host that is free is beside it."""
    lab = Watched()
    for raw in (*hosts(1, 3, 8), topology(), flavor(), cluster_queue("team", 999), local_queue("team", "team")):
        lab.create(raw)
    lab.advance(1)
    for number in range(24):
        lab.create(job(f"run-{number}", "team", 1))
        lab.advance(1)
        lab.look()
    places = {pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]: pod["spec"]["nodeName"] for pod in lab.pods()}
    order = [one.name for one in lab.look().hosts()]
    beside = order[order.index(places["run-21"]) - 1]
    [neighbour] = [name for name, host in places.items() if host == beside]
    lab.patch(kinds.NODE, "", places["run-1"], {"spec": {"unschedulable": True}})
    for name in ("run-1", neighbour):
        lab.delete(kinds.JOB, "default", name)
    lab.advance(60)
    lab.look()
    lab.create(job("new", "team", 1))
    lab.advance(5)
    assert lab.host(beside).colour >= 0, "it runs there"
    assert all(one != other for one, other in pairwise(_coloured(lab)) if one is not None)


def _coloured(lab: Watched) -> list[int | None]:
    """The colour of each host that runs a job, None for others between them."""
    cells = [one.colour for one in lab.look().hosts()]
    while cells and cells[-1] < 0:
        cells.pop()
    return [one % len(COLOURS) if one >= 0 else None for one in cells]


def test_a_command_that_a_demo_advises_is_shown_with_the_options_that_it_needs() -> None:
    lab = Watched()
    lab.live_state.access = ACCESS._replace(options="--data /elsewhere")
    data = {"demo": "first-steps", "round": "1", "step": "1", "says": "Run `closeknit explain pretrain` to see why."}
    meta = {"name": NAME, "namespace": NAMESPACE}
    lab.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
    lab.advance(1)
    assert lab.look().says == "Run `closeknit explain pretrain --data /elsewhere` to see why."
