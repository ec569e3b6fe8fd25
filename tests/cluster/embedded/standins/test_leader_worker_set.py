from __future__ import annotations

from typing import Any

import pytest

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.embedded.standins.garbage import GarbageCollector
from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.operators.leader_worker_pods import dressed
from closeknit.cluster.embedded.standins.operators.leader_worker_set import LeaderWorkerSets
from closeknit.cluster.embedded.standins.stateful_set import StatefulSets
from closeknit.cluster.kinds import CONTROLLER_REVISION, EVENT, LEADER_WORKER_SET, POD, SERVICE, STATEFUL_SET
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, condition, states

PREFIX = "leaderworkerset.sigs.k8s.io/"


def standins() -> list[Any]:
    return [LeaderWorkerSets(), StatefulSets(), Binder(), Kubelet(), GarbageCollector()]


def playground() -> Playground:
    host = Playground(*standins())
    host.node("n1")
    return host


def pods(name: str, image: str = "serve:1", **more: Any) -> Raw:
    return {"spec": {"containers": [{"name": name, "image": image}]}, **more}


def create(host: Playground, size: int, replicas: int = 1, leader: Raw | None = None, **spec: Any) -> Raw:
    inside: Raw = {"size": size, "workerTemplate": pods("w"), **spec.pop("inside", {})}
    if leader:
        inside["leaderTemplate"] = leader
    spec = {"replicas": replicas, "leaderWorkerTemplate": inside, **spec}
    return host.create(LEADER_WORKER_SET, {"metadata": {"name": "lw"}, "spec": spec})


def new_image(host: Playground, image: str) -> None:
    template = {"workerTemplate": pods("w", image)}
    host.patch(LEADER_WORKER_SET, "lw", {"spec": {"leaderWorkerTemplate": template}})


def status(host: Playground) -> Raw:
    found: Raw = host.get(LEADER_WORKER_SET, "lw")["status"]
    return found


def labels(raw: Raw) -> dict[str, str]:
    """Those of LeaderWorkerSet, without its prefix."""
    return {k.removeprefix(PREFIX): v for k, v in raw["metadata"]["labels"].items() if k.startswith(PREFIX)}


def notes(raw: Raw) -> dict[str, str]:
    found = raw["metadata"].get("annotations") or {}
    return {k.removeprefix(PREFIX): v for k, v in found.items() if k.startswith(PREFIX)}


def env(pod: Raw) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["spec"]["containers"][0]["env"]}


def images(host: Playground) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in host.pods()}


