from __future__ import annotations

from random import Random
from typing import Any

import pytest

from closeknit.cluster.embedded.standins.kubelet import Kubelet
from closeknit.cluster.embedded.standins.settings import StandinSettings
from closeknit.cluster.kinds import EVENT, NODE, POD
from closeknit.cluster.port import Raw
from closeknit.dialects.durations import Duration, duration
from cluster.embedded.standins.playground import Playground, condition, states


def playground(settings: StandinSettings | None = None) -> Playground:
    host = Playground(Kubelet(settings or StandinSettings(), Random(3)))
    host.node("n1")
    return host


def bound(host: Playground, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> Raw:
    host.pod(name, annotations, **spec)
    return host.store.bind("default", name, "n1")


def phase(host: Playground, name: str) -> str:
    return str(host.get(POD, name)["status"]["phase"])


def test_a_bound_pod_runs_after_a_second_and_ends_after_a_minute() -> None:
    host = playground()
    bound(host, "p")
    host.run(0.9)
    assert phase(host, "p") == "Pending"
    host.run(0.2)
    pod = host.get(POD, "p")
    assert pod["status"]["phase"] == "Running"
    assert states(pod) == {"Initialized": "True", "Ready": "True", "ContainersReady": "True", "PodScheduled": "True"}
    container = pod["status"]["containerStatuses"][0]
    assert container["name"] == "main"
    assert container["ready"] is True
    assert container["restartCount"] == 0
    assert container["state"] == {"running": {"startedAt": "2023-11-14T22:13:21Z"}}
    assert pod["status"]["podIP"] == "10.0.0.1"
    assert "hostIP" not in pod["status"]
    host.run(59.8)
    assert phase(host, "p") == "Running"
    host.run(0.2)
    pod = host.get(POD, "p")
    assert pod["status"]["phase"] == "Succeeded"
    assert states(pod)["Ready"] == "False"
    ended = condition(pod, "Ready")
    assert ended is not None
    assert ended["reason"] == "PodCompleted"
    last = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (last["exitCode"], last["reason"], last["finishedAt"]) == (0, "Completed", "2023-11-14T22:14:21Z")


def test_a_pod_has_the_address_of_its_node() -> None:
    host = playground()
    node = host.get(NODE, "n1")
    addresses = [{"type": "InternalIP", "address": "172.16.0.5"}]
    host.patch(NODE, "n1", {"status": {**node["status"], "addresses": addresses}}, "status")
    bound(host, "p")
    host.run(2)
    assert host.get(POD, "p")["status"]["hostIP"] == "172.16.0.5"
    assert host.get(POD, "p")["status"]["hostIPs"] == [{"ip": "172.16.0.5"}]


def test_an_unbound_pod_is_left_alone() -> None:
    host = playground()
    host.pod("p")
    host.run(100)
    assert phase(host, "p") == "Pending"


def test_annotations_set_start_time_run_time_and_exit_code() -> None:
    host = playground()
    notes = {"closeknit.dev/start-time": "5s", "closeknit.dev/run-time": "1m30s", "closeknit.dev/exit-code": "3"}
    bound(host, "p", notes)
    host.run(4.9)
    assert phase(host, "p") == "Pending"
    host.run(0.2)
    assert phase(host, "p") == "Running"
    host.run(90)
    pod = host.get(POD, "p")
    assert pod["status"]["phase"] == "Failed"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "Error"


def test_fail_after_takes_precedence_over_the_end_of_the_run() -> None:
    host = playground()
    bound(host, "p", {"closeknit.dev/fail-after": "10s"})
    host.run(12)
    pod = host.get(POD, "p")
    assert pod["status"]["phase"] == "Failed"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


def test_fail_after_the_end_of_the_run_changes_nothing() -> None:
    host = playground()
    bound(host, "p", {"closeknit.dev/fail-after": "10s", "closeknit.dev/run-time": "5s"})
    host.run(12)
    assert phase(host, "p") == "Succeeded"


def test_a_pod_without_start_and_run_time_ends_in_one_write() -> None:
    host = playground()
    bound(host, "p", {"closeknit.dev/start-time": "0s", "closeknit.dev/run-time": "0s"})
    before = host.store.version
    host.settle()
    assert phase(host, "p") == "Succeeded"
    assert host.store.version == before + 1


def test_forever_does_not_end() -> None:
    host = playground()
    bound(host, "p", {"closeknit.dev/run-time": "forever"})
    host.run(1_000_000)
    assert phase(host, "p") == "Running"


def test_a_pod_that_is_always_restarted_serves_for_ever() -> None:
    host = playground()
    bound(host, "p", restartPolicy="Always")
    host.run(1_000_000)
    assert phase(host, "p") == "Running"


@pytest.mark.parametrize(
    "note",
    [
        {"closeknit.dev/run-time": "soon"},
        {"closeknit.dev/start-time": "-1s"},
        {"closeknit.dev/exit-code": "256"},
        {"closeknit.dev/fail-after": "10"},
    ],
)
def test_an_invalid_annotation_is_reported_and_the_default_applies(note: dict[str, str]) -> None:
    host = playground()
    bound(host, "p", note)
    host.run(62)
    assert phase(host, "p") == "Succeeded"
    told = host.all(EVENT)
    assert len(told) == 1
    assert (told[0]["type"], told[0]["reason"]) == ("Warning", "InvalidAnnotation")
    assert told[0]["message"].startswith(f"annotation {next(iter(note))}: ")
    assert told[0]["involvedObject"]["name"] == "p"


def test_a_slow_node_stretches_the_run() -> None:
    host = playground()
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/slow": "2.0"}}})
    bound(host, "p")
    host.run(120)
    assert phase(host, "p") == "Running"
    host.run(1)
    assert phase(host, "p") == "Succeeded"


def test_a_slow_node_stretches_the_remaining_time() -> None:
    host = playground()
    bound(host, "p")
    host.run(41)  # 40 of 60 seconds are done
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/slow": "3"}}})
    host.run(30)  # 10 more
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/slow": None}}})
    host.run(9.5)
    assert phase(host, "p") == "Running"
    host.run(0.5)
    assert phase(host, "p") == "Succeeded"


def test_an_invalid_factor_is_reported() -> None:
    host = playground()
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/slow": "very"}}})
    host.settle()
    assert [one["reason"] for one in host.all(EVENT)] == ["InvalidAnnotation"]


def test_draws_are_within_their_spread_and_the_same_every_time() -> None:
    def ends() -> list[str]:
        host = playground()
        for number in range(20):
            bound(host, f"p{number}", {"closeknit.dev/run-time": "100s±10%"})
        host.run(200)
        return [pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] for pod in host.pods()]

    first = ends()
    assert first == ends()
    assert len(set(first)) > 5
    assert min(first) >= "2023-11-14T22:14:51Z"
    assert max(first) <= "2023-11-14T22:15:11Z"


