"""What pods are told about their places: rank, domains, and a file for their launcher, also after a replacement."""

from __future__ import annotations

import pytest

from closeknit.cluster import kinds
from closeknit.host.embedded import EmbeddedOptions
from closeknit.model.gates import Gates
from host.centre import centre
from host.jobs_of_each_kind import JOB, MPI_JOB
from host.lab import Lab, Raw
from host.test_node_failure import FIVE, PAUSE, fail, hosts, running

INDEX = "batch.kubernetes.io/job-completion-index"
RANK = "closeknit.dev/rank"
UNRANKED = FIVE.replace("  completionMode: Indexed\n", "")


def asking(manifest: str, form: str = "openmpi") -> str:
    return manifest.replace(
        "closeknit.dev/run-time: 1h", f"closeknit.dev/run-time: 1h\n        closeknit.dev/hostfile: {form}"
    )


def alive(lab: Lab) -> list[Raw]:
    return [
        pod for pod in lab.pods() if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
    ]


def by_rank(lab: Lab) -> dict[int, str]:
    return {int(pod["metadata"]["labels"][RANK]): pod["spec"]["nodeName"] for pod in alive(lab)}


def file(lab: Lab, name: str = "rankfile") -> str:
    text: str = lab.get(kinds.CONFIG_MAP, "one-hostfile")["data"][name]
    return text


def listed(lab: Lab) -> dict[int, str]:
    """The host of each rank, as the rankfile has it."""
    rows = (line.split(" ")[1].split("=") for line in file(lab).splitlines())
    return {int(rank): host for rank, host in rows}


def test_a_pod_has_its_rank_and_its_domain_on_every_level() -> None:
    lab = running()
    for pod in lab.pods():
        labels, node = pod["metadata"]["labels"], lab.get(kinds.NODE, pod["spec"]["nodeName"])["metadata"]["labels"]
        assert labels[RANK] == labels[INDEX]
        assert labels["closeknit.dev/domain.topology-block"] == node["cloud.provider.com/topology-block"]
        assert labels["closeknit.dev/domain.topology-rack"] == node["cloud.provider.com/topology-rack"]
        assert labels["closeknit.dev/domain.hostname"] == node["kubernetes.io/hostname"]


def test_pods_without_an_index_get_distinct_ranks_by_their_places() -> None:
    lab = running(asking(UNRANKED))
    assert sorted(by_rank(lab)) == [0, 1, 2, 3, 4]
    assert by_rank(lab) == listed(lab)


def test_with_the_gate_off_pods_get_no_labels_and_no_file() -> None:
    gates = Gates.profile("closeknit", {"PlacesOnPods": False})
    lab = running(asking(FIVE), EmbeddedOptions(gates=gates, seed=1))
    assert not [key for pod in lab.pods() for key in pod["metadata"]["labels"] if key.startswith("closeknit.dev/")]
    assert lab.store.find(kinds.CONFIG_MAP, "default", "one-hostfile") is None


@pytest.mark.parametrize("manifest", [FIVE, UNRANKED], ids=["by index", "without index"])
def test_ranks_and_files_are_true_after_a_replacement(manifest: str) -> None:
    lab = running(asking(manifest), cpu=6)
    before, lost = by_rank(lab), by_rank(lab)[0]
    fail(lab, lost)
    lab.advance(PAUSE + 60)
    now = by_rank(lab)
    assert sorted(now) == [0, 1, 2, 3, 4]
    assert lost not in now.values()
    assert {rank: host for rank, host in now.items() if before[rank] != lost} == {
        rank: host for rank, host in before.items() if host != lost
    }
    assert listed(lab) == now


def test_a_file_lists_every_host_and_is_owned_by_the_workload() -> None:
    lab = running(asking(FIVE))
    assert file(lab, "hostfile") == "h00 slots=2\nh01 slots=2\nh02 slots=1\n"
    made = lab.get(kinds.CONFIG_MAP, "one-hostfile")
    assert made["metadata"]["ownerReferences"][0]["uid"] == lab.workloads()[0]["metadata"]["uid"]
    lab.delete(kinds.JOB, "default", "one")
    lab.advance(60)
    assert lab.store.find(kinds.CONFIG_MAP, "default", "one-hostfile") is None


def test_torchrun_gets_its_own_file() -> None:
    lab = running(asking(FIVE, "torchrun"))
    assert file(lab, "torchrun") == "NNODES=3\nMASTER_ADDR=h00\n0 h00\n1 h01\n2 h02\n"


def test_the_annotation_may_be_on_the_job() -> None:
    note = "metadata: {annotations: {closeknit.dev/hostfile: openmpi}, name: one"
    lab = running(FIVE.replace("metadata: {name: one", note))
    assert file(lab, "hostfile").startswith("h00 slots=2\n")


def test_a_launcher_that_only_starts_the_others_has_no_rank() -> None:
    lab = centre()
    lab.apply(MPI_JOB.manifest.replace("20s", "1h"))
    lab.advance(30)
    ranks = {pod["metadata"]["name"]: pod["metadata"]["labels"].get(RANK) for pod in alive(lab)}
    launchers = {name: rank for name, rank in ranks.items() if "launcher" in name}
    assert set(launchers.values()) == {None}
    assert sorted(rank for name, rank in ranks.items() if name not in launchers if rank) == [
        str(number) for number in range(len(ranks) - len(launchers))
    ]


def test_a_restart_leaves_the_file_as_it_is() -> None:
    lab = running(asking(FIVE))
    before = lab.get(kinds.CONFIG_MAP, "one-hostfile")
    lab.restart()
    lab.advance(10)
    assert lab.get(kinds.CONFIG_MAP, "one-hostfile")["data"] == before["data"]
    fail(lab, hosts(lab)["0"])
    lab.advance(PAUSE + 60)
    assert listed(lab) == by_rank(lab)


def test_a_config_map_with_another_owner_is_left_alone_and_an_event_says_so() -> None:
    lab = centre()
    lab.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "one-hostfile", "namespace": "default"},
            "data": {"mine": "yes"},
        }
    )
    lab.apply(asking(JOB.manifest.replace("20s", "1h")))
    lab.advance(20)
    assert lab.get(kinds.CONFIG_MAP, "one-hostfile")["data"] == {"mine": "yes"}
    assert any(one["reason"] == "HostfileNotWritten" for one in lab.all(kinds.EVENT))