def test_a_group_is_a_leader_and_its_workers() -> None:
    host = playground()
    create(host, 3, replicas=2, leader=pods("l", metadata={"labels": {"role": "l"}, "annotations": {"a": "1"}}))
    host.run(5)
    assert sorted(host.names(POD)) == ["lw-0", "lw-0-1", "lw-0-2", "lw-1", "lw-1-1", "lw-1-2"]
    assert sorted(host.names(STATEFUL_SET)) == ["lw", "lw-0", "lw-1"]
    above, below = host.get(STATEFUL_SET, "lw"), host.get(STATEFUL_SET, "lw-1")
    assert above["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet"
    assert notes(above) == {"replicas": "2"}
    assert above["spec"]["selector"]["matchLabels"] == {PREFIX + "name": "lw", PREFIX + "worker-index": "0"}
    assert above["spec"]["podManagementPolicy"] == "Parallel"
    (owner,) = below["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Pod", "lw-1")
    assert (below["spec"]["replicas"], below["spec"]["ordinals"]) == (2, {"start": 1})
    assert below["spec"]["serviceName"] == "lw"


def test_pods_know_their_group_their_index_and_their_leader() -> None:
    host = playground()
    create(host, 3, replicas=2, leader=pods("l", metadata={"labels": {"role": "l"}, "annotations": {"a": "1"}}))
    host.run(5)
    leader, worker = host.get(POD, "lw-0"), host.get(POD, "lw-0-2")
    revision = labels(host.get(STATEFUL_SET, "lw"))["template-revision-hash"]
    key = "395ec985fbbbd652306a4cbb7e049a82a32bfd9d"
    shared = {"name": "lw", "group-index": "0", "group-key": key, "template-revision-hash": revision}
    assert labels(leader) == {**shared, "worker-index": "0"}
    assert labels(worker) == {**shared, "worker-index": "2"}
    assert leader["metadata"]["labels"]["role"] == "l"
    assert leader["metadata"]["annotations"]["a"] == "1"
    assert notes(leader) == {"size": "3"}
    assert notes(worker) == {"size": "3", "leader-name": "lw-0"}
    told = {"LWS_LEADER_ADDRESS": "lw-0.lw.default", "LWS_GROUP_SIZE": "3"}
    assert env(leader) == {**told, "LWS_WORKER_INDEX": "0"}
    assert env(worker) == {**told, "LWS_WORKER_INDEX": "2"}
    assert (worker["spec"]["hostname"], worker["spec"]["subdomain"]) == ("lw-0-2", "lw")


def test_it_is_available_when_all_groups_are_ready() -> None:
    host = playground()
    create(host, 2, replicas=2)
    host.run(0.5)
    assert states(host.get(LEADER_WORKER_SET, "lw")) == {"Progressing": "True"}
    host.run(5)
    assert states(host.get(LEADER_WORKER_SET, "lw")) == {"Progressing": "False", "Available": "True"}
    found = condition(host.get(LEADER_WORKER_SET, "lw"), "Available")
    assert found is not None
    assert (found["reason"], found["message"]) == ("AllGroupsReady", "All replicas are ready")
    assert found["observedGeneration"] == 1
    told = {key: value for key, value in status(host).items() if key != "conditions"}
    assert told == {
        "replicas": 2,
        "readyReplicas": 2,
        "updatedReplicas": 2,
        "observedGeneration": 1,
        "hpaPodSelector": "leaderworkerset.sigs.k8s.io/name=lw,leaderworkerset.sigs.k8s.io/worker-index=0",
    }
    service = host.get(SERVICE, "lw")["spec"]
    assert (service["clusterIP"], service["selector"]) == ("None", {PREFIX + "name": "lw"})


def test_a_group_of_one_has_no_workers() -> None:
    host = playground()
    create(host, 1)
    host.run(5)
    assert host.names(POD) == ["lw-0"]
    assert host.names(STATEFUL_SET) == ["lw"]
    assert states(host.get(LEADER_WORKER_SET, "lw"))["Available"] == "True"


def test_workers_may_wait_until_their_leader_is_ready() -> None:
    host = playground()
    create(host, 2, startupPolicy="LeaderReady")
    host.run(0.5)
    assert host.names(POD) == ["lw-0"]
    assert status(host).get("updatedReplicas") is None
    host.run(5)
    assert host.names(POD) == ["lw-0", "lw-0-1"]


def test_every_group_may_have_a_service_of_its_own() -> None:
    host = playground()
    create(host, 2, networkConfig={"subdomainPolicy": "UniquePerReplica"})
    host.run(5)
    assert host.names(SERVICE) == ["lw-0"]
    service = host.get(SERVICE, "lw-0")
    assert service["spec"]["selector"] == {PREFIX + "name": "lw", PREFIX + "group-index": "0"}
    assert service["metadata"]["ownerReferences"][0]["kind"] == "Pod"
    for name in ("lw-0", "lw-0-1"):
        pod = host.get(POD, name)
        assert env(pod)["LWS_LEADER_ADDRESS"] == "lw-0.lw-0.default"
        assert pod["spec"]["subdomain"] == "lw-0"


@pytest.mark.parametrize(
    ("size", "kind", "expected"),
    [
        (4, "LeaderWorker", ["0", "0", "1", "1"]),
        (5, "LeaderWorker", ["0", "0", "0", "1", "1"]),
        (5, "LeaderExcluded", [None, "0", "0", "1", "1"]),
    ],
)
def test_groups_are_divided_into_subgroups(size: int, kind: str, expected: list[str | None]) -> None:
    host = playground()
    create(host, size, inside={"subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": kind}})
    host.run(5)
    found = {one["metadata"]["name"]: labels(one).get("subgroup-index") for one in host.pods()}
    assert [found[name] for name in sorted(found)] == expected


def test_subgroups_have_keys() -> None:
    host = playground()
    create(host, 4, inside={"subGroupPolicy": {"subGroupSize": 2}})
    host.run(5)
    assert labels(host.get(POD, "lw-0-1"))["subgroup-key"] == "60adad2e696c5eed0c4f9ed37d88311cc0a276bc"
    assert notes(host.get(POD, "lw-0")) == {
        "size": "4",
        "subgroup-size": "2",
        "subgroup-policy-type": "LeaderWorker",
    }


def test_a_pod_that_is_lost_takes_its_group_with_it() -> None:
    host = playground()
    create(host, 3, replicas=2)
    host.run(5)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in host.pods()}
    host.delete(POD, "lw-1-2")
    host.run(10)
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in host.pods()}
    assert before.keys() == after.keys()
    assert [name for name in sorted(before) if before[name] == after[name]] == ["lw-0", "lw-0-1", "lw-0-2"]
    told = [one["message"] for one in host.all(EVENT) if one["reason"] == "RecreateGroup"]
    assert told == ["Worker pod lw-1-2 failed, deleted leader pod lw-1 to recreate group 1"]
    assert states(host.get(LEADER_WORKER_SET, "lw"))["Available"] == "True"


def test_without_that_policy_only_the_lost_pod_is_created_again() -> None:
    host = playground()
    create(host, 3, inside={"restartPolicy": "None"})
    host.run(5)
    before = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in host.pods()}
    host.delete(POD, "lw-0-2")
    host.run(10)
    after = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in host.pods()}
    assert [name for name in sorted(before) if before[name] != after[name]] == ["lw-0-2"]


