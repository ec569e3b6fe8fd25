"""Rules about other pods on the embedded cluster: jobs are placed so that the scheduler binds all their pods."""

from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import HOST, RACK, centre
from host.lab import Lab, Raw, condition

APP = {"matchLabels": {"app": "x"}}
APART = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": APP}]}
BY_HOST = {"affinity": {"podAntiAffinity": APART}}


def lab(profile: str = "closeknit") -> Lab:
    return centre(Lab(EmbeddedOptions(seed=1, gates=Gates.profile(profile))))


def job(pods: int, spec: Raw, name: str = "j", wish: str = "required", app: str = "x") -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    notes = {"closeknit.dev/run-time": "1h"}
    if wish:
        notes[f"kueue.x-k8s.io/podset-{wish}-topology"] = RACK
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"labels": {"app": app}, "annotations": notes},
                "spec": {"restartPolicy": "Never", "containers": [container], **spec},
            },
        },
    }


def nodes(lab: Lab, name: str = "j") -> list[str]:
    """The nodes of the job's pods; "" for one that is not bound."""
    return sorted(
        pod["spec"].get("nodeName", "") for pod in lab.pods() if pod["metadata"]["name"].startswith(f"{name}-")
    )


def racks(lab: Lab, name: str = "j") -> set[str]:
    return {lab.get(kinds.NODE, node)["metadata"]["labels"][RACK] for node in nodes(lab, name)}


def why_not_admitted(lab: Lab) -> str:
    (workload,) = lab.workloads()
    assert not condition(workload, "QuotaReserved")
    message: str = next(one["message"] for one in workload["status"]["conditions"] if one["type"] == "QuotaReserved")
    return message


def test_a_job_whose_pods_keep_apart_runs_on_as_many_hosts_of_one_rack() -> None:
    place = lab()
    place.create(job(3, BY_HOST))
    place.advance(10)
    assert len(set(nodes(place))) == 3
    assert all(nodes(place))
    assert len(racks(place)) == 1


def test_a_job_that_needs_more_hosts_than_a_rack_has_is_refused_and_its_pods_are_counted() -> None:
    place = lab()
    place.create(job(4, BY_HOST))
    place.advance(10)
    assert "fit only 3 out of 4 pod(s)" in why_not_admitted(place)
    assert "podAntiAffinity among its own pods: 12" in why_not_admitted(place)


