"""Fields that a kind does not have: refused, warned about or ignored, as the client asks."""

from __future__ import annotations

import pytest

from contract.client import Api
from contract.expect import accepted, invalid, make, refused
from contract.objects import config_map, config_maps, container, pod, pods


def warned(text: str) -> str:
    return f'299 - "{text}"'.replace("'", '\\"')


def test_unknown_fields_are_refused_if_strict(api: Api, space: str, name: str) -> None:
    answer = api.post(pods(space), pod(name, containers=[container(color="red")]), fieldValidation="Strict")
    refused(answer, 400, "BadRequest")
    assert 'unknown field "spec.containers[0].color"' in answer.body["message"]
    refused(api.get(pods(space, name)), 404, "NotFound")


def test_unknown_fields_are_warned_about_one_by_one_and_dropped(api: Api, space: str, name: str) -> None:
    body = {**config_map(name, nope=1), "extra": 2}
    answer = api.post(config_maps(space), body, fieldValidation="Warn")
    held = accepted(answer, 201)
    assert sorted(answer.warnings) == [warned("unknown field 'extra'"), warned("unknown field 'metadata.nope'")]
    assert "extra" not in held
    assert "nope" not in held["metadata"]


def test_without_a_choice_unknown_fields_are_warned_about(api: Api, space: str, name: str) -> None:
    answer = api.post(config_maps(space), {**config_map(name), "extra": 1})
    accepted(answer, 201)
    assert answer.warnings == [warned("unknown field 'extra'")]


def test_unknown_fields_are_dropped_in_silence_if_ignored(api: Api, space: str, name: str) -> None:
    answer = api.post(config_maps(space), {**config_map(name), "extra": 1}, fieldValidation="Ignore")
    assert "extra" not in accepted(answer, 201)
    assert answer.warnings == []


def test_names_of_fields_are_case_sensitive(api: Api, space: str, name: str) -> None:
    answer = api.post(config_maps(space), {**config_map(name), "Data": {"a": "1"}})
    assert "data" not in accepted(answer, 201)
    assert answer.warnings == [warned("unknown field 'Data'")]


def test_a_field_given_twice_is_refused_if_strict(api: Api, space: str, name: str) -> None:
    body = f'{{"metadata": {{"name": "{name}"}}, "data": {{"a": "1", "a": "2"}}}}'.encode()
    answer = api.request("POST", config_maps(space), body, query={"fieldValidation": "Strict"})
    refused(answer, 400, "BadRequest")
    assert 'duplicate field "data.a"' in answer.body["message"]


def test_of_a_field_given_twice_the_last_counts_and_is_warned_about(api: Api, space: str, name: str) -> None:
    body = f'{{"metadata": {{"name": "{name}"}}, "data": {{"a": "1", "a": "2"}}}}'.encode()
    answer = api.request("POST", config_maps(space), body)
    assert accepted(answer, 201)["data"] == {"a": "2"}
    assert answer.warnings == [warned("duplicate field 'data.a'")]


def test_a_put_is_strict_too(api: Api, space: str, name: str) -> None:
    make(api, config_maps(space), config_map(name))
    answer = api.put(config_maps(space, name), {**config_map(name), "extra": 1}, fieldValidation="Strict")
    refused(answer, 400, "BadRequest")


@pytest.mark.parametrize("kind", ["merge", "strategic"])
def test_a_patch_is_strict_too(api: Api, space: str, name: str, kind: str) -> None:
    make(api, config_maps(space), config_map(name))
    send = api.merge if kind == "merge" else api.strategic
    refused(send(config_maps(space, name), {"extra": 1}, fieldValidation="Strict"), 422, "Invalid")
    answer = send(config_maps(space, name), {"extra": 1})
    accepted(answer)
    assert answer.warnings == [warned("unknown field 'extra'")]


def test_a_choice_that_does_not_exist_is_invalid(api: Api, space: str, name: str) -> None:
    invalid(api.post(config_maps(space), config_map(name), fieldValidation="Perhaps"), "fieldValidation")
