from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.cluster.embedded.standins.binder import Binder
from closeknit.cluster.kinds import NODE, POD
from closeknit.cluster.port import Raw
from cluster.embedded.standins.playground import Playground, containers

NODES = [f"n{number}" for number in range(4)]
DISKS = ["ssd", "hdd"]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), st.integers(1, 3), st.sampled_from(["", "ssd", "hdd", *NODES])),
        st.tuples(st.just("end"), st.integers(0, 30)),
        st.tuples(st.just("delete"), st.integers(0, 30)),
        st.tuples(st.just("add"), st.sampled_from(NODES), st.integers(1, 4), st.sampled_from(DISKS)),
        st.tuples(st.just("relabel"), st.sampled_from(NODES), st.sampled_from(DISKS)),
        st.tuples(st.just("cordon"), st.sampled_from(NODES), st.booleans()),
        st.tuples(st.just("remove"), st.sampled_from(NODES)),
        st.tuples(st.just("restart")),
    ),
    max_size=40,
)


def selector(where: str) -> dict[str, str]:
    if not where:
        return {}
    return {"disk": where} if where in DISKS else {"kubernetes.io/hostname": where}


def take(host: Playground, number: int, step: tuple[Any, ...]) -> None:
    kind, *rest = step
    pods = host.pods()
    match kind:
        case "pod":
            host.pod(f"p{number}", **{**containers(cpu=str(rest[0])), "nodeSelector": selector(rest[1])})
        case "end" if pods:
            name = pods[rest[0] % len(pods)]["metadata"]["name"]
            host.patch(POD, name, {"status": {"phase": "Succeeded"}}, "status")
        case "delete" if pods:
            host.delete(POD, pods[rest[0] % len(pods)]["metadata"]["name"], grace=0)
        case "add" if host.find(NODE, rest[0]) is None:
            host.node(rest[0], {"disk": rest[2]}, cpu=str(rest[1]))
        case "relabel" if host.find(NODE, rest[0]) is not None:
            host.patch(NODE, rest[0], {"metadata": {"labels": {"disk": rest[1]}}})
        case "cordon" if host.find(NODE, rest[0]) is not None:
            host.patch(NODE, rest[0], {"spec": {"unschedulable": rest[1] or None}})
        case "remove" if host.find(NODE, rest[0]) is not None:
            host.delete(NODE, rest[0])
        case "restart":
            host.start([Binder()])


def asks(pod: Raw) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def free(host: Playground, node: Raw) -> int:
    name = node["metadata"]["name"]
    running = [pod for pod in host.pods() if pod["status"].get("phase") != "Succeeded"]
    return int(node["status"]["allocatable"]["cpu"]) - sum(
        asks(pod) for pod in running if pod["spec"].get("nodeName") == name
    )


@settings(max_examples=150, deadline=None)
@given(steps)
def test_no_pod_waits_while_there_is_room_and_no_room_is_used_twice(story: list[tuple[Any, ...]]) -> None:
    host = Playground(Binder())
    removed: set[str] = set()
    for number, step in enumerate(story):
        if step[0] == "remove":
            removed.add(step[1])
        take(host, number, step)
        host.settle()
        for node in host.all(NODE):
            if node["metadata"]["name"] not in removed:
                assert free(host, node) >= 0
        for pod in host.pods():
            if pod["spec"].get("nodeName") or pod["status"].get("phase") == "Succeeded":
                continue
            wanted = pod["spec"].get("nodeSelector", {})
            for node in host.all(NODE):
                labels, cordoned = node["metadata"]["labels"], node.get("spec", {}).get("unschedulable")
                fits = all(labels.get(key) == value for key, value in wanted.items()) and not cordoned
                assert not (fits and free(host, node) >= asks(pod)), (pod["metadata"]["name"], node["metadata"]["name"])