def test_a_deleted_pod_becomes_failed_and_is_removed_after_a_second() -> None:
    host = playground()
    bound(host, "p")
    host.run(10)
    host.delete(POD, "p")
    host.run(0.9)
    assert phase(host, "p") == "Running"
    seen = host.store.version
    host.run(0.2)
    assert host.find(POD, "p") is None
    said, gone = host.store.changes(seen)
    assert said.object["status"]["phase"] == "Failed"
    assert said.object["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert gone.type == "DELETED"


def test_a_shorter_grace_period_is_respected() -> None:
    host = playground(StandinSettings(stop_time=10))
    bound(host, "p", terminationGracePeriodSeconds=2)
    host.run(10)
    host.delete(POD, "p")
    host.run(1.9)
    assert host.find(POD, "p") is not None
    host.run(0.2)
    assert host.find(POD, "p") is None


def test_a_deleted_pod_with_a_finalizer_ends_and_stays() -> None:
    host = playground()
    host.create(
        POD,
        {
            "metadata": {"name": "p", "finalizers": ["example.com/keep"]},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}], "nodeName": "n1"},
        },
    )
    host.run(5)
    host.delete(POD, "p")
    host.run(5)
    pod = host.get(POD, "p")
    assert pod["status"]["phase"] == "Failed"
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 0
    host.patch(POD, "p", {"metadata": {"finalizers": None}})
    assert host.find(POD, "p") is None


