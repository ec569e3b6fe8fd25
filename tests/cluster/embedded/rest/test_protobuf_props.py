"""Whatever bytes arrive as protobuf, the answer is an object, an unknown kind, or a bad request."""

from __future__ import annotations

import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from closeknit.cluster.embedded.rest.protobuf import MAGIC, decoded
from closeknit.cluster.errors import BadRequest
from cluster.embedded.rest.protobuf_writing import body, field
from contract.client import Api

PROTOBUF = "application/vnd.kubernetes.protobuf"
CONTAINER = field(1, b"c") + field(2, b"i:1") + field(8, field(2, field(1, b"cpu") + field(2, field(1, b"1"))))
SPEC = field(1, 2) + field(2, 2) + field(6, field(2, field(2, CONTAINER) + field(3, b"Never")))
JOB = body("batch/v1", "Job", field(1, field(1, b"train")) + field(2, SPEC))


def is_answered(data: bytes) -> bool:
    try:
        found = decoded(data)
    except BadRequest:
        return True
    return found is None or bool(json.dumps(found))


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(data: bytes) -> None:
    assert is_answered(data)
    assert is_answered(MAGIC + data)
    assert is_answered(body("batch/v1", "Job", data))


@given(st.integers(0, len(JOB) - 1), st.integers(0, 255))
def test_an_object_with_one_wrong_byte_is_answered(at: int, byte: int) -> None:
    assert is_answered(JOB[:at] + bytes([byte]) + JOB[at + 1 :])
    assert is_answered(JOB[:at])


def test_the_server_answers_every_broken_object_without_an_error_of_its_own(api: Api) -> None:
    random, jobs = Random(1), "/apis/batch/v1/namespaces/default/jobs?dryRun=All"
    for _ in range(500):
        at = random.randrange(len(JOB))
        data = JOB[:at] + bytes([random.randrange(256)]) + JOB[at + random.randrange(2) :]
        assert api.request("POST", jobs, data, PROTOBUF).status < 500
    assert api.request("POST", jobs, JOB, PROTOBUF).status == 201
