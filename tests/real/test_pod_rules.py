"""Rules between pods, and replicas placed by themselves, with the stock scheduler of Kubernetes behind the plans."""

from __future__ import annotations

from typing import Any

from closeknit.observe.pool_form import RACK

from .scene import Scene
from .test_sets import JOB_INDEX, job_set
from .work import job, template

HOST = "kubernetes.io/hostname"


def apart(key: str, name: str) -> dict[str, Any]:
    """Keep pods of one label apart by a label of nodes."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"set": name}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def labelled(name: str, **constraint: str) -> dict[str, Any]:
    pods = template(1, **constraint)
    pods["metadata"].setdefault("labels", {})["set"] = name
    return pods


def test_pods_that_keep_apart_by_host_are_planned_onto_several_hosts_and_all_start(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=3)
    scene.queue()
    pods = labelled("train", required=RACK)
    pods["spec"]["affinity"] = apart(HOST, "train")
    scene.submit(job("train", 3, pods))
    scene.await_running(3)
    hosts = scene.plan("train")
    assert len(set(hosts)) == 3
    assert len(set(scene.racks(hosts))) == 1
    assert scene.places() == hosts


def test_more_pods_than_hosts_wait_with_the_cause_instead_of_being_admitted(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2)
    scene.queue()
    pods = labelled("wide", required=RACK)
    pods["spec"]["affinity"] = apart(HOST, "wide")
    scene.submit(job("wide", 3, pods))
    scene.until(lambda: "podAntiAffinity" in (scene.why("wide") or ""), "the reason names the rule")
    scene.stays(lambda: not scene.pods("job-name=wide"), "no pod is created")


def test_pods_that_spread_over_racks_start_as_planned(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2)
    scene.queue()
    pods = labelled("even")
    pods["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": RACK,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"set": "even"}},
        }
    ]
    scene.submit(job("even", 4, pods))
    scene.await_running(4)
    racks = [host.rpartition("-")[0] for host in scene.plan("even")]
    assert sorted(racks.count(one) for one in set(racks)) == [2, 2]


def test_each_replica_of_a_job_set_gets_a_rack_of_its_own(scene: Scene) -> None:
    scene.nodes(racks=2, hosts=2)
    scene.queue()
    pods = template(4, required=RACK)
    pods["metadata"]["annotations"]["closeknit.dev/podset-per-replica"] = "true"
    scene.submit(job_set(part=(2, 4, pods)))
    scene.await_running(8)
    racks = [scene.racks(scene.places(f"{JOB_INDEX}={index}")) for index in range(2)]
    assert sorted(racks) == [["b1-r1"], ["b1-r2"]]