def test_groups_are_created_and_deleted_with_the_number_of_replicas() -> None:
    host = playground()
    create(host, 2, replicas=1)
    host.run(5)
    host.patch(LEADER_WORKER_SET, "lw", {"spec": {"replicas": 3}})
    host.run(5)
    assert len(host.pods()) == 6
    assert status(host)["readyReplicas"] == 3
    assert host.get(STATEFUL_SET, "lw")["metadata"]["generation"] == 2
    host.patch(LEADER_WORKER_SET, "lw", {"spec": {"replicas": 1}})
    host.run(10)
    assert sorted(host.names(POD)) == ["lw-0", "lw-0-1"]
    assert sorted(host.names(STATEFUL_SET)) == ["lw", "lw-0"]
    assert notes(host.get(STATEFUL_SET, "lw")) == {"replicas": "1"}


def test_an_update_goes_from_the_last_group_to_the_first() -> None:
    host = playground()
    create(host, 2, replicas=3)
    host.run(5)
    new_image(host, "serve:2")
    seen: list[list[str]] = []
    for _ in range(60):
        host.run(0.5)
        new = sorted(name for name, image in images(host).items() if image == "serve:2" and name.count("-") == 1)
        if not seen or seen[-1] != new:
            seen.append(new)
        ready = states(host.get(LEADER_WORKER_SET, "lw"))
        assert (ready["Available"] == "True") != (ready["UpdateInProgress"] == "True")
    assert [one for one in seen if one] == [["lw-2"], ["lw-1", "lw-2"], ["lw-0", "lw-1", "lw-2"]]
    assert set(images(host).values()) == {"serve:2"}
    assert len(host.pods()) == 6
    assert states(host.get(LEADER_WORKER_SET, "lw")) == {
        "Available": "True",
        "Progressing": "False",
        "UpdateInProgress": "False",
    }


def test_a_partition_keeps_the_first_groups_as_they_are() -> None:
    host = playground()
    rollout = {"type": "RollingUpdate", "rollingUpdateConfiguration": {"partition": 1, "maxUnavailable": 1}}
    create(host, 2, replicas=2, rolloutStrategy=rollout)
    host.run(5)
    new_image(host, "serve:2")
    host.run(20)
    assert images(host) == {"lw-0": "serve:1", "lw-0-1": "serve:1", "lw-1": "serve:2", "lw-1-1": "serve:2"}
    host.delete(POD, "lw-0-1")
    host.run(20)
    assert images(host) == {"lw-0": "serve:1", "lw-0-1": "serve:1", "lw-1": "serve:2", "lw-1-1": "serve:2"}


def test_revisions_are_kept_as_long_as_a_group_has_them() -> None:
    host = playground()
    create(host, 2)
    host.run(5)
    (first,) = [one for one in host.all(CONTROLLER_REVISION) if PREFIX + "name" in one["metadata"]["labels"]][:1]
    new_image(host, "serve:2")
    host.run(20)
    ours = [
        one
        for one in host.all(CONTROLLER_REVISION)
        if one["metadata"]["ownerReferences"][0]["kind"] == "LeaderWorkerSet"
    ]
    assert [one["revision"] for one in ours] == [2]
    assert ours[0]["metadata"]["name"] != first["metadata"]["name"]


def test_a_deleted_set_takes_all_with_it() -> None:
    host = playground()
    create(host, 3, replicas=2)
    host.run(5)
    host.delete(LEADER_WORKER_SET, "lw")
    host.run(10)
    assert host.names(POD) == host.names(STATEFUL_SET) == host.names(SERVICE) == []


def test_after_a_restart_of_the_host_nothing_is_written() -> None:
    host = playground()
    create(host, 3, replicas=2)
    host.run(10)
    before = host.store.version
    host.start(standins())
    host.run(1000)
    assert host.store.version == before


def test_what_others_wrote_on_the_leaders_set_stays() -> None:
    host = playground()
    create(host, 2)
    host.run(5)
    host.patch(STATEFUL_SET, "lw", {"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "2"}}})
    host.patch(LEADER_WORKER_SET, "lw", {"spec": {"replicas": 2}})
    host.run(10)
    meta = host.get(STATEFUL_SET, "lw")["metadata"]
    assert (meta["labels"]["theirs"], meta["annotations"]["theirs"]) == ("1", "2")
    assert len(host.pods()) == 4


def test_fields_that_a_pod_has_are_kept() -> None:
    pod = {
        "metadata": {"name": "lw-0", "namespace": "ns", "labels": {PREFIX + "name": "lw"}},
        "spec": {"containers": [{"name": "l", "env": [{"name": "LWS_GROUP_SIZE", "value": "9"}]}]},
    }
    assert env(dressed(pod)) == {
        "LWS_LEADER_ADDRESS": "lw-0.lw.ns",
        "LWS_WORKER_INDEX": "0",
        "LWS_GROUP_SIZE": "9",
    }
