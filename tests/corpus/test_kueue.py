"""Every case of the corpus, on the server at hand."""

from __future__ import annotations

import os
import secrets

import pytest

from contract.client import Answer, Api
from corpus import quota_kinds, small_kinds, workloads
from corpus.answers import fields, plain, told
from corpus.case import Case, Raw, titled
from corpus.conftest import POLICIES

CASES = titled([*quota_kinds.cases(), *small_kinds.cases(), *workloads.cases()])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_how_a_server_validates_an_object(
    api: Api, space: str, is_real: bool, said: dict[str, list[str]], case: Case
) -> None:
    enforced = ("schema", "rule", "policy") if os.environ.get(POLICIES) else ("schema", "rule")
    if is_real and case.by not in enforced:
        pytest.skip(f"enforced by a {case.by}")
    answer = outcome(api, space, case)
    if not case.field:
        assert answer.status in (200, 201), answer.body
        if not case.steps:
            assert kept(answer.body) == kept({**case.body, **(case.kept or {})})
        return
    assert answer.status == 422, answer.body
    assert plain(case.near if is_real and case.near else case.field) in fields(answer.body)
    said.setdefault(case.kind.kind, []).extend(told(answer.body))


def outcome(api: Api, space: str, case: Case) -> Answer:
    """What the last step comes to; all before it have to work."""
    kind, name = case.kind, f"x{secrets.token_hex(5)}"
    metadata = {**case.body.get("metadata", {}), "name": name}
    body = {**case.body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    home = space if kind.namespaced else ""
    answer = api.post(kind.path(home), body, **({} if case.steps else {"dryRun": "All"}), fieldValidation="Strict")
    try:
        for step in case.steps:
            assert answer.status in (200, 201), answer.body
            answer = api.merge(kind.path(home, name, step.part), step.patch)
    finally:
        if case.steps:
            api.merge(kind.path(home, name), {"metadata": {"finalizers": None}})
            api.delete(kind.path(home, name))
    return answer


def kept(raw: Raw) -> Raw:
    """The object without what the server notes about it."""
    return {key: value for key, value in raw.items() if key not in ("apiVersion", "kind", "metadata", "status")}