def test_what_fails_is_restarted_at_once_and_then_after_pauses_that_double() -> None:
    host = playground()
    notes = {"closeknit.dev/run-time": "5s", "closeknit.dev/exit-code": "2"}
    bound(host, "p", notes, restartPolicy="OnFailure")
    host.run(6.5)  # failed at 6 s
    container = host.get(POD, "p")["status"]["containerStatuses"][0]
    assert container["restartCount"] == 1
    assert "running" in container["state"]
    assert container["lastState"]["terminated"]["exitCode"] == 2
    host.run(5)  # failed at 11 s, pauses until 21 s
    pod = host.get(POD, "p")
    container = pod["status"]["containerStatuses"][0]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["restartCount"] == 1
    assert states(pod)["Ready"] == "False"
    host.run(10)
    container = host.get(POD, "p")["status"]["containerStatuses"][0]
    assert container["restartCount"] == 2
    assert "running" in container["state"]
    host.run(5)  # failed at 26 s, pauses until 46 s
    host.run(18)
    assert "waiting" in host.get(POD, "p")["status"]["containerStatuses"][0]["state"]
    host.run(3)
    assert host.get(POD, "p")["status"]["containerStatuses"][0]["restartCount"] == 3


def test_on_failure_does_not_restart_what_succeeded() -> None:
    host = playground()
    bound(host, "p", {"closeknit.dev/run-time": "5s"}, restartPolicy="OnFailure")
    host.run(10)
    assert phase(host, "p") == "Succeeded"


def test_pods_on_a_failed_node_stay_as_they_are() -> None:
    host = playground()
    bound(host, "runs")
    bound(host, "starts", {"closeknit.dev/start-time": "30s"})
    host.run(10)
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})
    host.delete(POD, "runs")
    host.run(1000)
    assert phase(host, "runs") == "Running"
    assert phase(host, "starts") == "Pending"


def test_what_ran_on_a_failed_node_is_lost_when_it_is_back() -> None:
    host = playground()
    bound(host, "once")
    bound(host, "always", restartPolicy="Always")
    host.run(10)
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/failed": "true"}}})
    host.run(1000)
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/failed": None}}})
    host.settle()
    once = host.get(POD, "once")
    assert once["status"]["phase"] == "Failed"
    assert once["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
    always = host.get(POD, "always")["status"]["containerStatuses"][0]
    assert always["restartCount"] == 1
    assert "running" in always["state"]


def test_a_node_that_was_cut_off_catches_up_when_it_is_back() -> None:
    host = playground()
    bound(host, "p")
    host.run(10)
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/cut-off": "true"}}})
    host.run(1000)
    assert phase(host, "p") == "Running"
    host.patch(NODE, "n1", {"metadata": {"annotations": {"closeknit.dev/cut-off": None}}})
    host.settle()
    pod = host.get(POD, "p")
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"] == "2023-11-14T22:14:21Z"


def test_work_continues_after_a_restart() -> None:
    host = playground()
    bound(host, "p")
    bound(host, "q", {"closeknit.dev/start-time": "45s"})
    host.run(30)
    host.start([Kubelet(StandinSettings(), Random(3))])
    host.run(14.9)
    assert phase(host, "q") == "Pending"
    host.run(0.2)
    assert phase(host, "q") == "Running"
    host.run(15)
    assert phase(host, "p") == "Running"
    host.run(1)
    assert phase(host, "p") == "Succeeded"
    bound(host, "r")
    host.run(2)
    addresses = {pod["status"]["podIP"] for pod in host.pods()}
    assert addresses == {"10.0.0.1", "10.0.0.2", "10.0.0.3"}


@pytest.mark.parametrize(
    ("text", "seconds", "spread"),
    [
        ("90s", 90.0, 0.0),
        ("2m", 120.0, 0.0),
        ("1h", 3600.0, 0.0),
        ("1h30m", 5400.0, 0.0),
        ("250ms", 0.25, 0.0),
        ("0s", 0.0, 0.0),
        ("2m±10%", 120.0, 0.1),
        ("forever", None, 0.0),
    ],
)
def test_durations_are_read(text: str, seconds: float | None, spread: float) -> None:
    assert duration(text) == Duration(seconds, spread)


@pytest.mark.parametrize("text", ["", "5", "s", "-5s", "5 s", "1x", "5s±", "5s±200%", "for ever"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|at most"):
        duration(text)
