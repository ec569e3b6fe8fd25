"""What tests say about answers: made, refused and why, and what is to become true in time."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from contract.client import Answer, Api
from contract.objects import Object


@contextmanager
def namespace(api: Api) -> Iterator[str]:
    """A namespace of its own, gone afterwards."""
    name = f"contract-{secrets.token_hex(5)}"
    make(api, "/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        yield name
    finally:
        api.delete(f"/api/v1/namespaces/{name}")


def make(api: Api, collection: str, body: Object) -> Object:
    """Create an object and return it as the server keeps it."""
    answer = api.post(collection, body)
    assert answer.status == 201, answer.body
    assert isinstance(answer.body, dict)
    return answer.body


def accepted(answer: Answer, code: int = 200) -> Any:
    """The body of an answer that is a success."""
    assert answer.status == code, answer.body
    return answer.body


def refused(answer: Answer, code: int, reason: str, *fields: str) -> Any:
    """The details of a refusal of this code and reason that names at least these fields."""
    assert answer.status == code, answer.body
    status = answer.body
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    assert (status["code"], status["reason"]) == (code, reason), status
    assert status["message"]
    details = status.get("details") or {}
    named = {cause["field"] for cause in details.get("causes") or [] if "field" in cause}
    assert named >= set(fields), named
    return details


def invalid(answer: Answer, *fields: str) -> Any:
    return refused(answer, 422, "Invalid", *fields)


def eventually(check: Callable[[], bool], within: float = 90.0) -> None:
    """Wait for what controllers do in their own time."""
    end = monotonic() + within
    while not check():
        assert monotonic() < end, f"not so within {within} s"
        sleep(0.05)


def gone(api: Api, path: str) -> Callable[[], bool]:
    return lambda: api.get(path).status == 404


def owner(owned_by: Object, **more: Any) -> Object:
    """An owner reference to an object that the server gave us."""
    metadata = owned_by["metadata"]
    return {
        "apiVersion": owned_by["apiVersion"],
        "kind": owned_by["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        **more,
    }


def managers(held: Object) -> dict[str, tuple[str, Object]]:
    """Who owns what: manager to (operation, fields)."""
    entries = held["metadata"].get("managedFields", [])
    return {entry["manager"]: (entry["operation"], entry["fieldsV1"]) for entry in entries}