def test_in_kueues_profile_the_pods_are_planned_onto_one_host_and_the_scheduler_binds_one_of_them() -> None:
    place = lab("kueue")
    place.create(job(3, BY_HOST))
    place.advance(10)
    assert [bool(node) for node in nodes(place)] == [False, False, True]
    assert condition(place.workloads()[0], "Admitted")
    waiting = next(pod for pod in place.pods() if not pod["spec"].get("nodeName"))
    (scheduled,) = [one for one in waiting["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert scheduled["status"] == "False"
    assert "1 node(s) didn't match pod anti-affinity rules" in scheduled["message"]


def test_a_second_job_stays_away_from_pods_that_keep_it_away() -> None:
    place = lab()
    away = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": RACK, "labelSelector": APP}]}
    place.create(job(3, {"affinity": {"podAntiAffinity": away}}, "first", app="y"))
    place.advance(10)
    place.create(job(3, {}, "second"))
    place.advance(10)
    assert all(nodes(place, "second"))
    assert not racks(place, "first") & racks(place, "second")


@pytest.mark.parametrize("wish", ["preferred", ""])
def test_pods_are_spread_over_racks_and_all_run(wish: str) -> None:
    place = lab()
    rule = {"maxSkew": 1, "topologyKey": RACK, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": APP}
    place.create(job(8, {"topologySpreadConstraints": [rule]}, wish=wish))
    place.advance(20)
    by_rack: dict[Any, int] = {}
    for node in nodes(place):
        rack = place.get(kinds.NODE, node)["metadata"]["labels"][RACK]
        by_rack[rack] = by_rack.get(rack, 0) + 1
    assert by_rack == {"r0": 2, "r1": 2, "r2": 2, "r3": 2}


def test_two_jobs_with_one_host_port_never_share_a_host() -> None:
    place = lab()
    ports = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    container = {**ports[0], "resources": {"requests": {"cpu": "1"}}}
    for name in ("one", "two"):
        place.create(job(6, {"containers": [container]}, name, wish=""))
    place.advance(20)
    used = nodes(place, "one") + nodes(place, "two")
    assert len(used) == len(set(used)) == 12
    assert all(used)


def test_a_job_waits_for_the_pods_that_keep_it_away_and_takes_their_place() -> None:
    place = lab()
    place.create(job(3, BY_HOST, "first"))
    for host in range(3, 12):
        place.patch(kinds.NODE, "", f"h{host:02d}", {"spec": {"unschedulable": True}})
    place.advance(10)
    place.create(job(3, BY_HOST, "second"))
    place.advance(10)
    assert not nodes(place, "second")
    place.delete(kinds.JOB, "default", "first")
    place.advance(60)
    assert nodes(place, "second") == ["h00", "h01", "h02"]


def test_a_job_that_needs_pods_near_it_starts_once_they_run() -> None:
    place = lab()
    store = {"topologyKey": RACK, "labelSelector": {"matchLabels": {"app": "store"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [store]}}
    place.create(job(2, {"affinity": near}, wish="preferred"))
    place.advance(10)
    assert "excluded: podAffinity: 12" in why_not_admitted(place)
    place.create(job(1, {}, "store", app="store"))
    place.advance(30)
    assert all(nodes(place))
    assert racks(place) == racks(place, "store")


def test_a_job_preempts_the_pods_that_hold_its_host_port() -> None:
    place = lab()
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}
    spec = {"containers": [{**container, "resources": {"requests": {"cpu": "1"}}}]}
    place.create(job(12, spec, "low", wish=""))
    place.advance(10)
    urgent = job(3, spec, "urgent")
    urgent["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    place.create(urgent)
    place.advance(60)
    assert len(set(nodes(place, "urgent"))) == 3
    assert all(nodes(place, "urgent"))
    assert len(racks(place, "urgent")) == 1


def test_a_lost_node_is_replaced_by_one_where_no_pod_of_the_job_runs() -> None:
    place = lab()
    place.create(job(2, BY_HOST))
    place.advance(10)
    first, second = nodes(place)
    place.delete(kinds.NODE, "", first)
    place.advance(120)
    assert len(set(nodes(place))) == 2
    assert second in nodes(place)
    assert first not in nodes(place)
    assert len(racks(place)) == 1


def test_a_job_that_running_pods_keep_away_does_not_park_a_job_that_differs_in_its_labels_alone() -> None:
    place = lab()
    away = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": HOST, "labelSelector": APP}]}
    port = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}
    container = {**port, "resources": {"requests": {"cpu": "1"}}}
    spec = {"affinity": {"podAntiAffinity": away}, "containers": [container]}
    place.create(job(12, spec, "guards", wish="", app="y"))
    place.advance(10)
    place.create(job(1, {}, "kept"))
    place.create(job(1, {}, "free", app="z"))
    place.advance(10)
    assert not nodes(place, "kept")
    assert [bool(node) for node in nodes(place, "free")] == [True]


def test_a_job_that_pods_of_some_namespaces_keep_waiting_starts_when_the_namespace_gets_another_label() -> None:
    place = lab()
    place.create(job(3, BY_HOST, "first"))
    for host in range(3, 12):
        place.patch(kinds.NODE, "", f"h{host:02d}", {"spec": {"unschedulable": True}})
    place.patch(kinds.NAMESPACE, "", "default", {"metadata": {"labels": {"team": "noisy"}}})
    place.advance(10)
    term = {"topologyKey": HOST, "labelSelector": APP, "namespaceSelector": {"matchLabels": {"team": "noisy"}}}
    away = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    place.create(job(3, {"affinity": {"podAntiAffinity": away}}, "second", app="y"))
    place.advance(10)
    assert not nodes(place, "second")
    place.patch(kinds.NAMESPACE, "", "default", {"metadata": {"labels": {"team": "quiet"}}})
    place.advance(10)
    assert nodes(place, "second")
    assert all(nodes(place, "second"))
