"""Small requests that would cost much: each is refused or handled in bounded time and memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attacks.conftest import slow
from attacks.line import Target, memory, processor_time
from contract.objects import config_map, config_maps, pods
from host.process import HostProcess

MAPS = config_maps("default")
MEGABYTE = 1 << 20


def made(host: HostProcess, name: str, **data: str) -> str:
    host.api.delete(config_maps("default", name))
    assert host.api.post(MAPS, config_map(name, data)).status == 201
    return config_maps("default", name)


def test_copies_of_a_json_patch_are_bounded(host: HostProcess) -> None:
    at = made(host, "copied", a="x" * MEGABYTE)
    before = processor_time(host.process.pid)
    steps = [{"op": "copy", "from": "/data/a", "path": f"/data/b{number}"} for number in range(50)]
    answer = host.api.json_patch(at, steps)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert "may copy at most 3145728 bytes" in answer.body["message"]
    assert processor_time(host.process.pid) - before < 3


def test_copies_that_double_are_bounded(host: HostProcess) -> None:
    at = made(host, "doubled", a="x")
    steps = [{"op": "copy", "from": "/data", "path": f"/data/a{number}"} for number in range(60)]
    before = memory(host.process.pid)
    assert host.api.json_patch(at, steps).status == 422
    assert memory(host.process.pid) - before < 200_000_000


def test_copies_cannot_nest_an_object_deeper_than_a_body_may_be(host: HostProcess) -> None:
    at = made(host, "nested", a="x")
    steps = [{"op": "copy", "from": "/data", "path": "/data" + "/data" * number} for number in range(1, 400)]
    assert host.api.json_patch(at, steps).status in (400, 422)
    long = [{"op": "add", "path": "/data" * 100_000, "value": "x"}]
    assert host.api.json_patch(at, long).status == 422


def test_an_object_above_one_and_a_half_megabytes_is_refused(host: HostProcess) -> None:
    for data in ({"a": "x" * 1_600_000}, {f"k{number}": "x" * 1000 for number in range(1_600)}):
        answer = host.api.post(MAPS, {**config_map("large"), "data": data})
        assert answer.status in (413, 422), answer.body
    at = made(host, "grows", a="x" * 700_000)
    assert host.api.merge(at, {"binaryData": {"b": "eHh4" * 200_000}}).status in (413, 422)
    assert len(json.dumps(host.api.get(at).body)) < 1_000_000


def test_a_custom_object_above_one_and_a_half_megabytes_is_refused(host: HostProcess) -> None:
    """Kinds without a limit of their own."""
    job: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "large"}}
    containers = [{"name": "c", "image": "i", "args": ["x" * 1_600_000]}]
    job["spec"] = {"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}}
    answer = host.api.post("/apis/batch/v1/namespaces/default/jobs", job)
    assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")
    assert "at most 1572864 are stored" in answer.body["message"]


@slow
def test_an_object_that_is_replaced_again_and_again_is_not_kept_each_time(host: HostProcess) -> None:
    at = made(host, "replaced", a="x")
    before = memory(host.process.pid)
    for number in range(1_000):
        body = config_map("replaced", {"a": f"{number:06d}" + "x" * 1_000_000})
        assert host.api.put(at, body).status == 200
    assert memory(host.process.pid) - before < 300_000_000
    host.api.delete(at)


def test_ten_thousand_labels_are_handled_in_time(host: HostProcess) -> None:
    labels = {f"label-{number}": "x" for number in range(10_000)}
    pod = {"metadata": {"name": "labelled", "labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    before = processor_time(host.process.pid)
    assert host.api.post(pods("default"), pod).status == 201
    at = pods("default", "labelled")
    assert host.api.strategic(at, {"metadata": {"labels": {"label-0": "y"}}}).status == 200
    selector = ",".join(f"{name}=x" for name in list(labels)[1:2_000])
    assert host.api.get(pods("default"), labelSelector=selector).status == 200
    assert host.api.get(at).status == 200
    assert host.api.delete(at, gracePeriodSeconds=0).status == 200
    assert processor_time(host.process.pid) - before < 5


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"data: {a: 1" + b":59" * 100_000 + b"}", 201),  # text, as in YAML 1.2
        (b"data: {a: 0x" + b"f" * 900_000 + b"}", 201),
        (b"a: &a [x]\nb: [" + b"*a," * 50_000 + b"]", 400),
        (b"x: " + b"[" * 100_000, 400),
        (b"- a\n" * 100_000, 400),
    ],
)
def test_a_yaml_body_takes_bounded_time(host: HostProcess, text: bytes, status: int) -> None:
    head = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n" if not text.startswith(b"-") else b""
    before = processor_time(host.process.pid)
    answer = host.api.request("POST", MAPS, head + text, "application/yaml")
    host.api.delete(config_maps("default", "yaml"))
    assert answer.status == status
    assert processor_time(host.process.pid) - before < 5


def test_requests_that_are_sent_ahead_do_not_pile_up(target: Target, host: HostProcess) -> None:
    """A client that sends requests without reading the answers is closed, or waits."""
    before = memory(host.process.pid)
    sent = 0
    with target.connect() as line:
        line.settimeout(1)
        request = target.head("GET", "/healthz") * 100
        try:
            while sent < 50_000_000:
                line.sendall(request)
                sent += len(request)
        except OSError:
            pass
    assert target.works()
    assert memory(host.process.pid) - before < 200_000_000
